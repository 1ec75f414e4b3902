/** The figures of the scenarios, for `npm run bench -- scenarios`: one line of JSON each, in a file that the caller names. */
import { appendFileSync, readFileSync } from "node:fs";
import type { Verdict } from "./probe.ts";
import type { Figures } from "./record.ts";

export type ScenarioLine =
  | { readonly scenario: string; readonly before: Figures; readonly figures: Figures }
  | { readonly scenario: string; readonly verdict: Verdict };

export function recordScenario(line: ScenarioLine): void {
  const file = process.env.LOCKSTEP_SCENARIOS;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** Figures in the order in which they were recorded, each with the verdict of its clients; a failed one may have none. */
export function scenariosIn(
  file: string,
): { scenario: string; before: Figures; figures: Figures; verdict?: Verdict }[] {
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const all = lines.map((line) => JSON.parse(line) as ScenarioLine);
  return all.flatMap((line, at) => {
    if (!("figures" in line)) return [];
    const next = all.slice(at + 1).find((each) => "verdict" in each);
    return [
      { ...line, ...(next && "verdict" in next && next.scenario === line.scenario && { verdict: next.verdict }) },
    ];
  });
}

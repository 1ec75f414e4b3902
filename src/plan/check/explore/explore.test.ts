import { describe, expect, it } from "vitest";
import { COSTLY_PROPERTIES, PROPERTIES } from "./properties.ts";
import { exploring, tableOf } from "./report.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { LIVENESS } from "./watch.ts";

/**
 * Small enough to be explored every time. The others are in explore.contract.test.ts and explore.statefulset.test.ts.
 */
const SMALL = SCENARIOS.filter(({ large }) => !large);

/** How often each danger must occur. A rule that was hardly ever at stake does not count as checked. */
const DANGERS_MIN = 10;

const outcomeOf = exploring();

describe("every state that can be reached keeps the rules", () => {
  for (const scenario of SMALL) {
    it(scenario.name, { timeout: 300_000 }, () => {
      const { violation, complete } = outcomeOf(scenario);
      expect(violation?.trace).toBeUndefined();
      expect(complete, "every state was visited").toBe(true);
    });
  }

  it("and every rule met its danger at least ten times", { timeout: 600_000 }, () => {
    const dangers = new Map<string, number>();
    for (const scenario of SMALL) {
      for (const [name, count] of Object.entries(outcomeOf(scenario).dangers))
        dangers.set(name, (dangers.get(name) ?? 0) + count);
    }
    process.stdout.write(tableOf(SMALL, outcomeOf));
    for (const { rule, name } of [...PROPERTIES, ...COSTLY_PROPERTIES, LIVENESS]) {
      process.stdout.write(`${String(dangers.get(name) ?? 0).padStart(9)} times  [${rule}] ${name}\n`);
      expect(dangers.get(name), `[${rule}] ${name}`).toBeGreaterThanOrEqual(DANGERS_MIN);
    }
  });
});

function instancesOf({ intent, edits }: Scenario): number {
  const intents = [intent];
  for (const edit of edits) intents.push(edit.apply(intents.at(-1) ?? intent));
  return Math.max(
    ...intents.map(({ schedule }) =>
      schedule.kind === "known" ? schedule.clusters.reduce((sum, { replicas }) => sum + replicas, 0) : 0,
    ),
  );
}

function isScaled({ edits }: Scenario): boolean {
  return edits.some(({ label }) => label.startsWith("scale"));
}

describe("what is explored in every run has three clusters", () => {
  const wide = SMALL.filter(({ intent }) => Object.keys(intent.fleet).length === 3);
  const corners: Readonly<Record<string, (scenario: Scenario) => boolean>> = {
    "five instances": (each) => instancesOf(each) === 5,
    "five instances and a leader": (each) => instancesOf(each) === 5 && each.leader !== null,
    "status and pods seen at different times": ({ twoWatches }) => twoWatches,
    "a leader that moves": ({ leader, faults }) => leader !== null && faults.leader > 0,
    "a cluster that is lost": ({ faults, waitMs }) => faults.cut > 0 && faults.wait > 0 && waitMs > 300_000,
    "a cluster that leaves the fleet": ({ faults }) => faults.gone > 0,
    "instances that come and go": isScaled,
    "the application's own list of members": ({ listsMembers }) => listsMembers,
    "a template that is edited in mid-step": ({ edits }) =>
      edits.filter(({ label }) => label.startsWith("template")).length > 1,
    "a schedule that is edited in mid-step": (each) => isScaled(each) && each.edits.length > 1,
    accidents: ({ faults }) => faults.accident > 0,
    "a controller that dies": ({ faults }) => faults.crash > 0,
    "a ledger that is lost": ({ faults }) => faults.rebuild > 0,
  };
  for (const [corner, isIn] of Object.entries(corners)) {
    it(`and ${corner}`, () => expect(wide.filter(isIn).length).toBeGreaterThan(0));
  }
});

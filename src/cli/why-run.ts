import { parseCrossClusterStatefulset } from "../api/index.ts";
import type { GlobalOptions, OutputOption } from "./command.ts";
import { findLedger, getStatefulset, withHub } from "./hub.ts";
import type { Io } from "./io.ts";
import { age, formatOf, print, printData, styleOf } from "./output.ts";
import { statusOf } from "./status-run.ts";
import { type Why, whyOf } from "./why-view.ts";

export async function runWhy(io: Io, given: string, options: OutputOption & GlobalOptions): Promise<undefined> {
  const format = formatOf(options.output, ["json", "yaml"]);
  return withHub(io, options, async (hub) => {
    const object = await getStatefulset(hub, given);
    const ledger = await findLedger(hub, object.metadata);
    const parsed = parseCrossClusterStatefulset(object);
    const why = whyOf({
      program: io.program,
      object,
      spec: parsed.ok ? parsed.value.spec : undefined,
      status: statusOf(object),
      ledger,
    });
    if (format === "text") print(io, lines(io, why, hub.clock.now()).join("\n"));
    else printData(io, format, why);
    return undefined;
  });
}

function lines(io: Io, why: Why, nowMs: number): string[] {
  const style = styleOf(io);
  const result = [why.reason === undefined ? why.sentence : `${style.bold(why.reason)}  ${why.sentence}`];
  if (why.since !== undefined) result.push(style.dim(`For ${age(why.since, nowMs)}, since ${why.since}.`));
  if (why.evidence.length > 0) {
    result.push("", style.bold("Evidence"));
    for (const { object, field, value, since } of why.evidence) {
      const known = since === undefined ? "" : style.dim(`  since ${since} (${age(since, nowMs)})`);
      result.push(`  ${object}  ${field} = ${value}${known}`);
    }
  }
  if (why.remedy.length > 0) {
    result.push(
      "",
      style.bold(why.needsPerson ? "Remedy" : "Nothing to do but wait, unless it takes too long; then look here"),
    );
    for (const command of why.remedy) result.push(`  ${command}`);
  }
  if (why.reason !== undefined) result.push("", `Read more: docs/runbook.md, ${why.reason}`);
  if (why.others.length > 0) result.push(`Also waiting: ${why.others.join(", ")}`);
  return result;
}

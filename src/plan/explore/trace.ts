import type { Observation } from "../types.ts";
import type { Step } from "./moves.ts";
import { memberOf, type State } from "./state.ts";

/** What a move did, for a person who reads a counterexample. */
export function describe(before: State, { state, deeds, planned }: Step): string[] {
  const lines: string[] = [];
  for (const deed of deeds) {
    lines.push(
      `    ${deed.cluster}: ${deed.kind === "removed" ? "its object is removed" : `${deed.ordinal} ${deed.kind}`}`,
    );
  }
  for (const cluster of Object.keys(state.members)) {
    if (memberOf(state, cluster).pods === memberOf(before, cluster).pods) continue;
    const pods = memberOf(state, cluster).pods.map(({ ordinal, revision, phase }) => `${ordinal}:${revision}:${phase}`);
    lines.push(`    ${cluster} runs ${pods.join(" ") || "nothing"}`);
  }
  if (!planned) return lines;
  for (const [cluster, { observation }] of Object.entries(state.seen)) {
    if (observation !== before.seen[cluster]?.observation) lines.push(`    sees ${cluster}: ${shown(observation)}`);
  }
  const { result } = planned;
  for (const { cluster, kind, epoch, why } of result.steps) {
    const grant = result.grants.find((each) => each.cluster === cluster);
    const content = grant
      ? `${grant.revision} x${grant.replicas} partition ${grant.partition} processor ${grant.processor} topology ${grant.topologyVersion}`
      : "";
    lines.push(`    grants ${cluster} ${kind} @${epoch}: ${content} (${why})`);
  }
  for (const { kind, cluster } of result.actions) lines.push(`    acts: ${kind} ${cluster}`);
  for (const { code, cluster, message } of result.waiting)
    lines.push(`    waits: ${cluster ?? ""} ${code}: ${message}`);
  for (const [cluster, entry] of Object.entries(result.ledger.clusters)) {
    const was = planned.before.ledger.clusters[cluster];
    if (was && was.turn === entry.turn && was.done === entry.done && was.instances === entry.instances) continue;
    const held = entry.instances.map((each) => `${each.ordinal}:${each.state}`).join(" ");
    lines.push(`    ledger ${cluster}: turn ${entry.turn}, done ${entry.done}, base ${entry.baseRevision}, ${held}`);
  }
  return lines;
}

function shown(seen: Observation): string {
  if (seen.kind !== "present") return seen.kind;
  const { live, counts, report, health } = seen;
  const counted = `replicas ${counts.replicas} ready ${counts.ready} updated ${counts.updated} terminating ${counts.terminating}`;
  const observed = `generation ${seen.generation} observed ${seen.observedGeneration}`;
  const said = report
    ? `, reports @${report.epoch} ${report.revision} ${report.phase} ready ${report.ready} updated ${report.updated}`
    : "";
  const pods = seen.instances?.map(
    (each) => `${each.ordinal}${each.updated ? "+" : "-"}${each.terminating ? "T" : each.ready ? "R" : "s"}`,
  );
  return `@${live.epoch} ${live.revision} x${live.replicas}, ${observed}, ${counted}, ${health}${said}${pods ? `, pods ${pods.join(" ")}` : ""}`;
}

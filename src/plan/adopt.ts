import type { Draft } from "./draft.ts";
import { rangeStart } from "./identity.ts";
import { canHost } from "./member.ts";
import type { Target } from "./target.ts";
import type { Baseline, ClusterName } from "./types.ts";
import { viewIn } from "./view.ts";
import { instancesText } from "./words.ts";

/**
 * [D7] Takes over clusters that run the application already. The grant is what the cluster runs, without the turn: only
 * annotations are written, and nothing moves. Differences to the template or the schedule wait for a person.
 */
export function adopt(draft: Draft, target: Target): void {
  const adopted: ClusterName[] = [];
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    const baseline = Object.hasOwn(draft.intent.baselines, cluster) ? draft.intent.baselines[cluster] : undefined;
    const { present } = viewIn(draft, cluster);
    if (entry.epoch > 0 || entry.instances.length > 0 || !baseline || !present) continue;
    // Epochs begin at 1: what carries another number was never granted, whoever wrote it there.
    if ((present.live.epoch ?? 0) > 0) continue;
    if (draft.identity.mode !== "PerCluster") {
      draft.wait(
        "AdoptionNeedsPerCluster",
        cluster,
        `it already runs ${instancesText(baseline.replicas)} from ordinal ${baseline.start}; identity.mode is ${draft.identity.mode}`,
        "Set identity.mode: PerCluster; renumbering a running StatefulSet would replace its pods.",
        [{ object: cluster, field: "ordinals.start", value: `${baseline.start}` }],
      );
      continue;
    }
    take(draft, cluster, baseline);
    adopted.push(cluster);
  }
  if (adopted.length > 0) noteDifferences(draft, target, adopted);
}

/**
 * [D7] Instances that run somewhere and are not in the ledger yet: no majority can be counted without them, so nothing starts
 * anywhere. An object with a higher epoch than the ledger ever gave was dispatched by a ledger that is lost.
 */
export function awaitsAdoption(draft: Draft): boolean {
  return draft.order.some((cluster) => {
    const entry = draft.entry(cluster);
    if (entry.grant || entry.instances.length > 0) return false;
    const { present, reach } = viewIn(draft, cluster);
    const isOfAnother = (present?.live.epoch ?? 0) > entry.epoch;
    if (!isOfAnother && entry.epoch === 0 && Object.hasOwn(draft.intent.baselines, cluster)) {
      draft.wait(
        "Adopting",
        cluster,
        "it runs the application already; nothing starts anywhere before it is taken over",
        reach === "ready" ? "Wait for its snapshot." : "Bring the cluster back.",
        [{ object: `cluster ${cluster}`, field: "Ready", value: draft.intent.fleet[cluster]?.state ?? "Unknown" }],
      );
      return true;
    }
    if (!isOfAnother) return false;
    // Reports the object that nobody knows.
    canHost(draft, cluster);
    return true;
  });
}

function take(draft: Draft, cluster: ClusterName, baseline: Baseline): void {
  const { index } = draft.entry(cluster);
  const first = rangeStart(draft.identity, index);
  const instances = Array.from({ length: baseline.replicas }, (_, i) => ({
    ordinal: first + i,
    state: "member" as const,
  }));
  draft.patch(cluster, {
    start: baseline.start,
    instances,
    baseRevision: baseline.revision,
    highWater: baseline.replicas,
  });
  draft.write(
    cluster,
    {
      revision: baseline.revision,
      replicas: baseline.replicas,
      partition: 0,
      processor: false,
      initialClusterState: "existing",
      onDelete: false,
    },
    { kind: "adopt", why: "it runs the application already; it is taken over as it is", progress: null },
  );
}

function noteDifferences(draft: Draft, target: Target, adopted: readonly ClusterName[]): void {
  const { intent } = draft;
  const wanted = new Map<ClusterName, number>();
  if (intent.schedule.kind === "known")
    for (const { cluster, replicas } of intent.schedule.clusters) wanted.set(cluster, replicas);
  const first = adopted[0];
  const revision = first === undefined ? undefined : draft.entry(first).grant?.revision;
  if (draft.ledger.currentRevision === null && revision !== undefined) {
    const same = draft.order.every((cluster) => (draft.entry(cluster).grant?.revision ?? revision) === revision);
    if (same) draft.set("currentRevision", revision);
  }
  for (const cluster of adopted) {
    const { grant } = draft.entry(cluster);
    if (!grant) continue;
    const replicas = intent.schedule.kind === "known" ? (wanted.get(cluster) ?? 0) : grant.replicas;
    if (grant.revision === target.revision && grant.replicas === replicas) continue;
    draft.set("halt", {
      code: "AdoptedWithDifferences",
      cluster,
      revision: grant.revision,
      message: `${cluster} runs ${instancesText(grant.replicas)} of ${grant.revision}; asked for are ${replicas} of ${target.revision ?? "nothing yet"}`,
      sinceMs: draft.nowMs,
      resume: intent.requests.resume ?? null,
    });
    return;
  }
}

import { viewIn } from "../evidence/view.ts";
import { instancesText } from "../evidence/words.ts";
import { rangeStart } from "../identity/identity.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Baseline, ClusterName, FormerGrant } from "../types/index.ts";
import type { Target } from "../update/target.ts";
import { canHost } from "./member.ts";

/**
 * [D7] Takes over clusters that run the application already. The grant is what the cluster runs, without the turn: only
 * annotations are written, and nothing moves. Differences to the template or the schedule wait for a person. [D8] What
 * an earlier life of the application granted is taken over in any mode, with the ordinals that it has.
 */
export function adopt(draft: Draft, target: Target): void {
  // [D8] An application of an earlier object is adopted as a whole: its topology must contain all of its clusters.
  if (isFormerUnseen(draft)) return;
  const adopted: ClusterName[] = [];
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    const baseline = Object.hasOwn(draft.intent.baselines, cluster) ? draft.intent.baselines[cluster] : undefined;
    const { present } = viewIn(draft, cluster);
    if (entry.epoch > 0 || entry.instances.length > 0 || !baseline || !present) continue;
    const { former } = baseline;
    // Epochs begin at 1: an object with any other number was never granted, whatever wrote it.
    if (!former && (present.live.epoch ?? 0) > 0) continue;
    if (former && !fits(draft, cluster, former)) {
      const ordinals = former.ordinals?.join(", ") || "none that are known";
      draft.wait(
        "UnknownObject",
        cluster,
        `it runs ordinals of an earlier life (${ordinals}) which do not fit identity.mode ` +
          `${draft.identity.mode} and the other clusters`,
        "Give the object the identity settings that it had, or remove what runs there.",
        [{ object: cluster, field: "ordinals", value: ordinals }],
      );
      continue;
    }
    if (!former && draft.identity.mode !== "PerCluster") {
      draft.wait(
        "AdoptionNeedsPerCluster",
        cluster,
        `it already runs ${instancesText(baseline.replicas)} from ordinal ${baseline.start}; ` +
          `identity.mode is ${draft.identity.mode}`,
        "Set identity.mode: PerCluster; renumbering a running StatefulSet would replace its pods.",
        [{ object: cluster, field: "ordinals.start", value: `${baseline.start}` }],
      );
      continue;
    }
    take(draft, cluster, baseline);
    adopted.push(cluster);
  }
  // All of them are in the topology before any of them gets it.
  for (const cluster of adopted) {
    const baseline = draft.intent.baselines[cluster];
    if (baseline) grantAsItIs(draft, cluster, baseline);
  }
  if (adopted.length > 0) noteDifferences(draft, target, adopted);
}

/**
 * [D10] Instances that run somewhere and are not in the ledger yet: no majority can be counted without them, so nothing
 * starts anywhere. An object with a higher epoch than the ledger ever gave was dispatched by a ledger that is lost.
 */
export function awaitsAdoption(draft: Draft): boolean {
  return draft.order.some((cluster) => {
    const entry = draft.entry(cluster);
    if (entry.grant || entry.instances.length > 0) return false;
    const { present, reach } = viewIn(draft, cluster);
    const isFormer = draft.intent.baselines[cluster]?.former !== undefined;
    const isOfAnother = !isFormer && (present?.live.epoch ?? 0) > entry.epoch;
    if (!isOfAnother && entry.epoch === 0 && Object.hasOwn(draft.intent.baselines, cluster)) {
      draft.wait(
        "Adopting",
        cluster,
        "it runs the application already; nothing starts anywhere before it is taken over",
        remedyFor(draft, cluster, reach === "ready"),
        [{ object: `cluster ${cluster}`, field: "Ready", value: draft.intent.fleet[cluster]?.state ?? "Unknown" }],
      );
      return true;
    }
    if (!isOfAnother) return false;
    // Reports the unknown object.
    canHost(draft, cluster, 0);
    return true;
  });
}

function remedyFor(draft: Draft, cluster: ClusterName, isReady: boolean): string {
  if (!isReady) {
    return isFormerUnseen(draft)
      ? "Bring the cluster back; if it is gone for good, run 'lockstep confirm-lost " +
          `${draft.identity.app.name} ${cluster}'.`
      : "Bring the cluster back.";
  }
  const unseen = Object.entries(draft.intent.baselines).flatMap(([name, baseline]) => (baseline ? [] : [name]));
  return isFormerUnseen(draft)
    ? `Wait for ${unseen.join(", ")}, which may run instances too.`
    : "Wait for its snapshot.";
}

function isFormerUnseen({ intent: { baselines } }: Draft): boolean {
  const all = Object.values(baselines);
  return all.includes(null) && all.some((baseline) => baseline?.former !== undefined);
}

/** [D11] Ordinals that tenants of a member could have written there: they must be what this mode gives, and free. */
function fits(draft: Draft, cluster: ClusterName, { ordinals }: FormerGrant): boolean {
  const { identity } = draft;
  if (!ordinals) return identity.mode === "PerCluster";
  const own = new Set(ordinals);
  const isClaimed = draft.order.some((other) => {
    if (other === cluster) return false;
    const claimed = draft.intent.baselines[other]?.former?.ordinals ?? [];
    const held = draft.entry(other).instances.map(({ ordinal }) => ordinal);
    return [...held, ...claimed].some((ordinal) => own.has(ordinal));
  });
  if (isClaimed) return false;
  if (identity.mode === "Dense") return true;
  const first = rangeStart(identity, draft.entry(cluster).index);
  return ordinals.length <= identity.blockSize && ordinals.every((ordinal, at) => ordinal === first + at);
}

function take(draft: Draft, cluster: ClusterName, { replicas, revision, start, former }: Baseline): void {
  const { index } = draft.entry(cluster);
  const first = rangeStart(draft.identity, index);
  const ordinals = former?.ordinals ?? Array.from({ length: replicas }, (_, at) => first + at);
  draft.patch(cluster, {
    start,
    instances: ordinals.map((ordinal) => ({ ordinal, state: "member" as const })),
    // [U9] Where nothing runs, nothing has been completed: there is no revision to go back to.
    baseRevision: replicas > 0 ? revision : null,
    highWater: replicas,
    // The next grant's epoch must be higher than the one that the cluster shows.
    epoch: former?.epoch ?? 0,
  });
  draft.set("topologyVersion", Math.max(draft.ledger.topologyVersion, former?.topologyVersion ?? 0));
  if (draft.identity.mode !== "Dense") return;
  draft.set("nextOrdinal", Math.max(draft.ledger.nextOrdinal, ...ordinals.map((ordinal) => ordinal + 1)));
}

function grantAsItIs(draft: Draft, cluster: ClusterName, baseline: Baseline): void {
  draft.write(
    cluster,
    {
      revision: baseline.revision,
      replicas: baseline.replicas,
      partition: 0,
      turn: false,
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
  // A cluster without instances runs no revision: its object may name one that never came up in any cluster.
  const runs = (cluster: ClusterName) => {
    const { grant, instances } = draft.entry(cluster);
    return instances.length > 0 ? grant?.revision : undefined;
  };
  const revision = adopted.map(runs).find((each) => each !== undefined);
  if (draft.ledger.currentRevision === null && revision !== undefined) {
    const same = draft.order.every((cluster) => (runs(cluster) ?? revision) === revision);
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
      message:
        `${cluster} runs ${instancesText(grant.replicas)} of ${grant.revision}; asked for ` +
        `are ${replicas} of ${target.revision ?? "nothing yet"}`,
      sinceMs: draft.nowMs,
      resume: intent.requests.resume ?? null,
    });
    return;
  }
}

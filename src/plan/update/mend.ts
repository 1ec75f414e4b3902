import { isObserved, localOrdinal, viewIn } from "../evidence/view.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName, Grant, InstanceObservation, StepInProgress } from "../types/index.ts";
import { isStuck } from "./failure.ts";
import type { Part } from "./share.ts";

/**
 * [F8] A StatefulSet in OrderedReady does not pass a pod that is not ready, so that one which runs another revision
 * than the granted one would hold its own replacement up for ever. It is deleted: at once on the way back, and when
 * nothing has moved for a while on the way forward, where it may come up by itself. [U14] So are those that a mending
 * step is for. None of them is ready, so nothing is lost by it. [S14] Nor does it remove a pod while one below is not
 * ready; the pod was to go anyway.
 */
export function deletePods(draft: Draft): void {
  if (draft.intent.workload.protocol !== "statefulset") return;
  for (const cluster of draft.order) {
    const { step, grant, done, turn } = draft.entry(cluster);
    if (!step || !grant || done || turn !== "held") continue;
    const { present } = viewIn(draft, cluster);
    if (present?.live.epoch !== grant.epoch || !isObserved(present)) continue;
    const found = podsInTheWay(draft, cluster, step, grant);
    if (found.length === 0 || (!step.unblock && !isStuck(draft, cluster))) continue;
    const pods = found.map(({ name, uid, version }) => ({
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(version === undefined ? {} : { version }),
    }));
    draft.actions.push({ kind: "deletePods", cluster, pods });
  }
}

function podsInTheWay(
  draft: Draft,
  cluster: ClusterName,
  step: StepInProgress,
  grant: Grant,
): readonly InstanceObservation[] {
  const { memberOrdered } = draft.intent.workload;
  if (step.kind === "shrink") return memberOrdered ? leavers(draft, cluster) : [];
  if ((step.kind !== "update" && step.kind !== "rollback") || !(memberOrdered || grant.onDelete)) return [];
  return brokenPods(draft, cluster, grant.partition).filter(({ updated }) => updated === false);
}

/** Pods of instances that leave, and are not going. */
function leavers(draft: Draft, cluster: ClusterName): InstanceObservation[] {
  const entry = draft.entry(cluster);
  const leaving = entry.instances.flatMap(({ state }, i) =>
    state === "leaving" ? [localOrdinal(draft, entry, i)] : [],
  );
  const pods = viewIn(draft, cluster).present?.instances ?? [];
  return pods.filter(({ ordinal, terminating }) => ordinal !== undefined && leaving.includes(ordinal) && !terminating);
}

/**
 * [U14] How many pods a mending step would replace. A StatefulSet in Parallel takes its highest pod down first, even
 * while a lower one is broken, and cannot be told otherwise; given the revision with OnDelete, it takes none, and those
 * that are down are replaced by deleting them. Below a partition they would come back on the wrong revision, so there
 * it is not done.
 */
export function mendable(draft: Draft, { cluster, share }: Part): number {
  const { protocol, memberOrdered } = draft.intent.workload;
  const { grant, done } = draft.entry(cluster);
  if (protocol !== "statefulset" || memberOrdered || share > 0 || !grant || !(done || grant.onDelete)) return 0;
  return brokenPods(draft, cluster, 0).length;
}

/** Pods from the `from`-th instance up that are not ready and not going. */
function brokenPods(draft: Draft, cluster: ClusterName, from: number): InstanceObservation[] {
  const entry = draft.entry(cluster);
  const lowest = localOrdinal(draft, entry, from);
  const pods = viewIn(draft, cluster).present?.instances ?? [];
  return pods.filter(({ ready, terminating, ordinal }) => !ready && !terminating && (ordinal ?? -1) >= lowest);
}

import { isObserved, localOrdinal, viewIn } from "../evidence/view.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName, Grant, InstanceObservation, StepInProgress } from "../types/index.ts";
import { isStuck } from "./failure.ts";
import type { Part } from "./share.ts";

/**
 * [F8] A StatefulSet in OrderedReady waits for a pod that is not ready. If that pod runs another revision than the
 * granted one, it would block its own replacement forever. So Lockstep deletes it: at once during a rollback; during an
 * update only after some time without progress, because it may become ready by itself. [U14] The pods of a mending step
 * are deleted, too. None of these pods is ready, so nothing is lost. [S14] A StatefulSet also does not remove a surplus
 * pod while a lower one is not ready; Lockstep deletes the surplus pod, which has to go anyway.
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

/** Pods of leaving instances that are not terminating yet. */
function leavers(draft: Draft, cluster: ClusterName): InstanceObservation[] {
  const entry = draft.entry(cluster);
  const leaving = entry.instances.flatMap(({ state }, i) =>
    state === "leaving" ? [localOrdinal(draft, entry, i)] : [],
  );
  const pods = viewIn(draft, cluster).present?.instances ?? [];
  return pods.filter(({ ordinal, terminating }) => ordinal !== undefined && leaving.includes(ordinal) && !terminating);
}

/**
 * [U14] How many pods a mending step would replace. A StatefulSet in Parallel always takes its highest pod down first,
 * even while a lower one is broken. With OnDelete it takes none down: then Lockstep deletes the broken pods, and they
 * come back on the new revision. Below a partition they would come back on the wrong one, so it is not done there.
 */
export function mendable(draft: Draft, { cluster, share }: Part): number {
  const { protocol, memberOrdered } = draft.intent.workload;
  const { grant, done } = draft.entry(cluster);
  if (protocol !== "statefulset" || memberOrdered || share > 0 || !grant || !(done || grant.onDelete)) return 0;
  return brokenPods(draft, cluster, 0).length;
}

/** Pods from the `from`-th instance up that are neither ready nor terminating. */
function brokenPods(draft: Draft, cluster: ClusterName, from: number): InstanceObservation[] {
  const entry = draft.entry(cluster);
  const lowest = localOrdinal(draft, entry, from);
  const pods = viewIn(draft, cluster).present?.instances ?? [];
  return pods.filter(({ ready, terminating, ordinal }) => !ready && !terminating && (ordinal ?? -1) >= lowest);
}

import { viewIn } from "../evidence/view.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterEntry, ClusterName, Grant, VolumeRetention } from "../types/index.ts";
import { isInFleet } from "./desired.ts";

/** How far the watch of the member's object may lag behind the watch of the hub's dispatch object. */
export const STRANDED_AFTER_MS = 10_000;

/** It has removed its last instance; only its dispatched objects are left to remove. */
function isDrained({ grant, done }: ClusterEntry): boolean {
  return grant?.replicas === 0 && done;
}

/** Whether something delivers the workload to the cluster, even if that is being deleted. */
export function isDispatched({ observations }: Draft, cluster: ClusterName): boolean {
  const { dispatch = {} } = observations;
  return Object.hasOwn(dispatch, cluster) && dispatch[cluster]?.workload !== "none";
}

/**
 * [S9] Every drained cluster is let go: protection lifted, object and dispatch object deleted, volumes as asked for.
 */
export function removeDrained(draft: Draft): void {
  for (const cluster of draft.order) {
    if (isDrained(draft.entry(cluster)) && viewIn(draft, cluster).reach === "ready") removeEmpty(draft, cluster);
  }
}

/**
 * [S9] Removes what a drained cluster was given. If something deleted the dispatch object meanwhile, the cluster's
 * object stays there, and nothing removes it: the dispatch object has to stand once more, for its object to be removed
 * with it.
 */
export function removeEmpty(draft: Draft, cluster: ClusterName): void {
  if (!isStranded(draft, cluster)) {
    draft.patch(cluster, { strandedSinceMs: null });
  } else {
    const sinceMs = draft.entry(cluster).strandedSinceMs ?? draft.nowMs;
    draft.patch(cluster, { strandedSinceMs: sinceMs });
    draft.wakeAt(sinceMs + STRANDED_AFTER_MS);
    if (draft.nowMs >= sinceMs + STRANDED_AFTER_MS) {
      draft.stranded.add(cluster);
      return;
    }
  }
  draft.actions.push({ kind: "remove", cluster, volumes: retentionOf(draft) });
}

/** Nothing delivers the cluster's object, which is this application's own, and is not being deleted. */
function isStranded(draft: Draft, cluster: ClusterName): boolean {
  if (!draft.observations.dispatch || isDispatched(draft, cluster)) return false;
  const { present } = viewIn(draft, cluster);
  if (!present || present.isDeleting) return false;
  return present.live.clusterToken === draft.identity.app.clusterToken;
}

function retentionOf({ intent }: Draft): VolumeRetention {
  return intent.deletion ? intent.retention.whenDeleted : intent.retention.whenScaled;
}

/**
 * What the ledger has forgotten and is still dispatched. Of clusters that have been drained, supporting objects are
 * left: they are removed, but never a workload that is still dispatched, whatever the ledger says. [T3] When a teardown
 * has nothing more to do, workloads that are left belong to clusters that it gave up: they are let go, and nothing is
 * deleted there.
 */
export function removeLeftovers(draft: Draft, finished: boolean): void {
  const { dispatch = {} } = draft.observations;
  const named = new Set(draft.actions.map(({ cluster }) => cluster));
  for (const [cluster, { workload, isLetGo }] of Object.entries(dispatch)) {
    const isKnown = Object.hasOwn(draft.ledger.clusters, cluster) && draft.entry(cluster).grant !== null;
    if (isKnown || named.has(cluster)) continue;
    if (finished && (isLetGo || workload === "there")) draft.actions.push({ kind: "release", cluster });
    else if (workload !== "there") draft.actions.push({ kind: "remove", cluster, volumes: retentionOf(draft) });
  }
}

/**
 * The grants that have to stand on the hub. A cluster that is being let go or removed is not written to again, although
 * its grant is remembered until it is gone; one that has left the fleet has no place to write to.
 */
export function standingOf(draft: Draft, grants: readonly Grant[]): Grant[] {
  const leaving = new Set(draft.actions.filter(({ kind }) => kind !== "deletePods").map(({ cluster }) => cluster));
  return grants.filter(({ cluster }) => {
    if (leaving.has(cluster) || !isInFleet(draft.intent, cluster)) return false;
    return draft.stranded.has(cluster) || !isDrained(draft.entry(cluster));
  });
}

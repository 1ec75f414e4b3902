import type { ClusterName } from "../rollout/index.ts";
import { type Draft, isRemoving } from "./draft.ts";
import { isSpare } from "./replicas.ts";

/** [A19] Clusters that are no longer chosen: their objects go in reverse order, once the others serve without them. */
export function leave(draft: Draft): void {
  const { clusters, leave: how } = draft.intent;
  if (clusters.kind === "unknown") {
    draft.wait("ScheduleUnknown", undefined, clusters.message, "No action needed; no cluster is added or left.", [
      { object: "spec.clusters", field: "clusters", value: "unknown" },
    ]);
    return;
  }
  const former = Object.keys(draft.ledger.clusters).filter((cluster) => !clusters.names.includes(cluster));
  // [A20] No cluster at all is more likely a mistake than a wish: deleting the object is the way to say it.
  if (clusters.names.length === 0) {
    draft.wait(
      "NoClusters",
      undefined,
      former.length > 0 ? "no cluster is chosen; what runs stays as it is" : "spec.clusters matches no cluster",
      "Choose a cluster that the fleet has, or delete the object.",
      [{ object: "spec.clusters", field: "chosen", value: "0" }],
    );
    return;
  }
  for (const [cluster, why] of Object.entries(clusters.kept ?? {})) stay(draft, cluster, why);
  for (const cluster of former) end(draft, cluster, how, isSpare(draft, cluster));
  for (const cluster of clusters.names) if (isRemoving(draft.entry(cluster))) end(draft, cluster, how, true);
}

/** [A34] The engine does not select it, and nothing proves that it was removed. One that is away says so itself. */
function stay(draft: Draft, cluster: ClusterName, why: string): void {
  if (!draft.isReady(cluster) || isRemoving(draft.entry(cluster))) return;
  const evidence = [{ object: `cluster ${cluster}`, field: "selection", value: "no" }];
  draft.wait("WaitingForSelection", cluster, `${why}. Its objects stay`, "The hub is read again by itself.", evidence);
}

/** [A21] The object is being deleted: every cluster at once, in reverse order inside each. Returns whether nothing is left. */
export function endAll(draft: Draft, how: "Teardown" | "Release"): boolean {
  for (const cluster of Object.keys(draft.ledger.clusters)) end(draft, cluster, how, true);
  return Object.keys(draft.ledger.clusters).length === 0;
}

function end(draft: Draft, cluster: ClusterName, how: "Teardown" | "Release", isDispensable: boolean): void {
  const entry = draft.entry(cluster);
  const { grant } = entry;
  if (!grant) {
    draft.forget(cluster);
    return;
  }
  const seen = draft.view(cluster);
  const isEmpty = seen?.left.every((count) => count === 0) === true;
  const [reason, verb] =
    how === "Release" ? (["ReleaseUnreachable", "released"] as const) : (["TeardownUnreachable", "torn down"] as const);
  if (!draft.isReady(cluster)) {
    // [A22] Nothing is deleted in a cluster that cannot be seen; a cluster that has left the fleet keeps what it has.
    if (draft.fact(cluster) === undefined) {
      if (isEmpty) draft.forget(cluster);
      else draft.releases.push(cluster);
      if (isEmpty) return;
    }
    draft.wait(
      reason,
      cluster,
      `it cannot be reached and still holds its objects; it is ${verb} when it returns`,
      "Repair the cluster, or remove it from the fleet.",
      [{ object: `cluster ${cluster}`, field: "reachable", value: "no" }],
    );
    return;
  }
  if (how === "Release") {
    if (isEmpty) draft.forget(cluster);
    else draft.releases.push(cluster);
    return;
  }
  if (!isRemoving(entry)) {
    if (!isDispensable) {
      draft.wait(
        "AddBeforeRemove",
        cluster,
        "it goes when the others serve everything without it",
        "No action needed.",
        [{ object: cluster, field: "needed", value: "yes" }],
      );
      return;
    }
    draft.change(cluster, { done: false, failed: null, progress: null, healthySinceMs: null, out: {}, short: {} });
    draft.grant(cluster, { revision: grant.revision, mode: "Delete", stage: 0, replicas: grant.replicas });
    return;
  }
  const stages = draft.stages(entry, cluster);
  const isOver = stages === undefined || grant.stage >= stages.length;
  if (isEmpty && isOver) {
    draft.forget(cluster);
    return;
  }
  draft.wait("TeardownInProgress", cluster, "its objects are being deleted in reverse order", "No action needed.", [
    {
      object: cluster,
      field: "objects left",
      value: String(seen?.left.reduce((sum, count) => sum + count, 0) ?? "unknown"),
    },
  ]);
}

import { viewIn } from "../evidence/view.ts";
import { instancesText } from "../evidence/words.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName } from "../types/index.ts";
import { needsTurn } from "../update/share.ts";
import { forget } from "./loss.ts";
import { heldCount, isInterrupted } from "./member.ts";
import { removeEmpty } from "./removal.ts";
import { giveTurnAgain, takeTop } from "./scale.ts";

/**
 * [T1] Release: the dispatch objects go, everything in the clusters stays exactly as it is. No step is started, none is
 * waited for, and no grant is written.
 */
export function release(draft: Draft): boolean {
  for (const cluster of draft.order) {
    const { grant } = draft.entry(cluster);
    if (!grant) continue;
    draft.actions.push({ kind: "release", cluster });
    if (viewIn(draft, cluster).reach !== "ready") {
      draft.wait(
        "ReleaseUnreachable",
        cluster,
        "its dispatch objects are released on the hub; the engine lets go of them when the cluster is back",
        "Bring the cluster back, or remove it from the fleet.",
        [{ object: `cluster ${cluster}`, field: "Ready", value: draft.intent.fleet[cluster]?.state ?? "Unknown" }],
      );
    }
  }
  return true;
}

/**
 * [T2] Teardown: instance by instance from the highest ordinal down (Parallel: every cluster at once). Neither quorum
 * nor budget protects what its owner wants gone. A cluster that cannot be reached keeps its part and is waited for.
 */
export function tearDown(draft: Draft): boolean {
  let left = false;
  let busy: ClusterName | null = null;
  const parallel = draft.intent.podManagementPolicy === "Parallel";
  for (const cluster of [...draft.order].reverse()) {
    const entry = draft.entry(cluster);
    if (!entry.grant) continue;
    left = true;
    if (entry.votes !== "counted" && viewIn(draft, cluster).reach === "lost") {
      forget(draft, cluster);
      continue;
    }
    if (viewIn(draft, cluster).reach !== "ready") {
      draft.wait(
        "TeardownUnreachable",
        cluster,
        `it still holds ${instancesText(entry.instances.length)}`,
        `Bring the cluster back, or run 'lockstep confirm-lost ${cluster}' to leave it as it is.`,
        [{ object: `cluster ${cluster}`, field: "instances", value: `${entry.instances.length}` }],
      );
      continue;
    }
    if (entry.grant.replicas === 0 && entry.done) {
      removeEmpty(draft, cluster);
      continue;
    }
    const leaving = entry.instances.some(({ state }) => state === "leaving");
    if (busy !== null && !parallel) {
      draft.wait("TeardownInProgress", cluster, `${busy} goes first`, "Wait for it.", [
        { object: busy, field: "instances", value: `${draft.entry(busy).instances.length}` },
      ]);
      continue;
    }
    if (!leaving) takeTop(draft, cluster, parallel ? heldCount(entry) : 1, "teardown, from the highest ordinal down");
    else if (isInterrupted(entry) && needsTurn(draft, cluster)) giveTurnAgain(draft, cluster, entry.grant, "shrink");
    busy = cluster;
  }
  return !left;
}

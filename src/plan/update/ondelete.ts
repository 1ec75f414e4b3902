import { updatedSeen, viewIn } from "../evidence/view.ts";
import type { Draft } from "../ledger/draft.ts";
import { type Desired, isDraining } from "../membership/desired.ts";
import { isStuck } from "./failure.ts";
import { noteFirstCompletion } from "./rollout.ts";
import type { Target } from "./target.ts";

/**
 * [U11] OnDelete: every cluster gets the revision, and no instance is restarted for it; one that a user deletes comes
 * back on it. No turn is needed, so no budget is spent.
 */
export function handOut(draft: Draft, target: Target, desired: Desired | undefined): void {
  const to = target.revision;
  if (to === null || !target.settled || draft.ledger.halt) return;
  const { protocol } = draft.intent.workload;
  let allUpdated = true;
  for (const cluster of draft.order) {
    const { grant, instances, votes, turn, done, step } = draft.entry(cluster);
    const view = viewIn(draft, cluster);
    if (
      !grant ||
      instances.length === 0 ||
      votes !== "counted" ||
      view.reach === "lost" ||
      isDraining(desired, cluster)
    )
      continue;
    if (grant.revision === to) {
      const updated = view.present ? updatedSeen(view.present) : undefined;
      if (!done || (grant.onDelete && (updated ?? 0) < grant.replicas)) allUpdated = false;
      continue;
    }
    allUpdated = false;
    if (view.reach !== "ready") continue;
    if (protocol === "ignorant") {
      draft.wait(
        "OnDeleteUnsupported",
        cluster,
        `revision ${to} is not granted: the operator would act on it at once`,
        "Use RollingUpdate, or an operator on the contract.",
        [{ object: "CrossClusterStatefulset", field: "spec.updateStrategy.type", value: "OnDelete" }],
      );
      continue;
    }
    // Otherwise, a join that never ends would keep the corrected revision from the cluster.
    const isStuckJoin = turn === "held" && step?.kind !== "shrink" && isStuck(draft, cluster);
    if (turn !== "none" && !isStuckJoin) continue;
    draft.write(
      cluster,
      {
        ...grant,
        revision: to,
        partition: protocol === "statefulset" ? 0 : grant.replicas,
        turn: isStuckJoin,
        onDelete: true,
      },
      isStuckJoin
        ? {
            kind: "update",
            why: "the join before makes no progress; what is broken comes back on this revision",
            progress: draft.startStep("update", cluster, true),
          }
        : { kind: "update", why: "OnDelete: granted; no instance is restarted for it", progress: null },
    );
  }
  draft.set("rollout", null);
  if (allUpdated) noteFirstCompletion(draft, to, desired);
}

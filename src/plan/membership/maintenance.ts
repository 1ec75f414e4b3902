import { isInMaintenance, reportInMaintenance } from "../../rollout/index.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName } from "../types/index.ts";

/** [C11] Says of every cluster in maintenance where nothing is due that no step starts there. */
export function reportMaintenance(draft: Draft, leader: ClusterName | undefined): void {
  for (const cluster of draft.order) {
    if (!isInMaintenance(draft.intent, cluster) || draft.entry(cluster).instances.length === 0) continue;
    if (draft.waiting.some((each) => each.code === "WaitingForMaintenance" && each.cluster === cluster)) continue;
    reportInMaintenance(draft, draft.intent, cluster, leaderText(draft, leader, cluster));
  }
}

/** [L9] Why a leader is still there. */
function leaderText({ intent, ledger }: Draft, leader: ClusterName | undefined, cluster: ClusterName): string {
  if (leader !== cluster) return "";
  const { update } = intent;
  if (update.type !== "RollingUpdate" || !update.leaderTransfer)
    return "; its leader stays, because leaderTransfer is not set";
  const move = ledger.leaderEvacuation;
  return move?.id === cluster && move.state === "stayed" ? `; ${move.message}` : "";
}

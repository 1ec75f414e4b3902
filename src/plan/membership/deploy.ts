import { majorityOf } from "../limits/quorum.ts";
import type { ClusterName } from "../types/index.ts";
import type { RolloutView, Turns } from "../update/rollout.ts";
import type { Desired } from "./desired.ts";
import { addInstance, canHost, newcomerRevision, nextOrdinal } from "./member.ts";

/**
 * [D2] The static first deployment: with podManagementPolicy Parallel, nothing running and nothing granted, every
 * instance is given its identity at once, every cluster that can be reached is granted all of its instances in one
 * plan, and each learns the whole topology. A scheduled cluster that is away is part of that topology and is granted
 * when it is Ready. [D1] OrderedReady needs no rule of its own: it is growth from nothing, one instance after the
 * other.
 */
export function deployStatic(turns: Turns, desired: Desired, rollout: RolloutView | null): "waits" | "goes" {
  const { draft, target } = turns;
  if (draft.intent.podManagementPolicy === "Parallel" && isUntouched(turns)) {
    allocateAll(turns, desired);
    if (isUntouched(turns)) return "waits";
  }
  for (const cluster of draft.order) {
    const { grant, instances, votes } = draft.entry(cluster);
    if (grant || instances.length === 0 || votes !== "counted") continue;
    if (!canHost(draft, cluster, instances.length)) continue;
    const revision = newcomerRevision(draft, target, rollout, cluster, instances[0]?.ordinal ?? 0);
    if (revision === null) continue;
    const forming = draft.ledger.currentRevision === null;
    draft.write(
      cluster,
      {
        revision,
        replicas: instances.length,
        partition: 0,
        turn: true,
        initialClusterState: forming ? "new" : "existing",
        onDelete: false,
      },
      {
        kind: "deploy",
        why: "static deployment: every instance at once, the whole topology known",
        progress: draft.startStep("deploy", cluster),
      },
    );
  }
  return "goes";
}

function isUntouched({ draft }: Turns): boolean {
  if (draft.ledger.currentRevision !== null) return false;
  return draft.order.every((cluster) => {
    const { grant, instances } = draft.entry(cluster);
    return grant === null && instances.length === 0;
  });
}

function allocateAll({ draft, target }: Turns, desired: Desired): void {
  if (target.revision === null || !draft.mayGrow) return;
  const wanted = draft.order.filter((cluster) => (desired.get(cluster) ?? 0) > 0);
  const count = (clusters: readonly ClusterName[]) =>
    clusters.reduce((sum, cluster) => sum + (desired.get(cluster) ?? 0), 0);
  const total = count(wanted);
  const within = count(wanted.filter((cluster) => canHost(draft, cluster, desired.get(cluster))));
  // [D3] A minority could never form the application; with nothing running, waiting costs nothing.
  const needed = draft.intent.quorum === "Majority" ? majorityOf(total) : 1;
  if (total === 0 || within < needed) return;
  for (const cluster of wanted) {
    for (let i = 0; i < (desired.get(cluster) ?? 0); i++) {
      const ordinal = nextOrdinal(draft, cluster);
      if (ordinal === undefined) break;
      addInstance(draft, cluster, ordinal);
    }
  }
}

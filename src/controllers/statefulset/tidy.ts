import type { ParsedCrossClusterStatefulset } from "../../api/index.ts";
import type { EngineCluster } from "../../engine/index.ts";
import type { Ledger, PlanResult } from "../../plan/index.ts";
import { type ActContext, removeLeftovers } from "./act.ts";
import type { Session } from "./session.ts";

/** What is no longer needed: dependencies that a done cluster left behind, revisions beyond the history's limit. */
export async function tidy(
  statefulset: ParsedCrossClusterStatefulset,
  session: Session,
  result: PlanResult,
  context: ActContext,
  clusters: ReadonlyMap<string, EngineCluster>,
): Promise<void> {
  if (!session.stamped) return;
  const leaving = new Set(result.actions.map(({ cluster }) => cluster));
  for (const grant of result.grants) {
    if (leaving.has(grant.cluster)) continue;
    const entry = result.ledger.clusters[grant.cluster];
    const usesOne = entry?.done && (entry.baseRevision === null || entry.baseRevision === grant.revision);
    const needs = `${grant.epoch} ${statefulset.metadata.generation}`;
    if (!usesOne || session.tidied.get(grant.cluster) === needs) continue;
    await removeLeftovers(context, grant, clusters.get(grant.cluster));
    session.tidied.set(grant.cluster, needs);
  }
  const { revisionHistoryLimit } = statefulset.spec;
  await context.revisions.prune(statefulset.metadata, revisionsInUse(result.ledger), revisionHistoryLimit);
}

function revisionsInUse({ clusters, currentRevision, rollout, override }: Ledger): Set<string> {
  const inUse = new Set<string>();
  for (const { grant, baseRevision } of Object.values(clusters)) {
    if (grant) inUse.add(grant.revision);
    if (baseRevision) inUse.add(baseRevision);
  }
  for (const id of [currentRevision, rollout?.to, rollout?.from, override?.to]) if (id) inUse.add(id);
  return inUse;
}

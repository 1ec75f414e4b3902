import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { EngineCluster, ObjectRef } from "../../../engine/index.ts";
import type { Intent, Ledger, PlanResult } from "../../../plan/index.ts";
import type { StoredRevision } from "../../common/revisions/revision-store.ts";
import type { Session } from "../session.ts";
import { type ActContext, removeLeftovers } from "./act.ts";

/** What is no longer needed: dependencies that a done cluster left behind, revisions beyond the history's limit. */
export async function tidy(
  statefulset: ParsedCrossClusterStatefulset,
  session: Session,
  result: PlanResult,
  context: ActContext,
  clusters: ReadonlyMap<string, EngineCluster>,
  intent: Intent,
): Promise<void> {
  if (!session.stamped) return;
  const leaving = new Set(result.actions.map(({ cluster }) => cluster));
  for (const grant of result.grants) {
    if (leaving.has(grant.cluster)) continue;
    const entry = result.ledger.clusters[grant.cluster];
    // A topology write leaves the gate open: until the cluster shows it, its object names what the grant before
    // referred to.
    const isThere = entry?.done && entry.ackedAtMs !== null;
    const usesOne = isThere && (entry.baseRevision === null || entry.baseRevision === grant.revision);
    const needs = `${grant.epoch} ${statefulset.metadata.generation}`;
    // [I19] A view that the ledger no longer has is about to be replaced; until then, its parts are not known.
    const isKnown = result.ledger.topologies[String(grant.topologyVersion)] !== undefined;
    if (!isThere || !isKnown || session.tidied.get(grant.cluster) === needs) continue;
    // Pods of two revisions may use what the older one needs; a topology is only ever the newest grant's.
    const isSurplus = usesOne ? () => true : isTopologyPart;
    const isTidy = await removeLeftovers(context, grant, clusters.get(grant.cluster), isSurplus);
    if (isTidy && usesOne) session.tidied.set(grant.cluster, needs);
  }
  const { revisions, owner } = context;
  await revisions.deleteDropped(owner);
  const unreached = neverReached(revisions.list(owner), result.ledger, intent);
  revisions.prune(owner, revisionsInUse(result.ledger, intent), statefulset.spec.revisionHistoryLimit, unreached);
}

/** [I11] A ConfigMap that holds a part of a topology, named by the hash of its content. */
function isTopologyPart({ kind, name }: ObjectRef): boolean {
  return kind === "ConfigMap" && /-topology-[0-9a-f]{32}$/.test(name);
}

/**
 * [F12] Revisions that were superseded before any cluster got them: nothing ever ran them, so that none goes back to
 * them.
 */
function neverReached(stored: readonly StoredRevision[], { history }: Ledger, { revision }: Intent): Set<string> {
  // While the template has no revision, it may yet turn out to be the one that was made last.
  if (revision.kind === "missing" || revision.id === "") return new Set();
  const reached = new Set(history.reached);
  // Of those before the first that is remembered it is not known.
  const since = Math.min(...stored.filter(({ id }) => reached.has(id)).map(({ number }) => number));
  return new Set(stored.filter(({ id, number }) => number > since && !reached.has(id)).map(({ id }) => id));
}

function revisionsInUse(
  { clusters, currentRevision, rollout, override }: Ledger,
  { revision, baselines }: Intent,
): Set<string> {
  const inUse = new Set(Object.values(baselines).flatMap((baseline) => (baseline ? [baseline.revision] : [])));
  if (revision.kind !== "missing") inUse.add(revision.id);
  for (const { grant, baseRevision } of Object.values(clusters)) {
    if (grant) inUse.add(grant.revision);
    if (baseRevision) inUse.add(baseRevision);
  }
  for (const id of [currentRevision, rollout?.to, rollout?.from, override?.to, override?.template])
    if (id) inUse.add(id);
  return inUse;
}

/** Attempts in members whose CrossClusterJob is gone. Reads only. */
import { CROSS_CLUSTER_JOB } from "../../../api/index.ts";
import { ATTEMPT_ANNOTATION, ordersStop } from "../../../controllers/index.ts";
import { carriedBy, DISPATCH_MARKS, type ObjectRef, OWNER_LABEL } from "../../../engine/index.ts";
import { BUNDLED } from "../../../interpret/index.ts";
import { type KubeClient, type KubeObject, type Resource, resource } from "../../../kube/index.ts";
import { isJsonObject, valueAt } from "../../../runtime/index.ts";
import type { Hub } from "../../hub/hub.ts";
import { all, type Orphan } from "./owners.ts";

const MEMBER_JOBS = resource({ apiVersion: "batch/v1", kind: "Job", plural: "jobs", namespaced: true });
/** Kinds other than Job whose end Lockstep knows, as `apiVersion kind`. */
const OTHER_KINDS = BUNDLED.filter(
  (customization) => valueAt(customization, "spec", "customizations", "completionInterpretation") !== undefined,
).map((customization) => {
  const at = (field: string) => String(valueAt(customization, "spec", "target", field));
  return { apiVersion: at("apiVersion"), kind: at("kind") };
});

/** `delivered`: the dispatch objects of this cluster. */
export async function orphanJobs(
  hub: Hub,
  member: KubeClient,
  cluster: string,
  delivered: readonly KubeObject[],
): Promise<Orphan[]> {
  const orphans = (await attemptsOf(hub, member, MEMBER_JOBS)).map((object): Orphan => {
    const kept = keptBecause(object, delivered);
    const why = "its CrossClusterJob is gone";
    return { where: cluster, resource: MEMBER_JOBS, object, why, ...(kept !== undefined && { kept }) };
  });
  for (const { apiVersion, kind } of OTHER_KINDS) {
    const served = (await member.discovery.kinds(apiVersion, hub.request)).find((each) => each.kind === kind);
    if (!served) continue;
    for (const object of await attemptsOf(hub, member, served)) orphans.push(otherOrphan(cluster, served, object));
  }
  return orphans;
}

/** A StatefulSet that was released stays on purpose, and is none. */
async function attemptsOf(hub: Hub, member: KubeClient, of: Resource): Promise<KubeObject[]> {
  const { items } = await member.listAll(of, { labelSelector: OWNER_LABEL, ...hub.request });
  const attempts = items.filter((object) => attemptOwner(object) !== undefined);
  if (attempts.length === 0) return [];
  const living = await livingJobs(hub);
  return attempts.filter((object) => !living.has(attemptOwner(object) ?? ""));
}

/** Its operator may still work on it, and deleting it may delete what it has created: a person decides. */
function otherOrphan(cluster: string, of: Resource, { apiVersion, kind, metadata }: KubeObject): Orphan {
  const [group = ""] = apiVersion.split("/");
  return {
    where: cluster,
    resource: of,
    object: { apiVersion, kind, metadata },
    why: "its CrossClusterJob is gone",
    kept: `it may run; if it has ended, in ${cluster}: kubectl -n ${metadata.namespace} delete ${of.plural}.${group} ${metadata.name}`,
  };
}

export async function livingJobs(hub: Hub): Promise<Set<string>> {
  return new Set((await all(hub, CROSS_CLUSTER_JOB)).map(({ metadata }) => metadata.uid ?? ""));
}

function keptBecause(job: KubeObject, delivered: readonly KubeObject[]): string | undefined {
  if (!isOver(job)) return "it has not ended, and may run";
  const dispatch = startedBy(job, delivered);
  if (!dispatch) return undefined;
  const { kind, metadata } = dispatch;
  return `${kind} ${metadata.namespace}/${metadata.name} would create it again, and it could run again: delete that first`;
}

/** The dispatch object that delivers this Job, unless it orders it to stop: the engine creates what it misses. */
export function startedBy({ kind, metadata }: KubeObject, delivered: readonly KubeObject[]): KubeObject | undefined {
  const isThis = (ref: ObjectRef) =>
    ref.kind === kind && ref.namespace === metadata.namespace && ref.name === metadata.name;
  return delivered.find((dispatch) => {
    const notes = dispatch.metadata.annotations ?? {};
    return carriedBy(dispatch).some(isThis) && !ordersStop({ notes }, DISPATCH_MARKS.note);
  });
}

export function attemptOwner({ metadata }: KubeObject): string | undefined {
  try {
    const mark: unknown = JSON.parse(metadata.annotations?.[ATTEMPT_ANNOTATION] ?? "");
    return isJsonObject(mark) && typeof mark.owner === "string" ? mark.owner : undefined;
  } catch {
    return undefined;
  }
}

/** It shows an end, or was never allowed to run. */
function isOver({ status, spec }: KubeObject): boolean {
  const conditions = isJsonObject(status) && Array.isArray(status.conditions) ? status.conditions : [];
  const ended = conditions.filter(isJsonObject).some(({ type, status: is }) => {
    return (type === "Complete" || type === "Failed") && is === "True";
  });
  const isIdle = isJsonObject(spec) && spec.parallelism === 0 && !(isJsonObject(status) && Number(status.active) > 0);
  return ended || isIdle;
}

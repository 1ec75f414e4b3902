/** What is left of objects that are gone, on the hub and in members. Reads only. */
import { CROSS_CLUSTER_JOB, CROSS_CLUSTER_STATEFULSET, DISTRIBUTED_APPLICATION } from "../../../api/index.ts";
import { HUB_MARKS, ownerId, ownerOf, REVISIONS } from "../../../controllers/index.ts";
import { DISPATCH_MARKS, type EngineDefinition, OVERRIDE_POLICIES } from "../../../engine/index.ts";
import type { KubeClient, KubeObject } from "../../../kube/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";
import type { Hub } from "../../hub/hub.ts";
import { LEDGERS } from "../../hub/hub.ts";
import { withMember } from "../../hub/members.ts";
import { attemptOwner, livingJobs, orphanJobs, startedBy } from "./attempts.ts";
import { orphanConfigMaps } from "./config-maps.ts";
import { isHoldToDelete, orphanHolds } from "./holds.ts";
import { all, isGone, type Named, type Orphan, title } from "./owners.ts";

export interface Orphans {
  readonly found: readonly Orphan[];
  /** Members that were not looked at, with the reason. */
  readonly unseen: readonly { readonly cluster: string; readonly why: string }[];
}

export async function findOrphans(hub: Hub, engine: EngineDefinition, systemNamespace: string): Promise<Orphans> {
  const { items: dispatches } = await hub.client.listAll(engine.dispatches, {
    labelSelector: DISPATCH_MARKS.app,
    ...hub.request,
  });
  const found: Orphan[] = [
    ...(await orphanLedgers(hub, systemNamespace)),
    ...(await orphanRevisions(hub, systemNamespace)),
    ...(await orphanCopies(hub, systemNamespace)),
    ...(engine.name === "karmada" ? await orphanHolds(hub) : []),
    ...(await orphanDispatches(hub, engine, dispatches)),
  ];
  const unseen: { cluster: string; why: string }[] = [];
  const { items } = await hub.client.listAll(engine.clusters, { ...hub.request });
  for (const object of items) {
    const { name } = object.metadata;
    const state = engine.readCluster(object)?.state ?? "Unknown";
    if (state !== "Ready") {
      unseen.push({ cluster: name, why: `it is ${state}` });
      continue;
    }
    try {
      const delivered = dispatches.filter(({ metadata }) => metadata.namespace === engine.dispatchNamespace(name));
      const look = async ({ client }: { readonly client: KubeClient }) => [
        ...(await orphanJobs(hub, client, name, delivered)),
        ...(await orphanConfigMaps(hub, client, name, delivered)),
      ];
      found.push(...(await withMember(hub, engine, name, look)));
    } catch (error) {
      unseen.push({ cluster: name, why: error instanceof Error ? error.message : String(error) });
    }
  }
  return { found, unseen };
}

/** Asked again before each deletion. True: its owner is gone, or is another object of the same name. */
export async function isStillOrphan(hub: Hub, engine: EngineDefinition, orphan: Orphan): Promise<boolean> {
  const { resource: of, object, where } = orphan;
  if (of.kind === LEDGERS.kind) return isGone(hub, ledgerOwnerOf(object));
  if (of.kind === OVERRIDE_POLICIES.kind) return isHoldToDelete(hub, object);
  const copied = of.kind === REVISIONS.kind ? copyOwnerOf(object) : undefined;
  if (copied) return isGone(hub, copied);
  if (of.kind === REVISIONS.kind) return !(await livingIds(hub)).has(object.metadata.labels?.[HUB_MARKS.owner] ?? "");
  const mark = attemptOwner(object);
  if (mark === undefined || (await livingJobs(hub)).has(mark)) return false;
  const { items } = await hub.client.listAll(engine.dispatches, {
    namespace: engine.dispatchNamespace(where),
    labelSelector: DISPATCH_MARKS.app,
    ...hub.request,
  });
  return startedBy(object, items) === undefined;
}

async function orphanLedgers(hub: Hub, namespace: string): Promise<Orphan[]> {
  const { items } = await hub.client.listAll(LEDGERS, { namespace, ...hub.request });
  const found: Orphan[] = [];
  for (const object of items) {
    const owner = ledgerOwnerOf(object);
    if (!owner || !(await isGone(hub, owner))) continue;
    found.push({ where: "hub", resource: LEDGERS, object, why: `${title(owner)} is gone` });
  }
  return found;
}

function ledgerOwnerOf({ spec }: KubeObject): Named | undefined {
  const owner = isJsonObject(spec) ? spec.owner : undefined;
  if (!isJsonObject(owner)) return undefined;
  const { kind = CROSS_CLUSTER_STATEFULSET.kind, namespace, name, uid } = owner;
  if ([kind, namespace, name, uid].some((each) => typeof each !== "string")) return undefined;
  return { kind: String(kind), namespace: String(namespace), name: String(name), uid: String(uid) };
}

async function orphanRevisions(hub: Hub, namespace: string): Promise<Orphan[]> {
  const labelSelector = HUB_MARKS.owner;
  const { items } = await hub.client.listAll(REVISIONS, { namespace, labelSelector, ...hub.request });
  if (items.length === 0) return [];
  const living = await livingIds(hub);
  return items
    .filter(({ metadata }) => !living.has(metadata.labels?.[HUB_MARKS.owner] ?? ""))
    .map((object) => ({ where: "hub", resource: REVISIONS, object, why: "no object on the hub has this revision" }));
}

/** Of every object that may have revisions. Throws if this user may not list one of the kinds: then nothing is known. */
async function livingIds(hub: Hub): Promise<Set<string>> {
  const objects = await Promise.all([CROSS_CLUSTER_STATEFULSET, DISTRIBUTED_APPLICATION].map((each) => all(hub, each)));
  return new Set(objects.flat().map((object) => ownerId(ownerOf(object))));
}

/** Readable copies in tenants' namespaces, which the hub's garbage collector should have deleted with their owner. */
async function orphanCopies(hub: Hub, systemNamespace: string): Promise<Orphan[]> {
  const { items } = await hub.client.listAll(REVISIONS, { labelSelector: HUB_MARKS.owner, ...hub.request });
  const found: Orphan[] = [];
  for (const object of items.filter(({ metadata }) => metadata.namespace !== systemNamespace)) {
    const owner = copyOwnerOf(object);
    if (!owner || !(await isGone(hub, owner))) continue;
    found.push({ where: "hub", resource: REVISIONS, object, why: `${title(owner)} is gone` });
  }
  return found;
}

/** Undefined for any other ControllerRevision: only Lockstep's label names exactly the life that the reference names. */
function copyOwnerOf({ metadata }: KubeObject): (Named & { readonly uid: string }) | undefined {
  const { namespace = "", labels, ownerReferences } = metadata;
  const owner: unknown = Array.isArray(ownerReferences) ? ownerReferences[0] : undefined;
  if (!isJsonObject(owner)) return undefined;
  const { kind, name, uid } = owner;
  if (typeof kind !== "string" || typeof name !== "string" || typeof uid !== "string") return undefined;
  return labels?.[HUB_MARKS.owner] === ownerId({ namespace, name, uid }) ? { kind, namespace, name, uid } : undefined;
}

async function orphanDispatches(
  hub: Hub,
  { dispatches: of }: EngineDefinition,
  dispatches: readonly KubeObject[],
): Promise<Orphan[]> {
  const found: Orphan[] = [];
  for (const object of dispatches) {
    const owner = dispatchOwner(object.metadata.annotations ?? {});
    if (owner.name === "" || !(await isGone(hub, owner))) continue;
    const kept = "deleting it would delete what it delivered: look at that first";
    found.push({ where: "hub", resource: of, object, why: `${title(owner)} is gone`, kept });
  }
  return found;
}

/**
 * Only work of a CrossClusterJob belongs to one life of it: a CrossClusterStatefulset or DistributedApplication that is
 * created again takes up what runs, so any life of it counts.
 */
function dispatchOwner(marks: Readonly<Record<string, string>>): Named {
  const kind = marks[DISPATCH_MARKS.appKind] ?? CROSS_CLUSTER_STATEFULSET.kind;
  const uid = kind === CROSS_CLUSTER_JOB.kind ? marks[`${DISPATCH_MARKS.note}life`] : undefined;
  return {
    kind,
    namespace: marks[DISPATCH_MARKS.appNamespace] ?? "",
    name: marks[DISPATCH_MARKS.appName] ?? "",
    ...(uid !== undefined && { uid }),
  };
}

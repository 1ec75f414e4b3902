import type { Cache, KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { appMark, isManifest, manifestsOf, refKey, refOf, workName } from "../dispatch-objects.ts";
import { MARKS } from "../marks.ts";
import type { EngineApp, HoldState, ObjectRef } from "../port.ts";
import { MANIFEST_WORKS, REPLICA_SET_LABEL } from "./resources.ts";
import { configsOf, isReserved, policyOf } from "./works.ts";

export interface ForeignWorksOptions {
  /** ManifestWorks without our label, as outlines; found by the index `delivers`. */
  readonly unlabelled: Cache<KubeObject>;
  /** ManifestWorks with our label, including those of other applications. */
  readonly labelled: Cache<KubeObject>;
  /** Whether a namespace is a cluster's: no agent applies what is in another one. */
  readonly isCluster: (namespace: string) => boolean;
}

/**
 * ManifestWorks of other writers that deliver an object that we manage. If ours delivers it too, the last writer wins,
 * and the object is deleted with its last owner; so nothing may be granted while one exists. If ours does not deliver
 * it yet, it can be adopted.
 */
export class ForeignWorks {
  readonly #options: ForeignWorksOptions;

  constructor(options: ForeignWorksOptions) {
    this.#options = options;
  }

  state(app: EngineApp): HoldState {
    const found = this.#delivering(app);
    const adoptable = found.filter((work) => !this.#isDispatched(app, work) && isAdoptable(work));
    const rivals = found.filter((work) => !adoptable.includes(work));
    if (rivals.length > 0) return { kind: "unsafe", ...rivalWords(app, rivals) };
    const clusters = [...new Set(adoptable.map(({ metadata }) => metadata.namespace ?? ""))];
    return clusters.length > 0 ? { kind: "adopting", clusters } : { kind: "held" };
  }

  /** Those that deliver the application's object to this cluster, as far as this process has seen. */
  in(app: EngineApp, cluster: string): KubeObject[] {
    return this.#delivering(app).filter(({ metadata }) => metadata.namespace === cluster);
  }

  /** A ManifestWork that is being deleted counts until it is gone, unless we released its object ourselves before. */
  #delivering(app: EngineApp): KubeObject[] {
    const { unlabelled, labelled, isCluster } = this.#options;
    const key = refKey(app.template);
    const mark = appMark(app);
    const own = workName(app, app.template);
    // Ours is the one ManifestWork of this name; any user can write the label.
    const isOwn = ({ metadata }: KubeObject) => metadata.name === own && metadata.labels?.[MARKS.app] === mark;
    const others = labelled.byIndex("delivers", key).filter((work) => !isOwn(work));
    return [...unlabelled.byIndex("delivers", key), ...others].filter(
      ({ metadata }) =>
        isCluster(metadata.namespace ?? "") &&
        (metadata.deletionTimestamp === undefined || metadata.annotations?.[MARKS.adopted] !== "true"),
    );
  }

  #isDispatched(app: EngineApp, { metadata }: KubeObject): boolean {
    const { namespace = "" } = metadata;
    const work = this.#options.labelled.get({ namespace, name: workName(app, app.template) });
    return work !== undefined && !isReserved(work);
  }
}

/** An outline of another writer's ManifestWork: where it is, what it delivers, and its owner. */
export function foreignOutline(work: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, status } = work;
  const manifests = manifestsOf(work).flatMap((manifest) => {
    if (!isManifest(manifest)) return [];
    const { name, namespace = "" } = manifest.metadata;
    return [{ apiVersion: manifest.apiVersion, kind: manifest.kind, metadata: { name, namespace } }];
  });
  const manifestConfigs = configsOf(work).flatMap(({ resourceIdentifier, updateStrategy }) =>
    isJsonObject(resourceIdentifier) && isJsonObject(updateStrategy) ? [{ resourceIdentifier, updateStrategy }] : [],
  );
  const conditions = isJsonObject(status) && Array.isArray(status.conditions) ? status.conditions : [];
  return {
    apiVersion,
    kind,
    metadata,
    spec: { deleteOption: { propagationPolicy: policyOf(work) }, workload: { manifests }, manifestConfigs },
    status: { conditions },
  };
}

/** What a ManifestWork writes into the member, without what it only observes. */
export function deliveredBy(work: KubeObject): ObjectRef[] {
  const observed = configsOf(work).filter(
    ({ updateStrategy }) => isJsonObject(updateStrategy) && updateStrategy.type === "ReadOnly",
  );
  return manifestsOf(work)
    .filter(isManifest)
    .map(refOf)
    .filter((ref) => !observed.some(({ resourceIdentifier }) => isIdentifierOf(resourceIdentifier, ref)));
}

/** A plural starts like its kind, except for its end: `policies`, `ingresses`. */
function isIdentifierOf(identifier: unknown, { apiVersion, kind, namespace, name }: ObjectRef): boolean {
  if (!isJsonObject(identifier)) return false;
  const { group = "", resource = "", namespace: place = "" }: JsonObject = identifier;
  const ownGroup = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  const isKind = String(resource).startsWith(kind.toLowerCase().slice(0, -1));
  return isKind && group === ownGroup && place === namespace && identifier.name === name;
}

/** No controller recreates it, and it does not belong to another Lockstep application. */
function isAdoptable(work: KubeObject): boolean {
  return isAlone(work) && !isGenerated(work) && work.metadata.labels?.[MARKS.app] === undefined;
}

/** Releasing it releases nothing else. */
function isAlone(work: KubeObject): boolean {
  return deliveredBy(work).length === 1;
}

function isGenerated({ metadata }: KubeObject): boolean {
  return metadata.labels?.[REPLICA_SET_LABEL] !== undefined;
}

/** This many are named; the others need the same commands. */
const NAMED_RIVALS = 3;

function rivalWords(
  { template }: EngineApp,
  rivals: readonly KubeObject[],
): { readonly message: string; readonly remedy: string } {
  const what = `${template.kind} ${template.namespace}/${template.name}`;
  const named = rivals.slice(0, NAMED_RIVALS).map(({ metadata }) => {
    const set = metadata.labels?.[REPLICA_SET_LABEL];
    const maker = set === undefined ? "" : `, made by ManifestWorkReplicaSet ${set}`;
    return `${MANIFEST_WORKS.kind} ${metadata.namespace}/${metadata.name} (cluster ${metadata.namespace}${maker})`;
  });
  const more = rivals.length > named.length ? ` and ${rivals.length - named.length} more` : "";
  const message = `${what} is also delivered by ${named.join(", ")}${more}, without a grant; Lockstep grants nothing until only Lockstep delivers it`;
  return { message, remedy: remedyFor(rivals[0]) };
}

function remedyFor(rival: KubeObject | undefined): string {
  if (!rival) return "";
  const { name, namespace } = rival.metadata;
  const keep =
    `kubectl patch manifestwork ${name} -n ${namespace} --type merge ` +
    `-p '{"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}'`;
  if (isGenerated(rival)) {
    return `remove the object from the ManifestWorkReplicaSet ${rival.metadata.labels?.[REPLICA_SET_LABEL]}, with propagationPolicy Orphan first, so that it stays in the clusters`;
  }
  if (!isAlone(rival)) {
    return `move the object into a separate ManifestWork: first ${keep}, wait until its condition Applied has observed that, then remove the object from its manifests`;
  }
  return `delete each such ManifestWork and keep what it delivered: ${keep}, wait until its condition Applied has observed that, then kubectl delete manifestwork ${name} -n ${namespace}`;
}

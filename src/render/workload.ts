import { ANNOTATIONS, CONTRACT_PREFIX, SEED_ANNOTATIONS, seedReplicas } from "../contract/index.ts";
import type { AppIdentity, Grant, TopologyView, VolumeRetention } from "../plan/index.ts";
import { clone, escapePointer, isJsonObject, type Json, type JsonObject, valueAt } from "../runtime/index.ts";
import { RenderInputError } from "./errors.ts";
import { ensureObject, kindAndName, objectAt, stringMapAt } from "./json.ts";
import { annotationsRoom } from "./limits.ts";
import { type ToldTopology, tellTopology } from "./topology-told.ts";

/**
 * What writes the count into the workload. `native`: this room, for the kinds that it knows and for `spec.replicas`.
 * `revise`: a pure function (Lua). `revised`: already written elsewhere (by a webhook), for exactly this grant.
 */
export type ReplicaSource =
  | { kind: "native" }
  | { kind: "revise"; revise: Revise }
  | { kind: "revised"; object: JsonObject };

export interface Retention {
  readonly whenScaled: VolumeRetention;
  readonly whenDeleted: VolumeRetention;
}

/** The settings of the CrossClusterStatefulset's spec that each member's StatefulSet must follow. */
export interface MemberSettings {
  /** Its volumes; absent: as in the template. */
  readonly retention?: Retention;
  /** Absent: Serial. */
  readonly memberConcurrency?: "Serial" | "Parallel";
}

export interface RevisionStamps {
  readonly restart?: string;
  readonly dependencyDigest?: string;
}

/** The inputs of the member contract. */
export interface ContractSource {
  readonly app: AppIdentity;
  readonly grant: Grant;
  readonly topology: TopologyView;
  readonly initialCluster: string;
  readonly restart?: string;
  /** The maximum size of the topology as an annotation; absent: the contract's limit. */
  readonly topologyInlineBytes?: number;
}

/** The workload as granted, and its paths that belong to the grant: no override may change them. */
export interface GrantedWorkload {
  readonly object: JsonObject;
  readonly grantPaths: string[];
}

/** Marks that make pods restart for a reason that their spec does not show. */
export const RESTART_ANNOTATION = `${CONTRACT_PREFIX}restarted-at`;
export const DEPENDENCIES_ANNOTATION = `${CONTRACT_PREFIX}dependencies`;

const POD_TEMPLATE_KINDS = new Set(["apps/v1/StatefulSet", "apps/v1/Deployment", "apps/v1/ReplicaSet"]);

export function isStatefulSet(object: JsonObject): boolean {
  return object.apiVersion === "apps/v1" && object.kind === "StatefulSet";
}

/** Kubernetes' own kinds restart their pods if and only if the pod template changes. */
export function restartsOnPodTemplate(object: JsonObject): boolean {
  return POD_TEMPLATE_KINDS.has(`${object.apiVersion}/${object.kind}`);
}

/** Writes the grant's numbers into the spec. */
export function grantWorkload(
  template: JsonObject,
  grant: Grant,
  source: ReplicaSource,
  settings: MemberSettings = {},
): GrantedWorkload {
  const { object, grantPaths } = withReplicas(template, grant.replicas, source);
  if (!isStatefulSet(object)) return { object, grantPaths };
  return { object, grantPaths: [...grantPaths, ...grantStatefulSet(object, grant, settings)] };
}

/** The count in every revision's template, so that scaling does not make a revision. It is never sent to a member. */
export const NEUTRAL_REPLICAS = 1;

/** `lenient` leaves a kind unchanged if the field of its count is unknown. */
export function withReplicas(
  template: JsonObject,
  replicas: number,
  source: ReplicaSource,
  unknownPlace: "refuse" | "lenient" = "refuse",
): GrantedWorkload {
  switch (source.kind) {
    case "native":
      return withNativeReplicas(clone(template), replicas, unknownPlace);
    case "revised":
      return { object: clone(source.object), grantPaths: differences(template, source.object) };
    case "revise": {
      const object = revised(source.revise, template, replicas);
      // The fields that the next count would change are the fields of the count.
      return { object, grantPaths: differences(object, revised(source.revise, template, replicas + 1)) };
    }
  }
}

type Revise = (object: JsonObject, replicas: number) => JsonObject;

function revised(revise: Revise, template: JsonObject, replicas: number): JsonObject {
  try {
    return revise(clone(template), replicas);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RenderInputError(
      `${kindAndName(template)}: ReviseReplica to ${replicas} failed (${reason}); correct the interpretation of this kind`,
    );
  }
}

function withNativeReplicas(object: JsonObject, replicas: number, unknownPlace: "refuse" | "lenient"): GrantedWorkload {
  const field = `${object.apiVersion}/${object.kind}` === "batch/v1/Job" ? "parallelism" : "replicas";
  const spec = objectAt(object, "spec") ?? {};
  // A kind with its count in another field would drop an unknown field silently and never scale.
  if (!restartsOnPodTemplate(object) && typeof spec[field] !== "number") {
    if (unknownPlace === "lenient") return { object, grantPaths: [] };
    throw new RenderInputError(
      `${kindAndName(object)}: spec.${field} is not a number, so the field of its count is unknown; ` +
        "set it in the template, or add a ReviseReplica interpretation for this kind",
    );
  }
  ensureObject(object, "spec")[field] = replicas;
  return { object, grantPaths: [`/spec/${field}`] };
}

/** Omits fields that would be written as the default anyway: adopting a StatefulSet must not change its generation. */
function grantStatefulSet(object: JsonObject, grant: Grant, settings: MemberSettings): string[] {
  const { retention, memberConcurrency = "Serial" } = settings;
  const spec = ensureObject(object, "spec");
  if (grant.start !== 0 || objectAt(spec, "ordinals")) ensureObject(spec, "ordinals").start = grant.start;
  const strategy = ensureObject(spec, "updateStrategy");
  if (grant.onDelete) {
    strategy.type = "OnDelete";
    delete strategy.rollingUpdate;
  } else {
    strategy.type = "RollingUpdate";
    // Relative to ordinals.start, and so the member's own share.
    const rolling = ensureObject(strategy, "rollingUpdate");
    rolling.partition = grant.partition;
    // Its own budget counts one cluster's pods; if one at a time is promised, a larger budget would break that promise.
    if (memberConcurrency === "Serial" && rolling.maxUnavailable !== 1) delete rolling.maxUnavailable;
  }
  const keepsAll = retention?.whenScaled === "Retain" && retention.whenDeleted === "Retain";
  if (retention && (!keepsAll || objectAt(spec, "persistentVolumeClaimRetentionPolicy"))) {
    spec.persistentVolumeClaimRetentionPolicy = {
      whenScaled: retention.whenScaled,
      whenDeleted: retention.whenDeleted,
    };
  }
  return [
    "/spec/ordinals/start",
    "/spec/updateStrategy/type",
    "/spec/updateStrategy/rollingUpdate/partition",
    ...(memberConcurrency === "Serial" ? ["/spec/updateStrategy/rollingUpdate/maxUnavailable"] : []),
    ...(retention ? ["/spec/persistentVolumeClaimRetentionPolicy"] : []),
  ];
}

/** The revision's own marks: on the pod template of Kubernetes' kinds, where they restart pods. */
export function stampPodTemplate(object: JsonObject, { restart, dependencyDigest }: RevisionStamps): JsonObject {
  const result = clone(object);
  if (!restartsOnPodTemplate(result)) return result;
  const stamp = (key: string, value: string) => {
    ensureObject(result, "spec", "template", "metadata", "annotations")[key] = value;
  };
  if (restart !== undefined) stamp(RESTART_ANNOTATION, restart);
  if (dependencyDigest !== undefined) stamp(DEPENDENCIES_ANNOTATION, dependencyDigest);
  return result;
}

/**
 * Adds the member contract, after everything else and replacing keys of the same name, so that one write contains spec
 * and annotations. The ConfigMaps that the topology refers to must exist before the object.
 */
export function stampContract(
  object: JsonObject,
  source: ContractSource,
): { readonly object: JsonObject; readonly told: ToldTopology } {
  const result = clone(object);
  const metadata = ensureObject(result, "metadata");
  const others = { ...stringMapAt(result, "metadata", "annotations"), ...contractAnnotations(source) };
  for (const key of TOLD_ANNOTATIONS) others[key] = "";
  const told = tellTopology(source.app, source.topology, source.initialCluster, {
    annotationsBytes: annotationsRoom(others),
    ...(source.topologyInlineBytes !== undefined && { inlineMaxBytes: source.topologyInlineBytes }),
  });
  metadata.annotations = {
    ...others,
    [ANNOTATIONS.topology]: told.topology,
    // Always set, like a request to the leader: an empty value overwrites an old reference.
    [ANNOTATIONS.topologyRef]: told.ref,
    [ANNOTATIONS.initialCluster]: told.initialCluster,
  };
  metadata.labels = { ...stringMapAt(result, "metadata", "labels"), [ANNOTATIONS.epoch]: String(source.grant.epoch) };
  return { object: result, told };
}

/** The values that grow with the number of instances, and so may have to be stored elsewhere. */
const TOLD_ANNOTATIONS = [ANNOTATIONS.topology, ANNOTATIONS.topologyRef, ANNOTATIONS.initialCluster];

function contractAnnotations({ app, grant, topology, restart }: ContractSource): Record<string, string> {
  const processor = String(grant.processor);
  const annotations: Record<string, string> = {
    [ANNOTATIONS.cluster]: grant.cluster,
    [ANNOTATIONS.topologyVersion]: String(topology.version),
    [ANNOTATIONS.processor]: processor,
    [ANNOTATIONS.revision]: grant.revision,
    [ANNOTATIONS.epoch]: String(grant.epoch),
    [ANNOTATIONS.partition]: String(grant.partition),
    // Always set: Karmada never removes an annotation, so a request that has ended must be overwritten.
    [ANNOTATIONS.transferLeaderTo]: grant.transferLeaderTo ?? "",
    [ANNOTATIONS.initialClusterState]: grant.initialClusterState,
    [ANNOTATIONS.clusterToken]: app.clusterToken,
    [SEED_ANNOTATIONS.replicas]: JSON.stringify(seedReplicas(topology.clusters, grant.cluster)),
    [SEED_ANNOTATIONS.processer]: processor,
  };
  if (restart !== undefined) annotations[RESTART_ANNOTATION] = restart;
  return annotations;
}

/**
 * The paths at which a rendered workload differs from the existing one, apart from metadata: none, if writing it moves
 * no instance. An adoption must find no difference, including count, partition and update strategy.
 */
export function workloadDifferences(current: JsonObject, rendered: JsonObject): string[] {
  const content = ({ metadata: _metadata, status: _status, ...rest }: JsonObject): JsonObject => rest;
  return differences(content(current), content(rendered));
}

/** The pointers of the leaves in which two values differ; null counts as absent. */
function differences(a: Json | undefined, b: Json | undefined, path = ""): string[] {
  if ((a ?? null) === null && (b ?? null) === null) return [];
  if (isJsonObject(a) && isJsonObject(b)) {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
    return keys.flatMap((key) => differences(valueAt(a, key), valueAt(b, key), `${path}/${escapePointer(key)}`));
  }
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
    return a.flatMap((entry, index) => differences(entry, b[index], `${path}/${index}`));
  }
  return JSON.stringify(a) === JSON.stringify(b) ? [] : [path];
}

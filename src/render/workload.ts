import { ANNOTATIONS, CONTRACT_PREFIX, SEED_ANNOTATIONS, seedReplicas } from "../contract/index.ts";
import type { AppIdentity, Grant, TopologyView, VolumeRetention } from "../plan/index.ts";
import { clone, isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import { RenderInputError } from "./errors.ts";
import { ensureObject, kindAndName, objectAt, stringMapAt, valueAt } from "./json.ts";
import { escapePointer } from "./json-patch.ts";
import { topologyText } from "./topology-files.ts";

/**
 * Who writes the count into the workload. `native`: this room, for the kinds it knows and for `spec.replicas`.
 * `revise`: a pure function (Lua). `revised`: already done elsewhere (a webhook), for exactly this grant.
 */
export type ReplicaSource =
  | { kind: "native" }
  | { kind: "revise"; revise: Revise }
  | { kind: "revised"; object: JsonObject };

export interface Retention {
  whenScaled: VolumeRetention;
  whenDeleted: VolumeRetention;
}

/** What of the CrossClusterStatefulset's spec each member's StatefulSet has to follow. */
export interface MemberSettings {
  /** Its volumes; absent: as the template says. */
  readonly retention?: Retention;
  /** Absent: Serial. */
  readonly memberConcurrency?: "Serial" | "Parallel";
}

export interface RevisionStamps {
  readonly restart?: string;
  readonly dependencyDigest?: string;
}

/** What the member contract is made of. */
export interface ContractSource {
  readonly app: AppIdentity;
  readonly grant: Grant;
  readonly topology: TopologyView;
  readonly initialCluster: string;
  readonly restart?: string;
}

/** The workload as granted, and the paths of it that belong to the grant: no override may change them. */
export interface GrantedWorkload {
  object: JsonObject;
  grantPaths: string[];
}

/** Marks that make pods restart for a reason their spec does not show. */
export const RESTART_ANNOTATION = `${CONTRACT_PREFIX}restarted-at`;
export const DEPENDENCIES_ANNOTATION = `${CONTRACT_PREFIX}dependencies`;

const POD_TEMPLATE_KINDS = new Set(["apps/v1/StatefulSet", "apps/v1/Deployment", "apps/v1/ReplicaSet"]);

export function isStatefulSet(object: JsonObject): boolean {
  return object.apiVersion === "apps/v1" && object.kind === "StatefulSet";
}

/** Kubernetes' own kinds restart their pods when, and only when, the pod template changes. */
export function restartsOnPodTemplate(object: JsonObject): boolean {
  return POD_TEMPLATE_KINDS.has(`${object.apiVersion}/${object.kind}`);
}

/** Writes the grant's figures into the spec. */
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

/** The count that every revision's template has, so that scaling is not a revision. It is never sent to a member. */
export const NEUTRAL_REPLICAS = 1;

/** `lenient` leaves a kind as it is when nobody knows where its count belongs. */
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
      // What the next count would change is what holds the count.
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
  // A kind that keeps its count elsewhere would drop an unknown field silently and never scale.
  if (!restartsOnPodTemplate(object) && typeof spec[field] !== "number") {
    if (unknownPlace === "lenient") return { object, grantPaths: [] };
    throw new RenderInputError(
      `${kindAndName(object)}: spec.${field} is not a number, so nobody knows where its count belongs; ` +
        "set it in the template, or add a ReviseReplica interpretation for this kind",
    );
  }
  ensureObject(object, "spec")[field] = replicas;
  return { object, grantPaths: [`/spec/${field}`] };
}

/** Leaves out what would be written as the default anyway: adopting a StatefulSet must not move its generation. */
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
    // Relative to ordinals.start, and so the member's own share as it is.
    const rolling = ensureObject(strategy, "rollingUpdate");
    rolling.partition = grant.partition;
    // Its own budget counts one cluster's pods; where one at a time is promised, a larger one would break that promise.
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
 * Adds the member contract, last of all and over anything of the same name, so that spec and annotations travel in
 * one write.
 */
export function stampContract(object: JsonObject, source: ContractSource): JsonObject {
  const result = clone(object);
  const metadata = ensureObject(result, "metadata");
  metadata.annotations = { ...stringMapAt(result, "metadata", "annotations"), ...contractAnnotations(source) };
  metadata.labels = { ...stringMapAt(result, "metadata", "labels"), [ANNOTATIONS.epoch]: String(source.grant.epoch) };
  return result;
}

function contractAnnotations(source: ContractSource): Record<string, string> {
  const { app, grant, topology, initialCluster, restart } = source;
  const processor = String(grant.processor);
  const annotations: Record<string, string> = {
    [ANNOTATIONS.cluster]: grant.cluster,
    [ANNOTATIONS.topology]: topologyText(topology),
    [ANNOTATIONS.topologyVersion]: String(topology.version),
    [ANNOTATIONS.processor]: processor,
    [ANNOTATIONS.revision]: grant.revision,
    [ANNOTATIONS.epoch]: String(grant.epoch),
    [ANNOTATIONS.partition]: String(grant.partition),
    [ANNOTATIONS.initialCluster]: initialCluster,
    // Always there: Karmada never takes an annotation away again, so a request that is over must be overwritten.
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
 * Where a rendered workload says something else than the one that is there, apart from metadata: nothing, when writing
 * it moves no instance. An adoption must find it empty, count, partition and update strategy included.
 */
export function workloadDifferences(current: JsonObject, rendered: JsonObject): string[] {
  const content = ({ metadata: _metadata, status: _status, ...rest }: JsonObject): JsonObject => rest;
  return differences(content(current), content(rendered));
}

/** The pointers of the leaves in which two values differ; null is as good as absent. */
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

import { ANNOTATIONS, SEED_ANNOTATIONS } from "../../contract/index.ts";
import { type KubeObject, type ObjectMeta, type Patch, unwantedKeys } from "../../kube/index.ts";
import { isJsonObject, type Json, type JsonObject, valueAt, type Writable } from "../../runtime/index.ts";
import {
  appMark,
  carriedBy,
  conditionsOf,
  isManifest,
  manifestOf,
  notesOf,
  orderAnnotations,
  refOf,
  reservationAnnotations,
  reservedRef,
  termOf,
  workName,
} from "../dispatch-objects.ts";
import { MARKS } from "../marks.ts";
import type { Claim, Dispatched, DispatchOrder, EngineOwner, ObjectRef } from "../port.ts";
import {
  clusterOfNamespace,
  EXECUTION_FINALIZER,
  executionNamespace,
  KARMADA_MANAGED,
  PROTECTION,
} from "./resources.ts";

const WORK_NAME = "work.karmada.io/name";
const WORK_NAMESPACE = "work.karmada.io/namespace";
const JOB_UID_LABEL = "batch.kubernetes.io/controller-uid";
const ONLY_FOR_UID = "lockstep.karmada.io/only-for-uid";

/** The Work that carries out an order; `previous` keeps what other writers have set on it. */
export function workFor(app: EngineOwner, order: DispatchOrder, previous: KubeObject | undefined): KubeObject {
  const ref = refOf(order.manifest);
  const namespace = executionNamespace(order.cluster);
  const name = workName(app, ref);
  const annotations = orderAnnotations(app, order, previous);
  return {
    apiVersion: "work.karmada.io/v1alpha1",
    kind: "Work",
    metadata: {
      ...previous?.metadata,
      name,
      namespace,
      labels: { ...previous?.metadata.labels, ...PROTECTION, [MARKS.app]: appMark(app) },
      annotations,
      finalizers: withFinalizer(previous?.metadata.finalizers),
    },
    spec: {
      // If any user deletes this Work, the member's object stays; only the last step of a drain removes this setting.
      preserveResourcesOnDeletion: true,
      workload: { manifests: [memberManifest(order, namespace, name, annotations[MARKS.takesOver] === "true")] },
    },
  };
}

/** A Work that reserves the place of the next dispatch, and delivers nothing. */
export function reservationFor(app: EngineOwner, ref: ObjectRef, claim: Claim): KubeObject {
  return {
    apiVersion: "work.karmada.io/v1alpha1",
    kind: "Work",
    metadata: {
      name: workName(app, ref),
      namespace: executionNamespace(claim.cluster),
      labels: { [MARKS.app]: appMark(app) },
      annotations: reservationAnnotations(app, ref, claim),
    },
    spec: { preserveResourcesOnDeletion: true, workload: { manifests: [] } },
  };
}

/** The manifest with the marks by which Karmada's execution controller knows its Work. */
function memberManifest(order: DispatchOrder, workNamespace: string, name: string, takesOver: boolean): JsonObject {
  const { metadata } = order.manifest;
  return {
    ...pinned(order.manifest),
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [KARMADA_MANAGED]: "true" },
      annotations: {
        ...metadata.annotations,
        [WORK_NAME]: name,
        [WORK_NAMESPACE]: workNamespace,
        ...(takesOver && { "work.karmada.io/conflict-resolution": "overwrite" }),
      },
    },
  };
}

/**
 * A Job that carries the uid of the only object that it may reach, in its pods' labels, keeps that from Karmada, whose
 * webhook removes those labels. So the uid goes into the selector as well: an API server refuses to create a Job with a
 * selector that is not its own, and Karmada puts the existing Job's in its place when it updates one.
 */
function pinned(manifest: KubeObject): KubeObject {
  const uid = valueAt(manifest.spec, "template", "metadata", "labels", JOB_UID_LABEL);
  if (manifest.apiVersion !== "batch/v1" || manifest.kind !== "Job" || typeof uid !== "string") return manifest;
  const spec = isJsonObject(manifest.spec) ? manifest.spec : {};
  return { ...manifest, spec: { ...spec, selector: { matchLabels: { [ONLY_FOR_UID]: uid } } } };
}

/** Longer annotations of a manifest (the topology, lists of members) are only for the member to read. */
const SHORT_ANNOTATION_CHARS = 64;
/**
 * Longer notes of a StatefulSet's Work (its grant, its revisions) are for a leader that has lost its ledger; it reads
 * them from the hub. That there is such a note is all that is read otherwise.
 */
const SHORT_NOTE_CHARS = 128;

/** Texts that an outline does not keep, and that are most of a Work. */
export const UNWANTED_OF_WORKS = unwantedKeys([
  ANNOTATIONS.topology,
  ANNOTATIONS.initialCluster,
  SEED_ANNOTATIONS.replicas,
  // Of the ConfigMap that every member gets.
  "topology.json",
]);

/**
 * What is kept in memory of a Work: only the fields that are read often. The manifest keeps its name and short
 * annotations. If Karmada reflects a status with it, the outline also keeps the manifest's text, for a member that
 * cannot be read directly. An outline is never written back.
 */
export function outlineOf(work: KubeObject, shared: (value: string) => string = asItIs): KubeObject {
  const { apiVersion, kind } = work;
  const manifest = manifestOf(work);
  if (!manifest) return work;
  const annotations = shortAnnotations(manifest, shared);
  const { name, namespace = "" } = manifest.metadata;
  const head = {
    apiVersion: shared(manifest.apiVersion),
    kind: shared(manifest.kind),
    metadata: { name: shared(name), namespace: shared(namespace), annotations },
  };
  // Ours carry one manifest. Manifests that another writer added are kept by name, so that they are found.
  const added = carriedBy(work)
    .slice(1)
    .map((ref) => ({
      apiVersion: ref.apiVersion,
      kind: ref.kind,
      metadata: { name: ref.name, namespace: ref.namespace },
    }));
  const status = reflectedStatus(work);
  // Kubernetes' own supporting kinds (ConfigMaps, Services) are never read.
  const isReflected = status !== undefined && manifest.apiVersion !== "v1";
  const spec: JsonObject = {
    preserveResourcesOnDeletion: keepsObject(work),
    workload: { manifests: [head, ...added] },
  };
  const told: JsonObject = { conditions: appliedConditions(work, shared) };
  if (isReflected) {
    spec.text = JSON.stringify({ ...manifest, metadata: { ...manifest.metadata, annotations } });
    told.manifestStatuses = [{ status }];
  }
  return { apiVersion: shared(apiVersion), kind, metadata: outlineMetadata(work, shared), spec, status: told };
}

function asItIs(value: string): string {
  return value;
}

/** Without the two by which Karmada finds the Work of an object: they repeat the Work's name. */
function shortAnnotations({ metadata }: KubeObject, shared: (value: string) => string): Record<string, string> {
  const short: Record<string, string> = {};
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    if (value.length <= SHORT_ANNOTATION_CHARS && key !== WORK_NAME && key !== WORK_NAMESPACE)
      short[key] = shared(value);
  }
  return short;
}

/** Everything that a later write has to keep. */
function outlineMetadata({ metadata }: KubeObject, shared: (value: string) => string): ObjectMeta {
  const { annotations = {}, labels, finalizers, namespace, creationTimestamp } = metadata;
  const isStatefulset = annotations[MARKS.appKind] === undefined;
  const kept: Record<string, string> = {};
  for (const [key, value] of Object.entries(annotations)) {
    const isLongNote = isStatefulset && value.length > SHORT_NOTE_CHARS && key.startsWith(MARKS.note);
    kept[key] = isLongNote ? "" : shared(value);
  }
  const outline: Writable<ObjectMeta> = { ...metadata, annotations: kept };
  if (namespace !== undefined) outline.namespace = shared(namespace);
  if (typeof creationTimestamp === "string") outline.creationTimestamp = shared(creationTimestamp);
  if (labels) outline.labels = mapped(labels, shared);
  if (Array.isArray(finalizers)) {
    outline.finalizers = finalizers.map((each) => (typeof each === "string" ? shared(each) : each));
  }
  return outline;
}

function appliedConditions(work: KubeObject, shared: (value: string) => string): JsonObject[] {
  const applied = conditionsOf(work).filter(({ type }) => type === "Applied");
  return applied.map((condition) => mapped(condition, (value) => (typeof value === "string" ? shared(value) : value)));
}

function mapped<Value>(values: Readonly<Record<string, Value>>, by: (value: Value) => Value): Record<string, Value> {
  const result: Record<string, Value> = {};
  for (const [key, value] of Object.entries(values)) result[key] = by(value);
  return result;
}

/** The whole manifest of a Work, or of an outline that kept its text. */
export function wholeManifestOf(work: KubeObject): KubeObject | undefined {
  const text = isJsonObject(work.spec) ? work.spec.text : undefined;
  const manifest: unknown = typeof text === "string" ? JSON.parse(text) : manifestOf(work);
  return isManifest(manifest) ? manifest : undefined;
}

/** Reads a Work of ours; undefined for any other, and for one of ours that another writer has emptied. */
export function readWork(work: KubeObject): Dispatched | undefined {
  const { metadata } = work;
  const cluster = clusterOfNamespace(metadata.namespace ?? "");
  const annotations = metadata.annotations ?? {};
  const manifest = manifestOf(work);
  const ref = manifest ? refOf(manifest) : reservedRef(annotations[MARKS.reserved]);
  if (cluster === undefined || annotations[MARKS.appName] === undefined || ref === undefined) return undefined;
  return {
    cluster,
    ref,
    manifest: manifest ?? {},
    notes: notesOf(annotations),
    term: termOf(work),
    version: versionOf(work),
    uid: metadata.uid ?? "",
    deleting: metadata.deletionTimestamp !== undefined,
    keeps: keepsObject(work),
    delivery: deliveryOf(work),
  };
}

export function keepsObject({ spec }: KubeObject): boolean {
  return isJsonObject(spec) && spec.preserveResourcesOnDeletion === true;
}

/** Karmada's status writes change the resourceVersion, but neither the generation nor the term. */
export function versionOf(work: KubeObject): string {
  return `${work.metadata.uid}/${work.metadata.generation}/${termOf(work)}`;
}

/** Lets exactly this version of a Work be deleted, with or without what it has delivered. */
export function freeingPatch({ metadata }: KubeObject, what: "keep" | "remove"): Patch {
  const { resourceVersion = "" } = metadata;
  const labels = Object.fromEntries(Object.keys(PROTECTION).map((key) => [key, null]));
  const spec = { preserveResourcesOnDeletion: what === "keep" };
  return { type: "merge", body: { metadata: { resourceVersion, labels }, spec } };
}

/** Removes all manifests from a Work that is being deleted. */
export function emptyingPatch({ metadata }: KubeObject): Patch {
  const { resourceVersion = "" } = metadata;
  return { type: "merge", body: { metadata: { resourceVersion }, spec: { workload: { manifests: [] } } } };
}

/** The status that Karmada reflected for the Work's one manifest. */
export function reflectedStatus(work: KubeObject): JsonObject | undefined {
  const status = isJsonObject(work.status) ? work.status : {};
  const first = Array.isArray(status.manifestStatuses) ? status.manifestStatuses[0] : undefined;
  return isJsonObject(first) && isJsonObject(first.status) ? first.status : undefined;
}

/** Karmada's message about delivering it, only if it failed: everything else is visible in the member itself. */
export function deliveryFailure(work: KubeObject): string {
  const { state, message } = deliveryOf(work);
  return state === "failed" ? message : "";
}

function deliveryOf(work: KubeObject): Dispatched["delivery"] {
  const applied = conditionsOf(work).find((condition) => condition.type === "Applied");
  if (applied === undefined) return { state: "unknown", message: "" };
  return {
    state: applied.status === "True" ? "delivered" : "failed",
    message: typeof applied.message === "string" ? applied.message : "",
  };
}

/** Marks a Work to take over what it delivers, from its next write on. */
export function takingOverPatch({ metadata }: KubeObject): Patch {
  const { resourceVersion = "" } = metadata;
  return { type: "merge", body: { metadata: { resourceVersion, annotations: { [MARKS.takesOver]: "true" } } } };
}

function withFinalizer(finalizers: Json | undefined): string[] {
  const others = Array.isArray(finalizers) ? finalizers.filter((finalizer) => typeof finalizer === "string") : [];
  return [...new Set([...others, EXECUTION_FINALIZER])];
}

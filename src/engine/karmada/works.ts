import { createHash } from "node:crypto";
import type { KubeObject, Patch } from "../../kube/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import type { Claim, Dispatched, DispatchOrder, EngineApp, ObjectRef } from "../port.ts";
import { clusterOfNamespace, EXECUTION_FINALIZER, executionNamespace, MARKS, PROTECTION } from "./resources.ts";

/** Kubernetes' limit for a name that is also used as a label's value. */
const MAX_NAME_LENGTH = 63;
const HASH_LENGTH = 10;

/** Fits into a label, and is the same for the same application in every process. */
export function appMark(app: { namespace: string; name: string }): string {
  return hash(`${app.namespace}/${app.name}`);
}

/** One Work holds one manifest: Karmada merges the statuses of several into one, the last wins. */
export function workName(app: EngineApp, ref: ObjectRef): string {
  const suffix = hash(`${app.namespace}/${app.name}/${ref.apiVersion}/${ref.kind}/${ref.namespace}/${ref.name}`);
  const readable = `${ref.name}-${ref.kind}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-");
  return `${readable.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}-${suffix}`;
}

/** The Work that carries out an order; `previous` keeps what others have written on it. */
export function workFor(app: EngineApp, order: DispatchOrder, previous: KubeObject | undefined): KubeObject {
  const ref = refOf(order.manifest);
  const namespace = executionNamespace(order.cluster);
  const name = workName(app, ref);
  const annotations: Record<string, string> = {};
  for (const [key, value] of Object.entries(previous?.metadata.annotations ?? {})) {
    if (!key.startsWith(MARKS.note) && key !== MARKS.reserved) annotations[key] = value;
  }
  for (const [key, value] of Object.entries(order.notes)) annotations[MARKS.note + key] = value;
  // What was taken over stays so: Karmada's own Work may end later, and takes the mark by which it knows its objects with it.
  const takesOver = order.takeOver === true || previous?.metadata.annotations?.[MARKS.takesOver] === "true";
  annotations[MARKS.appNamespace] = app.namespace;
  annotations[MARKS.appName] = app.name;
  annotations[MARKS.term] = String(order.term);
  if (takesOver) annotations[MARKS.takesOver] = "true";
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
      // Whatever deletes this Work, the member's object stays; only the last step of a drain lifts it.
      preserveResourcesOnDeletion: true,
      workload: { manifests: [memberManifest(order, namespace, name, takesOver)] },
    },
  };
}

/** A Work that holds the place of what is dispatched next, and delivers nothing. */
export function reservationFor(app: EngineApp, ref: ObjectRef, { cluster, term, takeOver }: Claim): KubeObject {
  return {
    apiVersion: "work.karmada.io/v1alpha1",
    kind: "Work",
    metadata: {
      name: workName(app, ref),
      namespace: executionNamespace(cluster),
      labels: { [MARKS.app]: appMark(app) },
      annotations: {
        [MARKS.appNamespace]: app.namespace,
        [MARKS.appName]: app.name,
        [MARKS.term]: String(term),
        [MARKS.reserved]: [ref.apiVersion, ref.kind, ref.namespace, ref.name].join(" "),
        ...(takeOver && { [MARKS.takesOver]: "true" }),
      },
    },
    spec: { preserveResourcesOnDeletion: true, workload: { manifests: [] } },
  };
}

/** Undefined for what somebody has written over: then it is nothing of ours. */
function reservedRef(text = ""): ObjectRef | undefined {
  const [apiVersion, kind, namespace, name] = text.split(" ");
  if (!apiVersion || !kind || namespace === undefined || !name) return undefined;
  return { apiVersion, kind, namespace, name };
}

/** The manifest with the marks by which Karmada's execution controller knows its Work. */
function memberManifest(order: DispatchOrder, workNamespace: string, name: string, takesOver: boolean): JsonObject {
  const { metadata } = order.manifest;
  return {
    ...order.manifest,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, "karmada.io/managed": "true" },
      annotations: {
        ...metadata.annotations,
        "work.karmada.io/name": name,
        "work.karmada.io/namespace": workNamespace,
        ...(takesOver && { "work.karmada.io/conflict-resolution": "overwrite" }),
      },
    },
  };
}

/** Longer annotations of a manifest (the topology, whole lists of members) are for the member to read. */
const SHORT_ANNOTATION_CHARS = 64;

/**
 * What is kept in memory of a Work: all that is read all the time, which is little of it. The manifest keeps its name and
 * short annotations; where Karmada reflects a status beside it, also its text, for a member that cannot be read itself.
 * An outline is never written back.
 */
export function outlineOf(work: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = work;
  const manifest = manifestOf(work);
  if (!manifest) return work;
  const annotations = Object.entries(manifest.metadata.annotations ?? {}).filter(
    ([, value]) => value.length <= SHORT_ANNOTATION_CHARS,
  );
  const { name, namespace = "" } = manifest.metadata;
  const head = {
    apiVersion: manifest.apiVersion,
    kind: manifest.kind,
    metadata: { name, namespace, annotations: Object.fromEntries(annotations) },
  };
  const status = reflectedStatus(work);
  // Kubernetes' own supporting kinds (ConfigMaps, Services) are never looked at.
  const isReflected = status !== undefined && manifest.apiVersion !== "v1";
  const spec: JsonObject = { preserveResourcesOnDeletion: keepsObject(work), workload: { manifests: [head] } };
  const told: JsonObject = { conditions: conditionsOf(work).filter(({ type }) => type === "Applied") };
  if (isReflected) {
    spec.text = JSON.stringify(manifest);
    told.manifestStatuses = [{ status }];
  }
  return { apiVersion, kind, metadata, spec, status: told };
}

/** The whole manifest of a Work, or of an outline that kept its text. */
export function wholeManifestOf(work: KubeObject): KubeObject | undefined {
  const text = isJsonObject(work.spec) ? work.spec.text : undefined;
  const manifest: unknown = typeof text === "string" ? JSON.parse(text) : manifestOf(work);
  return isManifest(manifest) ? manifest : undefined;
}

/** Reads a Work of ours; undefined for anything else, also for one of ours that somebody has emptied. */
export function readWork(work: KubeObject): Dispatched | undefined {
  const { metadata } = work;
  const cluster = clusterOfNamespace(metadata.namespace ?? "");
  const annotations = metadata.annotations ?? {};
  const manifest = manifestOf(work);
  const ref = manifest ? refOf(manifest) : reservedRef(annotations[MARKS.reserved]);
  if (cluster === undefined || annotations[MARKS.appName] === undefined || ref === undefined) return undefined;
  const notes: Record<string, string> = {};
  for (const [key, value] of Object.entries(annotations)) {
    if (key.startsWith(MARKS.note)) notes[key.slice(MARKS.note.length)] = value;
  }
  return {
    cluster,
    ref,
    manifest: manifest ?? {},
    notes,
    term: termOf(work),
    version: versionOf(work),
    uid: metadata.uid ?? "",
    deleting: metadata.deletionTimestamp !== undefined,
    keeps: keepsObject(work),
    delivery: deliveryOf(work),
  };
}

function keepsObject({ spec }: KubeObject): boolean {
  return isJsonObject(spec) && spec.preserveResourcesOnDeletion === true;
}

/** Karmada's status writes move the resourceVersion, but neither the generation nor the term. */
export function versionOf(work: KubeObject): string {
  return `${work.metadata.uid}/${work.metadata.generation}/${termOf(work)}`;
}

/** Whether only the status changed: neither the generation nor anything that people and programs mark an object with. */
export function isStatusOnly(object: KubeObject, previous: KubeObject): boolean {
  const [now, before] = [object.metadata, previous.metadata];
  return (
    now.generation !== undefined &&
    now.generation === before.generation &&
    now.deletionTimestamp === before.deletionTimestamp &&
    JSON.stringify(now.labels) === JSON.stringify(before.labels) &&
    JSON.stringify(now.annotations) === JSON.stringify(before.annotations)
  );
}

/** Writes the term on this very version of a Work, and nothing else. */
export function termPatch({ metadata }: KubeObject, term: number): Patch {
  const { resourceVersion = "" } = metadata;
  return { type: "merge", body: { metadata: { resourceVersion, annotations: { [MARKS.term]: String(term) } } } };
}

/** Lets this very version of a Work be deleted, with or without what it has delivered. */
export function freeingPatch({ metadata }: KubeObject, what: "keep" | "remove"): Patch {
  const { resourceVersion = "" } = metadata;
  const labels = Object.fromEntries(Object.keys(PROTECTION).map((key) => [key, null]));
  const spec = { preserveResourcesOnDeletion: what === "keep" };
  return { type: "merge", body: { metadata: { resourceVersion, labels }, spec } };
}

export function termOf(work: KubeObject): number {
  const term = Number(work.metadata.annotations?.[MARKS.term]);
  return Number.isSafeInteger(term) && term >= 0 ? term : 0;
}

export function manifestOf(work: KubeObject): KubeObject | undefined {
  const spec = isJsonObject(work.spec) ? work.spec : {};
  const workload = isJsonObject(spec.workload) ? spec.workload : {};
  const manifest = Array.isArray(workload.manifests) ? workload.manifests[0] : undefined;
  return isManifest(manifest) ? manifest : undefined;
}

function isManifest(value: unknown): value is KubeObject {
  return (
    isJsonObject(value) &&
    typeof value.apiVersion === "string" &&
    typeof value.kind === "string" &&
    isJsonObject(value.metadata) &&
    typeof value.metadata.name === "string"
  );
}

/** The status that Karmada reflected for the Work's one manifest. */
export function reflectedStatus(work: KubeObject): JsonObject | undefined {
  const status = isJsonObject(work.status) ? work.status : {};
  const first = Array.isArray(status.manifestStatuses) ? status.manifestStatuses[0] : undefined;
  return isJsonObject(first) && isJsonObject(first.status) ? first.status : undefined;
}

/** What Karmada says about delivering it, in words only where it failed: all else is seen in the member itself. */
export function deliveryFailure(work: KubeObject): string {
  const { state, message } = deliveryOf(work);
  return state === "failed" ? message : "";
}

function conditionsOf(work: KubeObject): JsonObject[] {
  const status = isJsonObject(work.status) ? work.status : {};
  return Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
}

function deliveryOf(work: KubeObject): Dispatched["delivery"] {
  const applied = conditionsOf(work).find((condition) => condition.type === "Applied");
  if (applied === undefined) return { state: "unknown", message: "" };
  return {
    state: applied.status === "True" ? "delivered" : "failed",
    message: typeof applied.message === "string" ? applied.message : "",
  };
}

export function refOf(object: KubeObject): ObjectRef {
  const { apiVersion, kind, metadata } = object;
  return { apiVersion, kind, namespace: metadata.namespace ?? "", name: metadata.name };
}

function withFinalizer(finalizers: Json | undefined): string[] {
  const others = Array.isArray(finalizers) ? finalizers.filter((finalizer) => typeof finalizer === "string") : [];
  return [...new Set([...others, EXECUTION_FINALIZER])];
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_LENGTH);
}

/** Deletes this very object, and none that has taken its name since. */
export function uidPrecondition(object: KubeObject): { preconditions: { uid: string } } | undefined {
  return object.metadata.uid === undefined ? undefined : { preconditions: { uid: object.metadata.uid } };
}

/**
 * What all dispatch objects have in common, for every engine: Karmada's Works and OCM's ManifestWorks both have
 * `spec.workload.manifests` and conditions, and ours have the same marks.
 */
import {
  AlreadyExistsError,
  ConflictError,
  type KubeObject,
  NotFoundError,
  type Patch,
  shortName,
} from "../kube/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import { laterTerm } from "./errors.ts";
import { MARKS } from "./marks.ts";
import type { Claim, DispatchOrder, EngineApp, EngineOwner, ObjectRef } from "./port.ts";
import { readTerm } from "./terms.ts";

/** The name of an owner among all of Lockstep's kinds; a CrossClusterStatefulset's is as it was before other kinds. */
function ownerName({ kind, namespace, name }: OwnerName): string {
  return kind === undefined ? `${namespace}/${name}` : `${kind}/${namespace}/${name}`;
}

type OwnerName = Pick<EngineOwner, "kind" | "namespace" | "name">;

/** Fits into a label, and is the same for an owner in every process. */
export function appMark(owner: OwnerName): string {
  return shortName(owner.name, ownerName(owner));
}

/** The object that a snapshot is of if none is named. */
export function mainObject(owner: EngineOwner): ObjectRef {
  const [first] = objectsOf(owner);
  if (first === undefined) throw new Error(`${owner.kind} ${owner.namespace}/${owner.name} has no objects to look at`);
  return first;
}

/** The objects of an owner that are watched in the members. */
export function objectsOf(owner: EngineOwner): readonly ObjectRef[] {
  return owner.kind === undefined ? [owner.template] : owner.objects;
}

/** One dispatch object holds one object of ours: each is written, observed and ended separately. */
export function workName(owner: EngineOwner, ref: ObjectRef): string {
  const identity = [ownerName(owner), ref.apiVersion, ref.kind, ref.namespace, ref.name].join("/");
  return shortName(`${ref.name}-${ref.kind}`, identity);
}

export function termOf(work: KubeObject): number {
  return readTerm(work.metadata.annotations?.[MARKS.term]);
}

/** The error for a dispatch object with a later term than this leader's. */
export function laterTermOf({ kind, metadata }: KubeObject, term: number, found: number): Error {
  return laterTerm({ kind, namespace: metadata.namespace ?? "", name: metadata.name }, term, found);
}

/** Writes the term on exactly this version of a dispatch object, and nothing else. */
export function termPatch({ metadata }: KubeObject, term: number): Patch {
  const { resourceVersion = "" } = metadata;
  return { type: "merge", body: { metadata: { resourceVersion, annotations: { [MARKS.term]: String(term) } } } };
}

/** Whether only the status changed: neither the generation nor any label, annotation or other mark. */
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

export function manifestOf(work: KubeObject): KubeObject | undefined {
  const [manifest] = manifestsOf(work);
  return isManifest(manifest) ? manifest : undefined;
}

/** The objects that any such object delivers, ours or not. */
export function carriedBy(work: KubeObject): ObjectRef[] {
  return manifestsOf(work).filter(isManifest).map(refOf);
}

export function manifestsOf(work: KubeObject): readonly Json[] {
  const spec = isJsonObject(work.spec) ? work.spec : {};
  const workload = isJsonObject(spec.workload) ? spec.workload : {};
  return Array.isArray(workload.manifests) ? workload.manifests : [];
}

export function isManifest(value: unknown): value is KubeObject {
  return (
    isJsonObject(value) &&
    typeof value.apiVersion === "string" &&
    typeof value.kind === "string" &&
    isJsonObject(value.metadata) &&
    typeof value.metadata.name === "string"
  );
}

export function conditionsOf(work: KubeObject): JsonObject[] {
  const status = isJsonObject(work.status) ? work.status : {};
  return Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
}

export function refOf(object: KubeObject): ObjectRef {
  const { apiVersion, kind, metadata } = object;
  return { apiVersion, kind, namespace: metadata.namespace ?? "", name: metadata.name };
}

export function refKey({ apiVersion, kind, namespace, name }: ObjectRef): string {
  return `${apiVersion}/${kind}/${namespace}/${name}`;
}

/** Deletes exactly this object, and no later one of the same name. */
export function uidPrecondition(object: KubeObject): { preconditions: { uid: string } } | undefined {
  return object.metadata.uid === undefined ? undefined : { preconditions: { uid: object.metadata.uid } };
}

/** The object is not the version that was read: it was changed, created or deleted since. */
export function isRefusedSwap(error: unknown): boolean {
  return error instanceof ConflictError || error instanceof AlreadyExistsError || error instanceof NotFoundError;
}

/** Undefined if another writer has changed it: then it is not ours. */
export function reservedRef(text = ""): ObjectRef | undefined {
  const [apiVersion, kind, namespace, name] = text.split(" ");
  if (!apiVersion || !kind || namespace === undefined || !name) return undefined;
  return { apiVersion, kind, namespace, name };
}

export function reservedFor({ apiVersion, kind, namespace, name }: ObjectRef): string {
  return [apiVersion, kind, namespace, name].join(" ");
}

/** A dispatch's notes, from its annotations. */
export function notesOf(annotations: Readonly<Record<string, string>>): Record<string, string> {
  const notes: Record<string, string> = {};
  for (const [key, value] of Object.entries(annotations)) {
    if (key.startsWith(MARKS.note)) notes[key.slice(MARKS.note.length)] = value;
  }
  return notes;
}

/** The annotations of a dispatch object that carries out an order; annotations of other writers are kept. */
export function orderAnnotations(
  app: EngineOwner,
  order: DispatchOrder,
  previous: KubeObject | undefined,
): Record<string, string> {
  const before = previous?.metadata.annotations ?? {};
  const annotations: Record<string, string> = {};
  for (const [key, value] of Object.entries(before)) {
    if (!key.startsWith(MARKS.note) && key !== MARKS.reserved) annotations[key] = value;
  }
  for (const [key, value] of Object.entries(order.notes)) annotations[MARKS.note + key] = value;
  annotations[MARKS.appNamespace] = app.namespace;
  annotations[MARKS.appName] = app.name;
  if (app.kind !== undefined) annotations[MARKS.appKind] = app.kind;
  annotations[MARKS.term] = String(order.term);
  // This mark stays, even if other dispatch objects end later.
  if (order.takeOver) annotations[MARKS.takesOver] = "true";
  return annotations;
}

/** The annotations of a dispatch object that reserves the place of the next dispatch. */
export function reservationAnnotations(
  app: EngineOwner,
  ref: ObjectRef,
  { term, takeOver }: Claim,
): Record<string, string> {
  return {
    [MARKS.appNamespace]: app.namespace,
    [MARKS.appName]: app.name,
    ...(app.kind !== undefined && { [MARKS.appKind]: app.kind }),
    [MARKS.term]: String(term),
    [MARKS.reserved]: reservedFor(ref),
    ...(takeOver && { [MARKS.takesOver]: "true" }),
  };
}

export function takesOver({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[MARKS.takesOver] === "true";
}

/** Whether an object is the one that a CrossClusterStatefulset manages, and not something that it needs beside it. */
export function isTemplateOf(owner: EngineOwner, ref: ObjectRef): owner is EngineApp {
  return owner.kind === undefined && refKey(ref) === refKey(owner.template);
}

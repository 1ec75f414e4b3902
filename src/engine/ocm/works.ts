/**
 * ManifestWorks as Lockstep writes and reads them. The first manifest is the dispatched object; the others are only
 * observed (its pods, by name). Orphan from the first write: if any user deletes a ManifestWork, the member's object
 * stays.
 */
import type { KubeObject, Patch } from "../../kube/index.ts";
import { escapePointer, isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import {
  appMark,
  isManifest,
  manifestOf,
  manifestsOf,
  notesOf,
  orderAnnotations,
  refOf,
  reservationAnnotations,
  reservedRef,
  takesOver,
  termOf,
  workName,
} from "../dispatch-objects.ts";
import { MARKS } from "../marks.ts";
import type { Claim, Dispatched, DispatchOrder, EngineOwner, ObjectRef } from "../port.ts";
import { type Executor, executorIn, executorSpec, withRemedy } from "./executor.ts";
import { feedbackPaths, markIn, readValues } from "./feedback.ts";
import { appliedMessage, isApplied, manifestStatus } from "./reports.ts";
import { MANIFEST_WORKS, OCM_MARKS } from "./resources.ts";
import { markText, readMark, type WriteMark } from "./write-marks.ts";

/**
 * OCM requires this prefix. The rest is the owner's uid: a ManifestWork that replaces a lost one finds the object's
 * fields its own, although no report on the lost one was ever seen; the fields of any other writer stay a conflict.
 */
const FIELD_MANAGER = "work-agent-lockstep-";

/** How to write it, beyond the order itself. */
export interface Writing {
  readonly plural: string;
  /** For a ManifestWork that does not exist yet. */
  readonly lineage: string;
  readonly nowMs: number;
  /** The pods to observe by name, if nothing better is available. */
  readonly pods: readonly ObjectRef[];
  /** The account in the cluster that the agent applies it as; absent: its own. */
  readonly executor?: Executor | undefined;
}

export function workFor(
  app: EngineOwner,
  order: DispatchOrder,
  previous: KubeObject | undefined,
  { plural, lineage, nowMs, pods, executor }: Writing,
): KubeObject {
  const ref = refOf(order.manifest);
  const version = previous ? writesOf(previous) + 1 : 1;
  const mark: WriteMark = { lineage: (previous && lineageOf(previous)) ?? lineage, version, sentAtMs: nowMs };
  const annotations = orderAnnotations(app, order, previous);
  annotations[OCM_MARKS.version] = String(version);
  const isTakenOver = annotations[MARKS.takesOver] === "true";
  const manager = (previous && managerOf(previous)) ?? FIELD_MANAGER + (app.uid ?? mark.lineage);
  const mayForce = isTakenOver || (previous !== undefined && isOwner(previous));
  const strategy = isTakenOver && !isJob(ref) ? REPLACING : applying(manager, mayForce);
  return {
    apiVersion: MANIFEST_WORKS.apiVersion,
    kind: MANIFEST_WORKS.kind,
    metadata: {
      ...previous?.metadata,
      ...place(app, ref, order.cluster),
      labels: labelsOf(app, previous),
      annotations,
    },
    spec: specOf(
      [
        { manifest: marked(order.manifest, mark), config: configOf(ref, plural, strategy) },
        ...pods.map((pod) => ({ manifest: headOf(pod), config: configOf(pod, "pods", OBSERVING) })),
      ],
      executor,
    ),
  };
}

/** Most of a Job's spec is immutable, and completed by its API server: it cannot be replaced as a whole. */
function isJob({ apiVersion, kind }: ObjectRef): boolean {
  return apiVersion === "batch/v1" && kind === "Job";
}

/**
 * A ManifestWork that reserves the place of the next dispatch: it delivers nothing, and shows whether the name is
 * taken.
 */
export function reservationFor(app: EngineOwner, ref: ObjectRef, claim: Claim, writing: Writing): KubeObject {
  const mark: WriteMark = { lineage: writing.lineage, version: 1, sentAtMs: writing.nowMs };
  return {
    apiVersion: MANIFEST_WORKS.apiVersion,
    kind: MANIFEST_WORKS.kind,
    metadata: {
      ...place(app, ref, claim.cluster),
      labels: labelsOf(app, undefined),
      annotations: { ...reservationAnnotations(app, ref, claim), [OCM_MARKS.version]: "1" },
    },
    spec: specOf(
      [{ manifest: marked(headOf(ref), mark), config: configOf(ref, writing.plural, OBSERVING) }],
      writing.executor,
    ),
  };
}

function place(app: EngineOwner, ref: ObjectRef, cluster: string): { name: string; namespace: string } {
  return { name: workName(app, ref), namespace: cluster };
}

function labelsOf(app: EngineOwner, previous: KubeObject | undefined): Record<string, string> {
  return { ...previous?.metadata.labels, [MARKS.app]: appMark(app) };
}

const OBSERVING: JsonObject = { type: "ReadOnly" };
const KEEPING = "Orphan";
const REMOVING = "Foreground";

/**
 * Objects that another writer created have other field owners. With server-side apply, fields that a later revision
 * drops would stay, because the other writer still owns them; a plain update replaces the whole spec.
 */
const REPLACING: JsonObject = { type: "Update" };

/**
 * The first apply is not forced: an object of this name from another writer is refused, not overwritten. Once the
 * object is known to be ours, changes of others in our fields are reverted.
 */
function applying(fieldManager: string, force: boolean): JsonObject {
  return { type: "ServerSideApply", serverSideApply: { fieldManager, force } };
}

interface Part {
  readonly manifest: KubeObject;
  readonly config: JsonObject;
}

function specOf(parts: readonly Part[], executor: Executor | undefined, policy = KEEPING): JsonObject {
  return {
    ...(executor && { executor: executorSpec(executor) }),
    deleteOption: { propagationPolicy: policy },
    workload: { manifests: parts.map(({ manifest }) => ({ ...manifest })) },
    manifestConfigs: parts.map(({ config }) => config),
  };
}

function configOf(ref: ObjectRef, plural: string, updateStrategy: JsonObject): JsonObject {
  const group = ref.apiVersion.includes("/") ? (ref.apiVersion.split("/")[0] ?? "") : "";
  return {
    resourceIdentifier: { group, resource: plural, namespace: ref.namespace, name: ref.name },
    updateStrategy,
    feedbackScrapeType: "Watch",
    feedbackRules: [{ type: "JSONPaths", jsonPaths: feedbackPaths(ref, managerIn(updateStrategy)) }],
  };
}

function headOf({ apiVersion, kind, namespace, name }: ObjectRef): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace !== "" && { namespace }) } };
}

function marked(manifest: KubeObject, mark: WriteMark): KubeObject {
  const annotations = { ...manifest.metadata.annotations, [OCM_MARKS.write]: markText(mark) };
  return { ...manifest, metadata: { ...manifest.metadata, annotations } };
}

/** Longer annotations of a manifest (the topology, lists of members) are only for the member to read. */
const SHORT_ANNOTATION_CHARS = 64;

/** What is kept in memory of a ManifestWork of ours; never written back. */
export function outlineOf(work: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, status } = work;
  const [manifest, ...others] = manifestsOf(work).filter(isManifest);
  if (!manifest) return work;
  const annotations = Object.entries(manifest.metadata.annotations ?? {}).filter(
    ([, value]) => value.length <= SHORT_ANNOTATION_CHARS,
  );
  const head = headOf(refOf(manifest));
  const outlined = { ...head, metadata: { ...head.metadata, annotations: Object.fromEntries(annotations) } };
  const executor = executorIn(work);
  const spec: JsonObject = {
    ...(executor && { executor: executorSpec(executor) }),
    deleteOption: { propagationPolicy: policyOf(work) },
    workload: { manifests: [outlined, ...others.map((other) => ({ ...headOf(refOf(other)) }))] },
    manifestConfigs: configsOf(work).map(({ updateStrategy = {}, resourceIdentifier = {} }) => ({
      updateStrategy,
      resourceIdentifier,
    })),
    // If the member's own API server cannot be read, the granted spec is part of the available information.
    ...(manifest.apiVersion !== "v1" && manifest.spec !== undefined && { text: JSON.stringify(manifest.spec) }),
  };
  return { apiVersion, kind, metadata, spec, ...(status !== undefined && { status }) };
}

/** The spec of the dispatched object as it was written, from an outline. */
export function writtenSpec({ spec }: KubeObject): Json | undefined {
  return isJsonObject(spec) && typeof spec.text === "string" ? JSON.parse(spec.text) : undefined;
}

/** Reads a ManifestWork of ours; undefined for anything else, also for one of ours that another writer has emptied. */
export function readWork(work: KubeObject): Dispatched | undefined {
  const { metadata } = work;
  const annotations = metadata.annotations ?? {};
  const manifest = manifestOf(work);
  const reserved = annotations[MARKS.reserved];
  const ref = reserved === undefined ? manifest && refOf(manifest) : reservedRef(reserved);
  if (annotations[MARKS.appName] === undefined || ref === undefined) return undefined;
  return {
    cluster: metadata.namespace ?? "",
    ref,
    manifest: reserved === undefined && manifest ? manifest : {},
    notes: notesOf(annotations),
    term: termOf(work),
    version: versionOf(work),
    uid: metadata.uid ?? "",
    deleting: metadata.deletionTimestamp !== undefined,
    keeps: keepsObject(work),
    delivery: deliveryOf(work),
  };
}

function deliveryOf(work: KubeObject): Dispatched["delivery"] {
  const applied = isReserved(work) ? undefined : isApplied(work);
  if (applied === undefined) return { state: "unknown", message: "" };
  if (applied) return { state: "delivered", message: appliedMessage(work) };
  return { state: "failed", message: withRemedy(appliedMessage(work), executorIn(work)) };
}

/** The agent's message about delivering it, only if it failed. */
export function deliveryFailure(work: KubeObject): string {
  const { state, message } = deliveryOf(work);
  return state === "failed" ? message : "";
}

export function isReserved({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[MARKS.reserved] !== undefined;
}

/**
 * The agent's reports change the resourceVersion, and a request for a sign of life changes the generation; neither is a
 * write of ours.
 */
export function versionOf(work: KubeObject): string {
  return `${work.metadata.uid}/${writesOf(work)}/${termOf(work)}`;
}

function writesOf({ metadata }: KubeObject): number {
  const text = metadata.annotations?.[OCM_MARKS.version] ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** The current mark that the ManifestWork puts on its object. */
export function sentMark(work: KubeObject): WriteMark | undefined {
  return readMark(manifestOf(work)?.metadata.annotations?.[OCM_MARKS.write]);
}

/** The last reported mark of the member's object, from any write. */
export function returnedMark(work: KubeObject): WriteMark | undefined {
  return readMark(markIn(readValues(manifestStatus(work))));
}

function lineageOf(work: KubeObject): string | undefined {
  return sentMark(work)?.lineage;
}

/** Whether this ManifestWork is known to have created the member's object, or to have taken it over. */
export function isOwner(work: KubeObject): boolean {
  if (isReserved(work)) return false;
  if (takesOver(work) || isForced(work)) return true;
  const lineage = lineageOf(work);
  return isApplied(work) === true || (lineage !== undefined && returnedMark(work)?.lineage === lineage);
}

function isForced(work: KubeObject): boolean {
  return applyIn(configsOf(work)[0]?.updateStrategy).force === true;
}

/** A field manager is kept from write to write: what the next one drops would otherwise stay the last one's. */
function managerOf(work: KubeObject): string | undefined {
  return managerIn(configsOf(work)[0]?.updateStrategy);
}

function managerIn(strategy: Json | undefined): string | undefined {
  const { fieldManager } = applyIn(strategy);
  return typeof fieldManager === "string" ? fieldManager : undefined;
}

function applyIn(strategy: Json | undefined): JsonObject {
  return isJsonObject(strategy) && isJsonObject(strategy.serverSideApply) ? strategy.serverSideApply : {};
}

export function policyOf({ spec }: KubeObject): string {
  const option = isJsonObject(spec) && isJsonObject(spec.deleteOption) ? spec.deleteOption : {};
  return typeof option.propagationPolicy === "string" ? option.propagationPolicy : REMOVING;
}

export function keepsObject(work: KubeObject): boolean {
  return isReserved(work) || policyOf(work) === KEEPING;
}

/** Keeps the object when exactly this version of a ManifestWork is deleted. */
export function keepingPatch({ metadata }: KubeObject, annotations: JsonObject = {}): Patch {
  const { resourceVersion = "" } = metadata;
  const spec = { deleteOption: { propagationPolicy: KEEPING, selectivelyOrphans: null } };
  return { type: "merge", body: { metadata: { resourceVersion, annotations }, spec } };
}

/** Whether the object was once to be deleted with it: then the agent may still own it. */
export function wasRemoving({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[OCM_MARKS.removal] !== undefined;
}

/**
 * Deletes the object with this ManifestWork. The agent becomes the object's owner when it applies this. Nothing of the
 * object is written any more, and a workload that is gone meanwhile cannot be recreated without its spec.
 */
export function removing(work: KubeObject, plural: string): KubeObject | undefined {
  const manifest = manifestOf(work);
  if (!manifest) return undefined;
  const { apiVersion, kind, metadata } = manifest;
  const config = configOf(refOf(manifest), plural, { type: "CreateOnly" });
  const annotations = {
    ...work.metadata.annotations,
    [OCM_MARKS.version]: String(writesOf(work) + 1),
    [OCM_MARKS.removal]: "true",
  };
  return {
    ...work,
    metadata: { ...work.metadata, annotations },
    spec: specOf([{ manifest: { apiVersion, kind, metadata }, config }], executorIn(work), REMOVING),
  };
}

const MARK_POINTER = `/spec/workload/manifests/0/metadata/annotations/${escapePointer(OCM_MARKS.write)}`;

/**
 * Requests a sign of life: the mark is sent again with another time, for exactly this version and term. `pods`: those to
 * be observed in addition, from now on.
 */
export function askingPatch(work: KubeObject, sentAtMs: number, pods: readonly ObjectRef[] = []): Patch | undefined {
  const mark = sentMark(work);
  if (!mark) return undefined;
  const { annotations = {}, generation } = work.metadata;
  const isStill = [OCM_MARKS.version, MARKS.term].map((key) => ({
    op: "test",
    path: `/metadata/annotations/${escapePointer(key)}`,
    value: annotations[key] ?? "",
  }));
  const value = markText({ ...mark, sentAtMs });
  // Another question may have added them already.
  const isSame = pods.length > 0 ? [{ op: "test", path: "/metadata/generation", value: generation ?? 0 }] : [];
  const observing = pods.flatMap((pod) => [
    { op: "add", path: "/spec/workload/manifests/-", value: { ...headOf(pod) } },
    { op: "add", path: "/spec/manifestConfigs/-", value: configOf(pod, "pods", OBSERVING) },
  ]);
  return {
    type: "json",
    operations: [...isStill, ...isSame, { op: "replace", path: MARK_POINTER, value }, ...observing],
  };
}

export function configsOf({ spec }: KubeObject): JsonObject[] {
  return isJsonObject(spec) && Array.isArray(spec.manifestConfigs) ? spec.manifestConfigs.filter(isJsonObject) : [];
}

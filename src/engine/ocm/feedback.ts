import { ANNOTATIONS, SEED_ANNOTATIONS } from "../../contract/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { escapePointer, isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { EPOCH_ANNOTATION } from "../marks.ts";
import type { ObjectRef } from "../port.ts";
import { OCM_MARKS } from "./resources.ts";

/**
 * What an agent is asked to report of an object, and how to read its values. A value's name is the JSON pointer of its
 * field, so that the values of one manifest together are a part of one version of the object.
 */
const METADATA = ["uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"].map(
  (field) => `/metadata/${field}`,
);

/** Lists of members: only for the member to read, and too long to send back with every change. */
const LONG_ANNOTATIONS: readonly string[] = [ANNOTATIONS.topology, ANNOTATIONS.initialCluster];

const CONTRACT_ANNOTATIONS = [...Object.values(ANNOTATIONS), ...Object.values(SEED_ANNOTATIONS)]
  .filter((key) => !LONG_ANNOTATIONS.includes(key))
  .map(annotation);

const WRITE = annotation(OCM_MARKS.write);
/** Of objects of bundles; the others have none. */
const EPOCH = annotation(EPOCH_ANNOTATION);

/**
 * When the agent last applied a write of ours, and when the status was last written: both by the member's own clock, in
 * whole seconds. Their difference shows how late a report is, whatever that clock says.
 */
const TIMES = { applied: "appliedAt", changed: "changedAt" };
const CHANGED_PATH = { name: TIMES.changed, path: '.metadata.managedFields[?(@.subresource=="status")].time' };

const COUNTS = ["observedGeneration", "replicas", "readyReplicas", "availableReplicas", "updatedReplicas"];

const STATEFUL_SET = [
  "/spec/replicas",
  "/spec/ordinals/start",
  "/spec/updateStrategy/rollingUpdate/partition",
  ...[...COUNTS, "currentReplicas", "currentRevision", "updateRevision"].map((field) => `/status/${field}`),
];

const STATUS = "/status";

/** What an operator on the contract reports, without the list of members. */
const REPORT = ["epoch", "revision", "phase", "desired", "updated", "ready", "leader", "message", "membersAt"];

/**
 * For unknown kinds. Whole parts come only from agents with the gate RawFeedbackJsonString, which is off by default, and
 * only up to 1024 bytes each; a missing part is unknown. So what has a known name is also asked for by itself.
 */
const ANY_WORKLOAD = [
  STATUS,
  "/status/crossCluster",
  "/status/phase",
  "/spec/replicas",
  ...COUNTS.map((field) => `/status/${field}`),
  ...REPORT.map((field) => `/status/crossCluster/${field}`),
];

const LABELS = "/metadata/labels";
/** Every pod of a StatefulSet has it. */
const REVISION_LABEL = `${LABELS}/controller-revision-hash`;
const OWNERS = "/metadata/ownerReferences";
const POD = [...METADATA, LABELS, REVISION_LABEL, OWNERS, "/status/phase", "/status/reason"];

/** A pod's conditions would seldom fit as a whole; each of these is one word. */
const POD_CONDITIONS = ["Ready", "DisruptionTarget"];
/** A pod has one owner that controls it, and rarely another. */
const OWNER = { kind: "ownerKind", name: "ownerName" };
const WAITING = "waiting";
const WAITING_PATH = ".status.containerStatuses[*].state.waiting.reason";

function annotation(key: string): string {
  return `/metadata/annotations/${escapePointer(key)}`;
}

interface FeedbackPath extends JsonObject {
  readonly name: string;
  readonly path: string;
}

/** `manager`: the name by which the agent applies it. */
export function feedbackPaths({ apiVersion, kind }: ObjectRef, manager?: string): FeedbackPath[] {
  if (apiVersion === "v1" && kind === "Pod") {
    const conditions = POD_CONDITIONS.map((type) => ({
      name: type,
      path: `.status.conditions[?(@.type=="${type}")].status`,
    }));
    const owner = Object.entries(OWNER).map(([field, name]) => ({
      name,
      path: `.metadata.ownerReferences[0].${field}`,
    }));
    return [...POD.map(pathAt), ...owner, ...conditions, { name: WAITING, path: WAITING_PATH }];
  }
  // Kubernetes' own supporting kinds (ConfigMaps, Services): whether they exist, and from which write.
  if (apiVersion === "v1") return [...METADATA, WRITE, EPOCH].map(pathAt);
  const fields = apiVersion === "apps/v1" && kind === "StatefulSet" ? STATEFUL_SET : ANY_WORKLOAD;
  const paths = [...METADATA, WRITE, EPOCH, ...CONTRACT_ANNOTATIONS, ...fields].map(pathAt);
  if (manager === undefined) return paths;
  const applied = { name: TIMES.applied, path: `.metadata.managedFields[?(@.manager=="${manager}")].time` };
  return [...paths, applied, CHANGED_PATH];
}

function pathAt(pointer: string): FeedbackPath {
  const segments = segmentsOf(pointer).map((segment) => `.${segment.replaceAll(".", "\\.")}`);
  return { name: pointer, path: segments.join("") };
}

/** The values that an agent reported for one manifest, by their names. */
export function readValues(manifestStatus: JsonObject | undefined): Map<string, Json> {
  const feedback = isJsonObject(manifestStatus?.statusFeedback) ? manifestStatus.statusFeedback : {};
  const values = Array.isArray(feedback.values) ? feedback.values.filter(isJsonObject) : [];
  return new Map(
    values.flatMap(({ name, fieldValue }) => {
      const value = isJsonObject(fieldValue) ? plainValue(fieldValue) : undefined;
      return typeof name === "string" && value !== undefined ? [[name, value] as const] : [];
    }),
  );
}

function plainValue(value: JsonObject): Json | undefined {
  switch (value.type) {
    case "Integer":
      return value.integer;
    case "String":
      return value.string;
    case "Boolean":
      return value.boolean;
    case "JsonRaw":
      return typeof value.jsonRaw === "string" ? parsed(value.jsonRaw) : undefined;
    default:
      return undefined;
  }
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function markIn(values: ReadonlyMap<string, Json>): Json | undefined {
  return values.get(WRITE);
}

/** The time at which something was done moves with every question, and is no news by itself. */
export function isTime(name: string): boolean {
  return name === TIMES.applied || name === TIMES.changed;
}

export interface MemberTimes {
  readonly appliedMs: number;
  readonly changedMs: number;
}

/** Undefined if one of them is not known. */
export function memberTimes(values: ReadonlyMap<string, Json>): MemberTimes | undefined {
  // An agent with the gate for whole parts reports all that match: the latest counts.
  const latest = (name: string) => Math.max(...[values.get(name)].flat().map((time) => Date.parse(String(time))));
  const [appliedMs, changedMs] = [latest(TIMES.applied), latest(TIMES.changed)];
  return Number.isFinite(appliedMs) && Number.isFinite(changedMs) ? { appliedMs, changedMs } : undefined;
}

/** The part of the object that the values form; `base` has what is known from elsewhere. */
export function objectOf(ref: ObjectRef, values: ReadonlyMap<string, Json>, base: JsonObject = {}): KubeObject {
  const { apiVersion, kind, namespace, name } = ref;
  const metadata = { name, ...(namespace !== "" && { namespace }) };
  let object: JsonObject = { ...base, apiVersion, kind, metadata };
  // The shorter pointer first: a part as a whole, then its fields.
  for (const [pointer, value] of [...values].sort(([a], [b]) => a.length - b.length)) {
    if (pointer.startsWith("/")) object = withValue(object, segmentsOf(pointer), value);
  }
  return {
    ...object,
    apiVersion,
    kind,
    metadata: { ...(isJsonObject(object.metadata) && object.metadata), ...metadata },
  };
}

/** Its status as a whole was asked for, and is withheld: a script that reads a field of its own there finds nothing. */
export function lacksStatus(withheld: readonly string[]): boolean {
  return withheld.includes(STATUS);
}

/** Whether all labels were reported: others than that of the revision may show which pod leads. */
export function hasAllLabels(values: ReadonlyMap<string, Json>): boolean {
  return values.has(LABELS);
}

/**
 * A pod from its values. Its labels show which revision it runs. A pod without them would look like a pod that has none,
 * so it is not returned.
 */
export function podOf(ref: ObjectRef, values: ReadonlyMap<string, Json>): KubeObject | undefined {
  const pod = objectOf(ref, values);
  if (!isJsonObject(pod.metadata.labels)) return undefined;
  const conditions = POD_CONDITIONS.flatMap((type) => {
    const status = values.get(type);
    return status === undefined ? [] : [{ type, status }];
  });
  const waiting = [values.get(WAITING)].flat().filter((reason) => typeof reason === "string");
  const containerStatuses = waiting.map((reason) => ({ state: { waiting: { reason } } }));
  const status = isJsonObject(pod.status) ? pod.status : {};
  const [kind, name] = [values.get(OWNER.kind), values.get(OWNER.name)];
  const isOwned = !values.has(OWNERS) && kind !== undefined && name !== undefined;
  return {
    ...pod,
    metadata: { ...pod.metadata, ...(isOwned && { ownerReferences: [{ kind, name }] }) },
    status: { ...status, conditions, ...(containerStatuses.length > 0 && { containerStatuses }) },
  };
}

function withValue(object: JsonObject, [first, ...rest]: readonly string[], value: Json): JsonObject {
  if (first === undefined) return object;
  const inner = object[first];
  return { ...object, [first]: rest.length === 0 ? value : withValue(isJsonObject(inner) ? inner : {}, rest, value) };
}

function segmentsOf(pointer: string): string[] {
  return pointer
    .slice(1)
    .split("/")
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

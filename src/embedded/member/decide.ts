/** What a StatefulSet controller does next, as Kubernetes decides it: a pure function of one view of the set. */
import type { KubeObject } from "../../apiserver/index.ts";
import { type JsonObject, valueAt } from "../../runtime/index.ts";
import { isDeleting, numberAt, textAt } from "../values.ts";
import {
  availableAtMs,
  hasEnded,
  isAvailable,
  isRunningAndReady,
  isUnavailable,
  ordinalOf,
  replicasOf,
  revisionOf,
  startOf,
} from "./pods.ts";

export interface Revision {
  readonly name: string;
  readonly template: JsonObject;
}

export interface SetView {
  readonly set: KubeObject;
  readonly pods: readonly KubeObject[];
  readonly current: Revision;
  readonly update: Revision;
  readonly nowMs: number;
}

export type SetAction =
  | { readonly kind: "create"; readonly ordinal: number; readonly revision: Revision }
  /** `scaledDown`: its claims may be deleted with it. */
  | { readonly kind: "delete"; readonly pod: KubeObject; readonly scaledDown: boolean };

/** The pods in order: `replicas[i]` has the ordinal start + i; `condemned`, the highest first, are surplus. */
interface Places {
  readonly replicas: readonly (KubeObject | undefined)[];
  readonly condemned: readonly KubeObject[];
}

export function decide(view: SetView): SetAction[] {
  const { set } = view;
  if (isDeleting(set)) return [];
  const isOrdered = textAt(set, "spec", "podManagementPolicy") !== "Parallel";
  const places = placesOf(view);
  const establish = isOrdered ? establishInOrder(view, places) : establishAtOnce(view, places);
  if (establish.actions.length > 0 || establish.waits) return establish.actions;
  if (textAt(set, "spec", "updateStrategy", "type") === "OnDelete") return [];
  return update(view, places);
}

export function statusOf({ set, pods, current, update, nowMs }: SetView): JsonObject {
  const minReadySeconds = numberAt(set, "spec", "minReadySeconds") ?? 0;
  const staying = pods.filter((pod) => !isDeleting(pod));
  const count = (list: readonly KubeObject[], is: (pod: KubeObject) => boolean) => list.filter(is).length;
  const status = {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: pods.length,
    readyReplicas: count(pods, isRunningAndReady),
    availableReplicas: count(pods, (pod) => isAvailable(pod, minReadySeconds, nowMs)),
    currentReplicas: count(staying, (pod) => revisionOf(pod) === current.name),
    updatedReplicas: count(staying, (pod) => revisionOf(pod) === update.name),
    currentRevision: current.name,
    updateRevision: update.name,
    collisionCount: 0,
  };
  // The rolling update is complete: the update revision is the current one from now on.
  const { replicas, updatedReplicas, readyReplicas } = status;
  const isComplete = [replicas, updatedReplicas, readyReplicas].every((figure) => figure === replicasOf(set));
  if (textAt(set, "spec", "updateStrategy", "type") === "RollingUpdate" && isComplete) {
    status.currentReplicas = updatedReplicas;
    status.currentRevision = update.name;
  }
  return withoutZeros(status);
}

/** When a ready pod becomes available: the next moment at which time alone changes something. */
export function nextChangeMs({ set, pods, nowMs }: SetView): number | undefined {
  const minReadySeconds = numberAt(set, "spec", "minReadySeconds") ?? 0;
  const times = pods.flatMap((pod) => availableAtMs(pod, minReadySeconds) ?? []).filter((atMs) => atMs > nowMs);
  return times.length === 0 ? undefined : Math.min(...times);
}

function placesOf({ set, pods }: SetView): Places {
  const start = startOf(set);
  const replicas: (KubeObject | undefined)[] = new Array(replicasOf(set)).fill(undefined);
  const condemned: KubeObject[] = [];
  for (const pod of pods) {
    const index = ordinalOf(pod) - start;
    if (index >= 0 && index < replicas.length) replicas[index] = pod;
    else if (ordinalOf(pod) >= 0) condemned.push(pod);
  }
  condemned.sort((left, right) => ordinalOf(right) - ordinalOf(left));
  return { replicas, condemned };
}

interface Step {
  readonly actions: SetAction[];
  /** Nothing else may happen before something changes by itself. */
  readonly waits: boolean;
}

/** OrderedReady: one pod at a time, each available before the next is touched. */
function establishInOrder(view: SetView, { replicas, condemned }: Places): Step {
  const { set, nowMs } = view;
  const minReadySeconds = numberAt(set, "spec", "minReadySeconds") ?? 0;
  for (const [index, pod] of replicas.entries()) {
    if (pod === undefined) return { actions: [creation(view, index)], waits: true };
    if (hasEnded(pod)) return { actions: isDeleting(pod) ? [] : [deletion(pod, false)], waits: true };
    if (isDeleting(pod) || !isAvailable(pod, minReadySeconds, nowMs)) return { actions: [], waits: true };
  }
  const [last] = condemned;
  if (last === undefined) return { actions: [], waits: false };
  if (isDeleting(last)) return { actions: [], waits: true };
  // A broken pod may be deleted, but only if it is the first broken one: no lower pod waits for repair.
  const firstBroken = [...condemned].reverse().find((pod) => isUnavailable(pod, minReadySeconds, nowMs));
  const mayGo = isAvailable(last, minReadySeconds, nowMs) || last === firstBroken;
  return { actions: mayGo ? [deletion(last, true)] : [], waits: true };
}

function establishAtOnce(view: SetView, { replicas, condemned }: Places): Step {
  const actions: SetAction[] = [];
  for (const [index, pod] of replicas.entries()) {
    if (pod === undefined) actions.push(creation(view, index));
    else if (hasEnded(pod) && !isDeleting(pod)) actions.push(deletion(pod, false));
  }
  for (const pod of condemned) if (!isDeleting(pod)) actions.push(deletion(pod, true));
  return { actions, waits: false };
}

/** From the highest ordinal down to the partition, waiting for each. */
function update(view: SetView, { replicas }: Places): SetAction[] {
  const { set, nowMs } = view;
  const minReadySeconds = numberAt(set, "spec", "minReadySeconds") ?? 0;
  const rolling = valueAt(set, "spec", "updateStrategy", "rollingUpdate");
  const partition = numberAt(rolling, "partition") ?? 0;
  const maxUnavailable = maxUnavailableOf(valueAt(rolling, "maxUnavailable"), replicas.length);
  const isOld = (pod: KubeObject | undefined): pod is KubeObject =>
    pod !== undefined && revisionOf(pod) !== view.update.name && !isDeleting(pod);
  const candidates = replicas.slice(partition).reverse();
  if (maxUnavailable === undefined) {
    for (const pod of candidates) {
      if (isOld(pod)) return [deletion(pod, false)];
      if (isUnavailable(pod, minReadySeconds, nowMs)) return [];
    }
    return [];
  }
  const unavailable = replicas.filter((pod) => isUnavailable(pod, minReadySeconds, nowMs)).length;
  const allowed = Math.max(0, maxUnavailable - unavailable);
  return candidates
    .filter(isOld)
    .slice(0, allowed)
    .map((pod) => deletion(pod, false));
}

/** Below the partition a pod is created from the current revision, above it from the update revision. */
function creation({ set, current, update }: SetView, index: number): SetAction {
  const strategy = valueAt(set, "spec", "updateStrategy");
  const partition = numberAt(strategy, "rollingUpdate", "partition") ?? 0;
  const isHeldBack = textAt(strategy, "type") === "RollingUpdate" && index < partition;
  return { kind: "create", ordinal: startOf(set) + index, revision: isHeldBack ? current : update };
}

function deletion(pod: KubeObject, scaledDown: boolean): SetAction {
  return { kind: "delete", pod, scaledDown };
}

/** A number, or a percentage rounded up, and never less than 1; undefined if the set does not specify it. */
function maxUnavailableOf(value: unknown, replicas: number): number | undefined {
  if (typeof value === "number") return Math.max(1, value);
  if (typeof value !== "string") return undefined;
  const percent = Number.parseInt(value, 10);
  return Number.isNaN(percent) ? undefined : Math.max(1, Math.ceil((percent * replicas) / 100));
}

/** As the API shows them: these counts are omitted at zero. */
function withoutZeros(status: JsonObject): JsonObject {
  const shown = { ...status };
  for (const field of ["readyReplicas", "currentReplicas", "updatedReplicas"]) {
    if (shown[field] === 0) delete shown[field];
  }
  return shown;
}

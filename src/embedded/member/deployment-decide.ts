/** What a Deployment controller does next, as Kubernetes decides it: a pure function of one view of the Deployment. */
import type { KubeObject } from "../../apiserver/index.ts";
import { type JsonObject, sameJson, timestamp, valueAt } from "../../runtime/index.ts";
import { conditionOf, isDeleting, numberAt, objectAt, objectsAt, textAt, withCondition } from "../values.ts";
import { replicasOf } from "./pods.ts";

export const TEMPLATE_HASH_LABEL = "pod-template-hash";
export const REVISION_ANNOTATION = "deployment.kubernetes.io/revision";
const DEFAULT_HISTORY_LIMIT = 10;
const DEFAULT_DEADLINE_SECONDS = 600;

export interface DeploymentView {
  readonly deployment: KubeObject;
  /** Its ReplicaSets. */
  readonly sets: readonly KubeObject[];
  readonly nowMs: number;
}

export interface DeploymentDecision {
  /** Make the ReplicaSet of the present template, with so many replicas. */
  readonly create?: number;
  readonly scale: ReadonlyArray<{ readonly set: KubeObject; readonly replicas: number }>;
  /** Old, empty and beyond the history's limit. */
  readonly remove: readonly KubeObject[];
}

export function decideDeployment(view: DeploymentView): DeploymentDecision {
  const { deployment } = view;
  const nothing: DeploymentDecision = { scale: [], remove: [] };
  if (isDeleting(deployment)) return nothing;
  const { current, old } = setsOf(view);
  const wanted = replicasOf(deployment);
  if (valueAt(deployment, "spec", "paused") === true) {
    const newest = current ?? old.at(-1);
    return newest && replicasOf(newest) !== wanted
      ? { scale: [{ set: newest, replicas: wanted }], remove: [] }
      : nothing;
  }
  const total = sum(view.sets, replicasOf);
  const isRecreate = textAt(deployment, "spec", "strategy", "type") === "Recreate";
  const { surge, unavailable } = isRecreate ? { surge: 0, unavailable: wanted } : bounds(deployment, wanted);
  const own = current ? replicasOf(current) : 0;
  const isCleared = !isRecreate || old.every((set) => (numberAt(set, "status", "replicas") ?? 0) === 0);
  const room = Math.max(0, wanted + surge - total);
  const next = own > wanted ? wanted : isCleared ? own + Math.min(wanted - own, isRecreate ? wanted - own : room) : own;
  const scale: { set: KubeObject; replicas: number }[] = [];
  if (current && next !== own) scale.push({ set: current, replicas: next });
  scale.push(...(isRecreate ? old.map((set) => ({ set, replicas: 0 })) : scaledDown(view, wanted - unavailable)));
  const changed = scale.filter(({ set, replicas }) => replicasOf(set) !== replicas);
  const limit = numberAt(deployment, "spec", "revisionHistoryLimit") ?? DEFAULT_HISTORY_LIMIT;
  const empty = old.filter((set) => replicasOf(set) === 0 && (numberAt(set, "status", "replicas") ?? 0) === 0);
  const remove = empty.slice(0, Math.max(0, empty.length - limit));
  return { scale: changed, remove, ...(!current && { create: next }) };
}

/** Unhealthy old pods first, then as many others as availability allows. */
function scaledDown(view: DeploymentView, minAvailable: number): { set: KubeObject; replicas: number }[] {
  const { current, old } = setsOf(view);
  const missing = current ? replicasOf(current) - availableOf(current) : 0;
  const left = new Map(old.map((set) => [set, replicasOf(set)]));
  let budget = sum(view.sets, replicasOf) - minAvailable - missing;
  for (const set of old) {
    const unhealthy = Math.max(0, replicasOf(set) - availableOf(set));
    const going = Math.max(0, Math.min(unhealthy, budget));
    left.set(set, replicasOf(set) - going);
    budget -= going;
  }
  let spare = sum(view.sets, availableOf) - minAvailable;
  for (const set of old) {
    const going = Math.max(0, Math.min(left.get(set) ?? 0, spare, budget));
    left.set(set, (left.get(set) ?? 0) - going);
    spare -= going;
    budget -= going;
  }
  return [...left].map(([set, replicas]) => ({ set, replicas }));
}

/** The ReplicaSet of the present template, and the others, the oldest first. */
export function setsOf({ deployment, sets }: DeploymentView): { current: KubeObject | undefined; old: KubeObject[] } {
  const template = objectAt(deployment, "spec", "template");
  const current = sets.find((set) => sameJson(withoutHash(objectAt(set, "spec", "template")), template));
  const old = sets.filter((set) => set !== current).sort((a, b) => revisionNumber(a) - revisionNumber(b));
  return { current, old };
}

export function revisionNumber({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[REVISION_ANNOTATION] ?? 0);
}

function withoutHash(template: JsonObject): JsonObject {
  const metadata = objectAt(template, "metadata");
  const { [TEMPLATE_HASH_LABEL]: _hash, ...labels } = objectAt(metadata, "labels");
  return { ...template, metadata: { ...metadata, labels } };
}

/** A surge is rounded up, what may be unavailable down, and both are never zero together. */
function bounds(deployment: KubeObject, replicas: number): { surge: number; unavailable: number } {
  const rolling = valueAt(deployment, "spec", "strategy", "rollingUpdate");
  const surge = countOf(valueAt(rolling, "maxSurge"), replicas, Math.ceil);
  const unavailable = countOf(valueAt(rolling, "maxUnavailable"), replicas, Math.floor);
  return { surge, unavailable: Math.min(replicas, surge === 0 && unavailable === 0 ? 1 : unavailable) };
}

function countOf(value: unknown, replicas: number, round: (value: number) => number): number {
  if (typeof value === "number") return value;
  const percent = Number.parseInt(typeof value === "string" ? value : "25%", 10);
  return round(((Number.isNaN(percent) ? 25 : percent) * replicas) / 100);
}

function availableOf(set: KubeObject): number {
  return numberAt(set, "status", "availableReplicas") ?? 0;
}

function sum(sets: readonly KubeObject[], of: (set: KubeObject) => number): number {
  return sets.reduce((all, set) => all + of(set), 0);
}

/** The status, and when the progress deadline passes. */
export function deploymentStatus(view: DeploymentView): { readonly status: JsonObject; readonly nextMs?: number } {
  const { deployment, sets, nowMs } = view;
  const { current } = setsOf(view);
  const wanted = replicasOf(deployment);
  const counted = (field: string) => sum(sets, (set) => numberAt(set, "status", field) ?? 0);
  const [replicas, ready, available] = [counted("replicas"), counted("readyReplicas"), counted("availableReplicas")];
  const updated = (current && numberAt(current, "status", "replicas")) ?? 0;
  const { unavailable } = bounds(deployment, wanted);
  const isAvailable = available >= wanted - unavailable;
  const isComplete = updated === wanted && replicas === wanted && available === wanted;
  const counts = {
    observedGeneration: deployment.metadata.generation ?? 0,
    ...nonZero({ replicas, updatedReplicas: updated, readyReplicas: ready, availableReplicas: available }),
    ...nonZero({ unavailableReplicas: Math.max(0, sum(sets, replicasOf) - available) }),
  };
  const before = objectAt(deployment, "status");
  const hasMoved = Object.entries({ ...COUNTS, ...counts }).some(([field, value]) => (before[field] ?? 0) !== value);
  const progressing = conditionOf(deployment, "Progressing");
  const sinceText = hasMoved ? timestamp(nowMs) : textAt(progressing, "lastUpdateTime") || timestamp(nowMs);
  const deadline = numberAt(deployment, "spec", "progressDeadlineSeconds") ?? DEFAULT_DEADLINE_SECONDS;
  const dueMs = Date.parse(sinceText) + deadline * 1000;
  const isLate = !isComplete && nowMs >= dueMs;
  const reason = isComplete ? "NewReplicaSetAvailable" : isLate ? "ProgressDeadlineExceeded" : "ReplicaSetUpdated";
  const conditions = withCondition(
    withCondition(
      objectsAt(before, "conditions"),
      {
        type: "Available",
        status: isAvailable ? "True" : "False",
        reason: isAvailable ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
      },
      nowMs,
    ),
    { type: "Progressing", status: isLate ? "False" : "True", reason, lastUpdateTime: sinceText },
    nowMs,
  );
  return { status: { ...counts, conditions }, ...(!isComplete && !isLate && { nextMs: dueMs }) };
}

const COUNTS = { replicas: 0, updatedReplicas: 0, readyReplicas: 0, availableReplicas: 0, unavailableReplicas: 0 };

/** As the API shows them: counts are omitted at zero. */
function nonZero(counts: Record<string, number>): JsonObject {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}

import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";

/** Why a pod is not ready, in its own words. */
export interface PodTrouble {
  /** One word, such as CrashLoopBackOff, ImagePullBackOff or Unschedulable. */
  readonly reason: string;
  readonly message?: string;
  readonly container?: string;
  /** How that container ended the last time. */
  readonly last?: { readonly exitCode: number; readonly reason?: string; readonly finishedAt?: string };
}

/** A reason is one word for programs; whatever else stands there is not taken for one. */
const REASON = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
/** What every pod goes through on its way. */
const ORDINARY = new Set(["ContainerCreating", "PodInitializing"]);

/** Undefined: the pod is ready, is starting normally, or reports no status. */
export function podTrouble(pod: KubeObject): PodTrouble | undefined {
  const status = objectAt(pod, "status");
  const conditions = objectsAt(status, "conditions");
  if (conditions.some(({ type, status: holds }) => type === "Ready" && holds === "True")) return undefined;
  const evicted = wordAt(status, "reason");
  if (evicted !== undefined) return trouble(evicted, status);
  const unscheduled = conditions.find(({ type, status: holds }) => type === "PodScheduled" && holds === "False");
  if (unscheduled) return trouble(wordAt(unscheduled, "reason") ?? "Unschedulable", unscheduled);
  const containers = [...objectsAt(status, "initContainerStatuses"), ...objectsAt(status, "containerStatuses")];
  for (const container of containers) {
    const found = containerTrouble(container);
    if (found) return found;
  }
  return undefined;
}

/** For a status: the word and the exit code, and nothing that an application could have written itself. */
export function troubleWord({ reason, last }: PodTrouble): string {
  return last === undefined ? reason : `${reason} (exit code ${last.exitCode})`;
}

function containerTrouble(container: JsonObject): PodTrouble | undefined {
  const state = objectAt(container, "state");
  const waiting = objectAt(state, "waiting");
  const ended = objectAt(state, "terminated");
  const name = typeof container.name === "string" ? { container: container.name } : {};
  const before = lastOf(objectAt(objectAt(container, "lastState"), "terminated"));
  const reason = wordAt(waiting, "reason");
  if (reason !== undefined && !ORDINARY.has(reason)) {
    return { ...trouble(reason, waiting), ...name, ...(before && { last: before }) };
  }
  const last = lastOf(ended);
  if (last && last.exitCode !== 0) return { ...trouble(last.reason ?? "Terminated", ended), ...name, last };
  if (before && before.exitCode !== 0) return { reason: "Restarted", ...name, last: before };
  return undefined;
}

function lastOf(terminated: JsonObject): PodTrouble["last"] {
  const { exitCode, finishedAt } = terminated;
  if (typeof exitCode !== "number") return undefined;
  const reason = wordAt(terminated, "reason");
  return {
    exitCode,
    ...(reason !== undefined && { reason }),
    ...(typeof finishedAt === "string" && { finishedAt }),
  };
}

function trouble(reason: string, { message }: JsonObject): PodTrouble {
  return { reason, ...(typeof message === "string" && message !== "" && { message }) };
}

function wordAt(parent: JsonObject, field: string): string | undefined {
  const value = parent[field];
  return typeof value === "string" && REASON.test(value) ? value : undefined;
}

function objectAt(parent: JsonObject, field: string): JsonObject {
  const value = parent[field];
  return isJsonObject(value) ? value : {};
}

function objectsAt(parent: JsonObject, field: string): JsonObject[] {
  const value = parent[field];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

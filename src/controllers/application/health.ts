import type { Health, LiveSeen } from "../../applications/index.ts";
import type { ObjectRef, Snapshot } from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { epochOf, groupOf } from "./manifest.ts";

type Reader = Pick<Interpreter, "interpret">;
interface Said {
  readonly health: Health;
  readonly message?: string;
}

/** What a member shows of one object, in the planner's words. */
export function liveSeen(interpreter: Reader, cluster: string, ref: ObjectRef, snapshot: Snapshot): LiveSeen {
  if (snapshot.kind === "unreachable") return unseen(ref, cluster, snapshot);
  if (snapshot.kind === "absent") return { kind: "absent" };
  const { object, source } = snapshot;
  // The engine's copy of a status may be of an earlier write, and the marks are those that were sent: it proves nothing.
  if (source === "reflected") {
    const message = `Lockstep cannot read ${ref.kind} objects in ${cluster}, and the engine's copy of their status proves nothing`;
    return { kind: "unknown", message, remedy: rightsRemedy(ref) };
  }
  const { health, message } = healthOf(interpreter, object);
  const ready = readyOf(interpreter, object);
  return {
    kind: "present",
    epoch: epochOf(object),
    observed: isObserved(object),
    health,
    ...(message !== undefined && { message }),
    ...(ready !== undefined && { ready }),
  };
}

function unseen(ref: ObjectRef, cluster: string, snapshot: Extract<Snapshot, { kind: "unreachable" }>): LiveSeen {
  const { message, isForbidden } = snapshot;
  if (!isForbidden) return { kind: "unknown", message };
  const rule = `get, list and watch on ${ref.kind} of ${groupOf(ref.apiVersion) || "the core group"}`;
  const said = `Lockstep needs ${rule} in ${cluster} (${message})`;
  return { kind: "unknown", message: said, remedy: rightsRemedy(ref, DENIED_PLURAL.exec(message)?.[1]) };
}

/** Kubernetes' authorizer names the resource that it denies. */
const DENIED_PLURAL = /resource "([^"]+)"/;

function rightsRemedy({ apiVersion, kind }: ObjectRef, plural = "PLURAL"): string {
  const group = groupOf(apiVersion);
  const option = group === "" ? ` --distribute ${plural}` : ` --distribute ${plural}.${group}`;
  return `Give the right to read ${kind} objects there: as an administrator of the hub, 'lockstep install --apply${option}'; 'lockstep doctor' lists what is missing.`;
}

/** The status as a whole, and the condition that decides: many controllers say it only there. */
function isObserved({ metadata, status }: KubeObject): boolean {
  if (!isJsonObject(status)) return true;
  const observed = [status.observedGeneration, decidingCondition(status)?.observedGeneration];
  return observed.every((each) => typeof each !== "number" || each >= (metadata.generation ?? 0));
}

function healthOf(interpreter: Reader, object: KubeObject): Said {
  const { kind, metadata } = object;
  const status = isJsonObject(object.status) ? object.status : {};
  if (metadata.deletionTimestamp !== undefined) return { health: "Progressing", message: "it is being deleted" };
  switch (kind) {
    case "Job":
      return jobHealth(status);
    case "CustomResourceDefinition":
      return isTrue(status, "Established")
        ? { health: "Healthy" }
        : { health: "Progressing", message: "it is not established" };
    case "Namespace":
      return status.phase === "Terminating"
        ? { health: "Unhealthy", message: "it is being deleted" }
        : { health: "Healthy" };
    case "Pod":
      if (status.phase === "Succeeded") return { health: "Complete" };
      if (status.phase === "Failed") return { health: "Failed", message: "the pod failed" };
  }
  const outcome = interpreter.interpret("InterpretHealth", { object });
  if (outcome.state === "known") return outcome.value ? { health: "Healthy" } : notHealthy(interpreter, object);
  if (outcome.state === "failed" && outcome.code === "NoInterpreter") return plainHealth(status);
  return { health: "Unknown", message: outcome.state === "failed" ? outcome.reason : "a webhook has not answered yet" };
}

function jobHealth(status: JsonObject): Said {
  if (isTrue(status, "Complete")) return { health: "Complete" };
  const failed = conditionsOf(status).find(({ type, status: is }) => type === "Failed" && is === "True");
  if (failed)
    return { health: "Failed", message: `the Job failed: ${failed.message ?? failed.reason ?? "no reason given"}` };
  return { health: "Progressing", message: "the Job runs" };
}

function notHealthy(interpreter: Reader, object: KubeObject): Said {
  const progress = interpreter.interpret("InterpretProgress", { object });
  const message = progress.state === "known" ? progress.value.message : undefined;
  return { health: "Progressing", message: message ?? "it is not healthy yet" };
}

/** No interpreter knows the kind: its own conditions count, and where there are none, that it exists. */
function plainHealth(status: JsonObject): Said {
  const ready = decidingCondition(status);
  if (!ready || ready.status === "True") return { health: "Healthy" };
  return { health: "Progressing", message: `${ready.type} is ${ready.status}: ${ready.message ?? ready.reason ?? ""}` };
}

function decidingCondition(status: JsonObject): JsonObject | undefined {
  return conditionsOf(status).find(({ type }) => type === "Ready" || type === "Available");
}

function readyOf(interpreter: Reader, object: KubeObject): number | undefined {
  const progress = interpreter.interpret("InterpretProgress", { object });
  if (progress.state === "known" && progress.value.ready !== undefined) return progress.value.ready;
  const status = isJsonObject(object.status) ? object.status : {};
  return typeof status.readyReplicas === "number" ? status.readyReplicas : undefined;
}

function isTrue(status: JsonObject, type: string): boolean {
  return conditionsOf(status).some((condition) => condition.type === type && condition.status === "True");
}

function conditionsOf({ conditions }: JsonObject): JsonObject[] {
  return Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
}

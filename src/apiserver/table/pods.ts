import { type JsonObject, valueAt } from "../../runtime/index.ts";
import { ageColumn, type Column, column, NONE, nameColumn, numberAt, objectsAt, textAt, wide } from "./cells.ts";
import { humanAge } from "./duration.ts";

export const POD_COLUMNS: readonly Column[] = [
  nameColumn,
  column("Ready", (pod) => `${readyContainers(pod)}/${containerCount(pod)}`, "Ready containers of all."),
  column("Status", podStatus, "What the pod is doing."),
  column("Restarts", restarts, "Restarts of its containers."),
  ageColumn,
  wide(column("IP", (pod) => textAt(pod, "status", "podIP") || NONE)),
  wide(column("Node", (pod) => textAt(pod, "spec", "nodeName") || NONE)),
  wide(column("Nominated Node", (pod) => textAt(pod, "status", "nominatedNodeName") || NONE)),
  wide(column("Readiness Gates", readinessGates)),
];

function containerCount(pod: JsonObject): number {
  return objectsAt(pod, "spec", "containers").length + sidecars(pod).size;
}

/** Init containers that keep running with the others. */
function sidecars(pod: JsonObject): Set<string> {
  const restarting = objectsAt(pod, "spec", "initContainers").filter(
    (each) => textAt(each, "restartPolicy") === "Always",
  );
  return new Set(restarting.map((each) => textAt(each, "name")));
}

function readyContainers(pod: JsonObject): number {
  const running = (status: JsonObject) => status.ready === true && valueAt(status, "state", "running") !== undefined;
  const kept = sidecars(pod);
  const beside = objectsAt(pod, "status", "initContainerStatuses").filter((each) => kept.has(textAt(each, "name")));
  return [...objectsAt(pod, "status", "containerStatuses"), ...beside].filter(running).length;
}

function restarts(pod: JsonObject, nowMs: number): string {
  const kept = sidecars(pod);
  const counted = [
    ...objectsAt(pod, "status", "containerStatuses"),
    ...objectsAt(pod, "status", "initContainerStatuses").filter((each) => kept.has(textAt(each, "name"))),
  ];
  const total = counted.reduce((sum, status) => sum + numberAt(status, "restartCount"), 0);
  const last = counted
    .map((status) => textAt(status, "lastState", "terminated", "finishedAt"))
    .filter(Boolean)
    .sort()
    .at(-1);
  return total > 0 && last ? `${total} (${humanAge(last, nowMs)} ago)` : String(total);
}

function readinessGates(pod: JsonObject): string {
  const gates = objectsAt(pod, "spec", "readinessGates");
  if (gates.length === 0) return NONE;
  const conditions = objectsAt(pod, "status", "conditions");
  const open = gates.filter((gate) =>
    conditions.some((each) => each.type === gate.conditionType && textAt(each, "status") === "True"),
  );
  return `${open.length}/${gates.length}`;
}

/**
 * The one word for a pod's state: from its deletion, its init containers, its containers or its phase, in this order.
 */
export function podStatus(pod: JsonObject): string {
  const reason = textAt(pod, "status", "reason");
  if (textAt(pod, "metadata", "deletionTimestamp")) return reason === "NodeLost" ? "Unknown" : "Terminating";
  const initializing = initStatus(pod);
  if (initializing !== undefined) return initializing;

  const phase = reason || textAt(pod, "status", "phase") || "Unknown";
  let result = phase;
  let anyRunning = false;
  // The first container's problem wins, as in kubectl, so the list is read from its end.
  for (const status of objectsAt(pod, "status", "containerStatuses").reverse()) {
    const waiting = textAt(status, "state", "waiting", "reason");
    const terminated = valueAt(status, "state", "terminated");
    if (waiting) result = waiting;
    else if (terminated !== undefined) result = terminatedReason(status);
    else if (status.ready === true && valueAt(status, "state", "running") !== undefined) anyRunning = true;
  }
  if (result === "Completed" && anyRunning) {
    const ready = objectsAt(pod, "status", "conditions").some(
      (each) => each.type === "Ready" && each.status === "True",
    );
    return ready ? "Running" : "NotReady";
  }
  if (phase === "Pending" && isGated(pod)) return "SchedulingGated";
  return result;
}

function initStatus(pod: JsonObject): string | undefined {
  const containers = objectsAt(pod, "spec", "initContainers");
  const kept = sidecars(pod);
  for (const [index, status] of objectsAt(pod, "status", "initContainerStatuses").entries()) {
    const terminated = valueAt(status, "state", "terminated");
    if (terminated !== undefined && numberAt(terminated, "exitCode") === 0) continue;
    if (kept.has(textAt(status, "name")) && status.started === true) continue;
    if (terminated !== undefined) return `Init:${terminatedReason(status)}`;
    const waiting = textAt(status, "state", "waiting", "reason");
    return waiting && waiting !== "PodInitializing" ? `Init:${waiting}` : `Init:${index}/${containers.length}`;
  }
  return undefined;
}

function terminatedReason(status: JsonObject): string {
  const terminated = valueAt(status, "state", "terminated");
  const reason = textAt(terminated, "reason");
  if (reason) return reason;
  const signal = numberAt(terminated, "signal");
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${numberAt(terminated, "exitCode")}`;
}

function isGated(pod: JsonObject): boolean {
  return objectsAt(pod, "status", "conditions").some(
    (each) => each.type === "PodScheduled" && each.reason === "SchedulingGated",
  );
}

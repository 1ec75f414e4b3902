/** One status on the hub from the members' statuses: counts are added, the worst phase wins. */
import { isJsonObject, type JsonObject, sameJson } from "../../runtime/index.ts";
import { integerAt, objectAt, objectsAt, presentAt, textAt, withValue, wrongType } from "../fields.ts";
import type { Handler, StatusItem } from "../operations.ts";

type Aggregate = Handler<"AggregateStatus">;

/** The members' statuses that have been collected. */
export function collected(items: readonly StatusItem[]): { cluster: string; status: JsonObject }[] {
  return items.flatMap(({ clusterName, status }) => {
    if (status === undefined || status === null) return [];
    if (!isJsonObject(status)) throw wrongType(`${clusterName}: status`, "an object", status);
    return [{ cluster: clusterName, status }];
  });
}

function sum(items: readonly StatusItem[], field: string): number {
  return collected(items).reduce((total, { status }) => total + (integerAt(status, field) ?? 0), 0);
}

/**
 * observedGeneration becomes the template's if every member's controller has observed its spec, and that spec is from
 * this generation of the template; GitOps tools read it.
 */
function observedGeneration(object: JsonObject, items: readonly StatusItem[]): number {
  const generation = integerAt(object, "metadata", "generation") ?? 0;
  const caughtUp = collected(items).filter(({ status }) => {
    const of = (field: string) => integerAt(status, field) ?? 0;
    return of("observedGeneration") >= of("generation") && of("resourceTemplateGeneration") >= generation;
  });
  return caughtUp.length === items.length ? generation : (integerAt(object, "status", "observedGeneration") ?? 0);
}

/** Sets the aggregated fields and keeps the rest of the status; the identical object if nothing changed. */
export function withStatus(object: JsonObject, changes: JsonObject): JsonObject {
  const status = objectAt(object, "status");
  const merged = { ...status, ...changes };
  return status !== undefined && sameJson(status, merged) ? object : withValue(object, ["status"], merged);
}

function workload(fields: readonly string[]): Aggregate {
  return ({ object, items = [] }) =>
    withStatus(object, {
      observedGeneration: observedGeneration(object, items),
      ...Object.fromEntries(fields.map((field) => [field, sum(items, field)])),
    });
}

export const aggregateDeployment = workload([
  "replicas",
  "readyReplicas",
  "updatedReplicas",
  "availableReplicas",
  "unavailableReplicas",
]);

export const aggregateReplicaSet = workload(["replicas", "readyReplicas", "availableReplicas"]);

const addStatefulSets = workload([
  "availableReplicas",
  "currentReplicas",
  "readyReplicas",
  "replicas",
  "updatedReplicas",
]);

/** Each cluster has its own revision names: only a name that all share can appear on the hub. */
export const aggregateStatefulSet: Aggregate = (input) => {
  const revisions: JsonObject = {};
  for (const field of ["currentRevision", "updateRevision"]) {
    const names = new Set(collected(input.items ?? []).map(({ status }) => textAt(status, field) ?? ""));
    const [name] = names;
    if (names.size === 1 && name) revisions[field] = name;
  }
  const aggregated = addStatefulSets(input);
  return Object.keys(revisions).length === 0 ? aggregated : withStatus(aggregated, revisions);
};

export const aggregateDaemonSet = workload([
  "currentNumberScheduled",
  "desiredNumberScheduled",
  "numberAvailable",
  "numberMisscheduled",
  "numberReady",
  "updatedNumberScheduled",
  "numberUnavailable",
]);

export const aggregateAutoscaler: Aggregate = ({ object, items = [] }) =>
  withStatus(object, {
    currentReplicas: sum(items, "currentReplicas"),
    desiredReplicas: sum(items, "desiredReplicas"),
  });

export const aggregateDisruptionBudget: Aggregate = ({ object, items = [] }) => {
  const disrupted = collected(items).flatMap(({ cluster, status }) =>
    Object.entries(objectAt(status, "disruptedPods") ?? {}).map(([pod, time]) => [`${cluster}/${pod}`, time]),
  );
  return withStatus(object, {
    currentHealthy: sum(items, "currentHealthy"),
    desiredHealthy: sum(items, "desiredHealthy"),
    expectedPods: sum(items, "expectedPods"),
    disruptionsAllowed: sum(items, "disruptionsAllowed"),
    disruptedPods: Object.fromEntries(disrupted),
  });
};

/** Active jobs of all clusters, and the latest times. RFC 3339 in UTC sorts as text. */
export const aggregateCronJob: Aggregate = ({ object, items = [] }) => {
  const statuses = collected(items).map(({ status }) => status);
  const latest = (field: string) =>
    statuses
      .flatMap((status) => textAt(status, field) ?? [])
      .sort()
      .at(-1);
  const changes: JsonObject = {};
  const active = statuses.flatMap((status) => objectsAt(status, "active"));
  if (active.length > 0 || presentAt(object, "status", "active") !== undefined) changes.active = active;
  for (const field of ["lastScheduleTime", "lastSuccessfulTime"]) {
    const time = latest(field);
    if (time !== undefined) changes[field] = time;
  }
  return withStatus(object, changes);
};

/** The first phase of the order that any cluster is in. */
function worstPhase(phases: readonly string[], order: readonly string[]): string | undefined {
  return order.find((phase) => phases.includes(phase));
}

function phases(items: readonly StatusItem[], notCollected: string): string[] {
  const known = collected(items).map(({ status }) => textAt(status, "phase") ?? notCollected);
  return known.length < items.length ? [...known, notCollected] : known;
}

export const aggregatePod: Aggregate = ({ object, items = [] }) => {
  if (items.length === 0) return object;
  const containers = (list: "containerStatuses" | "initContainerStatuses") =>
    collected(items).flatMap(({ status }) =>
      objectsAt(status, list).map(({ ready, state }) => ({
        // The API requires these four; over several clusters there is no single answer.
        name: "",
        image: "",
        imageID: "",
        restartCount: 0,
        ready: ready === true,
        state: isJsonObject(state) ? state : {},
      })),
    );
  const initContainerStatuses = containers("initContainerStatuses");
  const phase = worstPhase(phases(items, "Pending"), ["Failed", "Pending", "Running", "Succeeded"]);
  return withValue(object, ["status"], {
    ...(phase !== undefined && { phase }),
    containerStatuses: containers("containerStatuses"),
    ...(initContainerStatuses.length > 0 && { initContainerStatuses }),
  });
};

export const aggregateVolume: Aggregate = ({ object, items = [] }) => {
  const order = ["Failed", "Pending", "Available", "Bound", "Released"];
  const phase = worstPhase(phases(items, "Pending"), order);
  return phase === undefined ? object : withStatus(object, { phase });
};

/** Bound only if every cluster reports it: a cluster without a report counts as pending. */
export const aggregateClaim: Aggregate = ({ object, items = [] }) => {
  if (items.length === 0) return object;
  const known = phases(items, "Pending");
  const phase = known.includes("Lost") ? "Lost" : (known.findLast((each) => each !== "Bound") ?? "Bound");
  return withStatus(object, { phase });
};

/** Addresses of all clusters, each once, host names before addresses. */
export const aggregateService: Aggregate = (input) =>
  textAt(input.object, "spec", "type") === "LoadBalancer" ? aggregateIngress(input) : input.object;

export const aggregateIngress: Aggregate = ({ object, items = [] }) => {
  const merged = new Map<string, { ingress: JsonObject; ports: Map<string, JsonObject> }>();
  for (const { status } of collected(items)) {
    for (const { ports: _ports, ...ingress } of objectsAt(status, "loadBalancer", "ingress")) {
      const key = addressKey(ingress);
      const entry = merged.get(key) ?? { ingress, ports: new Map<string, JsonObject>() };
      for (const port of objectsAt({ ports: _ports }, "ports")) entry.ports.set(portKey(port), port);
      merged.set(key, entry);
    }
  }
  const ingress = [...merged]
    .sort(([a], [b]) => compareText(a, b))
    .map(([, { ingress, ports }]) => {
      const sorted = [...ports].sort(([a], [b]) => compareText(a, b)).map(([, port]) => port);
      return sorted.length > 0 ? { ...ingress, ports: sorted } : ingress;
    });
  return withStatus(object, { loadBalancer: ingress.length > 0 ? { ingress } : {} });
};

/** Sorts as wanted: entries with a host name first, then by name, address and mode. */
function addressKey(ingress: JsonObject): string {
  const hostname = textAt(ingress, "hostname") ?? "";
  return [hostname === "" ? "1" : "0", hostname, textAt(ingress, "ip") ?? "", textAt(ingress, "ipMode") ?? ""].join(
    "\0",
  );
}

function portKey(port: JsonObject): string {
  const number = String(integerAt(port, "port") ?? 0).padStart(5, "0");
  return [number, textAt(port, "protocol") ?? "", textAt(port, "error") ?? ""].join("\0");
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The part of a member's status that is sent back to the hub. */
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { integerAt, objectAt, presentAt, textAt, textMapAt } from "../fields.ts";
import type { Handler } from "../operations.ts";

type Reflect = Handler<"InterpretStatus">;

/** The hub's generation of the template that a member's copy was created from. */
const TEMPLATE_GENERATION = "resourcetemplate.karmada.io/generation";

/** Counts that the API always shows, and those that it omits at zero: both are reflected. */
interface Shape {
  readonly always?: readonly string[];
  readonly unlessZero?: readonly string[];
  readonly whole?: readonly string[];
}

function reflect(status: JsonObject, shape: Shape): JsonObject {
  const reflected: JsonObject = {};
  for (const field of shape.always ?? []) reflected[field] = integerAt(status, field) ?? 0;
  for (const field of shape.unlessZero ?? []) {
    const count = integerAt(status, field);
    if (count) reflected[field] = count;
  }
  for (const field of shape.whole ?? []) {
    const value = presentAt(status, field);
    if (value !== undefined && value !== "") reflected[field] = value;
  }
  return reflected;
}

/** With the generations that show whether this status refers to the current template. */
function reflectGenerations(object: JsonObject): JsonObject {
  const generation = integerAt(object, "metadata", "generation");
  const text = textMapAt(object, "metadata", "annotations")?.[TEMPLATE_GENERATION];
  const template = text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
  return { ...(generation && { generation }), ...(template && { resourceTemplateGeneration: template }) };
}

function workload(shape: Shape): Reflect {
  return ({ object }) => {
    const status = objectAt(object, "status");
    if (status === undefined) return null;
    const reflected = { ...reflectGenerations(object), ...reflect(status, shape) };
    return Object.keys(reflected).length === 0 ? null : reflected;
  };
}

function plain(shape: Shape): Reflect {
  return ({ object }) => {
    const status = objectAt(object, "status");
    return status === undefined ? null : reflect(status, shape);
  };
}

export const reflectDeployment = workload({
  unlessZero: [
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "observedGeneration",
  ],
});

export const reflectReplicaSet = workload({
  always: ["replicas"],
  unlessZero: ["readyReplicas", "availableReplicas", "observedGeneration"],
});

/** observedGeneration, revisions and conditions are kept: without them the hub cannot recognize a completed rollout. */
export const reflectStatefulSet = workload({
  always: ["replicas", "availableReplicas"],
  unlessZero: ["currentReplicas", "readyReplicas", "updatedReplicas", "observedGeneration", "collisionCount"],
  whole: ["currentRevision", "updateRevision", "conditions"],
});

export const reflectDaemonSet = workload({
  always: ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"],
  unlessZero: ["observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable"],
});

export const reflectJob = plain({
  unlessZero: ["active", "succeeded", "failed"],
  whole: ["conditions", "startTime", "completionTime"],
});

export const reflectDisruptionBudget = plain({
  always: ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"],
  whole: ["disruptedPods"],
});

export const reflectAutoscaler = plain({ always: ["desiredReplicas"], unlessZero: ["currentReplicas"] });

/** Only a load balancer's addresses are collected. */
export const reflectService: Reflect = ({ object }) => {
  if (textAt(object, "spec", "type") !== "LoadBalancer") return null;
  const status = objectAt(object, "status");
  return status === undefined ? null : { loadBalancer: objectAt(status, "loadBalancer") ?? {} };
};

/** Every kind without its own rule: the whole status. */
export const reflectWhole: Reflect = ({ object }) => {
  const status: Json | undefined = object.status;
  return isJsonObject(status) ? status : null;
};

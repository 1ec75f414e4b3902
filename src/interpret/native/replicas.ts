import type { JsonObject } from "../../runtime/index.ts";
import { integerAt, objectAt, withValue } from "../fields.ts";
import type { Handler, Results } from "../operations.ts";
import { podRequirements } from "./pod.ts";

/** Kubernetes' default for replicas or parallelism. */
const DEFAULT_REPLICAS = 1;

/** Deployment, ReplicaSet, StatefulSet. */
export const workloadReplica: Handler<"InterpretReplica"> = ({ object }) =>
  answer(integerAt(object, "spec", "replicas") ?? DEFAULT_REPLICAS, objectAt(object, "spec", "template"));

/** A Job never runs more pods in parallel than it still has completions to reach. */
export const jobReplica: Handler<"InterpretReplica"> = ({ object }) => {
  const parallelism = integerAt(object, "spec", "parallelism") ?? DEFAULT_REPLICAS;
  const completions = integerAt(object, "spec", "completions") ?? parallelism;
  return answer(Math.min(parallelism, completions), objectAt(object, "spec", "template"));
};

export const podReplica: Handler<"InterpretReplica"> = ({ object }) => answer(1, object);

function answer(replicas: number, template: JsonObject | undefined): Results["InterpretReplica"] {
  const requirements = podRequirements(template ?? {});
  return { replicas, ...(requirements !== undefined && { requirements }) };
}

export const reviseReplicas: Handler<"ReviseReplica"> = ({ object, replicas }) =>
  withValue(object, ["spec", "replicas"], replicas);

export const reviseParallelism: Handler<"ReviseReplica"> = ({ object, replicas }) =>
  withValue(object, ["spec", "parallelism"], replicas);

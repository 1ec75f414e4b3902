/** Health as Kubernetes itself reports it: the status refers to this spec, and the spec is available. */
import type { JsonObject } from "../../runtime/index.ts";
import { integerAt, objectsAt, textAt } from "../fields.ts";
import type { Handler } from "../operations.ts";

type Health = Handler<"InterpretHealth">;

function isObserved(object: JsonObject): boolean {
  return (
    (integerAt(object, "status", "observedGeneration") ?? 0) === (integerAt(object, "metadata", "generation") ?? 0)
  );
}

function counts(object: JsonObject) {
  const status = (field: string) => integerAt(object, "status", field) ?? 0;
  return {
    wanted: integerAt(object, "spec", "replicas") ?? 1,
    total: status("replicas"),
    updated: status("updatedReplicas"),
    available: status("availableReplicas"),
  };
}

/**
 * `total > updated`: pods of an older revision still exist, so some of the available ones may be theirs. Without this
 * check, a rollout of one replica whose new pod never starts would count as healthy.
 */
export const deploymentHealth: Health = ({ object }) => {
  const { wanted, total, updated, available } = counts(object);
  if (!isObserved(object) || updated < wanted || available < updated || total > updated) return false;
  const progressing = objectsAt(object, "status", "conditions").find((condition) => condition.type === "Progressing");
  return progressing?.reason !== "ProgressDeadlineExceeded";
};

/** The share that the partition, or OnDelete, keeps on the old revision is not missing. */
export const statefulSetHealth: Health = ({ object }) => {
  const { wanted, updated, available } = counts(object);
  return isObserved(object) && updated >= updatedWanted(object, wanted) && available >= wanted;
};

export function updatedWanted(object: JsonObject, wanted: number): number {
  if (textAt(object, "spec", "updateStrategy", "type") === "OnDelete") return 0;
  const partition = integerAt(object, "spec", "updateStrategy", "rollingUpdate", "partition") ?? 0;
  return Math.max(0, wanted - partition);
}

export const replicaSetHealth: Health = ({ object }) => {
  const { wanted, available } = counts(object);
  return isObserved(object) && available >= wanted;
};

export const daemonSetHealth: Health = ({ object }) => {
  const status = (field: string) => integerAt(object, "status", field) ?? 0;
  const wanted = status("desiredNumberScheduled");
  const byHand = textAt(object, "spec", "updateStrategy", "type") === "OnDelete";
  return (
    isObserved(object) &&
    (byHand || status("updatedNumberScheduled") >= wanted) &&
    status("numberAvailable") >= Math.max(wanted, byHand ? 0 : status("updatedNumberScheduled"))
  );
};

const hasAddress: Health = ({ object }) =>
  objectsAt(object, "status", "loadBalancer", "ingress").some((ingress) => ingress.ip || ingress.hostname);

export const serviceHealth: Health = (input) =>
  textAt(input.object, "spec", "type") !== "LoadBalancer" || hasAddress(input);

export const ingressHealth: Health = hasAddress;

export const claimHealth: Health = ({ object }) => textAt(object, "status", "phase") === "Bound";

export const podHealth: Health = ({ object }) => {
  const phase = textAt(object, "status", "phase");
  const ready = objectsAt(object, "status", "conditions").find((condition) => condition.type === "Ready");
  return phase === "Succeeded" || (phase === "Running" && ready?.status === "True");
};

export const disruptionBudgetHealth: Health = ({ object }) =>
  (integerAt(object, "status", "currentHealthy") ?? 0) >= (integerAt(object, "status", "desiredHealthy") ?? 0);

/** A controller's progress with its spec, by the rules of `kubectl rollout status` and of the member contract. */
import { type MemberReport, parseMemberReport } from "../../contract/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { integerAt, objectsAt, presentAt, textAt } from "../fields.ts";
import type { Handler, Progress } from "../operations.ts";
import { NothingToRead, observedState } from "../results.ts";
import { updatedWanted } from "./health.ts";

type ProgressHandler = Handler<"InterpretProgress">;

interface Counts {
  readonly desired: number;
  /** How many of `desired` must run the update revision. */
  readonly updatedWanted: number;
  readonly updated?: number;
  readonly ready: number;
  readonly available: number;
  readonly total?: number;
  readonly revision?: string;
}

function progressOf(object: JsonObject, counts: Counts): Progress {
  const observed = observedState(
    integerAt(object, "metadata", "generation"),
    integerAt(object, "status", "observedGeneration"),
  );
  const { desired, updated, ready, available, total, revision } = counts;
  const waiting = whatIsMissing(observed, counts);
  return {
    desired,
    ...(updated !== undefined && { updated }),
    ready,
    available,
    ...(total !== undefined && { total }),
    ...(revision !== undefined && { revision }),
    observed,
    complete: waiting === undefined,
    ...(waiting !== undefined && { message: waiting }),
  };
}

function whatIsMissing(observed: Progress["observed"], counts: Counts): string | undefined {
  const { desired, updatedWanted, updated = updatedWanted, ready, available, total = desired } = counts;
  if (observed === "stale") return "the controller has not observed this generation of the spec yet";
  if (observed === "unknown") return "the status does not name its generation";
  if (updated < updatedWanted) return `${updated} of ${updatedWanted} updated`;
  if (total !== desired) return `${total} instances exist, ${desired} are wanted`;
  if (ready !== desired) return `${ready} of ${desired} ready`;
  if (available !== desired) return `${available} of ${desired} available`;
  return undefined;
}

export const statefulSetProgress: ProgressHandler = ({ object }) => {
  const desired = integerAt(object, "spec", "replicas") ?? 1;
  const status = (field: string) => integerAt(object, "status", field) ?? 0;
  const revision = textAt(object, "status", "updateRevision");
  return progressOf(object, {
    desired,
    updatedWanted: updatedWanted(object, desired),
    updated: status("updatedReplicas"),
    ready: status("readyReplicas"),
    available: status("availableReplicas"),
    total: status("replicas"),
    ...(revision !== undefined && { revision }),
  });
};

export const deploymentProgress: ProgressHandler = ({ object }) => {
  const desired = integerAt(object, "spec", "replicas") ?? 1;
  const status = (field: string) => integerAt(object, "status", field) ?? 0;
  const progress = progressOf(object, {
    desired,
    updatedWanted: desired,
    updated: status("updatedReplicas"),
    ready: status("readyReplicas"),
    available: status("availableReplicas"),
    total: status("replicas"),
  });
  const stuck = objectsAt(object, "status", "conditions").find(
    (condition) => condition.type === "Progressing" && condition.reason === "ProgressDeadlineExceeded",
  );
  if (progress.observed !== "current" || stuck === undefined || progress.complete) return progress;
  return { ...progress, phase: "Failed", message: "the rollout exceeded its progress deadline" };
};

/** A ReplicaSet replaces no pods, so it reports no revisions. */
export const replicaSetProgress: ProgressHandler = ({ object }) => {
  const desired = integerAt(object, "spec", "replicas") ?? 1;
  const status = (field: string) => integerAt(object, "status", field) ?? 0;
  return progressOf(object, {
    desired,
    updatedWanted: desired,
    ready: status("readyReplicas"),
    available: status("availableReplicas"),
    total: status("replicas"),
  });
};

export const daemonSetProgress: ProgressHandler = ({ object }) => {
  const status = (field: string) => integerAt(object, "status", field) ?? 0;
  const desired = status("desiredNumberScheduled");
  const byHand = textAt(object, "spec", "updateStrategy", "type") === "OnDelete";
  return progressOf(object, {
    desired,
    updatedWanted: byHand ? 0 : desired,
    updated: status("updatedNumberScheduled"),
    ready: status("numberReady"),
    available: status("numberAvailable"),
    total: status("currentNumberScheduled"),
  });
};

/** A pod's spec does not change in place, so its status always refers to its spec. */
export const podProgress: ProgressHandler = ({ object }) => {
  const phase = textAt(object, "status", "phase");
  const condition = objectsAt(object, "status", "conditions").find(({ type }) => type === "Ready");
  const complete = phase === "Succeeded" || (phase === "Running" && condition?.status === "True");
  const count = complete ? 1 : 0;
  return {
    desired: 1,
    updated: 1,
    ready: count,
    available: count,
    total: 1,
    observed: "current",
    complete,
    ...(!complete && { message: `the pod is ${phase ?? "not scheduled yet"} and not ready` }),
  };
};

/** Done if its condition is True; the counts are pods that run or succeeded. */
export const jobProgress: ProgressHandler = ({ object }) => {
  const desired = integerAt(object, "spec", "completions") ?? integerAt(object, "spec", "parallelism") ?? 1;
  const succeeded = integerAt(object, "status", "succeeded") ?? 0;
  const is = (type: string) =>
    objectsAt(object, "status", "conditions").some(
      (condition) => condition.type === type && condition.status === "True",
    );
  const complete = is("Complete");
  return {
    desired,
    updated: desired,
    ready: succeeded,
    observed: "current",
    complete,
    ...(is("Failed") && { phase: "Failed" as const }),
    ...(!complete && { message: is("Failed") ? "the job failed" : `${succeeded} of ${desired} succeeded` }),
  };
};

/**
 * Any other kind: the report of an operator on the member contract, otherwise the common field names of Kubernetes' own
 * controllers.
 */
export const commonProgress: ProgressHandler = ({ object, replicas }) => {
  const report = parseMemberReport(presentAt(object, "status", "crossCluster"));
  if (report !== undefined) return reportedProgress(object, report);
  const desired = replicas ?? integerAt(object, "spec", "replicas");
  const ready = integerAt(object, "status", "readyReplicas");
  if (desired === undefined || ready === undefined) {
    throw new NothingToRead(
      "has neither status.crossCluster nor a count (spec.replicas, or InterpretReplica) and status.readyReplicas; write a progressInterpretation for it",
    );
  }
  const updated = integerAt(object, "status", "updatedReplicas");
  const total = integerAt(object, "status", "replicas");
  return progressOf(object, {
    desired,
    updatedWanted: desired,
    ...(updated !== undefined && { updated }),
    ready,
    available: integerAt(object, "status", "availableReplicas") ?? ready,
    ...(total !== undefined && { total }),
  });
};

/** On the contract, the epoch and not the generation identifies the write: each write increases it. */
function reportedProgress(object: JsonObject, report: MemberReport): Progress {
  const { epoch, revision, phase, desired, updated, ready, message } = report;
  const observedGeneration = integerAt(object, "status", "observedGeneration");
  const generation = integerAt(object, "metadata", "generation");
  const caughtUp = observedGeneration === undefined || generation === undefined || observedGeneration >= generation;
  const complete = caughtUp && phase === "Done" && updated >= desired && ready >= desired;
  return {
    desired,
    updated,
    ready,
    epoch,
    revision,
    phase,
    observed: caughtUp ? "current" : "stale",
    complete,
    ...(!complete && { message: message || `${phase}: ${updated} of ${desired} updated, ${ready} ready` }),
  };
}

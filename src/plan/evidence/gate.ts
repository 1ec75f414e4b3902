import type { Evidence, ReasonCode } from "../../rollout/index.ts";
import type { ClusterEntry, Grant, Intent, PresentObservation, TimeMs } from "../types/index.ts";
import { listedUpdated, seenReady } from "./view.ts";

/** Whether one snapshot proves that a cluster did what its grant asks for. */
export type Gate =
  | { readonly open: true }
  | {
      readonly open: false;
      readonly code: ReasonCode;
      readonly message: string;
      readonly remedy: string;
      readonly evidence: readonly Evidence[];
      /** When time alone opens it. */
      readonly opensAtMs?: TimeMs;
    };

const OPEN: Gate = { open: true };
const SECOND_MS = 1000;

/** [G1] Evaluated on one snapshot of a Ready cluster; every condition, or it is closed. */
export function gateOf(
  intent: Intent,
  entry: ClusterEntry,
  grant: Grant,
  present: PresentObservation,
  nowMs: TimeMs,
): Gate {
  const object = `${intent.app.namespace}/${intent.app.name} in ${grant.cluster}`;
  const delivered = delivery(grant, present, object);
  if (!delivered.open) return delivered;
  switch (intent.workload.protocol) {
    case "contract":
      return contractGate(grant, present, object);
    case "statefulset":
      return statefulSetGate(grant, present, object);
    case "ignorant":
      return ignorantGate(intent, entry, grant, present, object, nowMs);
  }
}

/**
 * [T5] In a teardown nothing is asked of what stays, for it goes too: the grant has arrived and been read, and no more
 * instances are left than it says. A revision that never becomes ready must not keep its owner from removing it.
 */
export function isShrunk(intent: Intent, grant: Grant, present: PresentObservation): boolean {
  const { live, counts, report, generation, observedGeneration } = present;
  if (live.epoch !== grant.epoch || (observedGeneration !== undefined && observedGeneration !== generation))
    return false;
  if (intent.workload.protocol === "contract") {
    // A report counts what is ready, not what there is; the last step, to none, must be reported Done like any other.
    if (report?.epoch !== grant.epoch || report.desired !== grant.replicas) return false;
    if (counts.replicas === undefined) return grant.replicas > 0 && report.ready <= grant.replicas;
  }
  return counts.replicas !== undefined && counts.replicas <= grant.replicas && (counts.terminating ?? 0) === 0;
}

/** [G2] The live object carries this grant's epoch: annotations and spec travelled in one write. */
function delivery(grant: Grant, { live }: PresentObservation, object: string): Gate {
  if (live.epoch === grant.epoch) return OPEN;
  return closed(
    "WaitingForDelivery",
    `epoch ${grant.epoch} has been granted, the live object shows ${live.epoch ?? "none"}`,
    "Check the dispatch object's conditions on the hub and the engine's agent for this cluster.",
    [{ object, field: "epoch", value: `${live.epoch ?? "absent"}` }],
  );
}

/** [G3] One status write names the epoch, the revision and Done, and its figures fit the grant. */
function contractGate(grant: Grant, present: PresentObservation, object: string): Gate {
  const { report } = present;
  if (report?.epoch !== grant.epoch) {
    return closed(
      "WaitingForReport",
      `the operator has reported on epoch ${report?.epoch ?? "none"}, not on ${grant.epoch}`,
      "Check that the operator runs in this cluster and writes status.crossCluster.",
      [{ object, field: "status.crossCluster.epoch", value: `${report?.epoch ?? "absent"}` }],
    );
  }
  if (report.phase === "Failed") {
    return closed(
      "MemberFailed",
      report.message ?? "the operator reported Failed",
      "Read the operator's message and logs.",
      [{ object, field: "status.crossCluster.phase", value: report.phase }],
    );
  }
  const wanted = grant.replicas - (grant.onDelete ? grant.replicas : grant.partition);
  if (report.revision !== grant.revision || report.updated < wanted) {
    return closed(
      "WaitingForUpdated",
      `${report.updated} of ${wanted} instances run revision ${grant.revision}`,
      "Watch the operator's progress in this cluster.",
      [
        { object, field: "status.crossCluster.revision", value: report.revision },
        { object, field: "status.crossCluster.updated", value: `${report.updated}` },
      ],
    );
  }
  if (report.desired !== grant.replicas || report.ready !== grant.replicas || report.phase !== "Done") {
    const seen = [
      { object, field: "status.crossCluster.phase", value: report.phase },
      { object, field: "status.crossCluster.desired", value: `${report.desired}` },
      { object, field: "status.crossCluster.ready", value: `${report.ready}` },
    ];
    if (report.ready !== grant.replicas) return notReady(report.ready, grant, object, seen);
    return closed(
      "WaitingForReady",
      `${report.ready} of ${report.desired} instances are ready, and the operator reports ` +
        `${report.phase}; ${grant.replicas} and Done are needed`,
      "Look at what the operator still does in this cluster.",
      seen,
    );
  }
  if (present.observedGeneration !== undefined && present.observedGeneration !== present.generation) {
    return notObserved(present, object);
  }
  const counts = countsGate(grant, present, object);
  if (!counts.open) return counts;
  return healthGate(grant, present, object);
}

/**
 * [G4] apps/v1: readyReplicas counts terminating pods, so nothing may be terminating, and every count must agree. Pods
 * and status come from two watches: where the pods are listed, they must be ready too.
 */
function statefulSetGate(grant: Grant, present: PresentObservation, object: string): Gate {
  if (present.observedGeneration !== present.generation) return notObserved(present, object);
  const { replicas, ready, available, updated, terminating } = present.counts;
  const wanted = grant.onDelete ? 0 : grant.replicas - grant.partition;
  if ((updated ?? -1) < wanted) {
    return closed(
      "WaitingForUpdated",
      `${updated ?? "an unknown number"} of ${wanted} instances run revision ${grant.revision}`,
      "Watch the pods in this cluster; a pod that is not ready holds the others back.",
      [{ object, field: "status.updatedReplicas", value: `${updated ?? "absent"}` }],
    );
  }
  if (terminating === undefined) {
    return closed(
      "WaitingForTermination",
      "the pods cannot be read, and one may be terminating that the status counts as ready",
      "Allow Lockstep to list and watch pods in this cluster, or wait for the report of its agent if only that shows it; " +
        "`lockstep doctor` says what is missing.",
      [{ object, field: "pods terminating", value: "unknown" }],
    );
  }
  if (terminating > 0) {
    return closed(
      "WaitingForTermination",
      `${terminating} pods are still terminating`,
      "A pod that hangs in Terminating usually waits for its node or for a finalizer.",
      [{ object, field: "pods terminating", value: `${terminating}` }],
    );
  }
  if (replicas !== grant.replicas || ready !== grant.replicas || available !== grant.replicas) {
    return notReady(ready, grant, object, [
      { object, field: "status.replicas", value: `${replicas ?? "absent"}` },
      { object, field: "status.readyReplicas", value: `${ready ?? "absent"}` },
      { object, field: "status.availableReplicas", value: `${available ?? "absent"}` },
    ]);
  }
  // Where nothing has to be updated, a pod that is going may show in neither, if the pods listed are those of before.
  const listed = grant.onDelete ? listedUpdated(present) : undefined;
  if (listed !== undefined && listed !== updated) {
    return closed(
      "WaitingForTermination",
      `${listed} of the pods that are listed run the granted revision, and the status counts ` +
        `${updated}: they are of two times`,
      "Wait for the next look at the pods.",
      [{ object, field: "status.updatedReplicas", value: `${updated}` }],
    );
  }
  const serving = seenReady(present);
  if (serving < grant.replicas) {
    return notReady(serving, grant, object, [{ object, field: "pods ready", value: `${serving}` }]);
  }
  return healthGate(grant, present, object);
}

/**
 * [G5] The held spec is the gate. Without observedGeneration nothing is proven, unless the user opted into assuming.
 */
function ignorantGate(
  intent: Intent,
  entry: ClusterEntry,
  grant: Grant,
  present: PresentObservation,
  object: string,
  nowMs: TimeMs,
): Gate {
  if (present.observedGeneration === undefined) {
    const assumeAfter = intent.assumeCompleteAfterSeconds;
    const opensAtMs = assumeAfter === undefined ? undefined : (entry.ackedAtMs ?? nowMs) + assumeAfter * SECOND_MS;
    if (opensAtMs === undefined || nowMs < opensAtMs) {
      return {
        open: false,
        code: "CannotBeVerified",
        message: "the object has no status.observedGeneration, so an old status looks like a new one",
        remedy:
          "Have the operator report status.crossCluster or status.observedGeneration, or set " +
          "completion.assumeAfterSeconds to accept the risk.",
        evidence: [{ object, field: "status.observedGeneration", value: "absent" }],
        ...(opensAtMs === undefined ? {} : { opensAtMs }),
      };
    }
  } else if (present.observedGeneration !== present.generation) {
    return notObserved(present, object);
  }
  const { updated } = present.counts;
  const wanted = grant.replicas - grant.partition;
  if (updated !== undefined && updated < wanted) {
    return closed(
      "WaitingForUpdated",
      `${updated} of ${wanted} instances run revision ${grant.revision}`,
      "Watch the operator's progress in this cluster.",
      [{ object, field: "updated", value: `${updated}` }],
    );
  }
  const counts = countsGate(grant, present, object);
  if (!counts.open) return counts;
  return healthGate(grant, present, object);
}

/** Known counts must match the grant; unknown counts are covered by health. */
function countsGate(grant: Grant, { counts }: PresentObservation, object: string): Gate {
  const { replicas, ready, terminating } = counts;
  if ((replicas ?? grant.replicas) !== grant.replicas || (ready ?? grant.replicas) !== grant.replicas) {
    return notReady(ready, grant, object, [
      { object, field: "replicas", value: `${replicas ?? "unknown"}` },
      { object, field: "ready", value: `${ready ?? "unknown"}` },
    ]);
  }
  if ((terminating ?? 0) > 0) {
    return closed(
      "WaitingForTermination",
      `${terminating} instances are still going away`,
      "Wait, or look at the pods.",
      [{ object, field: "terminating", value: `${terminating}` }],
    );
  }
  return OPEN;
}

/** [G6] Unknown is never healthy. An object without instances has nothing to be healthy. */
function healthGate(grant: Grant, present: PresentObservation, object: string): Gate {
  if (present.health === "healthy" || grant.replicas === 0) return OPEN;
  const unknown = present.health === "unknown";
  return closed(
    unknown ? "HealthUnknown" : "Unhealthy",
    present.healthMessage ?? (unknown ? "health has not been interpreted yet" : "the member is not healthy"),
    unknown
      ? "Give the kind an InterpretHealth customization or webhook, and check that it answers."
      : "Look at the object's own status in this cluster.",
    [{ object, field: "health", value: present.health }],
  );
}

function notObserved(present: PresentObservation, object: string): Gate {
  return closed(
    "WaitingForObserved",
    `generation ${present.generation} has been written, the controller has seen ` +
      `${present.observedGeneration ?? "none"}`,
    "Check that the member's controller runs.",
    [{ object, field: "status.observedGeneration", value: `${present.observedGeneration ?? "absent"}` }],
  );
}

function notReady(ready: number | undefined, grant: Grant, object: string, evidence: readonly Evidence[]): Gate {
  return closed(
    "WaitingForReady",
    `${ready ?? "an unknown number"} of ${grant.replicas} instances are ready`,
    `Look at the instances of ${object} that are not ready.`,
    evidence,
  );
}

function closed(code: ReasonCode, message: string, remedy: string, evidence: readonly Evidence[]): Gate {
  return { open: false, code, message, remedy, evidence };
}

/** [G7] The cluster has seen that its turn is over. An operator on the contract must have read it itself. */
export function turnIsBack(intent: Intent, grant: Grant, present: PresentObservation): boolean {
  if (present.live.epoch !== grant.epoch || grant.processor) return false;
  return intent.workload.protocol !== "contract" || present.report?.epoch === grant.epoch;
}

/**
 * [G12] The operator reports that it is done and everything is ready, but fewer instances run the revision than were
 * granted. Although the gate was open before, the operator has to act again.
 */
export function isUndone(intent: Intent, grant: Grant, { report }: PresentObservation): boolean {
  if (intent.workload.protocol !== "contract" || report?.epoch !== grant.epoch || grant.onDelete) return false;
  const { phase, ready, updated } = report;
  return phase === "Done" && ready === grant.replicas && updated < grant.replicas - grant.partition;
}

/** [G8] How the live object differs from the grant whose epoch it carries. */
export function driftOf(grant: Grant, { live }: PresentObservation): Evidence[] {
  const found: Evidence[] = [];
  const compare = (field: string, is: unknown, should: unknown) => {
    if (is !== should)
      found.push({ object: grant.cluster, field, value: `${is ?? "absent"}, granted ${should ?? "absent"}` });
  };
  compare("revision", live.revision, grant.revision);
  compare("processor", live.processor, grant.processor);
  // A member without partitions shows none.
  compare("partition", live.partition ?? 0, grant.partition);
  compare("topology-version", live.topologyVersion, grant.topologyVersion);
  compare("transfer-leader-to", live.transferLeaderTo, grant.transferLeaderTo);
  if (live.replicas !== undefined) compare("spec.replicas", live.replicas, grant.replicas);
  return found;
}

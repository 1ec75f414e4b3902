import type { Evidence, ReasonCode } from "../rollout/index.ts";
import { hookEpoch } from "./stages.ts";
import type { ClusterSeen, Grant, HookFailure, LiveSeen, ObjectKey, ObjectSeen, Stage } from "./types.ts";

/** Whether a stage is over. `failed`: it will not be by itself. */
export type Gate =
  | { readonly kind: "open" }
  | {
      readonly kind: "closed" | "failed";
      readonly code: ReasonCode;
      readonly message: string;
      readonly evidence: readonly Evidence[];
      /** Absent: nothing, or a look at the object. */
      readonly remedy?: string;
      /** Rises with every object that is done: progress, for the deadline. */
      readonly count: number;
    };

const OPEN: Gate = { kind: "open" };

/** [A6] [A7] A stage's gate opens only on what the cluster shows of this very write. */
export function gateOf(stage: Stage, grant: Grant, seen: ClusterSeen): Gate {
  switch (stage.kind) {
    case "apply":
      return applyGate(stage.objects, seen);
    case "hook":
      return hookGate(stage, grant, seen.object(stage.object));
    case "prune":
      return countGate(seen.leftovers, "object that the revision no longer has", "still exists");
    case "remove":
      return countGate(
        seen.left.slice(stage.tier).reduce((sum, count) => sum + count, 0),
        "object",
        "is still being deleted",
      );
  }
}

function countGate(left: number, what: string, state: string): Gate {
  if (left === 0) return OPEN;
  return {
    kind: "closed",
    code: "WaitingForTermination",
    message: `${left} ${what}${left === 1 ? "" : "s"}: ${state}`,
    evidence: [{ object: "dispatch objects", field: "left", value: String(left) }],
    count: -left,
  };
}

function applyGate(keys: readonly ObjectKey[], seen: ClusterSeen): Gate {
  let first: Gate | undefined;
  let count = 0;
  for (const key of keys) {
    const gate = objectGate(key, seen.object(key));
    if (gate.kind === "open") count++;
    else if (first === undefined || (gate.kind === "failed" && first.kind !== "failed")) first = gate;
  }
  if (!first || first.kind === "open") return OPEN;
  const rest = keys.length - count - 1;
  return { ...first, count, message: `${first.message}${rest > 0 ? `, and ${rest} more` : ""}` };
}

/** [A6] Whether one object of the granted revision is healthy. Unknown is never healthy. */
export function objectGate(key: ObjectKey, { dispatched, epoch, live, refused, delivery }: ObjectSeen): Gate {
  const closed = (
    code: ReasonCode,
    message: string,
    field: string,
    value: string,
    kind: "closed" | "failed" = "closed",
  ): Exclude<Gate, { kind: "open" }> => ({
    kind,
    code,
    message: `${key}: ${message}`,
    evidence: [{ object: key, field, value }],
    count: 0,
  });
  const unseen = ({ message, remedy }: Extract<LiveSeen, { kind: "unknown" }>): Gate => {
    const why = message === undefined ? "" : `: ${message}`;
    const gate = closed("HealthUnknown", `it cannot be seen${why}`, "live", "unknown");
    return remedy === undefined ? gate : { ...gate, remedy };
  };
  if (refused !== undefined) return closed("MemberFailed", refused, "delivery", "refused", "failed");
  // Nothing is written before the cluster shows what it has: why it does not is what a reader must know.
  if (dispatched !== "wanted" && live.kind === "unknown" && live.remedy !== undefined) return unseen(live);
  if (dispatched !== "wanted") return closed("WaitingForDelivery", "it is not written yet", "dispatch", dispatched);
  if (live.kind === "unknown") return unseen(live);
  if (live.kind === "absent")
    return closed("WaitingForDelivery", delivery ?? "the cluster does not have it yet", "live", "absent");
  if (live.epoch !== epoch) {
    return closed(
      "WaitingForDelivery",
      delivery ?? "the cluster shows an earlier write",
      "epoch",
      `${live.epoch}, not ${epoch}`,
    );
  }
  if (!live.observed) {
    return closed("WaitingForObserved", "its controller has not seen it yet", "observedGeneration", "behind");
  }
  const said = live.message ?? live.health;
  switch (live.health) {
    case "Healthy":
    case "Complete":
      return OPEN;
    case "Failed":
      return closed("MemberFailed", said, "health", live.health, "failed");
    case "Unhealthy":
      return closed("Unhealthy", said, "health", live.health);
    case "Progressing":
      return closed("WaitingForReady", said, "health", live.health);
    case "Unknown":
      return closed("HealthUnknown", said, "health", live.health);
  }
}

/** [A7] A hook has run when the object of this step has ended well; one of an earlier step proves nothing. */
function hookGate(stage: Extract<Stage, { kind: "hook" }>, grant: Grant, seen: ObjectSeen): Gate {
  const { object: key, runs } = stage;
  const epoch = hookEpoch(stage, grant);
  const isThisStep = seen.dispatched === "wanted" && seen.epoch === epoch;
  if (!isThisStep && seen.refused === undefined) return waiting(key, "it has not started", "dispatch", seen.dispatched);
  const { live } = seen;
  if (live.kind === "present" && live.epoch === epoch && seen.refused === undefined) {
    if (live.health === "Complete" || !runs) return OPEN;
    if (live.health !== "Failed") return waiting(key, live.message ?? "it runs", "health", live.health);
  }
  const gate = objectGate(key, seen);
  if (live.kind === "unknown") return gate;
  return gate.kind === "failed" ? gate : waiting(key, "it is being delivered", "live", live.kind);
}

/** [A7] Whether the object of this very run has failed; undefined: not, as far as can be seen. */
export function hookFailureOf(stage: Stage, grant: Grant, seen: ClusterSeen): string | undefined {
  if (stage.kind !== "hook") return undefined;
  const { dispatched, epoch, live, refused } = seen.object(stage.object);
  const isThisRun = dispatched === "wanted" && epoch === hookEpoch(stage, grant) && refused === undefined;
  if (!isThisRun || live.kind !== "present" || live.epoch !== epoch || live.health !== "Failed") return undefined;
  return `${stage.object}: ${live.message ?? live.health}`;
}

/** A failure that was recorded stays one: the object that showed it may be deleted. */
export function failedHookGate({ message }: HookFailure, key: ObjectKey): Gate {
  const evidence = [{ object: key, field: "health", value: "Failed" }];
  return { kind: "failed", code: "MemberFailed", message, evidence, count: 0 };
}

function waiting(key: ObjectKey, message: string, field: string, value: string): Gate {
  return {
    kind: "closed",
    code: "WaitingForHook",
    message: `hook ${key}: ${message}`,
    evidence: [{ object: key, field, value }],
    count: 0,
  };
}

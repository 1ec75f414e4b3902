import type { RollingUpdate, Wave } from "../types.ts";
import { type EditableIntent, rollingUpdate } from "./intent.ts";

function rolling(intent: EditableIntent, edit: Partial<RollingUpdate>): void {
  intent.update = rollingUpdate(intent.update.type === "RollingUpdate" ? { ...intent.update, ...edit } : edit);
}

/** waves=m1+m2/600/Manual,m3 */
function waves(text: string): Wave[] {
  return text.split(",").map((wave) => {
    const [clusters = "", soak = "0", approval = "Automatic"] = wave.split("/");
    return {
      clusters: clusters.split("+"),
      soakSeconds: Number(soak),
      approval: approval === "Manual" ? "Manual" : "Automatic",
    };
  });
}

function pick<const T extends string>(value: string, ...allowed: readonly T[]): T {
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw new Error(`'${value}' is none of ${allowed.join(", ")}`);
  return found;
}

/** What `set KEY=VALUE` of a transcript edits: the names are those of the spec where it has one. */
export const settings: Readonly<Record<string, (intent: EditableIntent, value: string) => void>> = {
  template: (intent, value) => {
    intent.revision =
      value === "missing" ? { kind: "missing", message: "default/xline was not found" } : { kind: "ready", id: value };
  },
  pending: (intent, id) => {
    intent.revision = { kind: "pending", id, message: "the dry run has not answered" };
  },
  refused: (intent, id) => {
    intent.revision = { kind: "refused", id, message: "spec.volumeClaimTemplates: field is immutable" };
  },
  schedule: (intent, value) => {
    intent.schedule = { kind: "unknown", message: value };
  },
  protocol: (intent, value) => {
    intent.workload = { ...intent.workload, protocol: pick(value, "contract", "ignorant", "statefulset") };
  },
  memberPartition: (intent, value) => {
    intent.workload = { ...intent.workload, hasPartition: value === "true" };
  },
  memberOrdered: (intent, value) => {
    intent.workload = { ...intent.workload, memberOrdered: value === "true" };
  },
  mode: (intent, value) => {
    intent.identity = { ...intent.identity, mode: pick(value, "Blocks", "Dense", "PerCluster") };
  },
  blockSize: (intent, value) => {
    intent.identity = { ...intent.identity, blockSize: Number(value) };
  },
  reuseVolumes: (intent, value) => {
    intent.identity = { ...intent.identity, reuseVolumes: value === "true" };
  },
  addressTemplate: (intent, addressTemplate) => {
    intent.identity = { ...intent.identity, addressTemplate };
  },
  name: (intent, name) => {
    intent.app = { ...intent.app, name };
  },
  clusterID: (intent, value) => {
    const [cluster = "", id = ""] = value.split(":");
    intent.identity = { ...intent.identity, clusterIds: { ...intent.identity.clusterIds, [cluster]: id } };
  },
  baseline: (intent, value) => {
    const [cluster = "", revision = "", replicas = "0", start = "0"] = value.split(":");
    intent.baselines[cluster] = { revision, replicas: Number(replicas), start: Number(start) };
    intent.fleet[cluster] ??= { state: "Ready" };
  },
  podManagementPolicy: (intent, value) => {
    intent.podManagementPolicy = pick(value, "OrderedReady", "Parallel");
  },
  quorum: (intent, value) => {
    intent.quorum = pick(value, "Majority", "None");
  },
  memberConcurrency: (intent, value) => {
    intent.memberConcurrency = pick(value, "Serial", "Parallel");
  },
  minReadySeconds: (intent, value) => {
    intent.minReadySeconds = Number(value);
  },
  assumeAfterSeconds: (intent, value) => {
    intent.assumeCompleteAfterSeconds = Number(value);
  },
  updateType: (intent, value) => {
    intent.update = value === "OnDelete" ? { type: "OnDelete" } : rollingUpdate();
  },
  partition: (intent, value) => rolling(intent, { partition: Number(value) }),
  maxUnavailable: (intent, value) =>
    rolling(intent, { maxUnavailable: value.endsWith("%") ? `${Number.parseFloat(value)}%` : Number(value) }),
  batches: (intent, value) => rolling(intent, { batches: value.split(",").map(Number) }),
  order: (intent, value) => rolling(intent, { order: pick(value, "LeaderLast", "Listed") }),
  leaderTransfer: (intent, value) => rolling(intent, { leaderTransfer: { timeoutSeconds: Number(value) } }),
  waves: (intent, value) => rolling(intent, { waves: waves(value) }),
  paused: (intent, value) => rolling(intent, { paused: value === "true" }),
  progressDeadlineSeconds: (intent, value) => rolling(intent, { progressDeadlineSeconds: Number(value) }),
  onFailure: (intent, value) => rolling(intent, { onFailure: pick(value, "Pause", "Rollback") }),
  window: (intent, value) => {
    const [state, at] = value.split("@");
    const changesAtMs = at === undefined ? {} : { changesAtMs: Number(at) * 1000 };
    rolling(intent, { window: { open: pick(state ?? "", "open", "closed") === "open", ...changesAtMs } });
  },
  failover: (intent, value) => {
    const [policy = "Wait", after = "300"] = value.split(":");
    intent.failover = { policy: pick(policy, "Wait", "Replace"), afterSeconds: Number(after) };
  },
  whenScaled: (intent, value) => {
    intent.retention = { ...intent.retention, whenScaled: pick(value, "Retain", "Delete") };
  },
  whenDeleted: (intent, value) => {
    intent.retention = { ...intent.retention, whenDeleted: pick(value, "Retain", "Delete") };
  },
  deletion: (intent, value) => {
    intent.deletion = { policy: pick(value, "Release", "Teardown") };
  },
};

import type { RollingUpdate, Wave } from "../../types/index.ts";
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
  /** The template's own content, where the revision differs from it in something else: `template=B2 content=B`. */
  content: (intent, digest) => {
    if (intent.revision.kind === "missing") return;
    intent.revision = { ...intent.revision, own: { restart: "", ...intent.revision.own, digest } };
  },
  /** The restart marks that the template carries now. */
  restart: (intent, restart) => {
    if (intent.revision.kind === "missing") return;
    intent.revision = { ...intent.revision, own: { digest: intent.revision.id, ...intent.revision.own, restart } };
  },
  /** restarted=A:A-again: what the controller has made of A with those marks. */
  restarted: (intent, value) => {
    const [of = "", id = ""] = value.split(":");
    intent.inForce = { changed: [], leavesRestartOut: false, ...intent.inForce, restarted: { of, id } };
  },
  /** changed=ConfigMap/web: what differs from the revision that was overridden. */
  changed: (intent, value) => {
    intent.inForce = { leavesRestartOut: false, ...intent.inForce, changed: value === "" ? [] : value.split("+") };
  },
  /** settling=12: nothing is known of the template's revision before second 12. */
  settling: (intent, second) => {
    const message = "settling, 2 s: the template, or what it depends on, has just changed";
    intent.revision = { kind: "pending", id: "", message, retryAtMs: Number(second) * 1000 };
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
  /** NAME:EPOCH:TOPOLOGY-VERSION:FIRST-LAST, after the cluster's baseline. */
  former: (intent, value) => {
    const [cluster = "", epoch = "0", version = "0", range = ""] = value.split(":");
    const [first = 0, last = first - 1] = range === "" ? [] : range.split("-").map(Number);
    const ordinals = Array.from({ length: last - first + 1 }, (_, at) => first + at);
    const baseline = intent.baselines[cluster];
    if (!baseline) throw new Error(`former=${value}: say the cluster's baseline first`);
    const former = { epoch: Number(epoch), topologyVersion: Number(version), ordinals };
    intent.baselines[cluster] = { ...baseline, former };
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

import type { FleetFact, Intent, RollingUpdate } from "../../types/index.ts";

type Deep<T> = { -readonly [K in keyof T]: T[K] };
/** An intent that a test edits in place, as users edit theirs. */
export type EditableIntent = Deep<Omit<Intent, "fleet" | "baselines">> & {
  fleet: Record<string, FleetFact>;
  baselines: Record<string, Intent["baselines"][string]>;
};

export function rollingUpdate(edit: Partial<RollingUpdate> = {}): RollingUpdate {
  return {
    type: "RollingUpdate",
    partition: 0,
    maxUnavailable: 1,
    batches: [],
    order: "LeaderLast",
    waves: [],
    paused: false,
    progressDeadlineSeconds: 600,
    onFailure: "Pause",
    window: { open: true },
    ...edit,
  };
}

/** What most tests start from: an operator on the contract, OrderedReady, a majority to keep. */
export function testIntent(sizes: Readonly<Record<string, number>>, edit: Partial<Intent> = {}): EditableIntent {
  const clusters = Object.entries(sizes).map(([cluster, replicas]) => ({ cluster, replicas }));
  return {
    app: { name: "xline", namespace: "default", service: "xline", clusterToken: "token" },
    revision: { kind: "ready", id: "A" },
    schedule: { kind: "known", source: "explicit", clusters },
    workload: { protocol: "contract", hasPartition: true, memberOrdered: true, reportsLeader: false },
    identity: { mode: "Blocks", blockSize: 100, clusterIds: {} },
    podManagementPolicy: "OrderedReady",
    quorum: "Majority",
    memberConcurrency: "Serial",
    minReadySeconds: 0,
    update: rollingUpdate(),
    failover: { policy: "Wait", afterSeconds: 300 },
    retention: { whenScaled: "Retain", whenDeleted: "Retain" },
    requests: { approvals: [], confirmedLost: [], confirmedDrain: [] },
    ...edit,
    baselines: { ...edit.baselines },
    fleet: {
      ...Object.fromEntries(Object.keys(sizes).map((name) => [name, { state: "Ready" } as const])),
      ...edit.fleet,
    },
  };
}

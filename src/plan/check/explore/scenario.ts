import type { ClusterName, Intent, Protocol, RevisionId, Schedule } from "../../types/index.ts";
import { rollingUpdate } from "../testing/intent.ts";
import { type Faults, NO_FAULTS } from "./state.ts";

/** The application's name in every scenario. */
export const APP = "db";

/** A change that a person makes at any moment after the one before it. */
export interface Edit {
  readonly label: string;
  readonly apply: (intent: Intent) => Intent;
}

/** One focused corner of the world: what there is, what may go wrong, what is edited, and how far to look. */
export interface Scenario {
  readonly name: string;
  readonly protocol: Protocol;
  readonly hasPartition: boolean;
  readonly intent: Intent;
  readonly leader: ClusterName | null;
  /** Revisions whose instances never become ready. */
  readonly brokenRevisions: readonly RevisionId[];
  /** Volumes are part of the snapshots. */
  readonly seesVolumes: boolean;
  /** Volumes that an earlier life of the application left behind. */
  readonly leftBehind: Readonly<Record<ClusterName, readonly number[]>>;
  /** A StatefulSet's pods and its status are seen at different times. */
  readonly twoWatches: boolean;
  /**
   * `crash`: an instance stops being ready for a while. `kill`: its pod is gone at once. `delete`: a user deletes its
   * pod. `evict`: its node does, and the pod's condition says so.
   */
  readonly accident: "crash" | "kill" | "delete" | "evict";
  /**
   * What another client does to an object: its `annotations` are lost, an older object is `restored`, the `turn` is
   * given, the replicas are `shrunk`, or the object is `deleted`.
   */
  readonly drift: "annotations" | "restored" | "turn" | "shrunk" | "deleted";
  /** When the leader goes down, there is none for a while, and any instance may be elected. */
  readonly elections: boolean;
  /** The application can be asked for its members. */
  readonly listsMembers: boolean;
  readonly faults: Faults;
  readonly edits: readonly Edit[];
  /** Explored from the first deployment on, from the application at rest, or from one that runs without Lockstep. */
  readonly start: "empty" | "deployed" | "adopted";
  /** How far time jumps when nothing asks for a certain time. */
  readonly waitMs: number;
  /** It has many states: all of them are visited only where there is time for it. */
  readonly large: boolean;
  /** What must be so in the end, beyond every cluster running what the schedule says. */
  readonly sizesMayDiffer: boolean;
  /** The controller dispatches before it writes the ledger. Only a mutant does. */
  readonly dispatchFirst: boolean;
  /** What a former leader had in flight lands whatever its successor has written. Only with a mutant. */
  readonly unfenced: boolean;
}

type Settings = Partial<Omit<Scenario, "intent" | "faults" | "name">> & {
  readonly sizes: Readonly<Record<ClusterName, number>>;
  readonly spec?: Partial<Intent>;
  readonly update?: Partial<Extract<Intent["update"], { type: "RollingUpdate" }>>;
  readonly identity?: Partial<Intent["identity"]>;
  readonly faults?: Partial<Faults>;
  /** Clusters of the fleet that the schedule does not name yet. */
  readonly spare?: readonly ClusterName[];
  /** A StatefulSet's own podManagementPolicy inside a member. */
  readonly memberOrdered?: boolean;
};

export function scenario(name: string, settings: Settings): Scenario {
  const { sizes, spec, update, identity, faults, spare = [], memberOrdered = true, ...given } = settings;
  const protocol = given.protocol ?? "contract";
  const hasPartition = given.hasPartition ?? protocol !== "ignorant";
  const leader = given.leader ?? null;
  return {
    name,
    brokenRevisions: [],
    seesVolumes: false,
    leftBehind: {},
    twoWatches: protocol === "statefulset",
    accident: "crash",
    edits: [],
    start: "deployed",
    waitMs: 61_000,
    large: false,
    sizesMayDiffer: false,
    dispatchFirst: false,
    unfenced: false,
    drift: "annotations",
    elections: false,
    listsMembers: false,
    ...given,
    protocol,
    hasPartition,
    leader,
    faults: { ...NO_FAULTS, ...faults },
    intent: {
      app: { name: APP, namespace: "default", service: APP, clusterToken: "token" },
      revision: { kind: "ready", id: "A" },
      schedule: scheduleOf(sizes),
      workload: { protocol, hasPartition, memberOrdered, reportsLeader: leader !== null },
      identity: { mode: "Blocks", blockSize: 10, clusterIds: {}, ...identity },
      podManagementPolicy: "OrderedReady",
      quorum: "Majority",
      memberConcurrency: "Serial",
      minReadySeconds: 0,
      update: rollingUpdate(update),
      failover: { policy: "Wait", afterSeconds: 300 },
      retention: { whenScaled: "Retain", whenDeleted: "Retain" },
      requests: { approvals: [], confirmedLost: [], confirmedDrain: [] },
      baselines: {},
      fleet: Object.fromEntries([...Object.keys(sizes), ...spare].map((name) => [name, { state: "Ready" } as const])),
      ...spec,
    },
  };
}

function scheduleOf(sizes: Readonly<Record<ClusterName, number>>): Schedule {
  const clusters = Object.entries(sizes).map(([cluster, replicas]) => ({ cluster, replicas }));
  return { kind: "known", source: "explicit", clusters };
}

export function template(id: RevisionId): Edit {
  return { label: `template ${id}`, apply: (intent) => ({ ...intent, revision: { kind: "ready", id } }) };
}

export function scaleTo(sizes: Readonly<Record<ClusterName, number>>): Edit {
  return {
    label: `scale to ${JSON.stringify(sizes)}`,
    apply: (intent) => ({ ...intent, schedule: scheduleOf(sizes) }),
  };
}

export function rolling(change: Partial<Extract<Intent["update"], { type: "RollingUpdate" }>>): Edit {
  return {
    label: `set ${JSON.stringify(change)}`,
    apply: (intent) =>
      intent.update.type === "RollingUpdate" ? { ...intent, update: { ...intent.update, ...change } } : intent,
  };
}

/** A taint keeps new instances away from the cluster, or no longer does. */
export function cordon(cluster: ClusterName, isCordoned: boolean): Edit {
  return {
    label: `${isCordoned ? "cordon" : "uncordon"} ${cluster}`,
    apply: (intent) => {
      if (intent.fleet[cluster]?.state !== "Ready") return intent;
      const fact = isCordoned ? ({ state: "Ready", cordoned: "maintenance" } as const) : ({ state: "Ready" } as const);
      return { ...intent, fleet: { ...intent.fleet, [cluster]: fact } };
    },
  };
}

/** No further instance fits into the cluster, or again some do. */
export function fill(cluster: ClusterName, isFull: boolean): Edit {
  return {
    label: `${isFull ? "fill" : "free"} ${cluster}`,
    apply: (intent) => {
      if (intent.fleet[cluster]?.state !== "Ready") return intent;
      const room = { instances: 0, evidence: "nothing is free" };
      const fact = isFull ? ({ state: "Ready", room } as const) : ({ state: "Ready" } as const);
      return { ...intent, fleet: { ...intent.fleet, [cluster]: fact } };
    },
  };
}

/** A person drains the cluster for maintenance, or says that it is over. */
export function maintain(cluster: ClusterName, isDrained: boolean): Edit {
  return {
    label: `${isDrained ? "drain" : "undrain"} ${cluster}`,
    apply: (intent) => {
      if (intent.fleet[cluster]?.state !== "Ready") return intent;
      const fact = isDrained
        ? ({ state: "Ready", cordoned: "maintenance", maintenance: true } as const)
        : ({ state: "Ready" } as const);
      return { ...intent, fleet: { ...intent.fleet, [cluster]: fact } };
    },
  };
}

/** A person wants the leader in a cluster. */
export function transferLeader(id: string, to: ClusterName): Edit {
  return {
    label: `transfer-leader to ${to}`,
    apply: (intent) => ({ ...intent, requests: { ...intent.requests, transferLeader: { id, to } } }),
  };
}

export const unschedule: Edit = {
  label: "the schedule is unknown",
  apply: (intent) => ({ ...intent, schedule: { kind: "unknown", message: "no result yet" } }),
};

export function resume(stamp: string): Edit {
  return {
    label: `resume ${stamp}`,
    apply: (intent) => ({ ...intent, requests: { ...intent.requests, resume: stamp } }),
  };
}

export function pending(id: RevisionId): Edit {
  return {
    label: `template ${id}, not yet accepted`,
    apply: (intent) => ({ ...intent, revision: { kind: "pending", id, message: "being checked" } }),
  };
}

export function undo(id: string, to: RevisionId): Edit {
  return {
    label: `undo to ${to}`,
    apply: (intent) => ({ ...intent, requests: { ...intent.requests, undo: { id, to } } }),
  };
}

/** A restart that a person asks for; `of` is what the controller can make `id` of while an undo holds. */
export function restart(stamp: string, of: RevisionId, id: RevisionId): Edit {
  return {
    label: `restart ${stamp}`,
    apply: (intent) => {
      if (intent.revision.kind === "missing") return intent;
      const own = { digest: intent.revision.id, restart: stamp };
      const inForce = { restarted: { of, id }, changed: [], leavesRestartOut: false };
      return { ...intent, revision: { ...intent.revision, own }, inForce };
    },
  };
}

/** A ConfigMap that the template names is edited: another revision of the same template. */
export function dependencyEdit(id: RevisionId): Edit {
  return {
    label: `a dependency makes ${id}`,
    apply: (intent) => {
      if (intent.revision.kind === "missing") return intent;
      const own = intent.revision.own ?? { digest: intent.revision.id, restart: "" };
      const inForce = { leavesRestartOut: false, ...intent.inForce, changed: ["ConfigMap default/db"] };
      return { ...intent, revision: { ...intent.revision, id, own }, inForce };
    },
  };
}

/** Past the soak of a wave, counted from 0, or past the windows. */
export function promote(revision: RevisionId, past: number | "window"): Edit {
  const promotion = past === "window" ? { revision, window: true } : { revision, wave: past, window: false };
  return {
    label: `promote ${revision} past ${past === "window" ? "the window" : `the soak of wave ${past + 1}`}`,
    apply: (intent) => ({ ...intent, requests: { ...intent.requests, promotion } }),
  };
}

export function confirmLost(cluster: ClusterName): Edit {
  return {
    label: `confirm-lost ${cluster}`,
    apply: (intent) => ({ ...intent, requests: { ...intent.requests, confirmedLost: [cluster] } }),
  };
}

export function remove(policy: "Release" | "Teardown"): Edit {
  return { label: `delete (${policy})`, apply: (intent) => ({ ...intent, deletion: { policy } }) };
}

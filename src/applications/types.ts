import type {
  Approval,
  ClusterName,
  FleetFact,
  Promotion,
  RevisionHistory,
  RevisionId,
  TimeMs,
  Waiting,
  Wave,
  WindowState,
} from "../rollout/index.ts";

/** An object of a revision: apiVersion, kind, namespace and name, as `objectKey` writes them. */
export type ObjectKey = string;
/** A workload whose replicas are divided: its kind and name. */
export type WorkloadKey = string;

/** Why a cluster is walked through a revision; it decides which hooks run. */
export type Mode = "Install" | "Upgrade" | "Rollback" | "Delete";

/** One stretch of a cluster's way through a revision. The next begins when this one's gate is open. */
export type Stage =
  /** Dispatched in this order, then waited for until every one is healthy. */
  | { readonly kind: "apply"; readonly title: string; readonly objects: readonly ObjectKey[] }
  /** Runs once per step. `runs`: it has an end that is waited for; other kinds count when they are there. */
  | {
      readonly kind: "hook";
      readonly title: string;
      readonly object: ObjectKey;
      readonly runs: boolean;
      /** How often the same object runs before this in the same step; absent: it does not. */
      readonly earlier?: number;
    }
  /** What the revision no longer has is deleted. */
  | { readonly kind: "prune"; readonly title: string }
  /** Everything of this tier and above is deleted. */
  | { readonly kind: "remove"; readonly title: string; readonly tier: number };

export type WantedRevision =
  | { readonly kind: "known"; readonly id: RevisionId }
  | { readonly kind: "pending"; readonly message: string }
  | { readonly kind: "refused"; readonly message: string; readonly remedy: string };

export type WantedClusters =
  | { readonly kind: "known"; readonly names: readonly ClusterName[] }
  | { readonly kind: "unknown"; readonly message: string };

export interface RolloutSettings {
  readonly maxUnavailableClusters: number;
  readonly waves: readonly Wave[];
  readonly soakSeconds: number;
  readonly paused: boolean;
  readonly progressDeadlineSeconds: number;
  readonly onFailure: "Pause" | "Rollback";
  readonly window: WindowState;
}

/** What another scheduler says that each cluster is to run of a workload; a cluster that is not named gets nothing. */
export type Division =
  | { readonly kind: "known"; readonly shares: Readonly<Record<ClusterName, number>> }
  | { readonly kind: "unknown"; readonly message: string; readonly remedy?: string };

/** One workload whose replicas are divided: by weight, or by another scheduler. */
export interface Divided {
  readonly key: WorkloadKey;
  readonly object: ObjectKey;
  readonly total: number;
  /** Absent: all clusters share equally. */
  readonly weights?: Readonly<Record<ClusterName, number>>;
  /** Absent: by weight. */
  readonly division?: Division;
  readonly failover?: { readonly afterSeconds: number; readonly unhealthyAfterSeconds: number };
}

export interface Intent {
  readonly revision: WantedRevision;
  readonly clusters: WantedClusters;
  /** The object is being deleted. */
  readonly ending?: "Teardown" | "Release";
  /** What becomes of a cluster that is no longer chosen. */
  readonly leave: "Teardown" | "Release";
  readonly rollout: RolloutSettings;
  readonly requests: {
    readonly approvals: readonly Approval[];
    readonly promotion?: Promotion;
    readonly undo?: { readonly id: string; readonly to: RevisionId };
    readonly resumed?: string;
  };
  readonly divided: readonly Divided[];
  /** A cluster's way through a revision; undefined: the revision's content is not known. */
  readonly stages: (revision: RevisionId, cluster: ClusterName, mode: Mode) => readonly Stage[] | undefined;
}

export type Health = "Healthy" | "Progressing" | "Unhealthy" | "Unknown" | "Complete" | "Failed";

export type LiveSeen =
  /** `message`: why it cannot be seen. */
  | { readonly kind: "unknown"; readonly message?: string; readonly remedy?: string }
  | { readonly kind: "absent" }
  | {
      readonly kind: "present";
      /** The epoch that the member's object carries; null: none of ours. */
      readonly epoch: number | null;
      /** Its controller has seen the generation that it has. */
      readonly observed: boolean;
      readonly health: Health;
      readonly message?: string;
      readonly ready?: number;
    };

/** One object in one cluster. */
export interface ObjectSeen {
  /** What stands on the hub for it: nothing, another content, the granted content, or something that is going away. */
  readonly dispatched: "none" | "other" | "wanted" | "going";
  /** The epoch under which that was written. */
  readonly epoch: number;
  readonly live: LiveSeen;
  /** Why it is not written: it belongs to another owner. */
  readonly refused?: string;
  /** What the engine says about a delivery that fails; it tries again. */
  readonly delivery?: string;
}

export interface ClusterSeen {
  readonly object: (key: ObjectKey) => ObjectSeen;
  /** Objects on the hub for this cluster that the granted revision does not have. */
  readonly leftovers: number;
  /** Objects on the hub for this cluster, by tier. */
  readonly left: readonly number[];
}

export interface Seen {
  readonly fleet: Readonly<Record<ClusterName, FleetFact>>;
  /** A cluster that is not here cannot be observed. */
  readonly clusters: Readonly<Record<ClusterName, ClusterSeen>>;
}

export interface Grant {
  readonly revision: RevisionId;
  /** Of the last change of this grant. */
  readonly epoch: number;
  /** Of the first write of this step: hooks run once for each. */
  readonly step: number;
  readonly mode: Mode;
  /** Index of the stage that the cluster is in. Stages before it are done. */
  readonly stage: number;
  readonly replicas: Readonly<Record<WorkloadKey, number>>;
}

/** A hook that failed in a step: kept, because the hook's delete policy may remove the object that shows it. */
export interface HookFailure {
  readonly step: number;
  readonly stage: number;
  readonly message: string;
}

/** Replicas that other clusters carry for this one. */
export interface Outage {
  readonly missing: number;
  readonly healthySinceMs: TimeMs | null;
}

export interface ClusterEntry {
  readonly grant: Grant | null;
  /** The last revision that the cluster completed. */
  readonly deployed: RevisionId | null;
  /** Every stage of the grant is done, and it has soaked. */
  readonly done: boolean;
  readonly healthySinceMs: TimeMs | null;
  readonly progress: { readonly atMs: TimeMs; readonly mark: string } | null;
  readonly failed: string | null;
  readonly hookFailure?: HookFailure;
  /** Since when replicas have been missing, by workload. */
  readonly short: Readonly<Record<WorkloadKey, TimeMs>>;
  readonly out: Readonly<Record<WorkloadKey, Outage>>;
  /** Of a cluster that is no longer chosen: it cannot be reached, or since when it can again. */
  readonly away?: "now" | TimeMs | null;
}

export interface Rollout {
  readonly to: RevisionId;
  readonly from: RevisionId | null;
  readonly kind: "update" | "rollback";
  readonly sinceMs: TimeMs;
  readonly wave: number;
  readonly soakSinceMs: TimeMs | null;
}

/** Another revision in place of the source's, until the source changes. */
export interface Override {
  readonly to: RevisionId;
  readonly instead: RevisionId;
  readonly cause: "undo" | "failure";
  /** Which cluster's step failed, and why. */
  readonly why?: string;
}

export interface Ledger {
  readonly epoch: number;
  readonly currentRevision: RevisionId | null;
  readonly rollout: Rollout | null;
  readonly override: Override | null;
  readonly undoHeard: string | null;
  readonly resumeHeard: string | null;
  readonly history: RevisionHistory;
  readonly clusters: Readonly<Record<ClusterName, ClusterEntry>>;
  /** The last known division by another scheduler, by workload; it names every cluster that was chosen then. */
  readonly divisions: Readonly<Record<WorkloadKey, Readonly<Record<ClusterName, number>>>>;
}

export interface Figures {
  readonly targetRevision: RevisionId | null;
  readonly currentRevision: RevisionId | null;
  readonly previousRevision?: RevisionId;
  readonly rejectedRevision?: RevisionId;
  /** Each cluster's phase in one word. */
  readonly phases: Readonly<Record<ClusterName, ClusterPhase>>;
  /** Replicas that a cluster runs for others, by workload; none: it is not named. */
  readonly lent: Readonly<Record<WorkloadKey, Readonly<Record<ClusterName, number>>>>;
}

export type ClusterPhase =
  | "Pending"
  | "Deploying"
  | "Updating"
  | "RollingBack"
  | "Settled"
  | "Unhealthy"
  | "Lost"
  | "Removing"
  | "Failed";

export interface PlanResult {
  readonly ledger: Ledger;
  /** Clusters that keep their objects, without Lockstep. */
  readonly releases: readonly ClusterName[];
  readonly reasons: readonly Waiting[];
  readonly requeueAt: TimeMs | undefined;
  readonly figures: Figures;
  /** The object is being deleted, and nothing of it is left. */
  readonly finished: boolean;
}

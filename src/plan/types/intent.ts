/** What the user wants and what the fleet is: everything that does not come from the members' own objects. */
import type { Approval, ClusterName, FleetFact, Promotion, RevisionId, TimeMs, Wave } from "../../rollout/index.ts";

export interface Intent {
  readonly app: AppIdentity;
  readonly revision: RevisionIntent;
  /** What an override in force has to consider in addition to the template. */
  readonly inForce?: InForce;
  readonly schedule: Schedule;
  readonly workload: WorkloadTraits;
  readonly identity: IdentitySettings;
  readonly podManagementPolicy: "OrderedReady" | "Parallel";
  readonly quorum: "Majority" | "None";
  readonly memberConcurrency: "Serial" | "Parallel";
  readonly minReadySeconds: number;
  /** How long after delivery an unverifiable member is taken as done; absent: never. */
  readonly assumeCompleteAfterSeconds?: number;
  readonly update: UpdateStrategy;
  /** What is wrong with settings that the planner cannot read itself, such as a script. */
  readonly settingProblems?: readonly SettingProblem[];
  readonly failover: { readonly policy: "Wait" | "Replace"; readonly afterSeconds: number };
  readonly retention: { readonly whenScaled: VolumeRetention; readonly whenDeleted: VolumeRetention };
  readonly requests: Requests;
  /** Present while the CrossClusterStatefulset is being deleted. */
  readonly deletion?: { readonly policy: "Release" | "Teardown" };
  /**
   * Clusters that already run the application without a grant: what each one runs is its baseline, null while it cannot
   * be read.
   */
  readonly baselines: Readonly<Record<ClusterName, Baseline | null>>;
  /** A cluster that is named nowhere in it counts as Unknown, never as gone. */
  readonly fleet: Readonly<Record<ClusterName, FleetFact>>;
}

export interface SettingProblem {
  /** The field of the spec. */
  readonly field: string;
  readonly message: string;
  readonly remedy: string;
}

export interface AppIdentity {
  /** The workload's name: instances are `<name>-<ordinal>`. */
  readonly name: string;
  readonly namespace: string;
  /** The headless Service that gives instances their names. */
  readonly service: string;
  /** The same for the application's whole life, different for every application (for instance the object's uid). */
  readonly clusterToken: string;
}

export type VolumeRetention = "Retain" | "Delete";

export type RevisionIntent =
  /** Snapshotted, and accepted by a member's dry run. Only this one may be granted. */
  | { readonly kind: "ready"; readonly id: RevisionId; readonly own?: TemplateMarks }
  /**
   * Not made yet, or its dry run is not finished. An empty id: it has no name yet. `retryAtMs`: when time alone ends
   * it.
   */
  | {
      readonly kind: "pending";
      readonly id: RevisionId;
      readonly message: string;
      readonly remedy?: string;
      readonly retryAtMs?: TimeMs;
      readonly own?: TemplateMarks;
    }
  /** It cannot be made of what the template names, or a member's API server refused it (immutable field, admission). */
  | {
      readonly kind: "refused";
      readonly id: RevisionId;
      readonly message: string;
      readonly remedy?: string;
      readonly own?: TemplateMarks;
    }
  /** The template does not exist, or the selector matches none or several. */
  | { readonly kind: "missing"; readonly message: string };

/** The template is there. */
export type TemplateRevision = Exclude<RevisionIntent, { readonly kind: "missing" }>;

/** [F6] What of a revision is the template's own. Absent: the whole of it, under the revision's name. */
export interface TemplateMarks {
  /** Names the template's content, without its count, its labels and annotations, and restart marks. */
  readonly digest: string;
  /** The restart marks; another text is another restart. */
  readonly restart: string;
}

export interface InForce {
  /** [U10] The override's revision with the restart marks of now. */
  readonly restarted?: { readonly of: RevisionId; readonly id: RevisionId };
  /** [F10] What differs between the revision that was overridden and the template's present one. */
  readonly changed: readonly string[];
  /** The template's revision is without restart marks that it would have, were the override not there. */
  readonly leavesRestartOut: boolean;
}

export interface ScheduledCluster {
  readonly cluster: ClusterName;
  readonly replicas: number;
  /**
   * Set: the engine does not select it, and `replicas` are what it holds, because it may only have been away. `isStuck`:
   * it has been so for long.
   */
  readonly kept?: { readonly message: string; readonly isStuck: boolean };
}

export type Schedule =
  /** In the user's or the engine's order. `source` says whether a user or an engine decided it. */
  | {
      readonly kind: "known";
      readonly source: "explicit" | "engine";
      readonly clusters: readonly ScheduledCluster[];
    }
  /** Missing or outdated. Never read as "zero clusters". */
  | { readonly kind: "unknown"; readonly message: string; readonly remedy?: string };

/** `contract`: reports epoch and phase. `ignorant`: acts on its spec only. `statefulset`: apps/v1. */
export type Protocol = "contract" | "ignorant" | "statefulset";

export interface WorkloadTraits {
  readonly protocol: Protocol;
  /** The member can keep its lowest instances on the old revision. */
  readonly hasPartition: boolean;
  /** A StatefulSet's own podManagementPolicy inside one member is OrderedReady. Ignored for other protocols. */
  readonly memberOrdered: boolean;
  /** The members report where the leader is. False: there is no leader to wait for. */
  readonly reportsLeader: boolean;
}

export interface IdentitySettings {
  readonly mode: "Blocks" | "Dense" | "PerCluster";
  /** Ordinals reserved for each cluster in Blocks. */
  readonly blockSize: number;
  /** The cluster's id in the names of the network, where it differs from its name on the hub. */
  readonly clusterIds: Readonly<Record<ClusterName, string>>;
  /** With {instance} {ordinal} {cluster} {service} {namespace}; absent: the Multi-Cluster Services name. */
  readonly addressTemplate?: string;
  /** Whether an ordinal may come back on the volume of its former holder. Absent: true in Blocks, else false. */
  readonly reuseVolumes?: boolean;
}

export type UpdateStrategy = RollingUpdate | { readonly type: "OnDelete" };

export interface RollingUpdate {
  readonly type: "RollingUpdate";
  /** The first so many instances in the global order stay on the old revision. */
  readonly partition: number;
  /** Instances over all clusters; a percentage is of the desired total and rounds up. */
  readonly maxUnavailable: number | `${number}%`;
  /** Instances released at a time; the last number repeats. Empty: no batches. */
  readonly batches: readonly number[];
  readonly order: "LeaderLast" | "Listed";
  /** Absent: the operator cannot transfer the leader, so it is not asked. */
  readonly leaderTransfer?: { readonly timeoutSeconds: number };
  readonly waves: readonly Wave[];
  readonly paused: boolean;
  readonly progressDeadlineSeconds: number;
  readonly onFailure: "Pause" | "Rollback";
  /** The maintenance windows, already evaluated for now. No windows: open. */
  readonly window: { readonly open: boolean; readonly changesAtMs?: TimeMs };
}

export interface Requests {
  /** The latest undo. A new id is a new request; the same id is the same request, whatever was done since. */
  readonly undo?: { readonly id: string; readonly to: RevisionId };
  /** Manual gates that a person opened. `wave` counts from 0. */
  readonly approvals: readonly Approval[];
  /** [L8] The latest wish to have the leader elsewhere: a cluster, or an instance. A new id is a new request. */
  readonly transferLeader?: { readonly id: string; readonly to: string };
  /** [W7] A user's request to skip a soak or a closed window, for one revision. */
  readonly promotion?: Promotion;
  /** Clusters whose instances a person declared gone for good. */
  readonly confirmedLost: readonly ClusterName[];
  /** Returned clusters that a person allowed to be drained. */
  readonly confirmedDrain: readonly ClusterName[];
  /** A stamp that a user changes to continue after a halt (failed, adopted with differences ...). */
  readonly resume?: string;
}

/** What an adopted cluster runs. */
export interface Baseline {
  readonly revision: RevisionId;
  readonly replicas: number;
  /** The first local ordinal (a StatefulSet's ordinals.start). */
  readonly start: number;
  /** Present: an earlier life of this application granted what runs, and its instances keep their identity. */
  readonly former?: FormerGrant;
}

/** What a cluster's object shows of a grant that this ledger never gave. A hint: the members' tenants can forge it. */
export interface FormerGrant {
  readonly epoch: number;
  readonly topologyVersion: number;
  /** The global ordinals of its instances, ascending, as many as run. Absent: not known. */
  readonly ordinals?: readonly number[];
}

import type { TopologyCluster } from "../contract/index.ts";
import type { Waiting } from "./reasons.ts";

/** A cluster's name on the hub. */
export type ClusterName = string;
/** Names a revision's content: the template, its dependencies and the restart stamp, without replicas. */
export type RevisionId = string;
/** Milliseconds since 1970. The planner never reads a clock; the caller says what time it is. */
export type TimeMs = number;

// ---------------------------------------------------------------------------------------------------------------------
// What the user wants and what the fleet is: everything that does not come from the members' own objects.

export interface Intent {
  readonly app: AppIdentity;
  readonly revision: RevisionIntent;
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
  readonly failover: { readonly policy: "Wait" | "Replace"; readonly afterSeconds: number };
  readonly retention: { readonly whenScaled: VolumeRetention; readonly whenDeleted: VolumeRetention };
  readonly requests: Requests;
  /** Present while the CrossClusterStatefulset is being deleted. */
  readonly deletion?: { readonly policy: "Release" | "Teardown" };
  /** Clusters that already run the application without a grant: what each one runs is its baseline, null while it cannot be read. */
  readonly baselines: Readonly<Record<ClusterName, Baseline | null>>;
  /** A cluster that is named nowhere in it counts as Unknown, never as gone. */
  readonly fleet: Readonly<Record<ClusterName, FleetFact>>;
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
  | { readonly kind: "ready"; readonly id: RevisionId }
  /** Snapshot or dry run not finished. */
  | { readonly kind: "pending"; readonly id: RevisionId; readonly message: string }
  /** A member's API server refused it (immutable field, admission). */
  | { readonly kind: "refused"; readonly id: RevisionId; readonly message: string }
  /** The template does not exist, or the selector matches none or several. */
  | { readonly kind: "missing"; readonly message: string };

export type Schedule =
  /** In the user's or the engine's order. `source` tells a person's own words from an engine's answer. */
  | {
      readonly kind: "known";
      readonly source: "explicit" | "engine";
      readonly clusters: ReadonlyArray<{ readonly cluster: ClusterName; readonly replicas: number }>;
    }
  /** Missing or outdated. Never read as "zero clusters". */
  | { readonly kind: "unknown"; readonly message: string };

/** `contract`: reports epoch and phase. `ignorant`: acts on its spec only. `statefulset`: apps/v1. */
export type Protocol = "contract" | "ignorant" | "statefulset";

export interface WorkloadTraits {
  readonly protocol: Protocol;
  /** The member can keep its lowest instances on the old revision. */
  readonly hasPartition: boolean;
  /** A StatefulSet's own podManagementPolicy inside one member is OrderedReady. Ignored for other protocols. */
  readonly memberOrdered: boolean;
  /** Somebody says where the leader is. False: there is no leader to wait for. */
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

export interface Wave {
  readonly clusters: readonly ClusterName[];
  readonly soakSeconds: number;
  readonly approval: "Automatic" | "Manual";
}

export interface Requests {
  /** The latest undo. A new id is a new request; the same id is the same request, whatever was done since. */
  readonly undo?: { readonly id: string; readonly to: RevisionId };
  /** Manual gates that a person opened. `wave` counts from 0. */
  readonly approvals: ReadonlyArray<{ readonly revision: RevisionId; readonly wave: number }>;
  /** Clusters whose instances a person declared gone for good. */
  readonly confirmedLost: readonly ClusterName[];
  /** Returned clusters that a person allowed to be drained. */
  readonly confirmedDrain: readonly ClusterName[];
  /** A stamp that a person changes to go on after a halt (failed, adopted with differences ...). */
  readonly resume?: string;
}

/** What an adopted cluster runs. */
export interface Baseline {
  readonly revision: RevisionId;
  readonly replicas: number;
  /** The first local ordinal (a StatefulSet's ordinals.start). */
  readonly start: number;
}

export type FleetFact =
  /** `cordoned`: a taint keeps new instances away; running ones stay. */
  | { readonly state: "Ready"; readonly cordoned?: string }
  | { readonly state: "NotReady"; readonly sinceMs: TimeMs }
  | { readonly state: "Unknown"; readonly sinceMs?: TimeMs }
  /** No longer part of the fleet. Its instances may live on. */
  | { readonly state: "Gone"; readonly sinceMs: TimeMs };

// ---------------------------------------------------------------------------------------------------------------------
// What the members' own objects say: one snapshot per cluster.

export interface Observations {
  /** A cluster without an entry has not been observed: the same as unreachable. */
  readonly clusters: Readonly<Record<ClusterName, Observation>>;
  /** The application's own list of members, where it can be asked. */
  readonly membership?: MembershipEvidence;
}

export type Observation =
  | { readonly kind: "unreachable"; readonly message: string; readonly sinceMs?: TimeMs }
  /** `dispatched`: what delivers it is still there, and may bring it. */
  | { readonly kind: "absent"; readonly dispatched?: boolean; readonly volumes?: readonly number[] }
  | PresentObservation;

/** Everything below comes from one snapshot of the live object and of its instances. Absent means unknown. */
export interface PresentObservation {
  readonly kind: "present";
  readonly uid?: string;
  readonly generation: number;
  readonly observedGeneration?: number;
  readonly live: LiveAnnotations;
  readonly counts: Counts;
  /** The interpreter's word. `unknown` is never healthy. */
  readonly health: "healthy" | "unhealthy" | "unknown";
  readonly healthMessage?: string;
  readonly report?: MemberReportSeen;
  readonly leader: LeaderClaim;
  readonly instances?: readonly InstanceObservation[];
  /** Ordinals of which a volume exists. Absent: unknown. */
  readonly volumes?: readonly number[];
}

/** What the live object carries. A field that the object lacks, or that cannot be read, is absent. */
export interface LiveAnnotations {
  readonly epoch?: number;
  readonly revision?: RevisionId;
  readonly processor?: boolean;
  readonly partition?: number;
  readonly topologyVersion?: number;
  readonly transferLeaderTo?: string;
  /** The live spec's replicas, as the interpreter reads them. */
  readonly replicas?: number;
}

export interface Counts {
  /** Instances that exist (status.replicas). */
  readonly replicas?: number;
  readonly ready?: number;
  readonly available?: number;
  /** Instances that run the revision of the live spec. */
  readonly updated?: number;
  /** Instances that are going away. */
  readonly terminating?: number;
}

/** `status.crossCluster`, parsed by src/contract. */
export interface MemberReportSeen {
  readonly epoch: number;
  readonly revision: RevisionId;
  readonly phase: "Working" | "Done" | "Failed";
  readonly desired: number;
  readonly updated: number;
  readonly ready: number;
  readonly message?: string;
}

export type LeaderClaim =
  | { readonly kind: "here"; readonly instance?: string }
  | { readonly kind: "elsewhere" }
  | { readonly kind: "unknown" };

export interface InstanceObservation {
  /** The local name. */
  readonly name: string;
  readonly uid?: string;
  /** Its resourceVersion: what is deleted must still be as it was seen. */
  readonly version?: string;
  /** The number at the end of its local name. */
  readonly ordinal?: number;
  /** Runs the revision of the live spec. Absent: unknown. */
  readonly updated?: boolean;
  readonly ready: boolean;
  readonly terminating: boolean;
  /** Evicted, preempted or lost with its node, by its own condition: whoever removes it, the workload's controller does not. */
  readonly disrupted?: boolean;
}

export interface MembershipEvidence {
  /** Instances as `instanceKey` spells them. */
  readonly members: readonly string[];
  readonly atMs: TimeMs;
}

// ---------------------------------------------------------------------------------------------------------------------
// What a cluster has been given.

export interface Grant {
  readonly cluster: ClusterName;
  readonly revision: RevisionId;
  readonly replicas: number;
  /** The cluster's own share: so many of its lowest instances stay on the revision before this one. */
  readonly partition: number;
  readonly processor: boolean;
  /** Names a view that `topologyView(ledger, version)` returns. */
  readonly topologyVersion: number;
  readonly transferLeaderTo?: string;
  /** Raised by every write to this cluster. */
  readonly epoch: number;
  /** This cluster's first ordinal: a StatefulSet's ordinals.start. Never changes while the cluster holds instances. */
  readonly start: number;
  /** `new`: the instances form the application. `existing`: they join it. */
  readonly initialClusterState: "new" | "existing";
  /** Nobody restarts an instance for this revision; one that a person deletes comes back on it. */
  readonly onDelete: boolean;
}

// ---------------------------------------------------------------------------------------------------------------------
// What the planner remembers. Plain JSON; `parseLedger` reads it, `rebuildLedger` restores it from the grants.

export const LEDGER_VERSION = 1;

export interface Ledger {
  readonly version: typeof LEDGER_VERSION;
  /** Fixed at the first plan: identity does not change under a running application. Null: nothing planned yet. */
  readonly identity: LedgerIdentity | null;
  readonly clusters: Readonly<Record<ClusterName, ClusterEntry>>;
  /** The index the next new cluster gets. Indexes are never given twice. */
  readonly nextIndex: number;
  /** Dense: the lowest ordinal never given. */
  readonly nextOrdinal: number;
  /** Dense: ordinals given back, with the cluster where a volume or process of theirs may survive. */
  readonly retired: ReadonlyArray<{ readonly ordinal: number; readonly cluster: ClusterName }>;
  readonly topologyVersion: number;
  /** The views that some cluster still holds, and the newest, by version. */
  readonly topologies: Readonly<Record<string, TopologyShape>>;
  /** The last revision that every reachable cluster completed. Null: none yet, or adopted with differences. */
  readonly currentRevision: RevisionId | null;
  readonly rollout: Rollout | null;
  /** A revision other than the template's is the target, for as long as the template stays what it is. */
  readonly override: Override | null;
  /** The last undo request that was heard. */
  readonly undoHeard: string | null;
  readonly halt: Halt | null;
  /** Instances put elsewhere for those of a cluster that is confirmed lost. */
  readonly replacements: Readonly<Record<ClusterName, Readonly<Record<ClusterName, number>>>>;
}

export interface LedgerIdentity extends Required<Omit<IdentitySettings, "clusterIds">> {
  readonly app: AppIdentity;
}

/** Per cluster: ranges of ordinals with their state, such as "0-3 4+" (4 joins) or "100 101~" (101 leaves). */
export type TopologyShape = Readonly<Record<ClusterName, string>>;

export type InstanceState = "member" | "joining" | "leaving";

export interface InstanceRecord {
  readonly ordinal: number;
  readonly state: InstanceState;
}

/** Who may act. `returning`: taken away, the cluster has not acknowledged it. */
export type Turn = "none" | "held" | "returning";

export type StepKind = "deploy" | "grow" | "shrink" | "update" | "rollback" | "transfer" | "adopt";

export interface StepInProgress {
  readonly kind: StepKind;
  readonly sinceMs: TimeMs;
  /** The last time its score rose above `best`. */
  readonly progressMs: TimeMs;
  /** The best score so far: a crash loop moves figures to and fro, and is no progress. */
  readonly best: number;
  /** Broken instances of another revision may be deleted so that a StatefulSet moves on. */
  readonly unblock: boolean;
  /** Members of this cluster that were unavailable before the step. */
  readonly unavailableBefore: number;
  /** Null: the pods were not listed when it began. */
  readonly down: DownSeen | null;
}

/** What a step has seen of instances that are down; by the ordinals of their local names. */
export interface DownSeen {
  /** Down for another cause than the step, and not ready again since. */
  readonly accidents: readonly number[];
  /** From here up all have been updated and ready at one time. */
  readonly finishedFrom: number | null;
}

export interface ClusterEntry {
  /** Position in the global order, and the block in Blocks. Stays with the cluster for good. */
  readonly index: number;
  /** The id in its addresses. */
  readonly clusterId: string;
  /** The first local ordinal. */
  readonly start: number;
  /** By ascending ordinal. */
  readonly instances: readonly InstanceRecord[];
  /** Null: nothing granted (reserved, drained or released). */
  readonly grant: Grant | null;
  /** The last revision that all its instances completed: what those below the partition, or not yet updated, run. */
  readonly baseRevision: RevisionId | null;
  /** The highest epoch ever given here; survives a drain, so that epochs never repeat. */
  readonly epoch: number;
  readonly turn: Turn;
  /** When the grant was written, or the cluster came back to one that it had not seen: since then it is on its way. */
  readonly writtenAtMs: TimeMs;
  /** When the grant's epoch was first seen live. */
  readonly ackedAtMs: TimeMs | null;
  /** Since when the gate has been open without a miss. */
  readonly openSinceMs: TimeMs | null;
  /** The gate opened and was held for this grant's revision, replicas and partition. */
  readonly done: boolean;
  readonly step: StepInProgress | null;
  /** The most instances it ever held: below that, an old volume may exist. */
  readonly highWater: number;
  /** Volumes here belong to instances that were removed from the application while the cluster was away. */
  readonly staleVolumes: boolean;
  /** The last time a drifted object was written again. */
  readonly reassertedAtMs: TimeMs | null;
  /** Since when it has not been both Ready and observed. */
  readonly awaySinceMs: TimeMs | null;
  /** When it was declared lost; null when it is not. */
  readonly lostAtMs: TimeMs | null;
  /** Its instances are confirmed removed from the application: they vote no longer. */
  readonly removedByLoss: boolean;
  /** That was the application's own word: only a list of its that names them undoes it. */
  readonly unlisted: boolean;
  /** It was lost and came back: nothing of it is deleted without a person's word. */
  readonly returned: boolean;
}

export interface Rollout {
  readonly to: RevisionId;
  /** What it started from: where a rollback goes. */
  readonly from: RevisionId | null;
  readonly kind: "update" | "rollback";
  readonly sinceMs: TimeMs;
  /** The first wave that is not finished, soaked and approved. Only rises. */
  readonly wave: number;
  /** Since when every cluster of that wave has been complete and healthy. */
  readonly soakSinceMs: TimeMs | null;
  /** Since when the leader should be known and is not. */
  readonly leaderUnknownSinceMs: TimeMs | null;
}

export interface Override {
  readonly to: RevisionId;
  /** The template's revision that it overrides: when the template changes, the override ends. */
  readonly template: RevisionId;
  readonly cause: "undo" | "failure";
}

/** The rollout stands still until its cause is gone or a person resumes. */
export interface Halt {
  readonly code: "ProgressDeadlineExceeded" | "MemberRestartsInParallel" | "MemberFailed" | "AdoptedWithDifferences";
  readonly cluster: ClusterName;
  readonly revision: RevisionId;
  readonly message: string;
  readonly sinceMs: TimeMs;
  /** The resume stamp of that time; a different one ends the halt. */
  readonly resume: string | null;
}

// ---------------------------------------------------------------------------------------------------------------------
// What comes out.

export interface PlanResult {
  /** To be written before any grant of this result is dispatched. */
  readonly ledger: Ledger;
  /** Every cluster's grant, in global order: the ones that changed and the ones that stand. */
  readonly grants: readonly Grant[];
  readonly actions: readonly Action[];
  /** What this call started, in order, each with the reason why it is its turn. */
  readonly steps: readonly Step[];
  readonly waiting: readonly Waiting[];
  readonly figures: Figures;
  /** Being deleted, and once the actions of this result are carried out nothing is left: the finalizer may go. */
  readonly finished: boolean;
  /** When time alone may change the answer. */
  readonly requeueAt?: TimeMs;
}

export interface Step {
  readonly cluster: ClusterName;
  readonly kind: StepKind | "return-turn" | "reassert" | "topology";
  readonly epoch: number;
  readonly why: string;
}

/** Deletions. Each is repeated until the observation shows it done; each is harmless when repeated. */
export type Action =
  /** The cluster is drained: lift the protection, delete its object there, then the dispatch object. */
  | { readonly kind: "remove"; readonly cluster: ClusterName; readonly volumes: VolumeRetention }
  /** Delete the dispatch objects and leave everything in the cluster as it is. */
  | { readonly kind: "release"; readonly cluster: ClusterName }
  /** Broken instances that block a StatefulSet's way back; delete with uid and version as preconditions. */
  | {
      readonly kind: "deletePods";
      readonly cluster: ClusterName;
      readonly pods: ReadonlyArray<Pick<InstanceObservation, "name" | "uid" | "version">>;
    };

/** The arithmetic behind the decisions, for status and previews. */
export interface Figures {
  readonly desired: number;
  readonly granted: number;
  readonly ready: number;
  /** Instances granted the target revision. */
  readonly released: number;
  /** Of them, those that run it: all where the gate opened, as many as are seen where it has not. */
  readonly updated: number;
  readonly maxUnavailable: number;
  /** Members unavailable, and those that outstanding turns may still take down. */
  readonly unavailable: number;
  readonly pending: number;
  readonly voters: number;
  readonly majority: number;
  readonly notFaultTolerant: boolean;
  readonly currentRevision: RevisionId | null;
  readonly targetRevision: RevisionId | null;
  readonly rejectedRevision: RevisionId | null;
  readonly leader: ClusterName | null;
}

/** What a grant's topology version stands for, ready to be rendered. */
export interface TopologyView {
  readonly version: number;
  readonly clusters: readonly TopologyCluster[];
}

/** A grant found on a dispatch object, with the identity annotations beside it. */
export interface FoundGrant {
  readonly grant: Grant;
  readonly index: number;
  readonly clusterId: string;
  readonly instances: readonly InstanceRecord[];
  readonly highWater: number;
  readonly staleVolumes: boolean;
  readonly baseRevision: RevisionId | null;
  readonly writtenAtMs: TimeMs;
  /** What the ledger said at that time: the youngest grant's word counts. */
  readonly currentRevision: RevisionId | null;
  readonly override: Override | null;
  readonly undoHeard: string | null;
  readonly halt: Halt | null;
  readonly identity: LedgerIdentity;
  /** The ledger's counters at the time, so that a drained cluster's block and ordinals are not given anew. */
  readonly nextIndex: number;
  readonly nextOrdinal: number;
  /** The view of `grant.topologyVersion`. */
  readonly topology: TopologyShape;
}

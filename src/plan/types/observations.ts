/** What the members' own objects say: one snapshot per cluster. */
import type { ClusterName, RevisionId, TimeMs } from "../../rollout/index.ts";

export interface Observations {
  /** A cluster without an entry has not been observed: the same as unreachable. */
  readonly clusters: Readonly<Record<ClusterName, Observation>>;
  /** The application's own list of members, where it can be asked. */
  readonly membership?: MembershipEvidence;
  /** What stands on the hub for each cluster. A cluster without an entry: nothing. Absent: not known. */
  readonly dispatch?: Readonly<Record<ClusterName, DispatchSeen>>;
}

export interface DispatchSeen {
  /** What delivers the workload. `going`: it is being deleted. */
  readonly workload: "none" | "there" | "going";
  /** Something is being deleted there, and the cluster keeps what it delivered. */
  readonly isLetGo: boolean;
}

export type Observation =
  | {
      readonly kind: "unreachable";
      readonly message: string;
      readonly sinceMs?: TimeMs;
      /** Lockstep has nothing left to look with: this is no evidence about the cluster. */
      readonly isBlind?: boolean;
    }
  | {
      readonly kind: "absent";
      readonly volumes?: readonly number[];
      readonly foundVolumes?: readonly number[];
    }
  | PresentObservation;

/** Everything below comes from one snapshot of the live object and of its instances. Absent means unknown. */
export interface PresentObservation {
  readonly kind: "present";
  readonly uid?: string;
  /** The object is being deleted. */
  readonly isDeleting?: boolean;
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
  /** Ordinals of which a volume exists, and no others. Absent: unknown. */
  readonly volumes?: readonly number[];
  /** Ordinals of which a volume was found; there may be others. Absent: not looked for. */
  readonly foundVolumes?: readonly number[];
}

/** What the live object carries. A field that the object lacks, or that cannot be read, is absent. */
export interface LiveAnnotations {
  readonly epoch?: number;
  readonly revision?: RevisionId;
  readonly processor?: boolean;
  readonly partition?: number;
  readonly topologyVersion?: number;
  readonly transferLeaderTo?: string;
  /** Which application it belongs to. */
  readonly clusterToken?: string;
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
  /** `said`: what was read, and is neither an instance's nor a cluster's name; `failure`: why nothing could be read. */
  | { readonly kind: "unknown"; readonly said?: string; readonly failure?: string };

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
  /** Its own condition says that it was evicted, preempted or lost with its node, not removed by its controller. */
  readonly disrupted?: boolean;
  /** Why it is not ready, in the pod's own word. Shown, never decided upon. */
  readonly trouble?: string;
}

export interface MembershipEvidence {
  /** Instances as `instanceKey` spells them. */
  readonly members: readonly string[];
  readonly atMs: TimeMs;
}

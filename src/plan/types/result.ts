/** What comes out. */
import type { TopologyCluster } from "../../contract/index.ts";
import type { ClusterName, RevisionId, TimeMs, Waiting } from "../../rollout/index.ts";
import type { Grant } from "./grant.ts";
import type { VolumeRetention } from "./intent.ts";
import type {
  Halt,
  InstanceRecord,
  Ledger,
  LedgerIdentity,
  Override,
  StepKind,
  TopologyShape,
  Turn,
} from "./ledger.ts";
import type { InstanceObservation } from "./observations.ts";

export interface PlanResult {
  /** To be written before any grant of this result is dispatched. */
  readonly ledger: Ledger;
  /** Every cluster's grant, in global order: the ones that changed and the ones that stand. */
  readonly grants: readonly Grant[];
  /**
   * Of these the ones that have to stand on the hub. The others' clusters are being removed or let go, or have left the
   * fleet.
   */
  readonly standing: readonly Grant[];
  readonly actions: readonly Action[];
  /** What this call started, in order, each with the reason why it is its turn. */
  readonly steps: readonly Step[];
  /** Steps that ended without a turn to take away. */
  readonly completed: readonly CompletedStep[];
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

export interface CompletedStep {
  readonly cluster: ClusterName;
  readonly kind: StepKind;
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
  /** What the cluster was to do with it. */
  readonly turn: Turn;
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
  /** The ledger's counters at the time, so that a drained cluster's block and ordinals are not given again. */
  readonly nextIndex: number;
  readonly nextOrdinal: number;
  /** The view of `grant.topologyVersion`; null: it was too large for the note, and the newest has to be sent. */
  readonly topology: TopologyShape | null;
}

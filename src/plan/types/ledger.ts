/** What the planner remembers. Plain JSON; `parseLedger` reads it, `rebuildLedger` restores it from the grants. */
import type { ClusterName, RevisionHistory, RevisionId, TimeMs } from "../../rollout/index.ts";
import type { Grant } from "./grant.ts";
import type { AppIdentity, IdentitySettings } from "./intent.ts";

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
  /** The id of the last undo request that was carried out. */
  readonly undoHeard: string | null;
  readonly history: RevisionHistory;
  readonly halt: Halt | null;
  /** The last request to move the leader, and what came of it. */
  readonly leaderRequest: LeaderMove | null;
  /** The last time that the leader was to leave a cluster for its maintenance; its id is the cluster. */
  readonly leaderEvacuation: LeaderMove | null;
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

/**
 * Who may act. `held`: its step is under way, or its turn has to be taken away. `returning`: taken away, the cluster
 * has not acknowledged it. A member that reads no turns is in `held` from a step's grant until its gate opens, and
 * never returns it.
 */
export type Turn = "none" | "held" | "returning";

export type StepKind = "deploy" | "grow" | "shrink" | "update" | "rollback" | "transfer" | "adopt";

export interface StepInProgress {
  readonly kind: StepKind;
  readonly sinceMs: TimeMs;
  /** The last time its score rose above `best`. */
  readonly progressMs: TimeMs;
  /** The best score so far. In a crash loop the score only goes up and down, which is no progress. */
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

/** Whether a cluster is both Ready and observed. `sinceMs`: since when it is not. */
export type Presence =
  | { readonly kind: "here" }
  /** `isBlind`: only because Lockstep cannot look; the fleet says Ready. */
  | { readonly kind: "away"; readonly sinceMs: TimeMs; readonly isBlind: boolean }
  /** `atMs`: when it was declared lost. */
  | { readonly kind: "lost"; readonly sinceMs: TimeMs; readonly atMs: TimeMs };

/**
 * Whether a cluster's instances vote. `givenUp`: a person confirmed that they are removed from the application.
 * `unlisted`: the application's own list does not name them; only a list that does makes them vote again.
 */
export type Votes = "counted" | "givenUp" | "unlisted";

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
  /** [S9] Since when it has been drained and has an object that nothing delivers. */
  readonly strandedSinceMs: TimeMs | null;
  readonly presence: Presence;
  readonly votes: Votes;
  /** It was lost and came back: nothing of it is deleted unless a user confirms it. */
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
  /** The template's revision that it overrides. Empty: that had not been made yet. */
  readonly template: RevisionId;
  /** Of that template: when its own content is another, the override ends. Null: not known yet. */
  readonly digest: string | null;
  /** The restart marks that `to` answers; others are a restart of it. Null: not known yet. */
  readonly restart: string | null;
  readonly cause: "undo" | "failure";
}

/** [L8] [L9] A leader that is to move, asked for by a person or by a cluster's maintenance. */
export interface LeaderMove {
  readonly id: string;
  /** A cluster or an instance; of an evacuation, the instance that was chosen, or empty before. */
  readonly to: string;
  /** The cluster whose operator was asked; null: none yet. */
  readonly from: ClusterName | null;
  readonly state: "waiting" | "asked" | "moved" | "stayed" | "refused";
  /** What is waited for, or what came of it. */
  readonly message: string;
  readonly sinceMs: TimeMs;
}

/** The rollout is halted until the cause is gone or a user resumes. */
export interface Halt {
  readonly code: "ProgressDeadlineExceeded" | "MemberRestartsInParallel" | "MemberFailed" | "AdoptedWithDifferences";
  readonly cluster: ClusterName;
  readonly revision: RevisionId;
  readonly message: string;
  readonly sinceMs: TimeMs;
  /** The resume stamp of that time; a different one ends the halt. */
  readonly resume: string | null;
}

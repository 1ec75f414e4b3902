import type { ClusterName, TimeMs } from "../rollout/index.ts";
import type { JobWaiting } from "./reasons.ts";

export type Guarantee = "Wait" | "AtLeastOnce" | "Exclusive";

/** How the work can be divided, and what an attempt has of it. */
export type Work =
  | {
      readonly kind: "whole";
      /** What one attempt has to complete, for people: an Indexed Job's completions. */
      readonly completions?: number;
    }
  | { readonly kind: "indexes"; readonly total: number }
  | { readonly kind: "count"; readonly total: number };
export type Share =
  | { readonly kind: "whole" }
  /** As `0-3,7`, in the work's own indexes. */
  | { readonly kind: "indexes"; readonly indexes: string }
  | { readonly kind: "count"; readonly count: number };

/** What is asked for. */
export interface JobIntent {
  /** A batch/v1 Job: it can be created idle, pinned to its uid, and stopped by its deadline. */
  readonly isBatch: boolean;
  readonly work: Work;
  /** How many attempts may be alive at a time. */
  readonly slots: number;
  /** The template's. */
  readonly parallelism: number;
  /** Allowed and selected, in order of preference. */
  readonly clusters: readonly ClusterName[];
  readonly guarantee: Guarantee;
  readonly lostAfterMs: number;
  readonly windowMs: number;
  readonly allowanceMs: number;
  readonly graceMs: number;
  /** So long a pod runs at most, also on a node that its control plane cannot reach; null: without a limit. */
  readonly podDeadlineMs: number | null;
  readonly onFailure: "Continue" | "Stop";
  /** 0: only when the job has failed. */
  readonly podFailures: number;
  /** 0: never. */
  readonly pendingAfterMs: number;
  readonly maxAttempts: number;
  readonly suspend: boolean;
  readonly activeDeadlineMs?: number;
  readonly ttlMs?: number;
  readonly memberCleanup: "WhenFinished" | "AfterTTL" | "Never";
  readonly retry: string | null;
  /** When a user confirmed the loss of a cluster. */
  readonly confirmedLost: Readonly<Record<ClusterName, TimeMs>>;
  readonly isDeleted: boolean;
}

export interface JobCluster {
  readonly state: "Ready" | "NotReady" | "Unknown" | "Gone";
  /** A taint keeps new attempts away. */
  readonly repels?: string;
  /** Drained, or a taint with the effect NoExecute: running attempts move away. */
  readonly evicts?: boolean;
}

/** The attempt's object, from one version of it. Absent numbers are unknown. */
export type AttemptSeen =
  | { readonly kind: "unreachable"; readonly sinceMs?: TimeMs; readonly message: string }
  | {
      readonly kind: "absent";
      /** Its watch does not show it any more, and it has not been read by its name since. */
      readonly isUnconfirmed?: boolean;
      /** Why the engine could not deliver it. */
      readonly refusal?: string;
    }
  /** Another writer's object has the attempt's name: it has neither the attempt's mark nor its uid. */
  | { readonly kind: "foreign"; readonly message: string }
  | AttemptPresent;

export interface AttemptPresent {
  readonly kind: "present";
  readonly uid: string;
  readonly isDeleting: boolean;
  /** From its own annotation: what a lost ledger is rebuilt from. */
  readonly share?: Share;
  /** The live spec's. */
  readonly deadlineSeconds?: number;
  /** By its own `spec.suspend`, which a queue in the member may set, or by what its Job controller last said. */
  readonly isSuspended?: boolean;
  /** In the member's own words. Each time that a Job is resumed it gets another one, and its deadline counts from that. */
  readonly startTime?: string;
  readonly state: "running" | "succeeded" | "failed" | "unknown";
  /** Why the interpreter cannot tell the state, and will not by waiting. */
  readonly unreadable?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly active?: number;
  readonly terminating?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  /** Positions within the attempt's share. */
  readonly completedIndexes?: string;
  /** Pods are wanted, and none of them runs. */
  readonly isPending: boolean;
}

export interface JobObservations {
  readonly clusters: Readonly<Record<ClusterName, JobCluster>>;
  /** By attempt number. */
  readonly attempts: Readonly<Record<number, AttemptSeen>>;
  /** Clusters that already have an object under the next attempt's name: a ledger that was restored may not know it. */
  readonly next: Readonly<Record<ClusterName, AttemptSeen>>;
  /** Attempts that have a dispatch object. */
  readonly dispatched: ReadonlySet<number>;
  /**
   * Attempts that the hub lets run no more: the dispatch object has the order to stop, or there is none. As this leader
   * reads it after stamping its term, so that no earlier leader can take the order back.
   */
  readonly orderedStop: ReadonlySet<number>;
}

/** What the cluster of an attempt got last. */
export interface JobGrant {
  readonly epoch: number;
  readonly parallelism: number;
  /** Absent: as in the template. */
  readonly deadlineSeconds: number | null;
}

export type OutcomeKind = "succeeded" | "failed" | "moved" | "lost" | "unused";

export interface Outcome {
  readonly kind: OutcomeKind;
  readonly reason: string;
  readonly message: string;
  readonly atMs: TimeMs;
}

export interface Attempt {
  readonly number: number;
  readonly cluster: ClusterName;
  readonly share: Share;
  readonly startedAtMs: TimeMs;
  /** Its cluster ends it by itself at a deadline. */
  readonly isSwitched: boolean;
  /**
   * Of its object, and when its start was first read: it is not later than that, whatever the member's clock says. With a
   * deadline both are null until it has started.
   */
  readonly uid: string | null;
  readonly readAtMs: TimeMs | null;
  /** With a deadline: the start that `readAtMs` belongs to. */
  readonly startTime?: string;
  /** With a deadline: it was last seen suspended in its cluster. Its deadline counts again when it is resumed. */
  readonly isHeld?: boolean;
  readonly grant: JobGrant;
  /** The longest deadline that was ever sent: it may arrive late. */
  readonly latestDeadlineSeconds: number;
  readonly unheardSinceMs: TimeMs | null;
  readonly pendingSinceMs: TimeMs | null;
  readonly goneSinceMs: TimeMs | null;
  /** Since when it has shown an end while it does not say whether pods are still going away. */
  readonly endSeenAtMs: TimeMs | null;
  /** Why it is being stopped. */
  readonly stop: { readonly reason: StopReason; readonly message: string } | null;
  /** The last counts that were seen. `indexes` are the work's own. */
  readonly done: { readonly succeeded: number; readonly failed: number; readonly indexes: string };
  /** How it has ended. It is over when the order to stop stands, so that nothing runs it again. Absent: not known yet. */
  readonly ending?: Outcome;
  readonly outcome: Outcome | null;
  /** Nothing of it is left for Lockstep to remove. */
  readonly isCleaned: boolean;
  /** AtLeastOnce: its work was started again while it may have run. */
  readonly mayRunTwice: boolean;
}

export type StopReason = "PodFailures" | "Pending" | "Drained" | "Ended" | "Replaced" | "ObjectDeleted";

export interface JobEnd {
  readonly kind: "Complete" | "Failed";
  readonly reason: string;
  readonly message: string;
  readonly atMs: TimeMs;
}

export interface JobLedger {
  /** Of the template that the attempts were made from. */
  readonly template: string;
  readonly nextAttempt: number;
  readonly attempts: readonly Attempt[];
  readonly startedAtMs: TimeMs | null;
  readonly end: JobEnd | null;
  readonly retryHeard: string | null;
  /** Failed attempts below this number do not count any more: a user had it tried again. */
  readonly failuresFrom: number;
}

export type JobAction =
  /** Delete the attempt's object in its cluster, then its dispatch object. */
  | { readonly kind: "remove"; readonly attempt: number; readonly cluster: ClusterName }
  /** Delete the dispatch object; the attempt's object stays. */
  | { readonly kind: "release"; readonly attempt: number; readonly cluster: ClusterName }
  /** The CrossClusterJob's own time is over. */
  | { readonly kind: "expire" };

export interface JobPlan {
  /** To be written before anything else is done. */
  readonly ledger: JobLedger;
  /** Attempts whose grant has to stand on the hub. */
  readonly standing: readonly Attempt[];
  readonly actions: readonly JobAction[];
  readonly waiting: readonly JobWaiting[];
  readonly figures: JobFigures;
  /** Being deleted, and nothing is left. */
  readonly isFinished: boolean;
  readonly requeueAtMs?: TimeMs;
}

export interface JobFigures {
  readonly active: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly wanted: number;
  /** Of those that are wanted. */
  readonly completed: number;
  readonly completedIndexes: string;
}

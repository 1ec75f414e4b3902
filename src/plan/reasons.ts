import type { ClusterName, TimeMs } from "./types.ts";

/**
 * Every reason for which Lockstep waits or refuses, with its meaning in one line. The list is closed: a runbook has an
 * entry for each, and nothing else can be written into status.
 */
export const REASONS = {
  // What was asked for cannot be read, or cannot be done as asked.
  TemplateMissing: "The template does not exist or is not matched by exactly one object; nothing moves.",
  RevisionPending: "The new revision is being snapshotted or dry-run; it is granted when that is done.",
  RevisionRefused: "A member's API server refused the new revision in a dry run; the old one stays.",
  RevisionRejected: "The template's revision failed or was undone; it is not tried again until the template changes.",
  ScheduleUnknown: "The schedule result is missing or outdated; nothing is scaled or drained.",
  SettingImpossible: "A setting can never be met; the pre-flight names it.",
  IdentityImmutable: "An identity setting was edited after the first grant; the recorded one stays in force.",
  BlockExhausted: "The cluster's block of ordinals is full; it does not grow further.",
  VolumeSurvives: "The next ordinal's old volume may survive and may not be reused; the cluster does not grow onto it.",
  OnDeleteUnsupported: "OnDelete needs a StatefulSet or an operator on the contract; the revision is not granted.",
  // Adoption.
  Adopting: "The cluster already runs the application; it is taken over as it is, and nothing moves.",
  AdoptedWithDifferences:
    "An adopted cluster runs something else than the template; nothing moves until a person resumes.",
  UnknownObject: "The cluster holds an object of that name which the ledger does not know; it is not touched.",
  AdoptionNeedsPerCluster: "A running cluster can only be adopted in identity mode PerCluster.",
  // The gate of one cluster's grant.
  WaitingForDelivery: "The grant has been written; the member's object does not show it yet.",
  WaitingForObserved: "The member's controller has not yet seen the granted spec.",
  WaitingForReport: "The operator has not reported on this epoch yet.",
  WaitingForReady: "Not every instance of the grant is ready, or its operator is not done with them.",
  WaitingForUpdated: "Not every released instance runs the granted revision.",
  WaitingForTermination: "An instance is still going away.",
  Unhealthy: "The member says that the object is not healthy.",
  HealthUnknown: "Nobody has said whether the object is healthy; unknown is never healthy.",
  CannotBeVerified: "The member reports nothing that proves completion.",
  MinReadyHold: "Everything is in place; it has to stay so for minReadySeconds.",
  WaitingForTurnBack: "The turn was taken away; the cluster has not acknowledged it yet.",
  Drifted: "The live object differs from the grant and is written again.",
  // The fleet.
  ClusterNotReady: "The cluster is not Ready; nothing new starts there.",
  ClusterUnreachable: "The cluster cannot be observed; nothing new starts there.",
  ClusterCordoned: "A taint keeps new instances away from the cluster.",
  ClusterLost: "The cluster has been away for longer than failover.afterSeconds; the rest goes on.",
  WaitingForLossEvidence: "Instances are replaced only when the old ones are proven removed or confirmed lost.",
  ReplacementUnplaceable: "No Ready cluster can take the replacements.",
  ReturnedAfterReplacement:
    "The cluster came back after its instances were replaced; it is kept still until a person decides.",
  ReturnedNotScheduled:
    "The cluster came back and the engine no longer schedules it; it is not drained without a person's word.",
  // Scaling and membership.
  MembershipInProgress: "One membership change at a time: another one, or an update step, is in progress.",
  AddBeforeRemove: "The instances that replace this one are not there yet.",
  UpdateBeforeGrowth: "The cluster is updated before it grows.",
  StillMember: "The application still lists an instance that should have left.",
  // The rollout.
  Paused: "The rollout is paused by its spec.",
  WindowClosed: "No maintenance window is open.",
  WaveNotReached: "The cluster's wave comes later.",
  Soaking: "The wave is complete and has to stay healthy for soakSeconds.",
  AwaitingApproval: "The wave is complete; a person has to approve going on.",
  BatchInProgress: "The current batch is not complete.",
  BudgetExhausted: "The step could make more instances unavailable than maxUnavailable allows.",
  QuorumAtRisk: "The step could take the application below its majority.",
  MembershipFirst: "A wanted membership change goes before the next update step.",
  OrderFirst: "A cluster before this one in the order has to start first.",
  LeaderLast: "The leader's cluster waits for all others of its wave.",
  LeaderUnknown: "The leader is not known, or claimed by two clusters.",
  LeaderTransfer: "The leader has been asked to move before its cluster is touched.",
  Partitioned: "The partition keeps these instances on the old revision.",
  PartitionIndivisible: "The cluster cannot keep a part of its instances on the old revision, so it keeps all.",
  FinishFirst: "The template changed in mid-step; the cluster finishes its step first.",
  RollBackFirst: "The template changed while the cluster was stuck in mid-step; it goes back first.",
  ProgressDeadlineExceeded: "A step made no progress for progressDeadlineSeconds; the rollout stands still.",
  MemberFailed: "The operator reported that it cannot do what was granted.",
  MemberRestartsInParallel: "A member declared Serial took several instances down at once; the rollout stands still.",
  // The end.
  TeardownUnreachable: "The application is being torn down; this cluster cannot be reached and still holds its part.",
  TeardownInProgress: "The application is being torn down in reverse order; it is not this instance's turn.",
  ReleaseUnreachable: "The application is being released; this cluster cannot be reached.",
} as const;

export type ReasonCode = keyof typeof REASONS;

/** One observed value that a reason rests on. */
export interface Evidence {
  readonly object: string;
  readonly field: string;
  readonly value: string;
  readonly sinceMs?: TimeMs;
}

export interface Waiting {
  readonly code: ReasonCode;
  readonly cluster?: ClusterName;
  /** What is waited for, in one sentence. */
  readonly message: string;
  readonly evidence: readonly Evidence[];
  /** What a person can do about it. */
  readonly remedy: string;
}

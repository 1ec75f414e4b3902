import type { ClusterName, TimeMs } from "./types.ts";

/** What a reason means to those who read it. */
export interface Reason {
  /** In one line. */
  readonly meaning: string;
  /** It ends only when a person does something; all others end with time, or with the member's own work. */
  readonly needsPerson: boolean;
  /** It may be reported while no work is left: the application has settled, but users should still know about it. */
  readonly atRest: boolean;
}

/** A reason that ends only when a person does something. */
export function asks(meaning: string, { atRest = false } = {}): Reason {
  return { meaning, needsPerson: true, atRest };
}

/** A reason that ends with time, or with the member's own work. */
export function waits(meaning: string, { atRest = false } = {}): Reason {
  return { meaning, needsPerson: false, atRest };
}

/**
 * Every reason for which Lockstep waits or refuses, with its meaning and whether it needs a person. The list is closed:
 * the runbook has an entry for each, and nothing else can be written into status.
 */
export const REASONS = {
  // What was asked for cannot be read, or cannot be done as asked.
  TemplateMissing: asks("The template does not exist or is not matched by exactly one object; nothing moves."),
  RevisionPending: waits("The new revision is being made or dry-run; it is granted when that is done."),
  RevisionRefused: asks(
    "The new revision cannot be made, or a member refused it in a dry run, or would for its size; the old one stays.",
  ),
  RevisionRejected: asks(
    "The template's revision failed or was undone; it is not tried again until the template changes.",
    { atRest: true },
  ),
  OverrideHolds: asks("Something that the template depends on changed; it waits, because an undo or rejection holds."),
  ScheduleUnknown: waits("The schedule result is missing or outdated; nothing is scaled or drained."),
  SettingImpossible: asks("A setting can never be met; the pre-flight names it.", { atRest: true }),
  TooLarge: asks("More instances or clusters are asked for than one application may have; nothing is added anywhere."),
  IdentityImmutable: asks("An identity setting was edited after the first grant; the recorded one stays in force.", {
    atRest: true,
  }),
  BlockExhausted: asks("The cluster's block of ordinals is full; it does not grow further."),
  VolumeSurvives: asks(
    "The next ordinal's old volume may survive and may not be reused; the cluster does not grow onto it.",
  ),
  OnDeleteUnsupported: asks(
    "OnDelete needs a StatefulSet or an operator on the contract; the revision is not granted.",
  ),
  // Adoption.
  Adopting: waits("The cluster already runs the application; it is taken over as it is, and nothing moves."),
  AdoptedWithDifferences: asks(
    "An adopted cluster runs something else than the template; nothing moves until a person resumes.",
  ),
  UnknownObject: asks("The cluster holds an object of that name which the ledger does not know; it is not touched."),
  AdoptionNeedsPerCluster: asks("A running cluster can only be adopted in identity mode PerCluster."),
  // The gate of one cluster's grant.
  WaitingForDelivery: waits("The grant has been written; the member's object does not show it yet."),
  WaitingForObserved: waits("The member's controller has not yet seen the granted spec."),
  WaitingForReport: waits("The operator has not reported on this epoch yet."),
  WaitingForReady: waits("Not every instance of the grant is ready, or its operator is not done with them."),
  WaitingForUpdated: waits("Not every released instance runs the granted revision."),
  WaitingForTermination: waits("An instance is still going away."),
  Unhealthy: waits("The member says that the object is not healthy."),
  HealthUnknown: waits("The member does not report whether the object is healthy; unknown is never healthy."),
  CannotBeVerified: asks("The member reports nothing that proves completion."),
  MinReadyHold: waits("Everything is in place; it has to stay so for minReadySeconds."),
  WaitingForTurnBack: waits("The turn was taken away; the cluster has not acknowledged it yet."),
  Drifted: waits("The live object differs from the grant and is written again."),
  // The fleet.
  ClusterNotInFleet: asks("The fleet has no cluster of that name; its instances wait until one joins under it."),
  ClusterNotReady: waits("The cluster is not Ready; nothing new starts there."),
  ClusterUnreachable: waits("The cluster cannot be observed; nothing new starts there."),
  ClusterCordoned: waits("A taint keeps new instances away from the cluster."),
  NoRoom: waits("New instances would not fit into the cluster's free resources; none is granted there."),
  InMaintenance: asks(
    "A person drains the cluster for maintenance: no step starts there, and the leader is moved away.",
    { atRest: true },
  ),
  WaitingForMaintenance: asks(
    "A step is due in a cluster that is drained for maintenance; it starts when that is over.",
  ),
  ClusterLost: asks("The cluster has been away for longer than failover.afterSeconds; the other clusters continue."),
  WaitingForLossEvidence: waits("Instances are replaced only when the old ones are proven removed or confirmed lost."),
  ReplacementUnplaceable: waits("No Ready cluster can take the replacements."),
  ReturnedAfterReplacement: asks(
    "The cluster came back after its instances were replaced; nothing changes there until a person decides.",
  ),
  ReturnedNotScheduled: asks(
    "The cluster came back and the engine no longer schedules it; it is drained only after a person confirms.",
  ),
  WaitingForSelection: waits(
    "The engine does not select the cluster, and nothing proves yet that it was removed: what it holds stays.",
  ),
  // Scaling and membership.
  MembershipInProgress: waits("One membership change at a time: another one, or an update step, is in progress."),
  AddBeforeRemove: waits("The instances that replace this one are not there yet."),
  UpdateBeforeGrowth: waits("The cluster is updated before it grows."),
  StillMember: waits("The application still lists an instance that should have left."),
  // The rollout.
  Paused: asks("The rollout is paused by its spec."),
  WindowClosed: waits("No maintenance window is open."),
  WaveNotReached: waits("The cluster's wave comes later."),
  Soaking: waits("The wave is complete and has to stay healthy for soakSeconds."),
  AwaitingApproval: asks("The wave is complete; a person has to approve the next one."),
  BatchInProgress: waits("The current batch is not complete."),
  BudgetExhausted: waits("The step could make more instances unavailable than maxUnavailable allows."),
  QuorumAtRisk: waits("The step could take the application below its majority."),
  MembershipFirst: waits("A wanted membership change goes before the next update step."),
  OrderFirst: waits("A cluster before this one in the order has to start first."),
  LeaderLast: waits("The leader's cluster waits for all others of its wave."),
  LeaderUnknown: waits("The leader is not known, or claimed by two clusters.", { atRest: true }),
  LeaderTransfer: waits("The leader has been asked to move before its cluster is touched."),
  Partitioned: waits("The partition keeps these instances on the old revision."),
  PartitionIndivisible: waits("The cluster cannot keep a part of its instances on the old revision, so it keeps all."),
  FinishFirst: waits("The template changed in mid-step; the cluster finishes its step first."),
  RollBackFirst: waits("The template changed while the cluster was stuck in mid-step; it goes back first."),
  ProgressDeadlineExceeded: asks("A step made no progress for progressDeadlineSeconds; the rollout is halted."),
  MemberFailed: asks("The operator reported that it cannot do what was granted."),
  MemberRestartsInParallel: asks(
    "A member declared Serial took several instances down at once; the rollout is halted.",
  ),
  // Whole applications.
  WaitingForHook: waits("A hook of the chart has not ended yet."),
  NoClusters: asks("No cluster is chosen any more; what runs stays, because that is more likely a mistake."),
  FailedOver: waits("Other clusters run this cluster's replicas until it serves them again.", { atRest: true }),
  // The end.
  TeardownUnreachable: asks(
    "The application is being torn down; this cluster cannot be reached and still holds its part.",
  ),
  TeardownInProgress: waits("The application is being torn down in reverse order; it is not this instance's turn."),
  ReleaseUnreachable: asks("The application is being released; this cluster cannot be reached."),
};

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

/** Where the rules of this room record what the plan waits for, and when it has to run again. */
export interface Waits {
  readonly nowMs: TimeMs;
  wait(
    code: ReasonCode,
    cluster: ClusterName | undefined,
    message: string,
    remedy: string,
    evidence: readonly Evidence[],
  ): void;
  wakeAt(atMs: TimeMs | undefined): void;
}

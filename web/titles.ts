/** What each wait is called in large letters, for people who do not know its code. Pure. */
import { words } from "./format.ts";

/** `$` stands for the cluster. A reason that is not here is shown as its words. */
export const TITLES: Readonly<Record<string, string>> = {
  TemplateMissing: "The template does not exist",
  RevisionPending: "The new revision is being checked",
  RevisionRefused: "The new revision was refused",
  RevisionRejected: "This revision failed before, and is not tried again",
  ScheduleUnknown: "The schedule is not known",
  BlockExhausted: "$ has no free ordinal left",
  WaitingForDelivery: "$ has not received the change yet",
  WaitingForObserved: "$ has not seen the change yet",
  WaitingForReport: "The operator in $ has not reported yet",
  WaitingForReady: "$ is not ready yet",
  WaitingForUpdated: "$ is still updating",
  WaitingForTermination: "$ is stopping an instance",
  Unhealthy: "$ is not healthy",
  HealthUnknown: "The health of $ is not known",
  CannotBeVerified: "$ reports nothing that proves completion",
  MinReadyHold: "$ has to stay ready a little longer",
  Drifted: "$ differs from what was granted",
  ClusterNotInFleet: "The fleet has no cluster $",
  ClusterNotReady: "The cluster $ is not ready",
  ClusterUnreachable: "The cluster $ cannot be reached",
  ClusterCordoned: "A taint keeps new instances away from $",
  NoRoom: "$ has no room for more instances",
  InMaintenance: "$ is drained for maintenance",
  WaitingForMaintenance: "A step waits until the maintenance of $ is over",
  ClusterLost: "The cluster $ is lost",
  WaitingForSelection: "$ is not selected, and it is not known whether it was removed",
  WaitingForLossEvidence: "It is not known whether the instances of $ are gone",
  Paused: "The rollout is paused",
  WindowClosed: "No maintenance window is open",
  Soaking: "The wave has to stay healthy for a while",
  AwaitingApproval: "A person has to approve the next wave",
  BudgetExhausted: "No more may be down at once",
  QuorumAtRisk: "The next step could cost the quorum",
  LeaderUnknown: "The leader is not known",
  LeaderTransfer: "The leader is asked to move",
  ProgressDeadlineExceeded: "$ made no progress in time, and the rollout is halted",
  MemberFailed: "The operator in $ reports a failure",
  NoClusters: "No cluster is chosen any more",
  OverrideHolds: "A change waits, because an undo or a rejection holds",
  SettingImpossible: "A setting can never be met",
  TooLarge: "More is asked for than one application may have",
  IdentityImmutable: "A setting of the instances' identity cannot change any more",
  VolumeSurvives: "An old volume may still be in $",
  OnDeleteUnsupported: "This kind cannot wait for its pods to be deleted",
  Adopting: "$ runs the application already, and is taken over",
  AdoptedWithDifferences: "$ was taken over and runs something else",
  UnknownObject: "$ has an object of this name that is not ours",
  AdoptionNeedsPerCluster: "$ can only be taken over with an identity for each cluster",
  WaitingForTurnBack: "$ has not given its turn back yet",
  ReplacementUnplaceable: "No cluster can take the replacements",
  ReturnedAfterReplacement: "$ came back after its instances were replaced",
  ReturnedNotScheduled: "$ came back and is not scheduled any more",
  MembershipInProgress: "One change of members at a time",
  AddBeforeRemove: "$ keeps its instances until their replacements are there",
  UpdateBeforeGrowth: "$ is updated before it grows",
  StillMember: "The application still lists an instance that should have left",
  WaveNotReached: "The wave of $ comes later",
  BatchInProgress: "The batch before it is not complete",
  MembershipFirst: "A change of members goes before the update",
  OrderFirst: "Another cluster goes before $",
  LeaderLast: "$ has the leader and goes last",
  Partitioned: "The partition keeps $ on the old revision",
  PartitionIndivisible: "$ cannot keep only a part on the old revision",
  FinishFirst: "$ finishes its step first",
  RollBackFirst: "$ goes back first",
  MemberRestartsInParallel: "$ took several instances down at once",
  WaitingForHook: "A hook of the chart still runs in $",
  FailedOver: "Other clusters run the replicas of $",
  TeardownUnreachable: "$ cannot be reached, and still has its part",
  TeardownInProgress: "The application is being removed, in order",
  ReleaseUnreachable: "$ cannot be reached, and is not released yet",
  TemplateChanged: "The job's template has changed since its attempts were made",
  WaitingForJob: "$ does not show the attempt yet",
  AttemptPending: "No pod of the attempt runs in $ yet",
  EndUnknown: "Nothing can read whether the attempt in $ has ended",
  AttemptUnheard: "The attempt in $ is not heard of",
  AttemptLost: "$ is lost, and its attempt may still run",
  WaitingForDeadline: "$ is lost, and ends its work at the deadline",
  NoClusterFree: "No cluster is free for another attempt",
  ForeignObject: "$ has a job of this name that is not ours",
  Suspended: "The job is suspended",
  LeftBehind: "$ still has what is left of an attempt",
  InvalidSpec: "The spec is not valid",
  UnknownKind: "The hub does not know the template's kind",
  KindNotAllowed: "Objects of this kind may not be templates here",
  TemplateClaimed: "Another application manages this template",
  HoldDefeated: "Something else delivers the template to the clusters",
  Forbidden: "The application's account may not distribute all of it",
  LedgerUnreadable: "The ledger cannot be read",
  WaitingForInterpreter: "A webhook has not answered yet",
  TermOutOfRange: "A Work has a term that no leader gave",
  ReconcileFailed: "The last attempts failed, and it is tried again",
  DispatchFailed: "A change could not be sent to $",
  AttemptFailed: "An attempt failed, and the job stops at that",
  AttemptsExhausted: "All attempts are used up",
  DeadlineExceeded: "The job did not end in time",
};

/** What a step of the plan does in its cluster. */
const STEPS: Readonly<Record<string, string>> = {
  deploy: "deploys",
  grow: "adds",
  shrink: "removes",
  update: "updates",
  rollback: "rolls back",
  transfer: "hands the leader over",
  adopt: "takes over what runs",
};

export function stepWords(step: string): string {
  return Object.hasOwn(STEPS, step) ? (STEPS[step] ?? step) : words(step).toLowerCase();
}

/** `cluster: reason`, or a reason alone, as the server lists what else waits. */
export function otherTitle(other: string): string {
  const [, cluster, reason = other] = /^(\S+): (\w+)$/.exec(other) ?? [];
  return waitOf(reason, cluster);
}

/** With the cluster, whether the title names it or not. */
export function waitOf(reason: string, cluster: string | undefined): string {
  const title = titleOf(reason, cluster);
  return cluster === undefined || title.includes(cluster) ? title : `${title} (${cluster})`;
}

export function titleOf(reason: string, cluster: string | undefined): string {
  const title = Object.hasOwn(TITLES, reason) ? TITLES[reason] : undefined;
  if (title?.includes("$") && cluster !== undefined) return title.replace("$", () => cluster);
  if (title !== undefined && !title.includes("$")) return title;
  return cluster === undefined ? words(reason) : `${words(reason)} in ${cluster}`;
}

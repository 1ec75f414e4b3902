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
  BudgetExhausted: "No more instances may be down at once",
  QuorumAtRisk: "The next step could cost the quorum",
  LeaderUnknown: "The leader is not known",
  LeaderTransfer: "The leader is asked to move",
  ProgressDeadlineExceeded: "$ made no progress in time, and the rollout is halted",
  MemberFailed: "The operator in $ reports a failure",
  NoClusters: "No cluster is chosen any more",
};

export function titleOf(reason: string, cluster: string | undefined): string {
  const title = Object.hasOwn(TITLES, reason) ? TITLES[reason] : undefined;
  if (title?.includes("$") && cluster !== undefined) return title.replace("$", () => cluster);
  if (title !== undefined && !title.includes("$")) return title;
  return cluster === undefined ? words(reason) : `${words(reason)} in ${cluster}`;
}

import { asks, type ClusterName, waits } from "../rollout/index.ts";

/** Every reason for which a CrossClusterJob waits. The list is closed, as for other kinds. */
export const JOB_REASONS = {
  TemplateChanged: asks("spec.template is not what the attempts were made from; nothing starts until it is as it was."),
  WaitingForJob: waits("The attempt's object has been dispatched; its cluster does not show it yet."),
  AttemptPending: waits("No pod of the attempt runs yet."),
  WaitingForTermination: waits("The attempt has ended or is being stopped; its pods are still going away."),
  EndUnknown: asks("The interpreter cannot tell whether the attempt's object has ended; it counts as running."),
  AttemptUnheard: waits("The attempt's cluster cannot be observed; it may still run there."),
  AttemptLost: asks(
    "The attempt's cluster is lost, and no evidence says that the attempt is over; nothing starts elsewhere.",
  ),
  WaitingForDeadline: waits(
    "The attempt's cluster is lost; it ends its own work at the deadline, and another one starts after it.",
  ),
  NoClusterFree: waits("No cluster of spec.clusters is Ready and free for another attempt."),
  ForeignObject: asks("The cluster holds an object of the attempt's name which is not the attempt; it is not touched."),
  Suspended: asks("spec.suspend is set: nothing starts, and the pods of Jobs are stopped.", { atRest: true }),
  LeftBehind: waits("The work is over; what is left of an attempt is removed when its cluster can be reached.", {
    atRest: true,
  }),
  TeardownUnreachable: asks("The object is being deleted; a cluster that cannot be reached still holds an attempt."),
};

export type JobReason = keyof typeof JOB_REASONS;

export interface JobWaiting {
  readonly code: JobReason;
  readonly cluster?: ClusterName;
  /** What is awaited, with the evidence. */
  readonly message: string;
  readonly remedy: string;
}

import type { ReasonCode } from "../../plan/index.ts";

/** Reasons that end only when a person does something; all others end with time, or with the member's own work. */
export const NEEDS_A_PERSON: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  "TemplateMissing",
  "RevisionRefused",
  "RevisionRejected",
  "SettingImpossible",
  "IdentityImmutable",
  "BlockExhausted",
  "VolumeSurvives",
  "OnDeleteUnsupported",
  "AdoptedWithDifferences",
  "AdoptionNeedsPerCluster",
  "UnknownObject",
  "CannotBeVerified",
  "ClusterLost",
  "ReturnedAfterReplacement",
  "ReturnedNotScheduled",
  "Paused",
  "AwaitingApproval",
  "ProgressDeadlineExceeded",
  "MemberFailed",
  "MemberRestartsInParallel",
  "TeardownUnreachable",
  "ReleaseUnreachable",
]);

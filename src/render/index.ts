/**
 * Rendering: revision + grant + topology -> the manifests of one member, as a pure function. Also the definition of a
 * revision, and the user's override policies with Karmada's semantics. The engine wraps a manifest for its own use.
 * Imports runtime, contract, api and plan.
 */
export { LimitError, OverrideTouchesGrantError, type RenderError, RenderInputError } from "./errors.ts";
export { metadataDigest } from "./metadata-digest.ts";
export type { NetworkSettings } from "./network.ts";
export {
  type AppliedOverride,
  applyOverrides,
  type IsHold,
  type Overridden,
  OverrideError,
  type OverrideOptions,
} from "./overrides.ts";
export { type ManifestRole, type MemberManifest, type RenderInput, type RenderResult, renderMember } from "./render.ts";
export {
  dependencyDigest,
  type NamedRevision,
  nameRevision,
  RevisionCollisionError,
  type RevisionContent,
  type RevisionSource,
  revisionMeaning,
  sameRevision,
  sameWorkload,
  snapshotRevision,
} from "./revision.ts";
export { revisionSizeProblem } from "./revision-size.ts";
export { sanitize } from "./sanitize.ts";
export { type ClusterFacts, labelSelectorMatches } from "./selectors.ts";
export { changedBeside, templateMarks, withRestartMarks } from "./template-marks.ts";
export { MANAGED_BY, topologyConfigMapName } from "./topology-files.ts";
export { NEUTRAL_REPLICAS, type ReplicaSource, type Retention, workloadDifferences } from "./workload.ts";

/**
 * The kinds: schemas as the single source of types, CRD YAML, defaults and validation, and the structural-schema engine
 * behind them, which the embedded API server uses for every CRD. Imports src/runtime and src/contract.
 */
export { ALLOWED_CLUSTERS, type AllowedClustersRule, forbiddenClusters } from "./allowed-clusters.ts";
export { selectedWorkload } from "./inline-template.ts";
export { jobTemplateMistakes } from "./job-template.ts";
export { customResourceDefinitions, KINDS } from "./kinds/all.ts";
export {
  JOB_PHASES,
  type JobPhase,
  MAX_DONE_CHARS,
  MAX_INDEXES_CHARS,
  MAX_LISTED_ATTEMPTS,
} from "./kinds/ccj-status.ts";
export {
  APPLICATION_PHASES,
  type ApplicationPhase,
  CLUSTER_PHASES,
  type ClusterPhase,
  LEDGER_COPY_CHARS,
  MAX_EVIDENCE,
  MAX_LISTED_DEPENDENCIES,
  MAX_LISTED_INSTANCES,
  MAX_LISTED_ORDINALS,
  MAX_STATUS_CLUSTERS,
  RECORD_CHARS,
  type StepPhase,
} from "./kinds/ccs-status.ts";
export type { CrossClusterJob, CrossClusterJobSpec, CrossClusterJobStatus } from "./kinds/cross-cluster-job.ts";
export { CROSS_CLUSTER_JOB } from "./kinds/cross-cluster-job.ts";
export type {
  CrossClusterStatefulset,
  CrossClusterStatefulsetSpec,
  CrossClusterStatefulsetStatus,
} from "./kinds/cross-cluster-statefulset.ts";
export { APPS_GROUP, APPS_VERSION, CROSS_CLUSTER_STATEFULSET } from "./kinds/cross-cluster-statefulset.ts";
export type { KindDefinition } from "./kinds/definition.ts";
export type {
  DistributedApplication,
  DistributedApplicationSpec,
  DistributedApplicationStatus,
} from "./kinds/distributed-application.ts";
export { DISTRIBUTED_APPLICATION, MAX_LISTED_OBJECTS, MAX_LISTED_WORKLOADS } from "./kinds/distributed-application.ts";
export type { ExploreOperation, ExploreRequest, ExploreResponse, ExploreReview } from "./kinds/explore-review.ts";
export type {
  ExploringRule,
  ResourceExploringWebhook,
  ResourceExploringWebhookConfiguration,
} from "./kinds/exploring-webhook.ts";
export {
  CONFIG_GROUP,
  CONFIG_VERSION,
  EXPLORE_OPERATIONS,
  EXPLORE_REVIEW_VERSIONS,
  RESOURCE_EXPLORING_WEBHOOK_CONFIGURATION,
} from "./kinds/exploring-webhook.ts";
export type { CrossClusterLedger, CrossClusterLedgerSpec } from "./kinds/ledger.ts";
export { CROSS_CLUSTER_LEDGER } from "./kinds/ledger.ts";
export type { ObjectMeta, OwnerReference } from "./kinds/object.ts";
export type { RolloutApproval, RolloutApprovalSpec } from "./kinds/rollout-approval.ts";
export { ROLLOUT_APPROVAL } from "./kinds/rollout-approval.ts";
export {
  type Parsed,
  type ParsedCrossClusterJob,
  type ParsedCrossClusterStatefulset,
  type ParsedDistributedApplication,
  parseCrossClusterJob,
  parseCrossClusterLedger,
  parseCrossClusterStatefulset,
  parseDistributedApplication,
  parseExploreReview,
  parseResourceExploringWebhookConfiguration,
  parseRolloutApproval,
} from "./parse.ts";
export { CLUSTERS_IN_USE, DETACH_WITHOUT_DRAIN } from "./policies/clusters-in-use.ts";
export { admissionPolicies } from "./policies/index.ts";
export {
  accountUser,
  CONTROLLER_ACCOUNT,
  DEFAULT_POLICY_SETTINGS,
  type EngineName,
  type PolicySettings,
  SETTINGS_ANNOTATION,
} from "./policies/policy.ts";
export { KUBERNETES_FUNCTIONS as CEL_FUNCTIONS } from "./schema/cel-functions.ts";
export { compileSchema } from "./schema/compile.ts";
export { type CompiledSchema, type FieldError, type FieldErrorKind, SchemaError } from "./schema/types.ts";
export { DEFAULT_SYSTEM_NAMESPACE } from "./system-namespace.ts";
export { JOB_WORKLOAD, kindsOf, readWorkload, STATEFULSET_WORKLOAD, type Workload, workloadText } from "./workloads.ts";

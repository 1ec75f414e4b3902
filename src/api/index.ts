/**
 * The kinds: schemas as the single source of types, CRD YAML, defaults and validation, and the structural-schema engine
 * behind them, which the embedded API server uses for every CRD. Imports src/runtime and src/contract.
 */
export { customResourceDefinitions, KINDS } from "./kinds/all.ts";
export { MAX_EVIDENCE, MAX_LISTED_INSTANCES } from "./kinds/ccs-status.ts";
export type {
  CrossClusterStatefulset,
  CrossClusterStatefulsetSpec,
  CrossClusterStatefulsetStatus,
} from "./kinds/cross-cluster-statefulset.ts";
export { APPS_GROUP, APPS_VERSION, CROSS_CLUSTER_STATEFULSET } from "./kinds/cross-cluster-statefulset.ts";
export type { KindDefinition } from "./kinds/definition.ts";
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
export { admissionPolicies } from "./kinds/policies.ts";
export type { RolloutApproval, RolloutApprovalSpec } from "./kinds/rollout-approval.ts";
export { ROLLOUT_APPROVAL } from "./kinds/rollout-approval.ts";
export {
  type Parsed,
  type ParsedCrossClusterStatefulset,
  parseCrossClusterLedger,
  parseCrossClusterStatefulset,
  parseExploreReview,
  parseResourceExploringWebhookConfiguration,
  parseRolloutApproval,
} from "./parse.ts";
export { compileSchema } from "./schema/compile.ts";
export { type CompiledSchema, type FieldError, type FieldErrorKind, SchemaError } from "./schema/types.ts";
export {
  CronError,
  cronProblem,
  isTimeZone,
  type MaintenanceWindow,
  type WindowState,
  windowState,
} from "./windows.ts";

/**
 * Reads any workload object: its replicas, whether it is healthy and done, its status, its leader, its dependencies,
 * how to change its replicas and what to retain. Answers come from the user's Lua customizations, webhooks of two
 * protocols, bundled Lua, and native code, in this order. Imports runtime, contract.
 */
export { BUNDLED } from "./bundled/generated.ts";
export { parseStatusItems } from "./cases/case.ts";
export { toYaml, yamlDiff } from "./cases/diff.ts";
export { type Arguments, type Evaluation, evaluate } from "./cases/evaluate.ts";
export { type CaseResult, loadCustomizations, locateFailure, runSuite, type SourceFile } from "./cases/suite.ts";
export { FileProblem, readYamlObjects, readYamlValue, type YamlObject } from "./cases/yaml.ts";
export {
  CUSTOMIZATION_API_VERSION,
  CUSTOMIZATION_KIND,
  type ParsedCustomization,
  parseCustomization,
} from "./customization.ts";
export { type CompletionListener, Interpreter, type InterpreterOptions } from "./interpreter.ts";
export { Quantity, QuantityError } from "./lua/quantity.ts";
export { prunedForWork } from "./native/prune.ts";
export {
  type Component,
  type Dependency,
  EXPLORE_NAMES,
  type Inputs,
  type LeaderClaim,
  type LeaderRule,
  OPERATIONS,
  type Operation,
  type Progress,
  parseOperation,
  type ReplicaRequirements,
  type Results,
  type StatusItem,
} from "./operations.ts";
export type { Failed, FailureCode, Known, Layer, Outcome, Pending, Settled } from "./outcome.ts";
export type { ObjectReport, Problem } from "./problem.ts";
export {
  httpWebhookTransports,
  type WebhookLimits,
  type WebhookTransport,
  type WebhookTransports,
} from "./webhook/caller.ts";
export { EXPLORING_KIND, INTERPRETER_KIND, type ServiceResolver } from "./webhook/configuration.ts";
export type { KindResource, ResourceMapper } from "./webhook/matching.ts";

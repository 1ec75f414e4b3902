/**
 * For authors of member operators (read the grant, decide, report the result) and of interpreter webhooks in both
 * protocols. Imports runtime and contract, so that either can ship it.
 */
export {
  type InstanceState,
  type MemberReport,
  parseMemberReport,
  type ReportPhase,
  type TopologyCluster,
} from "../contract/index.ts";
export { apiPath, MemberApiError, MemberClient, type MemberObject } from "./client.ts";
export type { ConformanceOptions } from "./conformance/fixture.ts";
export { type Finding, RULES, type Rule } from "./conformance/rules.ts";
export { checkOperator } from "./conformance/suite.ts";
export { type Grant, type GrantedObject, type GrantReading, readGrant, readWholeGrant } from "./grant.ts";
export { type OperateOptions, operate } from "./operate.ts";
export { type OperatorFigures, report, reportPatch } from "./report.ts";
export { type InstanceView, nextStep, type Step } from "./steps.ts";
export type { ConfigMap, ConfigMaps } from "./topology.ts";
export {
  createInterpreterWebhook,
  type DependencyReference,
  type InterpreterWebhook,
  type KindHandlers,
  MAX_REQUEST_BYTES,
  type WebhookAnswer,
} from "./webhook.ts";

/**
 * For authors of member operators (read the grant, report the result) and of interpreter webhooks in both protocols.
 * Imports runtime and contract, so that either can ship it.
 */
export { type Grant, type GrantedObject, type GrantReading, readGrant, readWholeGrant } from "./grant.ts";
export { report, reportPatch } from "./report.ts";
export type { ConfigMap, ConfigMaps } from "./topology.ts";
export {
  createInterpreterWebhook,
  type DependencyReference,
  type InterpreterWebhook,
  type KindHandlers,
  MAX_REQUEST_BYTES,
  type WebhookAnswer,
} from "./webhook.ts";

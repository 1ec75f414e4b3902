/**
 * For those who write for Lockstep: member operators (reading their grant, reporting what they did) and interpreter
 * webhooks of both protocols. Imports runtime and contract, so that either can ship it.
 */
export { type Grant, type GrantReading, readGrant } from "./grant.ts";
export { report, reportPatch } from "./report.ts";
export {
  createInterpreterWebhook,
  type DependencyReference,
  type InterpreterWebhook,
  type KindHandlers,
  MAX_REQUEST_BYTES,
  type WebhookAnswer,
} from "./webhook.ts";

/**
 * The Kubernetes runtime: a client on raw JSON, reflectors with caches, a work queue, leader election on a Lease,
 * events, and kubeconfig. It does not know Lockstep and imports only `src/runtime`.
 *
 * How to use the parts together: a `Reflector` per kind keeps a cache; the cache's handlers add keys to a `WorkQueue`.
 * The work reads caches, decides, and writes through a `KubeClient` with the resourceVersion that it read. It then
 * passes the answer to `cache.wrote`, so that its next decision includes that write. All of this runs inside
 * `Election.run`, whose leadership ends before another one's can start. On shutdown: `queue.shutdown()`, then
 * `client.settled()`, then let the election release its lease. sender.ts defines what may be sent twice.
 */
export type { Cache, CacheHandler } from "./cache.ts";
export type {
  DeleteOptions,
  KubeClientOptions,
  ListOptions,
  ListPage,
  Patch,
  Scale,
  Selection,
  WriteOptions,
} from "./client.ts";
export { KubeClient } from "./client.ts";
export type { ClusterConnection, ConnectOptions } from "./config/connect.ts";
export { connectCluster, contextNames } from "./config/connect.ts";
export { KubeConfigError } from "./config/load.ts";
export type { ElectionOptions, ElectionState, Leadership } from "./election.ts";
export { Election } from "./election.ts";
export type { FieldCause, RequestContext, StatusInfo } from "./errors.ts";
export {
  AlreadyExistsError,
  BadRequestError,
  BadResponseError,
  ConflictError,
  ExpiredError,
  ForbiddenError,
  InvalidObjectError,
  InvalidRequestError,
  KubeError,
  NotFoundError,
  NotYetVisibleError,
  RequestTimeoutError,
  ServerError,
  StatusError,
  TooManyRequestsError,
  UnauthorizedError,
  UnknownKindError,
  UnreachableError,
  WriteOutcomeUnknownError,
} from "./errors.ts";
export type { EventNote, EventRecorderOptions, EventStats } from "./events.ts";
export { EventRecorder } from "./events.ts";
export type { IndexFunction } from "./indexes.ts";
export { unwantedKeys } from "./list-body.ts";
export { explainMissingKind } from "./missing-kind.ts";
export type { KubeObject, ObjectMeta, ObjectName } from "./object.ts";
export { deepFreeze, isKubeObject, keyOf, nameOfKey, withoutManagedFields } from "./object.ts";
export type { ReflectorFeed, ReflectorHealth, ReflectorOptions } from "./reflector.ts";
export { Reflector } from "./reflector.ts";
export type { AnyResource, Resource, Subresource } from "./resource.ts";
export { resource } from "./resource.ts";
export { compareVersions } from "./resource-version.ts";
export type { RequestOptions } from "./sender.ts";
export { shortName } from "./short-name.ts";
export type { LaneUsage, StreamClaim, StreamLane, StreamUsage } from "./stream-budget.ts";
export { MIN_STREAMS, StreamBudget } from "./stream-budget.ts";
export type { WorkQueueHooks, WorkQueueOptions, WorkQueueStats, WorkResult } from "./work-queue.ts";
export { measuredQueue, WorkQueue } from "./work-queue.ts";

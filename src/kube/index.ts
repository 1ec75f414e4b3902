/**
 * The Kubernetes runtime: a client on raw JSON, reflectors with caches, a work queue, leader election on a Lease, events,
 * and kubeconfig. It knows nothing of Lockstep and imports only `src/runtime`.
 *
 * How the parts are meant to be used together: a `Reflector` per kind keeps a cache; the cache's handlers add keys to a
 * `WorkQueue`; the work reads caches, decides, and writes through a `KubeClient` with the resourceVersion it read, then
 * hands the answer back with `cache.wrote`, so that nothing it decides next is based on less. All of it runs inside
 * `Election.run`, whose leadership ends before another one's can begin. On shutdown: `queue.shutdown()`, then
 * `client.settled()`, then let the election release its lease. What may be sent twice is ruled in sender.ts.
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
export type { ElectionOptions, Leadership } from "./election.ts";
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
export type { KubeObject, ObjectMeta, ObjectName } from "./object.ts";
export { deepFreeze, isKubeObject, keyOf, nameOfKey, withoutManagedFields } from "./object.ts";
export type { ReflectorHealth, ReflectorOptions } from "./reflector.ts";
export { Reflector } from "./reflector.ts";
export type { AnyResource, Resource, Subresource } from "./resource.ts";
export { resource } from "./resource.ts";
export { compareVersions } from "./resource-version.ts";
export type { RequestOptions } from "./sender.ts";
export type { WorkQueueHooks, WorkQueueOptions, WorkQueueStats, WorkResult } from "./work-queue.ts";
export { WorkQueue } from "./work-queue.ts";

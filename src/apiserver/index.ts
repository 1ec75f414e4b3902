/**
 * A Kubernetes API server without sockets, for development, tests, the embedded fleet and the simulator. It is not a
 * production server: one process, state in memory, and only those features of Kubernetes that Lockstep's
 * controllers, its README and everyday kubectl need. Same requests, clock and random give the same bytes.
 *
 * `handle` answers one request, `stream` a watch, `transport` gives in-process clients both; `front/` puts it on HTTP.
 * Imports src/runtime and src/api (the schema engine).
 */

export { statefulSetDefaults } from "./builtin/defaults.ts";
export {
  authorizerOf,
  type BearerToken,
  type CertificateAuthority,
  type CertifiedKey,
  createCertificateAuthority,
  type Front,
  type FrontOptions,
  type Grant,
  type Identity,
  type KubeconfigContext,
  KubeconfigError,
  kubeconfigText,
  NotLoopbackError,
  type SecureFront,
  type SecureFrontOptions,
  SUPERUSERS,
  startFront,
  startSecureFront,
  writeKubeconfig,
} from "./front/index.ts";
export { apiVersionOf, qualifiedKind, qualifiedResource } from "./registry.ts";
export { SchemaCache } from "./schema-cache.ts";
export { ApiServer } from "./server.ts";
export { SnapshotFormatError } from "./snapshot.ts";
export type {
  ApiServerOptions,
  Authorizer,
  Commit,
  KubeObject,
  ObjectKey,
  ObjectMeta,
  OwnerReference,
  PrinterColumn,
  RegistryView,
  RequestAttributes,
  ResourceDefinition,
  Route,
  ServerLimits,
  ServerRequest,
  ServerSnapshot,
  User,
} from "./types.ts";

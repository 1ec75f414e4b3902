/**
 * A Kubernetes API server without sockets, for development, tests, the embedded fleet and the simulator. It is not a
 * production server: one process, state in memory, and only those features of Kubernetes that Lockstep's controllers,
 * its README and everyday kubectl need. The same requests, clock and random give the same bytes.
 *
 * `handle` answers one request, `stream` a watch, `transport` gives both to in-process clients; `front/` serves it over
 * HTTP. Imports src/runtime and src/api (the schema engine).
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
export { apiVersionOf, qualifiedKind, qualifiedResource } from "./kinds/registry.ts";
export { SchemaCache } from "./kinds/schema-cache.ts";
export { KUBERNETES_VERSION } from "./request/discovery.ts";
export { ApiServer } from "./server.ts";
export { SnapshotFormatError } from "./store/snapshot.ts";
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

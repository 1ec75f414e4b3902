/**
 * The HTTP front of the socketless API server: TLS on loopback, authentication, limits on incoming data, watches with
 * backpressure, and kubeconfigs. An edge: it may use sockets and files, and it decides nothing about objects.
 */
export type { BearerToken } from "./authentication.ts";
export { authorizerOf, type Grant } from "./authorization.ts";
export {
  type CertificateAuthority,
  type CertifiedKey,
  createCertificateAuthority,
  type Identity,
  SUPERUSERS,
} from "./certificates.ts";
export { type Front, type FrontOptions, NotLoopbackError, startFront } from "./front.ts";
export { type KubeconfigContext, KubeconfigError, kubeconfigText, writeKubeconfig } from "./kubeconfig.ts";
export { type SecureFront, type SecureFrontOptions, startSecureFront } from "./secure.ts";

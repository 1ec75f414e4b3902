/**
 * The package entry `lockstep/sdk`: what an operator in a member cluster, or an interpreter webhook, needs in one import.
 * `connectCluster` finds the API server as kubectl does, or by the pod's service account.
 */
export { type ClusterConnection, type ConnectOptions, connectCluster, KubeConfigError } from "../../src/kube/index.ts";
export {
  type Clock,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  isJsonObject,
  type Json,
  type JsonObject,
  type Log,
  type LogFields,
  type LogLevel,
  lineLog,
  type Random,
  sameJson,
  silentLog,
  systemClock,
  systemRandom,
  type Transport,
  TransportError,
  timestamp,
} from "../../src/runtime/index.ts";
export * from "../../src/sdk/index.ts";

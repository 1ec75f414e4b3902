/**
 * The seams. Time, randomness and I/O reach the rest of Lockstep only through this room's interfaces, as constructor
 * arguments. So the same code runs on a wall clock and sockets in production, and on virtual time and in-memory calls
 * in the simulator. Imports nothing of Lockstep.
 */
export type { CancelTimer, Clock } from "./clock.ts";
export { retryDelayMs, systemClock } from "./clock.ts";
export { collectQuietly } from "./collector.ts";
export { compressed, decompressed } from "./compress.ts";
export type { HttpTransport, HttpTransportOptions, TlsOptions } from "./http-transport.ts";
export type { Json, JsonObject } from "./json.ts";
export { canonicalText, clone, isJsonObject, ownField, valueAt } from "./json.ts";
export {
  applyPatch,
  escapePointer,
  jsonSize,
  PatchBudget,
  PatchError,
  type PatchOperation,
  patchInPlace,
  valueAtPointer,
} from "./json-patch.ts";
export { LIMITS } from "./limits.ts";
export type { Log, LogFields, LogLevel } from "./log.ts";
export { lineLog, silentLog } from "./log.ts";
export { LruMap } from "./lru-map.ts";
export type { Alert, LabelsOf, MetricDefinition, MetricName, Panel } from "./metrics/definitions.ts";
export { METRICS } from "./metrics/definitions.ts";
export { measuredTransport } from "./metrics/measured-transport.ts";
export type { Metrics, SetGauge } from "./metrics/metrics.ts";
export { silentMetrics } from "./metrics/metrics.ts";
export { measureProcess, type ProcessMetrics } from "./metrics/process-metrics.ts";
export { MetricsRegistry, metricNames } from "./metrics/registry.ts";
export { nearest } from "./nearest.ts";
export { openHttpTransport } from "./open-http-transport.ts";
export type { Random } from "./random.ts";
export { seededRandom, systemRandom } from "./random.ts";
export { includesJson, sameJson } from "./same-json.ts";
export { timestamp } from "./timestamp.ts";
export type { Headers, HttpRequest, HttpResponse, HttpStream, Transport } from "./transport.ts";
export { TransportError } from "./transport.ts";
export type { Writable } from "./writable.ts";

/**
 * What every kind of rollout has, whatever it rolls out: the closed list of reasons for waiting, waves with soak and
 * approval, maintenance windows, a cluster's maintenance, the history of revisions, and the account of each rollout. Pure. Imports src/runtime.
 */
export { historyAfter, previousRevision } from "./history.ts";
export { isInMaintenance, reportInMaintenance, waitForMaintenance } from "./maintenance.ts";
export type { Evidence, Reason, ReasonCode, Waiting, Waits } from "./reasons.ts";
export { asks, REASONS, waits } from "./reasons.ts";
export {
  type Happening,
  RECORD_ENTRIES_MAX,
  type RecordEntry,
  type RolloutMoment,
  type RolloutRecord,
  recordAfter,
  shortened,
} from "./record.ts";
export type * from "./types.ts";
export type { UpdateState, WavePart, WaveProgress } from "./waves.ts";
export { advanceWaves, allWaves, batchAllowance, waveIndex } from "./waves.ts";
export { WindowMemory } from "./window-memory.ts";
export type { MaintenanceWindow, WindowState } from "./windows.ts";
export { CronError, cronProblem, isTimeZone, windowState } from "./windows.ts";

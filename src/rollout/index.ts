/**
 * What every kind of rollout has, whatever it rolls out: the closed list of reasons for waiting, waves with soak and
 * approval, maintenance windows, a cluster's maintenance, and the history of revisions. Pure. Imports src/runtime.
 */
export { historyAfter, previousRevision } from "./history.ts";
export { isInMaintenance, reportInMaintenance, waitForMaintenance } from "./maintenance.ts";
export type { Evidence, Reason, ReasonCode, Waiting, Waits } from "./reasons.ts";
export { asks, REASONS, waits } from "./reasons.ts";
export type * from "./types.ts";
export type { UpdateState, WavePart, WaveProgress } from "./waves.ts";
export { advanceWaves, allWaves, batchAllowance, waveIndex } from "./waves.ts";
export { WindowMemory } from "./window-memory.ts";
export type { MaintenanceWindow, WindowState } from "./windows.ts";
export { CronError, cronProblem, isTimeZone, windowState } from "./windows.ts";

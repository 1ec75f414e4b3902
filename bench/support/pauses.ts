import { readFileSync } from "node:fs";
import { constants, PerformanceObserver, performance } from "node:perf_hooks";

/** The event loop did nothing else from `fromMs` to `toMs`, in the machine's time. */
export interface Pause {
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether the process itself was working, and not waiting for a processor. */
  readonly isOwn: boolean;
}

/** What kept one process from answering at once. */
export interface PauseReport {
  readonly pauses: readonly Pause[];
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
  readonly gcMs: number;
  readonly gcMaxMs: number;
  /** Full collections: those of the whole heap. */
  readonly majorGcs: number;
  readonly majorGcMaxMs: number;
  /** How long the process was runnable without a processor; not available on every system. */
  readonly cpuWaitMs: number | undefined;
}

const TICK_MS = 5;
/** Shorter ones are the ordinary work of a few requests. */
const WORTH_NAMING_MS = 5;

/** Watches its own process, from `start` on, so that a run without it is not disturbed. */
export class PauseMeter {
  #lastMs = 0;
  #lastCpuMs = 0;
  readonly #delays: number[] = [];
  readonly #pauses: Pause[] = [];
  readonly #collections: { major: boolean; ms: number }[] = [];
  #cpuWaitMs = 0;

  start(): void {
    this.#lastMs = performance.now();
    this.#lastCpuMs = cpuMs();
    this.#cpuWaitMs = cpuWaitMs() ?? 0;
    setInterval(() => this.#tick(), TICK_MS).unref();
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { duration } = entry;
        const kind = "detail" in entry ? (entry.detail as { kind?: number }).kind : undefined;
        this.#collections.push({ major: kind === constants.NODE_PERFORMANCE_GC_MAJOR, ms: duration });
      }
    }).observe({ entryTypes: ["gc"] });
  }

  report(): PauseReport {
    const delays = [...this.#delays].sort((a, b) => a - b);
    const waited = cpuWaitMs();
    const longest = (all: readonly { ms: number }[]) => all.reduce((max, { ms }) => Math.max(max, ms), 0);
    const majors = this.#collections.filter(({ major }) => major);
    return {
      pauses: this.#pauses,
      loopP99Ms: delays[Math.floor(delays.length * 0.99)] ?? 0,
      loopMaxMs: delays.at(-1) ?? 0,
      gcMs: this.#collections.reduce((sum, { ms }) => sum + ms, 0),
      gcMaxMs: longest(this.#collections),
      majorGcs: majors.length,
      majorGcMaxMs: longest(majors),
      cpuWaitMs: waited === undefined ? undefined : waited - this.#cpuWaitMs,
    };
  }

  #tick(): void {
    const nowMs = performance.now();
    const usedMs = cpuMs() - this.#lastCpuMs;
    this.#lastCpuMs += usedMs;
    const lateMs = nowMs - this.#lastMs - TICK_MS;
    this.#delays.push(Math.max(0, lateMs));
    if (lateMs >= WORTH_NAMING_MS) {
      const { timeOrigin } = performance;
      this.#pauses.push({ fromMs: timeOrigin + nowMs - lateMs, toMs: timeOrigin + nowMs, isOwn: usedMs > lateMs / 2 });
    }
    this.#lastMs = nowMs;
  }
}

/** Converts a time of this process to the machine's time. */
export function machineMs(processMs: number): number {
  return performance.timeOrigin + processMs;
}

/** How much of the span these pauses cover. */
export function pausedMs(pauses: readonly Pause[], fromMs: number, toMs: number): number {
  let sum = 0;
  for (const pause of pauses) sum += Math.max(0, Math.min(toMs, pause.toMs) - Math.max(fromMs, pause.fromMs));
  return sum;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Linux reports for each thread how long it waited for a processor, in nanoseconds. */
function cpuWaitMs(): number | undefined {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return undefined;
  }
}

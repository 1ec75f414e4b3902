import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Metrics } from "./metrics.ts";

/** How often the event loop is checked; it is then late by at least this much, which is taken off. */
const RESOLUTION_MS = 10;

export interface ProcessMetrics {
  /** The longest time that the event loop was late since this was last asked. */
  takeLagMs(): number;
  stop(): void;
}

/** Event loop, heap, memory and CPU of this process. */
export function measureProcess(metrics: Metrics): ProcessMetrics {
  // Scrapes and probes each start over; neither may take what the other has not seen.
  const [scraped, probed] = [lagMeter(), lagMeter()];
  let countedSeconds = 0;
  const takeOut = metrics.gauges((set) => {
    const { heapUsed, rss } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    set("nodejs_eventloop_lag_seconds", {}, scraped.takeMs() / 1000);
    set("nodejs_heap_size_used_bytes", {}, heapUsed);
    set("process_resident_memory_bytes", {}, rss);
    const seconds = (user + system) / 1e6;
    metrics.count("process_cpu_seconds_total", {}, seconds - countedSeconds);
    countedSeconds = seconds;
  });
  return {
    takeLagMs: probed.takeMs,
    stop: () => {
      takeOut();
      scraped.stop();
      probed.stop();
    },
  };
}

function lagMeter() {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  return {
    takeMs: () => {
      const lateMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
      delay.reset();
      return lateMs;
    },
    stop: () => delay.disable(),
  };
}

import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Marking a larger heap takes longer than a step should. */
const LARGE_HEAP_BYTES = 96 * 2 ** 20;
/** A large heap is collected as a whole after it has grown by this much: a minute of garbage under load. */
const GROWTH_BYTES = 160 * 2 ** 20;
/** Below this, V8 would spend more time collecting than is saved. */
const LEAST_GROWTH_PERCENT = 30;
const LOOK_AGAIN_MS = 5_000;
/** A process that uses less of a processor than this has nothing to do. */
const IDLE_SHARE = 0.1;

/** Garbage collection settings that hardly delay a controller's steps. Known to Node 20, 22 and 24. */
export function collectQuietly(): void {
  // By default, four threads mark the heap and collect young garbage on however few processors there are, and a
  // controller that shares two of them has to wait.
  setFlagsFromString("--concurrent-marking-max-worker-num=1");
  setFlagsFromString("--no-parallel-scavenge");
  // A busy start makes the engine expect that the objects of a plan live long. From then on, it would allocate them
  // where only a full collection can free them.
  setFlagsFromString("--no-allocation-site-pretenuring");
  // After an idle period the engine collects the whole heap once more, to return memory: just when work may start
  // again.
  setFlagsFromString("--no-memory-reducer");
  // The less garbage there is, the sooner the engine collects the whole heap, to keep it small: after a third more,
  // four times a minute. That is right for small heaps.
  let isStarting = true;
  let before = process.cpuUsage();
  const look = () => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    const isIdle = user + system < LOOK_AGAIN_MS * 1_000 * IDLE_SHARE;
    if (isStarting && isIdle) collectOnce();
    if (isIdle) isStarting = false;
    // While its caches fill, the engine itself knows best.
    if (!isStarting) setFlagsFromString(`--heap-growing-percent=${growthPercent(getHeapStatistics().used_heap_size)}`);
  };
  setInterval(look, LOOK_AGAIN_MS).unref();
}

/**
 * The lists of the start leave as much garbage as there is live memory. Without load, it would stay for hours. Only
 * once, while there is nothing to do: it takes a fifth of a second.
 */
function collectOnce(): void {
  if (getHeapStatistics().used_heap_size <= LARGE_HEAP_BYTES) return;
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

/** By how much a heap of this size may grow before it is collected as a whole; 0: as the engine decides. */
export function growthPercent(usedBytes: number): number {
  if (usedBytes <= LARGE_HEAP_BYTES) return 0;
  return Math.max(LEAST_GROWTH_PERCENT, Math.round((GROWTH_BYTES / usedBytes) * 100));
}

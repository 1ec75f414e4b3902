import { getHeapStatistics, setFlagsFromString } from "node:v8";

/** Marking a larger heap takes longer than a step should. */
const LARGE_HEAP_BYTES = 96 * 2 ** 20;
/** A large heap is collected as a whole after it has grown by this much: to three times its live size. */
const LARGE_HEAP_GROWS_PERCENT = 200;
const LOOK_AGAIN_MS = 10_000;

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
  setInterval(growLargeHeaps, LOOK_AGAIN_MS).unref();
}

function growLargeHeaps(): void {
  const percent = getHeapStatistics().used_heap_size > LARGE_HEAP_BYTES ? LARGE_HEAP_GROWS_PERCENT : 0;
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

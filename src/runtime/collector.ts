import { getHeapStatistics, setFlagsFromString } from "node:v8";

/** Marking a larger heap takes longer than a step should. */
const LARGE_HEAP_BYTES = 96 * 2 ** 20;
/** A large heap is collected whole when it has grown by so much: to three times what lives in it. */
const LARGE_HEAP_GROWS_PERCENT = 200;
const LOOK_AGAIN_MS = 10_000;

/** Garbage is collected so that a controller's steps hardly notice. Known to Node 20, 22 and 24. */
export function collectQuietly(): void {
  // Left alone, four threads mark the heap and collect young garbage on however few processors there are, and a
  // controller that shares two of them waits.
  setFlagsFromString("--concurrent-marking-max-worker-num=1");
  setFlagsFromString("--no-parallel-scavenge");
  // A busy start teaches the engine that what a plan makes lives long. From then on it would put it where only a full
  // collection finds that it does not.
  setFlagsFromString("--no-allocation-site-pretenuring");
  // After a quiet while the whole heap is collected once more, to give memory back: just when work may be beginning again.
  setFlagsFromString("--no-memory-reducer");
  // The less garbage there is, the sooner the engine collects the whole heap, to keep it small: after a third more, four
  // times a minute. That is right for small heaps.
  setInterval(growLargeHeaps, LOOK_AGAIN_MS).unref();
}

function growLargeHeaps(): void {
  const percent = getHeapStatistics().used_heap_size > LARGE_HEAP_BYTES ? LARGE_HEAP_GROWS_PERCENT : 0;
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

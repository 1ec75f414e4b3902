import { setFlagsFromString } from "node:v8";

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
}

import { setFlagsFromString } from "node:v8";

/**
 * The heap is marked by one thread beside the process's own, and young garbage is collected by the process itself. Left
 * alone, four threads do that on however few processors there are, and a controller that shares two of them waits.
 */
export function collectQuietly(): void {
  setFlagsFromString("--concurrent-marking-max-worker-num=1");
  setFlagsFromString("--no-parallel-scavenge");
}

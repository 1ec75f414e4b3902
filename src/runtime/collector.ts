import { setFlagsFromString } from "node:v8";

/**
 * Garbage is collected by one thread beside the process's own, and young garbage by that one itself. Left alone, four
 * threads collect on however few processors there are: while they mark a heap of a hundred megabytes, a controller that
 * shares two processors, or has a limit, hardly runs for a fifth of a second, several times a minute.
 */
export function collectQuietly(): void {
  setFlagsFromString("--concurrent-marking-max-worker-num=1");
  setFlagsFromString("--no-parallel-scavenge");
}

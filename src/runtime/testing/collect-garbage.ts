import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A full collection of this process's heap, now. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

import type { Clock } from "../../runtime/index.ts";
import type { ChartLimits } from "../limits.ts";
import { RefusalError } from "../refusal.ts";
import type { RenderedObject } from "../types.ts";
import { objectsOf, type ReadOptions } from "./objects.ts";
import { readText } from "./thread.ts";

export interface TextReader {
  readonly clock: Clock;
  readonly limits: ChartLimits;
}

/** A program's output, or a user's text, as checked objects in apply order. */
export async function objectsFromText(
  { clock, limits }: TextReader,
  text: string,
  options: Omit<ReadOptions, "limits">,
  signal: AbortSignal,
): Promise<RenderedObject[]> {
  if (text.length > limits.outputBytes) {
    throw new RefusalError("TooLarge", `the text has more than ${limits.outputBytes} bytes`, "split the application");
  }
  const result = await readText(text, clock, signal);
  if (result.kind === "invalid") throw new RefusalError("InvalidManifest", result.message, "correct the source");
  return objectsOf(result.documents, { ...options, limits });
}

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { Clock } from "../../runtime/index.ts";
import { RefusalError } from "../refusal.ts";
import type { ReadResult } from "./documents.ts";
import { perform, type Task } from "./tasks.ts";

/** Less text than this is read within about 20 ms, and if it is hostile, within 0.2 s. A thread costs 60 ms to start. */
const INLINE_CHARACTERS = 64 * 1024;
/** 16 MB are parsed in about 4 s. */
const TIMEOUT_MS = 30_000;
/** Parsed YAML takes about 30 times its text. */
const HEAP_MB = 1024;

/** Beside the bundled program in dist/. */
const BUNDLED = new URL("./read-worker.js", import.meta.url);

/** Reads large text in a thread, and ends it after a time: hostile YAML costs one render, not the controller. */
export async function readText(text: string, clock: Clock, signal: AbortSignal): Promise<ReadResult> {
  return aside({ kind: "read", text }, text.length, clock, signal);
}

/** Does a task on what strangers wrote, `size` characters of it, where it can hold nothing else up. */
export async function aside(task: Task, size: number, clock: Clock, signal: AbortSignal): Promise<ReadResult> {
  signal.throwIfAborted();
  return size <= INLINE_CHARACTERS ? perform(task) : inThread(task, clock, signal);
}

function inThread(task: Task, clock: Clock, signal: AbortSignal): Promise<ReadResult> {
  // Options of this process's own command line are not for threads: some make them fail.
  const options = { workerData: task, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } };
  const isBundled = existsSync(fileURLToPath(BUNDLED));
  const worker = isBundled ? new Worker(BUNDLED, options) : new Worker(fromSource(), { ...options, eval: true });
  return new Promise<ReadResult>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    const cancel = clock.after(TIMEOUT_MS, () => reject(tooExpensive("takes too long to read")));
    signal.addEventListener("abort", onAbort, { once: true });
    worker.once("message", resolve);
    worker.once("error", (error) =>
      reject(isOutOfMemory(error) ? tooExpensive("needs too much memory to read") : error),
    );
    worker.once("exit", () => {
      cancel();
      signal.removeEventListener("abort", onAbort);
      reject(new Error("the thread that reads manifests ended without a result"));
    });
  }).finally(() => worker.terminate());
}

/** In development there is no bundle, and a thread does not inherit the loader of TypeScript. */
function fromSource(): string {
  const loader = createRequire(import.meta.url)
    .resolve("tsx/esm/api")
    .replace(/cjs$/, "mjs");
  const program = new URL("./worker.ts", import.meta.url).href;
  return `import(${JSON.stringify(loader)}).then(({ register }) => { register(); return import(${JSON.stringify(program)}); });`;
}

function isOutOfMemory(error: Error): boolean {
  return "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}

function tooExpensive(what: string): RefusalError {
  return new RefusalError("TooLarge", `the YAML ${what}`, "render less in one application", { isTransient: true });
}

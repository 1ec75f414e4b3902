import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import { ensurePrograms } from "../tools/programs.ts";
import { type ClientRecord, parseRecord } from "./record.ts";

export interface ProbeOptions {
  readonly endpoints: readonly string[];
  /** The proxy through which the clients reach them. */
  readonly proxy: string;
  /** For the record. */
  readonly file: string;
  /** Between the first attempt and the retry, unless it is the usual one. */
  readonly pauseMs?: number;
}

export interface Verdict {
  /** Every acknowledged write that must still be there, and those that are not. */
  readonly acknowledged: number;
  readonly missing: readonly string[];
  readonly linearizable: "yes" | "no" | "undecided";
  readonly operations: number;
  /** Reads that returned another client's value, and writes that met another one on the same key. */
  readonly readsOfOthers: number;
  readonly overlappingWrites: number;
}

type Judgement = Omit<Verdict, "acknowledged" | "missing">;

/** Clients that do not start or do not end: a request takes at most a second, twice, and reading back thirty. */
const START_MS = 30_000;
const END_MS = 120_000;
/** Longer than the check itself gives up. */
const CHECK_MS = 180_000;

/** Clients that write and read all the time, in a process of their own. */
export class Probe {
  readonly #file: string;
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #output: string[] = [];
  /** Resolves when the process has ended and all its output was read, with how it ended. */
  readonly #closed: Promise<string>;

  private constructor(program: string, { endpoints, proxy, file, pauseMs }: ProbeOptions) {
    this.#file = file;
    const args = ["run", "-endpoints", endpoints.join(","), "-proxy", proxy, "-out", file];
    if (pauseMs !== undefined) args.push("-pause", `${pauseMs}ms`);
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#closed = endOf(this.#child);
    // It may have ended by itself.
    this.#child.stdin?.on("error", () => {});
    this.#lines = createInterface({ input: this.#child.stdout ?? process.stdin });
    this.#lines.on("line", (line) => this.#output.push(line));
  }

  static async start(options: ProbeOptions): Promise<Probe> {
    const { probe } = await ensurePrograms(["probe"]);
    const started = new Probe(probe, options);
    await inTime(Promise.race([once(started.#lines, "line"), started.#closed]), started.#child, START_MS, "start");
    if (started.#output.length === 0) throw new Error(`the clients did not start: ${await started.#closed}`);
    return started;
  }

  record(): ClientRecord {
    return parseRecord(readFileSync(this.#file, "utf8"));
  }

  /** Why attempts failed, each reason once with its number. */
  errors(): string[] {
    const counts = new Map<string, number>();
    for (const { error, try: attempt } of this.record().attempts) {
      if (error === undefined) continue;
      const key = `attempt ${attempt}: ${error.slice(0, 120)}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts].map(([error, count]) => `${count} x ${error}`);
  }

  /** Ends the clients, reads every acknowledged write back, and checks the history. */
  async finish(): Promise<Verdict> {
    const how = await this.#end();
    const [, result] = this.#output;
    if (result === undefined) throw new Error(`the clients ended without a result (${how}); see above`);
    const { acknowledged, missing } = JSON.parse(result) as Pick<Verdict, "acknowledged" | "missing">;
    return { acknowledged, missing, ...(await judge(this.#file)) };
  }

  async stop(): Promise<void> {
    await this.#end();
  }

  #end(): Promise<string> {
    this.#child.stdin?.end();
    return inTime(this.#closed, this.#child, END_MS, "end");
  }
}

/** What the checker says about a recorded history. */
export async function judge(file: string): Promise<Judgement> {
  const { probe } = await ensurePrograms(["probe"]);
  const child = spawn(probe, ["check", file], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  const how = await inTime(endOf(child), child, CHECK_MS, "check");
  if (text === "") throw new Error(`the history could not be checked (${how}); see above`);
  return JSON.parse(text) as Judgement;
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}

/** Kills the process and throws if it takes too long. */
async function inTime<T>(result: Promise<T>, child: ChildProcess, timeoutMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`the clients' process did not ${what} within ${timeoutMs / 1000} s, and was killed`));
    }, timeoutMs);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function nowUs(): number {
  return (performance.timeOrigin + performance.now()) * 1000;
}

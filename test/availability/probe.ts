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
}

/** Clients that write and read all the time, in a process of their own. */
export class Probe {
  readonly #file: string;
  readonly #program: string;
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #output: string[] = [];

  private constructor(program: string, { endpoints, proxy, file, pauseMs }: ProbeOptions) {
    this.#file = file;
    this.#program = program;
    const args = ["run", "-endpoints", endpoints.join(","), "-proxy", proxy, "-out", file];
    if (pauseMs !== undefined) args.push("-pause", `${pauseMs}ms`);
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout ?? process.stdin });
    this.#lines.on("line", (line) => this.#output.push(line));
  }

  static async start(options: ProbeOptions): Promise<Probe> {
    const { probe } = await ensurePrograms(["probe"]);
    const started = new Probe(probe, options);
    await once(started.#lines, "line");
    return started;
  }

  setEndpoints(endpoints: readonly string[]): void {
    this.#child.stdin?.write(`endpoints ${endpoints.join(",")}\n`);
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
    await this.#end();
    const [, result] = this.#output;
    if (result === undefined) throw new Error("the clients ended without a result; see above");
    const { acknowledged, missing } = JSON.parse(result) as Pick<Verdict, "acknowledged" | "missing">;
    const { linearizable, operations } = await this.#check();
    return { acknowledged, missing, linearizable, operations };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null) await this.#end();
  }

  async #end(): Promise<void> {
    const closed = once(this.#child, "close");
    this.#child.stdin?.end();
    await closed;
  }

  async #check(): Promise<Pick<Verdict, "linearizable" | "operations">> {
    const child = spawn(this.#program, ["check", this.#file], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
    });
    await once(child, "close");
    return JSON.parse(text) as Pick<Verdict, "linearizable" | "operations">;
  }
}

export function nowUs(): number {
  return (performance.timeOrigin + performance.now()) * 1000;
}

/** `lockstep up` as a user starts it: the built program, in a process and a folder of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const BIN = new URL("../../bin", import.meta.url).pathname;
const LOOK_MS = 50;

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export class Fleet {
  readonly folder = mkdtempSync(join(tmpdir(), "lockstep-start-"));
  readonly kubeconfig = join(this.folder, ".lockstep", "kubeconfig");
  printed = "";
  #up: ChildProcess | undefined;
  #ended: Promise<number | null> = Promise.resolve(null);

  /** Resolves when it says that Ctrl-C stops it. */
  async start(...args: string[]): Promise<void> {
    const up = spawn(join(BIN, "lockstep"), ["up", ...args], { cwd: this.folder, stdio: ["ignore", "pipe", "pipe"] });
    this.#up = up;
    this.printed = "";
    for (const stream of [up.stdout, up.stderr]) stream.on("data", (data) => (this.printed += data));
    this.#ended = new Promise((resolve) => up.on("exit", resolve));
    while (!this.printed.includes("Ctrl-C stops everything.")) {
      if (up.exitCode !== null) throw new Error(`lockstep up ended with ${up.exitCode}:\n${this.printed}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** As Ctrl-C does it; answers with the exit code. */
  stop(signal: NodeJS.Signals = "SIGINT"): Promise<number | null> {
    if (this.#up?.exitCode === null) this.#up.kill(signal);
    return this.#ended;
  }

  async close(): Promise<void> {
    await this.stop("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  run(...args: string[]): Promise<Ran> {
    return this.execute(join(BIN, "lockstep"), args);
  }

  /** Any program, with Lockstep's on PATH and the hub's kubeconfig. */
  execute(program: string, args: readonly string[]): Promise<Ran> {
    const env = { ...process.env, KUBECONFIG: this.kubeconfig, PATH: `${BIN}:${process.env.PATH}` };
    const child = spawn(program, [...args], { cwd: this.folder, env, stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (err += data));
    return new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code) => resolve({ code, out, err }));
    });
  }
}

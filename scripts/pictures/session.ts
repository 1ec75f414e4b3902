/** Lockstep's built program in child processes that take their output for a terminal, in a folder of their own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Written {
  readonly text: string;
  readonly atMs: number;
}

const ROOT = new URL("../..", import.meta.url).pathname;
/** What the pictures show takes seconds; after this something is wrong. */
const GIVE_UP_MS = 180_000;
const LOOK_MS = 20;

export class Recording {
  readonly written: Written[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #said = "";

  constructor(args: readonly string[], folder: string, size: string) {
    const terminal = join(ROOT, "scripts/pictures/fake-terminal.mjs");
    this.#child = spawn(process.execPath, ["--import", terminal, join(ROOT, "bin/lockstep"), ...args], {
      cwd: folder,
      env: {
        ...process.env,
        KUBECONFIG: join(folder, ".lockstep/kubeconfig"),
        FAKE_TERMINAL: size,
        NO_COLOR: undefined,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout?.setEncoding("utf8");
    this.#child.stdout?.on("data", (text: string) => this.written.push({ text, atMs: performance.now() }));
    // What a slow machine makes it say meanwhile is no part of the picture.
    this.#child.stderr?.on("data", (text) => (this.#said += text));
    this.#ended = new Promise((resolve) => this.#child.on("close", resolve));
  }

  get text(): string {
    return this.written.map(({ text }) => text).join("");
  }

  /** With what it said beside its output, for whoever looks for a mistake. */
  get everything(): string {
    return `${this.text}\n${this.#said}`;
  }

  /** Throws when it ends, or time is up, before the output is as asked for. */
  async until(what: string, condition: (text: string) => boolean): Promise<void> {
    const endMs = performance.now() + GIVE_UP_MS;
    while (!condition(this.text)) {
      const { exitCode } = this.#child;
      if (exitCode !== null || performance.now() > endMs) {
        throw new Error(
          `waiting for ${what}: ${exitCode === null ? "time is up" : `ended with ${exitCode}`}\n${this.everything}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** Ctrl-C, if it has not ended by itself; answers with the exit code. */
  async end(): Promise<number | null> {
    if (this.#child.exitCode === null) this.#child.kill("SIGINT");
    return this.#ended;
  }

  ended(): Promise<number | null> {
    return this.#ended;
  }
}

export class Session {
  readonly folder = mkdtempSync(join(tmpdir(), "lockstep-pictures-"));
  readonly #recordings: Recording[] = [];

  start(args: readonly string[], size: string): Recording {
    const recording = new Recording(args, this.folder, size);
    this.#recordings.push(recording);
    return recording;
  }

  /** Runs to its end; throws unless that is a good one. */
  async run(args: readonly string[], size: string): Promise<Recording> {
    const recording = this.start(args, size);
    const code = await recording.ended();
    if (code !== 0) throw new Error(`lockstep ${args.join(" ")} ended with ${code}:\n${recording.everything}`);
    return recording;
  }

  async close(): Promise<void> {
    await Promise.all(this.#recordings.map((recording) => recording.end()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

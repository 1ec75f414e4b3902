/** Lockstep's built program in child processes whose output behaves like a terminal, in a separate folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Written {
  readonly text: string;
  readonly atMs: number;
}

const ROOT = new URL("../..", import.meta.url).pathname;
/** The pictured commands take seconds; after this time something is wrong. */
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
    // Messages that only a slow machine causes are not part of the picture.
    this.#child.stderr?.on("data", (text) => (this.#said += text));
    this.#ended = new Promise((resolve) => this.#child.on("close", resolve));
  }

  get text(): string {
    return this.written.map(({ text }) => text).join("");
  }

  /** Includes its standard error, for debugging. */
  get everything(): string {
    return `${this.text}\n${this.#said}`;
  }

  /** Throws if it ends, or the time is over, before the output matches. */
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

  /** Ctrl-C, if it has not ended by itself; returns the exit code. */
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

  /** Runs to its end; throws unless it succeeds. */
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

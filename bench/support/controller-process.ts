import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../../scripts/bundle.mjs";
import { type KubeconfigContext, writeKubeconfig } from "../../src/apiserver/index.ts";
import type { PauseReport } from "./pauses.ts";

export interface Usage {
  readonly cpuMs: number;
  readonly rssMb: number;
  readonly heapMb: number;
}

/** Controllers in processes of their own, from one bundle, as an installation runs them. */
export class ControllerProcesses {
  readonly #folder: string;
  readonly #running = new Set<ChildProcess>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async prepare(context: KubeconfigContext): Promise<ControllerProcesses> {
    const folder = mkdtempSync(join(tmpdir(), "lockstep-bench-"));
    const controller = new URL("controller-entry.ts", import.meta.url).pathname;
    await bundle({ entryPoints: { controller }, outdir: folder, extension: ".mjs" });
    await writeKubeconfig(join(folder, "kubeconfig"), [context]);
    return new ControllerProcesses(folder);
  }

  /** Resolves when it leads. Set LOCKSTEP_BENCH_PROFILE to a folder to get a CPU profile of it. */
  async start(): Promise<ControllerProcess> {
    const profile = process.env.LOCKSTEP_BENCH_PROFILE;
    const child = fork(join(this.#folder, "controller.mjs"), [join(this.#folder, "kubeconfig")], {
      execArgv: profile ? ["--cpu-prof", `--cpu-prof-dir=${profile}`] : [],
    });
    this.#running.add(child);
    child.once("exit", () => this.#running.delete(child));
    await new Promise<void>((resolve, reject) => {
      child.once("message", () => resolve());
      child.once("exit", (code) => reject(new Error(`the controller ended with ${code} before it led`)));
    });
    return new ControllerProcess(child);
  }

  close(): void {
    for (const child of this.#running) child.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export class ControllerProcess {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  usage(): Promise<Usage> {
    return new Promise((resolve) => {
      this.#child.once("message", (usage) => resolve(usage as Usage));
      this.#child.send("usage");
    });
  }

  collectGarbage(): void {
    this.#child.send("collect");
  }

  watchPauses(): void {
    this.#child.send("watch pauses");
  }

  pauses(): Promise<PauseReport> {
    return new Promise((resolve) => {
      this.#child.once("message", (report) => resolve(report as PauseReport));
      this.#child.send("pauses");
    });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.send("stop");
    await ended;
  }

  /** As a crash would end it. */
  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }
}

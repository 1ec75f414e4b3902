import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../../scripts/bundle.mjs";
import { type KubeconfigContext, writeKubeconfig } from "../../src/apiserver/index.ts";
import type { StreamUsage } from "../../src/kube/index.ts";
import type { PauseReport } from "./pauses.ts";

export interface Usage {
  readonly cpuMs: number;
  readonly rssMb: number;
  /** The most that it had at any moment. */
  readonly peakMb?: number;
  readonly heapMb: number;
}

/** Controllers in separate processes, from one bundle, as in an installation. */
export class ControllerProcesses {
  readonly #folder: string;
  readonly #running = new Set<ChildProcess>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async prepare(
    context: KubeconfigContext,
    entry = new URL("controller-entry.ts", import.meta.url),
  ): Promise<ControllerProcesses> {
    const folder = mkdtempSync(join(tmpdir(), "lockstep-bench-"));
    const controller = entry.pathname;
    await bundle({ entryPoints: { controller }, outdir: folder, extension: ".mjs" });
    await writeKubeconfig(join(folder, "kubeconfig"), [context]);
    return new ControllerProcesses(folder);
  }

  /** Resolves when it reports that it leads. Set LOCKSTEP_BENCH_PROFILE to a folder to get a CPU profile of it. */
  async start(...more: string[]): Promise<ControllerProcess> {
    const profile = process.env.LOCKSTEP_BENCH_PROFILE;
    const child = fork(join(this.#folder, "controller.mjs"), [join(this.#folder, "kubeconfig"), ...more], {
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
    return this.#ask<Usage>("usage");
  }

  streams(): Promise<StreamUsage> {
    return this.#ask<StreamUsage>("streams");
  }

  collectGarbage(): void {
    this.#child.send("collect");
  }

  watchPauses(): void {
    this.#child.send("watch pauses");
  }

  pauses(): Promise<PauseReport> {
    return this.#ask<PauseReport>("pauses");
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

  /** Unsolicited messages, such as that it leads again, are not answers. */
  #ask<Answer>(what: string): Promise<Answer> {
    return new Promise((resolve) => {
      const receive = (message: unknown) => {
        if (typeof message === "string") return;
        this.#child.off("message", receive);
        resolve(message as Answer);
      };
      this.#child.on("message", receive);
      this.#child.send(what);
    });
  }
}

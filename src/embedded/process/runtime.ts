import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { KubeObject } from "../../apiserver/index.ts";
import { type Clock, isJsonObject, type Log } from "../../runtime/index.ts";
import type { PodRuntime, PodState } from "../member/runtime.ts";
import { numberAt, objectsAt, textAt, valueAt } from "../values.ts";
import { commandOf, volumesOf } from "./command.ts";

export interface ProcessRuntimeOptions {
  /** Everything it writes is below it: claims stay, the rest goes with its pod. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** What processes inherit, such as PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** A ConfigMap's data as the member has it; undefined: there is none. */
  readonly configMap: (namespace: string, name: string) => Readonly<Record<string, string>> | undefined;
}

/** A process that ends is started anew, after a pause that doubles up to this, as a node does. */
const RESTART_BASE_MS = 500;
const RESTART_MAX_MS = 30_000;
const DEFAULT_GRACE_SECONDS = 30;
const DEFAULT_PROBE_SECONDS = 1;
const PROBE_TIMEOUT_MS = 1_000;
const LOOPBACK = "127.0.0.1";

interface Running {
  readonly ended: AbortController;
  child: ChildProcess | undefined;
  done: Promise<void>;
}

/** Runs a pod's first container as a child process of this one, without isolation. */
export class ProcessRuntime implements PodRuntime {
  readonly #options: ProcessRuntimeOptions;
  readonly #running = new Map<string, Running>();

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
  }

  run(pod: KubeObject, report: (state: PodState) => void): void {
    const running: Running = { ended: new AbortController(), child: undefined, done: Promise.resolve() };
    this.#running.set(pod.metadata.uid ?? "", running);
    running.done = this.#keepRunning(pod, running, report).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.log.warn("a pod could not be run", { pod: pod.metadata.name, reason });
      report({ ready: false, restarts: 0, message: reason });
    });
  }

  async end(pod: KubeObject): Promise<void> {
    const uid = pod.metadata.uid ?? "";
    const running = this.#running.get(uid);
    if (!running) return;
    await this.#end(running, (numberAt(pod, "spec", "terminationGracePeriodSeconds") ?? DEFAULT_GRACE_SECONDS) * 1_000);
    this.#running.delete(uid);
    rmSync(this.#podFolder(pod), { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((running) => this.#end(running, 0)));
    this.#running.clear();
  }

  /** Asks first; whoever does not listen within the grace period is not asked. */
  async #end(running: Running, graceMs: number): Promise<void> {
    running.ended.abort(new Error("the pod ends"));
    const { child } = running;
    child?.kill(graceMs > 0 ? "SIGTERM" : "SIGKILL");
    const timer = new AbortController();
    this.#options.clock.sleep(graceMs, timer.signal).then(
      () => child?.kill("SIGKILL"),
      () => {},
    );
    await running.done;
    timer.abort();
  }

  async #keepRunning(pod: KubeObject, running: Running, report: (state: PodState) => void): Promise<void> {
    const { clock } = this.#options;
    const { signal } = running.ended;
    for (let restarts = 0; !signal.aborted; restarts++) {
      const why = await this.#runOnce(pod, running, restarts, report);
      if (signal.aborted) return;
      report({ ready: false, restarts, message: why });
      await clock.sleep(Math.min(RESTART_MAX_MS, RESTART_BASE_MS * 2 ** restarts), signal).catch(() => {});
    }
  }

  /** Resolves when the process has ended, with how. */
  async #runOnce(
    pod: KubeObject,
    running: Running,
    restarts: number,
    report: (state: PodState) => void,
  ): Promise<string> {
    const command = commandOf(pod, this.#prepareVolumes(pod));
    if (!command) return "its first container has no command: there are no images here to take one from";
    const cwd = this.#podFolder(pod);
    const output = openSync(join(cwd, "output.log"), "a", 0o600);
    const child = spawn(command.program, [...command.args], {
      cwd,
      env: { ...this.#options.env, ...command.env },
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    running.child = child;
    const exited = new AbortController();
    const exit = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(`${command.program} cannot be run: ${error.message}`));
      child.once("exit", (code, by) => resolve(`${command.program} ended ${by ? `by ${by}` : `with ${code}`}`));
    }).finally(() => exited.abort());
    const probing = this.#probe(pod, exited.signal, (ready) => report({ ready, restarts }));
    const why = await exit;
    await probing;
    running.child = undefined;
    return why;
  }

  /** Without a probe a process that runs is ready; a TCP or HTTP probe is tried as a connection to its host and port. */
  async #probe(pod: KubeObject, signal: AbortSignal, report: (ready: boolean) => void): Promise<void> {
    const probe = valueAt(objectsAt(pod, "spec", "containers")[0], "readinessProbe");
    const port = numberAt(probe, "tcpSocket", "port") ?? numberAt(probe, "httpGet", "port");
    if (!isJsonObject(probe) || port === undefined) return report(true);
    const host = textAt(probe, "tcpSocket", "host") || textAt(probe, "httpGet", "host") || LOOPBACK;
    const everyMs = (numberAt(probe, "periodSeconds") ?? DEFAULT_PROBE_SECONDS) * 1_000;
    let last: boolean | undefined;
    while (!signal.aborted) {
      const ready = await answers(host, port);
      if (signal.aborted) return;
      if (ready !== last) report(ready);
      last = ready;
      await this.#options.clock.sleep(everyMs, signal).catch(() => {});
    }
  }

  #podFolder({ metadata }: KubeObject): string {
    return join(this.#options.folder, "pods", metadata.uid ?? metadata.name);
  }

  #prepareVolumes(pod: KubeObject): Record<string, string> {
    const namespace = pod.metadata.namespace ?? "";
    const folders: Record<string, string> = {};
    mkdirSync(this.#podFolder(pod), { recursive: true, mode: 0o700 });
    for (const { name, source } of volumesOf(pod)) {
      const isClaim = source.kind === "claim";
      const folder = isClaim
        ? join(this.#options.folder, "claims", asFileName(namespace), asFileName(source.name))
        : join(this.#podFolder(pod), "volumes", asFileName(name));
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      folders[name] = folder;
      if (source.kind !== "configMap") continue;
      for (const [file, text] of Object.entries(this.#options.configMap(namespace, source.name) ?? {})) {
        writeFileSync(join(folder, asFileName(file)), text);
      }
    }
    return folders;
  }
}

/** Names come from objects that anybody may write: none may lead out of its folder. */
function asFileName(name: string): string {
  if (/^[A-Za-z0-9._-]+$/.test(name) && !/^\.+$/.test(name)) return name;
  throw new Error(`'${name}' cannot be a file's name; use letters, digits, '-', '_' and '.'`);
}

function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: PROBE_TIMEOUT_MS });
    const settle = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", () => settle(true));
    socket.once("timeout", () => settle(false));
    socket.once("error", () => settle(false));
  });
}

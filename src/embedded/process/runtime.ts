import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, fstatSync, mkdirSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import type { KubeObject } from "../../apiserver/index.ts";
import { type Clock, isJsonObject, type Log, valueAt } from "../../runtime/index.ts";
import { faultOf, restarts as mayRestart, type PodRuntime, type PodState } from "../member/runtime.ts";
import { numberAt, objectsAt, textAt } from "../values.ts";
import type { Children } from "./children.ts";
import { commandOf, expand, volumesOf } from "./command.ts";
import { Readiness } from "./readiness.ts";

export interface ProcessRuntimeOptions {
  /** It writes only below this folder: claims stay, the rest is deleted with its pod. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** What processes inherit, such as PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** A ConfigMap's data as the member has it; undefined: there is none. */
  readonly configMap: (namespace: string, name: string) => Readonly<Record<string, string>> | undefined;
  /** A Secret's data, decoded; absent: there are no Secrets. */
  readonly secret?: (namespace: string, name: string) => Readonly<Record<string, string>> | undefined;
  /** Ensures that they end with this process. */
  readonly children?: Pick<Children, "started">;
}

/** A process that ends is restarted, after a pause that doubles up to this, as on a node. */
const RESTART_BASE_MS = 500;
const RESTART_MAX_MS = 30_000;
const DEFAULT_GRACE_SECONDS = 30;
const DEFAULT_PROBE_SECONDS = 1;
const PROBE_TIMEOUT_MS = 1_000;
const LOOPBACK = "127.0.0.1";

/** A shell's exit codes for a program that it does not find, and for one that was killed. */
const NOT_FOUND = 127;
const KILLED = 137;
/** The maximum length of a log. */
const LOG_BYTES = 1024 * 1024;

interface Exit {
  readonly text: string;
  readonly code: number;
}

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

  /** Sends SIGTERM first; a process that has not ended within the grace period is killed. */
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
    // There are no images here; an image name that means a fault has the same effect as for simulated pods.
    const fault = faultOf(pod);
    if (fault) return report({ ...fault, isOver: fault.exitCode !== undefined && !mayRestart(pod, fault.exitCode) });
    for (let restarts = 0; !signal.aborted; restarts++) {
      const why = await this.#runOnce(pod, running, restarts, report);
      if (signal.aborted) return;
      if (!mayRestart(pod, why.code)) {
        return report({ ready: false, restarts, message: why.text, exitCode: why.code, isOver: true });
      }
      report({ ready: false, restarts, waiting: "CrashLoopBackOff", message: why.text, exitCode: why.code });
      await clock.sleep(Math.min(RESTART_MAX_MS, RESTART_BASE_MS * 2 ** restarts), signal).catch(() => {});
    }
  }

  log(pod: KubeObject): string {
    return tailOf(join(this.#podFolder(pod), "output.log"));
  }

  /** Resolves when the process has ended, with the result. */
  async #runOnce(
    pod: KubeObject,
    running: Running,
    restarts: number,
    report: (state: PodState) => void,
  ): Promise<Exit> {
    const command = commandOf(pod, this.#prepareVolumes(pod));
    if (!command) {
      return { text: "its first container has no command: there are no images here to take one from", code: NOT_FOUND };
    }
    const cwd = this.#podFolder(pod);
    const output = openSync(join(cwd, "output.log"), "a", 0o600);
    const child = spawn(command.program, [...command.args], {
      cwd,
      env: { ...this.#options.env, ...command.env },
      stdio: ["ignore", output, output],
    });
    this.#options.children?.started(child);
    closeSync(output);
    running.child = child;
    const exited = new AbortController();
    const exit = new Promise<Exit>((resolve) => {
      child.once("error", (error) =>
        resolve({ text: `${command.program} cannot be run: ${error.message}`, code: NOT_FOUND }),
      );
      child.once("exit", (code, by) =>
        resolve({ text: `${command.program} ended ${by ? `by ${by}` : `with ${code}`}`, code: code ?? KILLED }),
      );
    }).finally(() => exited.abort());
    const probing = this.#probe(pod, command.env, exited.signal, (ready) => report({ ready, restarts }));
    const why = await exit;
    await probing;
    running.child = undefined;
    return why;
  }

  /**
   * Without a TCP or HTTP probe, a running process is ready. The probe's host may refer to the environment, because each
   * process has its own address.
   */
  async #probe(
    pod: KubeObject,
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
    report: (ready: boolean) => void,
  ): Promise<void> {
    const probe = valueAt(objectsAt(pod, "spec", "containers")[0], "readinessProbe");
    const port = numberAt(probe, "tcpSocket", "port") ?? numberAt(probe, "httpGet", "port");
    if (!isJsonObject(probe) || port === undefined) return report(true);
    const host = expand(textAt(probe, "tcpSocket", "host") || textAt(probe, "httpGet", "host") || LOOPBACK, env);
    const path = isJsonObject(probe.httpGet) ? textAt(probe, "httpGet", "path") || "/" : undefined;
    const everyMs = (numberAt(probe, "periodSeconds") ?? DEFAULT_PROBE_SECONDS) * 1_000;
    const readiness = new Readiness(numberAt(probe, "failureThreshold"));
    let last: boolean | undefined;
    while (!signal.aborted) {
      const isAnswered = await (path === undefined ? answers(host, port) : isSuccess(host, port, path));
      if (signal.aborted) return;
      const ready = readiness.note(isAnswered);
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
      if (source.kind !== "configMap" && source.kind !== "secret") continue;
      const read = source.kind === "secret" ? this.#options.secret : this.#options.configMap;
      for (const [file, text] of Object.entries(read?.(namespace, source.name) ?? {})) {
        writeFileSync(join(folder, asFileName(file)), text, { mode: 0o600 });
      }
    }
    return folders;
  }
}

/** The end of a file; nothing if it does not exist. */
function tailOf(file: string): string {
  let handle: number | undefined;
  try {
    handle = openSync(file, "r");
    const { size } = fstatSync(handle);
    const bytes = Buffer.alloc(Math.min(size, LOG_BYTES));
    readSync(handle, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString("utf8");
  } catch {
    return "";
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** Names come from objects that any user may write: none may lead out of its folder. */
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

/** As Kubernetes has it: an answer below 400. */
function isSuccess(host: string, port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host, port, path, timeout: PROBE_TIMEOUT_MS }, (response) => {
      response.resume();
      const { statusCode = 0 } = response;
      resolve(statusCode >= 200 && statusCode < 400);
    });
    request.once("timeout", () => request.destroy());
    request.once("error", () => resolve(false));
  });
}

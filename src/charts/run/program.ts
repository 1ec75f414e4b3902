import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Clock } from "../../runtime/index.ts";
import type { ChartLimits } from "../limits.ts";
import { RefusalError } from "../refusal.ts";
import type { WorkFolder } from "./folder.ts";

export interface ProgramCall {
  /** An absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: WorkFolder;
  /** Added to an otherwise empty environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it must reach this machine's loopback, where the stand-in for a cluster listens. */
  readonly needsLoopback?: boolean;
}

export interface ProgramOutput {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface ProgramRunnerOptions {
  readonly clock: Clock;
  readonly limits: ChartLimits;
}

/** The words of a program's error are for people; whole pages of it are not. */
const STDERR_BYTES = 64 * 1024;
/** A Go program may use several cores at a time; the clock is the limit that usually counts. */
const CPU_PER_TIME = 8;
const PROBE_TIMEOUT_MS = 5_000;
/** A Go program that is out of memory says so and exits with this code. */
const GO_CRASH = 2;

/**
 * No server listens on port 9 (discard) in practice, and a Go program sends every request that is not for loopback to
 * its proxy.
 */
const DEAD_PROXY = "http://127.0.0.1:9";
const PROXIES = {
  HTTP_PROXY: DEAD_PROXY,
  HTTPS_PROXY: DEAD_PROXY,
  http_proxy: DEAD_PROXY,
  https_proxy: DEAD_PROXY,
};

/** Limits address space and CPU time, then becomes the program. The second limit also ends it if this process is killed. */
const LIMITED = 'ulimit -v "$1" && ulimit -t "$2" && ulimit -c 0 && shift 2 && exec "$@"';

/**
 * Runs helm and kustomize, which read what strangers wrote: in a process group and an empty environment of their own,
 * without network where the system allows that, with limits on time, memory and output.
 */
export class ProgramRunner {
  readonly #options: ProgramRunnerOptions;
  #unshare: Promise<string | undefined> | undefined;

  constructor(options: ProgramRunnerOptions) {
    this.#options = options;
  }

  /** Whether a program can get a network namespace of its own, without any interface that is up. Probed once. */
  async hasNetworkNamespaces(): Promise<boolean> {
    return (await this.#namespaces()) !== undefined;
  }

  async run(call: ProgramCall, signal: AbortSignal): Promise<ProgramOutput> {
    const { limits } = this.#options;
    const unshare = call.needsLoopback ? undefined : await this.#namespaces();
    const seconds = String(Math.ceil((limits.programTimeoutMs * CPU_PER_TIME) / 1000));
    const command = [...(unshare ? [unshare, "-rn", "--"] : []), call.program, ...call.args];
    const child = spawn("/bin/sh", ["-c", LIMITED, "sh", String(limits.programMemoryKiB), seconds, ...command], {
      // Empty: helm prefers a folder of the chart's name in the working directory to the chart that was meant.
      cwd: await call.folder.makeFolder("cwd"),
      env: { ...(await emptyEnvironment(call.folder)), ...PROXIES, ...call.env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    return collect(child, { ...this.#options, call, signal });
  }

  #namespaces(): Promise<string | undefined> {
    this.#unshare ??= this.#probe();
    return this.#unshare;
  }

  async #probe(): Promise<string | undefined> {
    if (process.platform !== "linux") return undefined;
    for (const path of UNSHARE) if (await this.#works(path)) return path;
    return undefined;
  }

  #works(unshare: string): Promise<boolean> {
    const child = spawn(unshare, ["-rn", "--", "/bin/true"], { env: {}, detached: true, stdio: "ignore" });
    const cancel = this.#options.clock.after(PROBE_TIMEOUT_MS, () => killGroup(child));
    return new Promise((resolve) => {
      const end = (works: boolean) => {
        cancel();
        resolve(works);
      };
      child.on("error", () => end(false));
      child.on("exit", (code) => end(code === 0));
    });
  }
}

const UNSHARE = ["/usr/bin/unshare", "/bin/unshare"];

async function emptyEnvironment(folder: WorkFolder): Promise<Record<string, string>> {
  const home = await folder.makeFolder("home");
  return {
    // There is no such folder: kustomize must find neither git nor helm.
    PATH: join(home, "bin"),
    HOME: home,
    TMPDIR: await folder.makeFolder("tmp"),
    // Plugins and repositories of the account that runs this process must not take part.
    HELM_CACHE_HOME: join(home, "cache"),
    HELM_CONFIG_HOME: join(home, "config"),
    HELM_DATA_HOME: join(home, "data"),
    HELM_PLUGINS: join(home, "plugins"),
    XDG_CONFIG_HOME: join(home, "xdg"),
    KUBECONFIG: "/dev/null",
  };
}

interface Collecting extends ProgramRunnerOptions {
  readonly call: ProgramCall;
  readonly signal: AbortSignal;
}

function collect(child: ChildProcess, { clock, limits, call, signal }: Collecting): Promise<ProgramOutput> {
  return new Promise((resolve, reject) => {
    const stdout: Buffer[] = [];
    let stdoutBytes = 0;
    let stderr = "";
    let refusal: unknown;
    const stop = (why: unknown) => {
      refusal ??= why;
      killGroup(child);
    };
    const onAbort = () => stop(signal.reason);
    const cancel = clock.after(limits.programTimeoutMs, () => stop(tookTooLong(call, limits)));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    child.stdout?.on("data", (chunk: Buffer) => {
      stdoutBytes += chunk.length;
      if (stdoutBytes > limits.outputBytes) stop(printedTooMuch(limits));
      else stdout.push(chunk);
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      if (stderr.length < STDERR_BYTES) stderr += chunk.toString("utf8");
    });
    const settle = (finish: () => void) => {
      cancel();
      signal.removeEventListener("abort", onAbort);
      finish();
    };
    child.on("error", (error) => settle(() => reject(notStarted(call, error))));
    // 'close' comes when the streams have ended, too: whatever the program had started has ended as well.
    child.on("close", (code, killedBy) => {
      // Nothing of its group may outlive it.
      killGroup(child);
      if (isOutOfMemory(code, stderr)) refusal ??= outOfMemory(limits);
      else if (killedBy !== null) refusal ??= wasKilled(call, killedBy);
      settle(() => {
        if (refusal !== undefined) reject(refusal);
        else resolve({ exitCode: code ?? -1, stdout: Buffer.concat(stdout), stderr: stderr.slice(0, STDERR_BYTES) });
      });
    });
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The whole group has ended.
  }
}

function isOutOfMemory(code: number | null, stderr: string): boolean {
  return code === GO_CRASH && /out of memory|cannot allocate memory/.test(stderr);
}

const SMALLER = "render less in one application, or allow it more in the controller's settings";

function tookTooLong(call: ProgramCall, limits: ChartLimits): RefusalError {
  return new RefusalError(
    "RenderFailed",
    `${nameOf(call)} took longer than ${limits.programTimeoutMs / 1000} s and was stopped`,
    "look for an endless loop in its templates; it is tried again",
    { isTransient: true },
  );
}

function wasKilled(call: ProgramCall, by: string): RefusalError {
  const message = `${nameOf(call)} was ended by the signal ${by}`;
  return new RefusalError("RenderFailed", message, "check the memory of the controller's machine; it is tried again", {
    isTransient: true,
  });
}

function nameOf({ program }: ProgramCall): string {
  return program.slice(program.lastIndexOf("/") + 1);
}

function printedTooMuch(limits: ChartLimits): RefusalError {
  return new RefusalError("TooLarge", `the output has more than ${limits.outputBytes} bytes`, SMALLER);
}

function outOfMemory(limits: ChartLimits): RefusalError {
  return new RefusalError("TooLarge", `rendering needs more than ${limits.programMemoryKiB} KiB of memory`, SMALLER);
}

function notStarted(call: ProgramCall, error: Error): RefusalError {
  return new RefusalError("ProgramMissing", `${call.program} could not be started: ${error.message}`, "install it", {
    isTransient: true,
  });
}

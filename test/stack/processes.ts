import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** What is on disk about a started process: enough to end it later, and to be sure that it is still the same one. */
interface Recorded {
  readonly name: string;
  readonly pid: number;
  /** Clock ticks since boot at which it started; a recycled process id has another. */
  readonly startTicks: string;
}

const STOP_GRACE_MS = 5_000;
const POLL_MS = 50;

/**
 * The processes of one stack. Each is recorded in the stack's folder the moment it starts, so that whatever happens to
 * the program that started it, `stopRecorded` ends exactly these and nothing else.
 */
export class Processes {
  readonly #folder: string;
  readonly #running = new Map<string, ChildProcess>();
  /** How each was started, to start it again. */
  readonly #commands = new Map<string, { program: string; args: readonly string[]; env: NodeJS.ProcessEnv }>();

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(join(folder, "logs"), { recursive: true });
    mkdirSync(this.#temporary, { recursive: true });
  }

  start(name: string, program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
    this.#commands.set(name, { program, args, env });
    const log = openSync(this.logFile(name), "a");
    const child = spawn(program, args, {
      stdio: ["ignore", log, log],
      detached: true,
      // Some programs leave certificates in the temporary folder; this one goes with the stack.
      env: { ...process.env, TMPDIR: this.#temporary, ...env },
      cwd: this.#folder,
    });
    child.on("error", (error) => appendFileSync(this.logFile(name), `could not be started: ${error.message}\n`));
    if (child.pid === undefined) throw new Error(`${name} could not be started from ${program}`);
    child.unref();
    this.#running.set(name, child);
    const recorded: Recorded = { name, pid: child.pid, startTicks: startTicks(child.pid) ?? "" };
    appendFileSync(recordFile(this.#folder), `${JSON.stringify(recorded)}\n`);
  }

  /** Ends one process at once, as a power cut would. */
  kill(name: string, signal: NodeJS.Signals = "SIGKILL"): void {
    this.#running.get(name)?.kill(signal);
    this.#running.delete(name);
  }

  /** As `kill`, and waits until it is gone: only then is its port free for the next one. */
  async end(name: string): Promise<void> {
    const child = this.#running.get(name);
    if (!child) throw new Error(`${name} does not run`);
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    this.kill(name);
    await gone;
  }

  /** Stops a process without ending it: its connections stay open, and no request is answered. */
  pause(name: string): void {
    this.#signal(name, "SIGSTOP");
  }

  resume(name: string): void {
    this.#signal(name, "SIGCONT");
  }

  #signal(name: string, signal: NodeJS.Signals): void {
    const child = this.#running.get(name);
    if (child?.kill(signal) !== true) throw new Error(`${name} does not run, so it cannot get ${signal}`);
  }

  /** Starts a killed process again, as it was started first. */
  restart(name: string): void {
    const command = this.#commands.get(name);
    if (!command) throw new Error(`${name} was never started`);
    this.start(name, command.program, command.args, command.env);
  }

  /** Whether it was ever started. */
  knows(name: string): boolean {
    return this.#commands.has(name);
  }

  #isOver(name: string): boolean {
    const child = this.#running.get(name);
    return child !== undefined && (child.exitCode !== null || child.signalCode !== null);
  }

  /** A command that has done its work ends with 0, and what it began may still be under way. */
  #hasFailed(name: string): boolean {
    return this.#isOver(name) && this.#running.get(name)?.exitCode !== 0;
  }

  #howEnded(name: string): string {
    const { exitCode, signalCode } = this.#running.get(name) ?? {};
    return signalCode ? `by ${signalCode}` : `with exit code ${exitCode}`;
  }

  get #temporary(): string {
    return join(this.#folder, "tmp");
  }

  logFile(name: string): string {
    return join(this.#folder, "logs", `${name}.log`);
  }

  /**
   * Waits until `probe` returns true; fails as soon as the process has failed, or one of those that it needs, with the end
   * of its log.
   */
  async ready(
    name: string,
    probe: () => Promise<boolean>,
    timeoutMs: number,
    needs: readonly string[] = [],
  ): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      if (await probe().catch(() => false)) return;
      const ended = [name, ...needs].find((each) => this.#hasFailed(each));
      if (ended !== undefined || performance.now() > deadline) {
        const subject = ended ?? name;
        const why = ended ? `ended ${this.#howEnded(ended)}` : `was not ready after ${timeoutMs / 1000} s`;
        const log = this.logFile(subject);
        throw new Error(`${subject} ${why}; the end of ${log}:\n${tail(log, 15)}`);
      }
      await sleep(POLL_MS);
    }
  }

  /** Starts those again that ended by themselves, as a kubelet would. */
  revive(...names: string[]): void {
    for (const name of names) if (this.#isOver(name)) this.restart(name);
  }
}

/** Ends every process recorded in the folder that is still the one it was, the last started first. */
export async function stopRecorded(folder: string): Promise<number> {
  if (!existsSync(recordFile(folder))) return 0;
  const recorded = readFileSync(recordFile(folder), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Recorded)
    .reverse();
  const alive = () => recorded.filter(({ pid, startTicks: ticks }) => ticks !== "" && startTicks(pid) === ticks);
  const before = alive();
  for (const { pid, name } of before) {
    // An API server asked kindly drains its watches for up to a minute; nothing here needs that.
    signal(pid, name.includes("apiserver") ? "SIGKILL" : "SIGTERM");
  }
  const deadline = performance.now() + STOP_GRACE_MS;
  while (alive().length > 0 && performance.now() < deadline) await sleep(POLL_MS);
  for (const { pid } of alive()) signal(pid, "SIGKILL");
  while (alive().length > 0) await sleep(POLL_MS);
  rmSync(recordFile(folder));
  return before.length;
}

function recordFile(folder: string): string {
  return join(folder, "processes.jsonl");
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended in the meantime.
  }
}

/** Field 22 of /proc/PID/stat; undefined when there is no such process or it is a zombie. */
export function startTicks(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function tail(file: string, lines: number): string {
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n").slice(-lines).join("\n") : "(no log)";
}

/**
 * A loopback address of one's own. A port of 127.0.0.1 that was free a moment ago may be taken when a program listens at
 * last, by another stack or by a client's connection: a machine with much to do needs seconds to start one.
 */
export function ownAddress(): string {
  return `127.${64 + randomInt(64)}.${randomInt(256)}.${1 + randomInt(254)}`;
}

/** Below those that the system gives to clients' connections, which would take one before its program listens. */
const PORTS = { from: 10_000, to: 32_000 };

/** Ports that were free a moment ago, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = randomInt(PORTS.from, PORTS.to);
    if (await isFree(port)) found.add(port);
  }
  return [...found];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type Clock, isJsonObject } from "../../runtime/index.ts";
import { identityOf, isAlive, type ProcessIdentity } from "./identity.ts";

export interface ChildrenOptions {
  /** Where the processes are recorded, for the next start of this program. */
  readonly file: string;
  readonly clock: Clock;
}

/** A killed process is gone within milliseconds, unless the disk hangs. */
const GONE_WITHIN_MS = 5_000;
const LOOK_MS = 20;

/**
 * Reads `add PID START` and `drop PID START` until its input ends, which is when the writer has ended for any reason.
 * Then it kills the remaining processes, if the start time in /proc is still the same: another process may have the
 * number by then. It has its own session and ignores signals, because Ctrl-C reaches every process of a terminal.
 */
const WATCHDOG = `
trap '' INT TERM HUP
list=' '
while read -r verb pid start; do
  case $verb in
    add) list="$list$pid:$start " ;;
    drop) list=$(printf '%s' "$list" | sed "s/ $pid:$start / /") ;;
  esac
done
for entry in $list; do
  pid=\${entry%%:*}
  set -- $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null)
  [ "\${20:-}" = "\${entry#*:}" ] && kill -9 "$pid"
done
`;

/**
 * The processes that this one has started. They end with it, even if it is killed: a watchdog ensures that, and if the
 * watchdog was killed as well, the next start does.
 */
export class Children {
  readonly #options: ChildrenOptions;
  readonly #running = new Map<number, ProcessIdentity>();
  #watchdog: ChildProcess | undefined;

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  /** Ends the processes that an earlier process left, and returns their number. */
  async endLeftovers(): Promise<number> {
    const { clock, file } = this.#options;
    const left = readIdentities(file).filter(isAlive);
    for (const { pid } of left) kill(pid);
    const endMs = clock.monotonicMs() + GONE_WITHIN_MS;
    while (left.some(isAlive) && clock.monotonicMs() < endMs) await clock.sleep(LOOK_MS);
    rmSync(file, { force: true });
    return left.length;
  }

  /** Call it in the same turn as the start: nothing may happen in between. */
  started(child: ChildProcess): void {
    const identity = child.pid === undefined ? undefined : identityOf(child.pid);
    if (!identity) return;
    this.#running.set(identity.pid, identity);
    this.#tell("add", identity);
    this.#save();
    child.once("exit", () => {
      this.#running.delete(identity.pid);
      this.#tell("drop", identity);
      this.#save();
    });
  }

  /** All of them have ended. */
  close(): void {
    this.#watchdog?.stdin?.end();
    this.#watchdog = undefined;
    rmSync(this.#options.file, { force: true });
  }

  /** Only Linux has /proc. Elsewhere, the next start ends the remaining processes. */
  #tell(verb: "add" | "drop", { pid, started }: ProcessIdentity): void {
    if (process.platform !== "linux") return;
    this.#watchdog ??= startWatchdog();
    this.#watchdog.stdin?.write(`${verb} ${pid} ${started.slice(started.indexOf("/") + 1)}\n`);
  }

  #save(): void {
    const { file } = this.#options;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, JSON.stringify([...this.#running.values()]), { mode: 0o600 });
  }
}

function startWatchdog(): ChildProcess {
  const child = spawn("/bin/sh", ["-c", WATCHDOG], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  // It is only a second safeguard: without it, the next start ends the remaining processes.
  child.on("error", () => {});
  child.stdin?.on("error", () => {});
  child.unref();
  return child;
}

function readIdentities(file: string): ProcessIdentity[] {
  let entries: unknown;
  try {
    entries = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return [];
  }
  return (Array.isArray(entries) ? entries.filter(isJsonObject) : []).flatMap(({ pid, started }) =>
    typeof pid === "number" && pid > 1 && typeof started === "string" ? [{ pid, started }] : [],
  );
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

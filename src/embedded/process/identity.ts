import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** A process by its number and start time: a number alone is given to another process sooner or later. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/**
 * After the name in brackets, which may contain anything: the state is the third field of /proc/PID/stat, the start the
 * 22nd.
 */
const START_FIELD = 22 - 3;

/** Undefined: there is no such process, or it has ended and only its exit code is kept. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const started = process.platform === "linux" ? startOnLinux(pid) : startByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return identityOf(pid)?.started === started;
}

/** Ticks since the machine started, with the id of that boot: the same number after a reboot is another process. */
function startOnLinux(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state] = fields;
    if (state === "Z" || state === "X") return undefined;
    return `${bootId()}/${fields[START_FIELD]}`;
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

function startByPs(pid: number): string | undefined {
  try {
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined;
  }
}

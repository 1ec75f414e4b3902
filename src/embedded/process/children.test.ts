import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/index.ts";
import { Children } from "./children.ts";
import { identityOf, isAlive } from "./identity.ts";

let folder: string;
const own: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-children-"));
});
afterEach(() => {
  for (const child of own.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const children = () => new Children({ file: join(folder, "processes"), clock: systemClock });

function sleeper(): ChildProcess {
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  own.push(child);
  return child;
}

/** A program that starts one process and keeps it, as `up` keeps an etcd. */
async function programWithChild(): Promise<{ program: ChildProcess; child: { pid: number; started: string } }> {
  const script = `
    import { spawn } from "node:child_process";
    import { Children } from ${JSON.stringify(join(import.meta.dirname, "children.ts"))};
    import { systemClock } from ${JSON.stringify(join(import.meta.dirname, "../../runtime/index.ts"))};
    const child = spawn("sleep", ["600"], { stdio: "ignore" });
    new Children({ file: ${JSON.stringify(join(folder, "processes"))}, clock: systemClock }).started(child);
    console.log(child.pid);
    setInterval(() => {}, 1000);
  `;
  const program = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  own.push(program);
  const [line] = await once(program.stdout ?? program, "data");
  const child = identityOf(Number(String(line)));
  if (!child) throw new Error(`the program has started nothing: ${line}`);
  return { program, child };
}

describe("the processes of a program that is killed", () => {
  it("end with it", async () => {
    const { program, child } = await programWithChild();
    expect(isAlive(child)).toBe(true);
    program.kill("SIGKILL");
    await expect.poll(() => isAlive(child), { timeout: 10_000 }).toBe(false);
  });

  it("end with the next start, if the watchdog was killed as well", async () => {
    const left = sleeper();
    writeFileSync(join(folder, "processes"), JSON.stringify([identityOf(left.pid ?? 0)]));
    const exited = once(left, "exit");
    expect(await children().endLeftovers()).toBe(1);
    expect(await exited).toEqual([null, "SIGKILL"]);
    expect(existsSync(join(folder, "processes"))).toBe(false);
  });

  it("are never confused with another process that got the same number", async () => {
    const stranger = sleeper();
    const identity = identityOf(stranger.pid ?? 0);
    if (!identity) throw new Error("it runs");
    writeFileSync(join(folder, "processes"), JSON.stringify([{ ...identity, started: `${identity.started}0` }]));
    expect(await children().endLeftovers()).toBe(0);
    expect(isAlive(identity)).toBe(true);
  });
});

describe("the processes of a program that runs", () => {
  it("are recorded while they run, and no longer", async () => {
    const register = children();
    const child = sleeper();
    register.started(child);
    expect(readFileSync(join(folder, "processes"), "utf8")).toContain(`"pid":${child.pid}`);
    const exited = once(child, "exit");
    child.kill();
    await exited;
    expect(readFileSync(join(folder, "processes"), "utf8")).toBe("[]");
    register.close();
    expect(existsSync(join(folder, "processes"))).toBe(false);
  });

  it("are none if the record is missing or not a list", async () => {
    expect(await children().endLeftovers()).toBe(0);
    writeFileSync(join(folder, "processes"), '{"pid": 1}');
    expect(await children().endLeftovers()).toBe(0);
  });
});

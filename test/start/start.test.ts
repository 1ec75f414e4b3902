/** The README's first line as a user runs it: the built program, in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const lockstep = new URL("../../bin/lockstep", import.meta.url).pathname;

describe("npm start", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-start-"));
  let up: ChildProcess;
  let printed = "";
  let ended: Promise<number | null>;

  beforeAll(() => {
    up = spawn(process.execPath, [lockstep, "up"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [up.stdout, up.stderr]) stream?.on("data", (data) => (printed += data));
    ended = new Promise((resolve) => up.on("exit", resolve));
  });
  afterAll(async () => {
    if (up.exitCode === null) up.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });

  it("brings an application up over three clusters and says where the kubeconfig is", async () => {
    await until(() => printed.includes("Kubeconfig:"));
    expect(printed).toContain("5 of 5 instances ready");
    const kubeconfig = readFileSync(join(folder, ".lockstep", "kubeconfig"), "utf8");
    for (const context of ["hub", "member1", "member2", "member3"]) expect(kubeconfig).toContain(`name: ${context}`);
  });

  it("is shown, planned for, changed and watched by the commands it names", async () => {
    expect(await run("status", "web")).toMatchObject({ code: 0, out: expect.stringContaining("member3") });
    expect(await run("plan", "web")).toMatchObject({ code: 0, out: expect.stringContaining("Nothing would move") });
    expect(await run("restart", "web")).toMatchObject({ code: 0 });
    expect(await run("why", "web")).toMatchObject({ code: 0 });
    expect(await run("status", "wbe")).toMatchObject({ code: 1, out: expect.stringContaining("web") });
  });

  it("stops cleanly on Ctrl-C", async () => {
    up.kill("SIGINT");
    expect(await ended).toBe(0);
  });

  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (up.exitCode !== null) throw new Error(`lockstep up ended with ${up.exitCode}:\n${printed}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  function run(...args: string[]): Promise<{ code: number | null; out: string }> {
    const env = { ...process.env, KUBECONFIG: join(folder, ".lockstep", "kubeconfig") };
    const child = spawn(process.execPath, [lockstep, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (out += data));
    return new Promise((resolve) => child.on("close", (code) => resolve({ code, out })));
  }
});

import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/index.ts";
import { CHART_LIMITS, type ChartLimits } from "../limits.ts";
import { RefusalError } from "../refusal.ts";
import { fakeProgram } from "../testing/programs.ts";
import { findProgram } from "./find.ts";
import { WorkFolder } from "./folder.ts";
import { type ProgramOutput, ProgramRunner } from "./program.ts";
import { Shared } from "./shared.ts";
import { Slots } from "./slots.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-charts-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const never = new AbortController().signal;

async function run(script: string, limits: Partial<ChartLimits> = {}, signal = never): Promise<ProgramOutput> {
  const program = fakeProgram(folder, "program", script);
  const runner = new ProgramRunner({ clock: systemClock, limits: { ...CHART_LIMITS, ...limits } });
  return WorkFolder.within(join(folder, "work"), (work) =>
    runner.run({ program, args: ["a b", "$HOME"], folder: work }, signal),
  );
}

async function refusalOf(promise: Promise<unknown>): Promise<RefusalError> {
  const error = await promise.catch((thrown: unknown) => thrown);
  if (error instanceof RefusalError) return error;
  throw new Error(`not refused: ${error}`);
}

describe("a program", () => {
  it("gets its arguments as they are, and returns its exit code and output", async () => {
    const output = await run('echo "$1|$2"; echo trouble >&2; exit 3');
    expect(output).toMatchObject({ exitCode: 3, stderr: "trouble\n" });
    expect(output.stdout.toString()).toBe("a b|$HOME\n");
  });

  it("gets an empty working directory and an environment of its own", async () => {
    process.env.KUBERNETES_EXEC_INFO = "secret";
    const { stdout } = await run("pwd; ls -A; env").finally(() => delete process.env.KUBERNETES_EXEC_INFO);
    const lines = stdout.toString().trim().split("\n");
    expect(lines[0]).toMatch(/\/work\/render-\w+\/cwd$/);
    const names = lines.slice(1).map((line) => line.split("=")[0]);
    expect(names).not.toContain("KUBERNETES_EXEC_INFO");
    expect(stdout.toString()).toContain("KUBECONFIG=/dev/null");
    expect(stdout.toString()).not.toContain("PATH=/usr/local");
    expect(stdout.toString()).toMatch(/HELM_DATA_HOME=.*\/work\/render-/);
    expect(stdout.toString()).toContain("HTTPS_PROXY=http://127.0.0.1:9");
  });

  it("is stopped with all that it started when its time is over, and its folder is removed", async () => {
    const error = await refusalOf(run("sleep 600 & sleep 600", { programTimeoutMs: 300 }));
    expect(error).toMatchObject({
      reason: "RenderFailed",
      message: "program took longer than 0.3 s and was stopped",
      isTransient: true,
    });
    expect(readdirSync(join(folder, "work"))).toEqual([]);
  });

  it("is stopped when it prints too much", async () => {
    const error = await refusalOf(run("while :; do echo 0123456789; done", { outputBytes: 1000 }));
    expect(error).toMatchObject({ reason: "TooLarge", message: "the output has more than 1000 bytes" });
  });

  it("that runs out of memory is refused as too large", async () => {
    const error = await refusalOf(run("echo 'runtime: out of memory: cannot allocate' >&2; exit 2"));
    expect(error).toMatchObject({ reason: "TooLarge", message: "rendering needs more than 2000000 KiB of memory" });
    expect((await run("ulimit -v")).stdout.toString()).toBe("2000000\n");
  });

  it("ends when its caller gives up", async () => {
    const controller = new AbortController();
    const running = run("sleep 600", {}, controller.signal);
    controller.abort(new Error("shutting down"));
    await expect(running).rejects.toThrow("shutting down");
  });
});

describe("finding a program", () => {
  const find = (given: string) => {
    const runner = new ProgramRunner({ clock: systemClock, limits: CHART_LIMITS });
    return findProgram("helm", { given, searchPath: folder, workFolder: join(folder, "work") }, runner);
  };

  it("looks on the search path and reads the version", async () => {
    const path = fakeProgram(folder, "helm", "echo v3.22.0+gabc");
    expect(await find("helm")).toEqual({ kind: "found", path, version: "v3.22.0" });
  });

  it("accepts helm 4, and says in one line why helm 2 is not enough", async () => {
    fakeProgram(folder, "helm", "echo v4.3.1");
    expect(await find("helm")).toMatchObject({ kind: "found", version: "v4.3.1" });
    const path = fakeProgram(folder, "helm", "echo v2.9.1");
    expect(await find("helm")).toEqual({
      kind: "missing",
      message: `${path} is helm v2.9.1, and 3.13 or newer is needed`,
      remedy:
        "install helm 3.13 or newer (https://helm.sh/docs/intro/install) where the controller runs, or give its path with --helm",
    });
  });

  it("says that there is none, and how to get it", async () => {
    expect(await find("helm")).toMatchObject({
      kind: "missing",
      message: "helm is needed to render this application, and there is none on the PATH of the controller",
    });
    expect(await find("/nowhere/helm")).toMatchObject({ message: expect.stringContaining("none at '/nowhere/helm'") });
  });

  it("refuses a program that does not tell its version", async () => {
    const path = fakeProgram(folder, "helm", "echo what >&2; exit 1");
    expect(await find("helm")).toMatchObject({ kind: "missing", message: `${path} does not tell its version: what` });
  });
});

describe("a work folder", () => {
  it("that a killed process left is removed after an hour, a younger one is not", async () => {
    for (const name of ["render-old", "render-new", "other"]) mkdirSync(join(folder, name));
    const nowMs = Date.now();
    for (const name of ["render-old", "other"]) utimesSync(join(folder, name), 0, nowMs / 1000 - 7200);
    await WorkFolder.sweep(folder, nowMs);
    expect(readdirSync(folder).sort()).toEqual(["other", "render-new"]);
    await WorkFolder.sweep(join(folder, "nowhere"), nowMs);
  });
});

describe("shared work", () => {
  it("is done once for all that ask meanwhile, and again for one whose starter failed", async () => {
    const shared = new Shared<number>();
    let calls = 0;
    const work = async () => ++calls;
    expect(
      await Promise.all([shared.do("a", never, work), shared.do("a", never, work), shared.do("b", never, work)]),
    ).toEqual([1, 1, 2]);
    const failing = shared.do("a", never, () => Promise.reject(new Error("gave up")));
    const waiting = shared.do("a", never, work);
    await expect(failing).rejects.toThrow("gave up");
    expect(await waiting).toBe(3);
  });
});

describe("slots", () => {
  it("let only so many run at a time, in order, and free a waiting one's place when it gives up", async () => {
    const slots = new Slots(1);
    const order: string[] = [];
    let endFirst = () => {};
    const first = slots.within(
      "a",
      never,
      () =>
        new Promise<void>((resolve) => {
          endFirst = resolve;
        }),
    );
    const gaveUp = new AbortController();
    const second = slots.within("a", gaveUp.signal, async () => order.push("second"));
    const third = slots.within("a", never, async () => order.push("third"));
    gaveUp.abort(new Error("enough"));
    await expect(second).rejects.toThrow("enough");
    expect(order).toEqual([]);
    endFirst();
    await Promise.all([first, third]);
    expect(order).toEqual(["third"]);
  });

  it("give the groups turns, so that one with a long queue holds another up once", async () => {
    const slots = new Slots(1);
    const order: string[] = [];
    const ask = (group: string, name: string) => slots.within(group, never, async () => void order.push(name));
    const greedy = ["a1", "a2", "a3", "a4"].map((name) => ask("a", name));
    await Promise.all([...greedy, ask("b", "b1"), ask("c", "c1"), ask("b", "b2")]);
    expect(order).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  });
});

/** The README's first line as a user runs it, and what they type into a second terminal. */
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findKubectl } from "../kubectl/find.ts";
import { BIN, Fleet } from "./fleet.ts";

describe("lockstep up", () => {
  const fleet = new Fleet();
  beforeAll(() => fleet.start());
  afterAll(() => fleet.close());

  it("brings an application up over three clusters and says where the kubeconfig is", () => {
    expect(fleet.printed).toContain("5 of 5 instances ready");
    const kubeconfig = readFileSync(fleet.kubeconfig, "utf8");
    for (const context of ["hub", "member1", "member2", "member3"]) expect(kubeconfig).toContain(`name: ${context}`);
  });

  it("is shown, planned for, changed and explained by the commands it names", async () => {
    expect(await fleet.run("status", "web")).toMatchObject({ code: 0, out: expect.stringContaining("web-200  ready") });
    expect(await fleet.run("plan", "web")).toMatchObject({
      code: 0,
      out: expect.stringContaining("Nothing would move"),
    });
    expect(await fleet.run("restart", "web")).toMatchObject({ code: 0 });
    expect(await fleet.run("why", "web")).toMatchObject({ code: 0 });
  });

  it("answers mistakes with the remedy, without a stack, with 1", async () => {
    const wrong = await fleet.run("status", "wbe");
    expect(wrong).toMatchObject({ code: 1, out: "", err: expect.stringContaining("did you mean 'web'?") });
    expect(wrong.err).not.toMatch(/^\s+at /m);
    expect((await fleet.run("status", "wbe", "--debug")).err).toMatch(/^\s+at /m);
  });

  it("is a kubectl plugin", async () => {
    const { path } = await findKubectl();
    const { code, out } = await fleet.execute(path, ["lockstep", "status", "web", "-o", "name"]);
    expect({ code, out }).toEqual({ code: 0, out: "crossclusterstatefulset.apps.karmada.io/web\n" });
    expect((await fleet.execute(path, ["lockstep", "status", "--help"])).out).toContain(
      "kubectl lockstep status xline -w",
    );
  });

  it("shares the machine with another one: each has ports of its own", async () => {
    const second = new Fleet();
    try {
      await second.start("--clusters", "1", "--example", "none");
      const servers = (file: string): string[] => readFileSync(file, "utf8").match(/https:\/\/127\.0\.0\.1:\d+/g) ?? [];
      const [mine, theirs] = [servers(fleet.kubeconfig), servers(second.kubeconfig)];
      expect(theirs).toHaveLength(2);
      expect(mine.filter((server) => theirs.includes(server))).toEqual([]);
      expect((await second.run("status")).err).toContain(
        "No CrossClusterStatefulsets, DistributedApplications or CrossClusterJobs found",
      );
      expect(await second.stop("SIGTERM")).toBe(0);
    } finally {
      await second.close();
    }
  });

  it("stops cleanly on Ctrl-C, and a later 'status' reports that it has ended", async () => {
    expect(await fleet.stop()).toBe(0);
    expect(fleet.printed.endsWith("Stopping.\n")).toBe(true);
    const { code, err } = await fleet.run("status");
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("is 'lockstep up' still running?") });
  });
});

describe("--data-dir", () => {
  const fleet = new Fleet();
  afterAll(() => fleet.close());
  const podsOf = async () => {
    const { path } = await findKubectl();
    const fields = 'jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\\n"}{end}';
    const each = ["member1", "member2"].map((context) =>
      fleet.execute(path, ["--context", context, "get", "pods", "-o", fields]),
    );
    return (await Promise.all(each)).map(({ out }) => out).join("");
  };

  it("keeps every object over a restart: the same pods, the same history", async () => {
    const args = ["--clusters", "2", "--data-dir", "data"];
    await fleet.start(...args);
    const [pods, history] = [await podsOf(), (await fleet.run("history", "web", "-o", "name")).out];
    expect(pods.match(/web-/g)).toHaveLength(5);
    expect(await fleet.stop()).toBe(0);
    expect(statSync(join(fleet.folder, "data/fleet.json")).mode & 0o777).toBe(0o600);
    await fleet.start(...args);
    expect({ pods: await podsOf(), history: (await fleet.run("history", "web", "-o", "name")).out }).toEqual({
      pods,
      history,
    });
    expect(await fleet.stop()).toBe(0);
    await expect(fleet.start("--clusters", "3", "--data-dir", "data")).rejects.toThrow(
      "use --clusters 2, or another folder",
    );
  });
});

describe("a terminal", () => {
  it("shows colours, and none with NO_COLOR", () => {
    const colours = (env: Record<string, string>) => {
      const terminal = new URL("../../scripts/pictures/fake-terminal.mjs", import.meta.url).pathname;
      const args = ["--import", terminal, join(BIN, "lockstep"), "plan", "--offline", "-f", "-"];
      const manifest = readFileSync(new URL("offline.yaml", import.meta.url), "utf8");
      const { NO_COLOR: _, ...rest } = process.env;
      return execFileSync(process.execPath, args, { input: manifest, env: { ...rest, ...env }, encoding: "utf8" });
    };
    expect(colours({})).toContain("\u001b[");
    expect(colours({ NO_COLOR: "1" })).not.toContain("\u001b[");
    expect(colours({ TERM: "dumb" })).not.toContain("\u001b[");
  });
});

describe("--help", () => {
  /** Of Node's own start: what a person waits for is mostly not ours. */
  const MOST_TIMES_NODE = 2.5;
  const ROUNDS = 15;
  /** Prints the processor time of the whole process when it ends: other programs on the machine hardly change it. */
  const METER = `data:text/javascript,process.on("exit",()=>{const{user,system}=process.cpuUsage();process._rawDebug("cpu "+(user+system))})`;

  it(`takes at most ${MOST_TIMES_NODE} times the processor time of Node's own start`, async () => {
    const took = { node: [] as number[], help: [] as number[] };
    // By turns, so that whatever else the machine does hits both; the smallest of each is what the program needs.
    for (let round = 0; round < ROUNDS; round++) {
      took.node.push(await cpuMs(["-e", "0"]));
      took.help.push(await cpuMs([join(BIN, "lockstep"), "--help"]));
    }
    const [node, help] = [Math.min(...took.node), Math.min(...took.help)];
    console.log(`node ${node.toFixed(0)} ms, lockstep --help ${help.toFixed(0)} ms: ${(help / node).toFixed(2)} times`);
    expect(help / node).toBeLessThan(MOST_TIMES_NODE);
  });

  async function cpuMs(args: readonly string[]): Promise<number> {
    const child = spawn(process.execPath, ["--import", METER, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += chunk;
    });
    await new Promise((resolve) => child.on("close", resolve));
    const [, micros] = /^cpu (\d+)$/m.exec(said) ?? [];
    if (micros === undefined) throw new Error(`${args.join(" ")} did not tell its processor time: ${said}`);
    return Number(micros) / 1000;
  }
});

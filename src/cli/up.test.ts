import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectCluster, KubeClient } from "../kube/index.ts";
import { systemClock, systemRandom } from "../runtime/index.ts";
import { styleOf } from "./output.ts";
import { registerUp } from "./up.ts";
import { STATEFULSETS } from "./up-example.ts";
import { runUp } from "./up-run.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-up-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const QUICK = { podStartMs: 5, podStopMs: 5, reactionMs: 0, deliveryMs: 0 };

/** Runs `up` until it says that Ctrl-C stops it, does what the caller wants, and stops it. */
async function up(options: object, meanwhile: (kubeconfig: string) => Promise<void> = async () => {}): Promise<string> {
  const stop = new AbortController();
  let text = "";
  let tell: () => void = () => {};
  const isUp = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const screen = {
    isTerminal: false,
    style: styleOf({ stdout: { isTerminal: false }, env: {} }),
    write: (more: string) => {
      text += more;
      if (text.includes("Ctrl-C stops everything.")) tell();
    },
  };
  const running = runUp(
    { clusters: "3", example: "statefulset", ...options },
    { folder, program: "lockstep", screen, stop: stop.signal, timings: QUICK },
  );
  await Promise.race([isUp, running]);
  await meanwhile(join(folder, ".lockstep", "kubeconfig"));
  stop.abort(new Error("the test is over"));
  expect(await running).toBe(0);
  return text;
}

describe("lockstep up", () => {
  it("shows the example becoming ready, and serves hub and members to other programs", async () => {
    const text = await up({}, async (kubeconfig) => {
      expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
      for (const context of ["hub", "member1", "member2", "member3"]) {
        const connection = await connectCluster({ clock: systemClock, kubeconfig, context });
        const client = new KubeClient({ transport: connection.transport, clock: systemClock, random: systemRandom });
        const pods = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true, parse: <T>(pod: T) => pod };
        const { items } = await client.listAll(context === "hub" ? STATEFULSETS : pods);
        expect(items).toHaveLength({ hub: 1, member1: 2, member2: 2, member3: 1 }[context] ?? 0);
        await connection.close();
      }
    });
    expect(text).toContain("A hub and 3 member clusters are up");
    expect(text).toContain("web: Settled, 5 of 5 instances ready");
    expect(text).toMatch(/lockstep demo update .*\n {2}lockstep status web -w/);
    expect(text.endsWith("Stopping.\n")).toBe(true);
  });

  it("brings a database with an operator of its own up, in every cluster", async () => {
    const text = await up({ example: "xline" });
    expect(text).toContain("xline: Settled, 5 of 5 instances ready");
    expect(text).toContain("lockstep status xline -w");
  });

  it("does not take a folder away from a fleet that runs in it", async () => {
    await up({ clusters: "1", example: "none" }, async () => {
      await expect(up({ clusters: "1", example: "none" })).rejects.toThrow(
        /a fleet runs in this folder already: https:\/\/127\.0\.0\.1:\d+\/? answers .*start this one in another folder/,
      );
    });
    // What a fleet that has ended left behind is in nobody's way.
    expect(await up({ clusters: "1", example: "none" })).toContain("one member cluster");
  });

  it("goes on from its data folder, with the same pods", async () => {
    const dataDir = join(folder, "data");
    const uids = () =>
      readFileSync(join(dataDir, "fleet.json"), "utf8").match(/"name":"web-\d+","namespace[^}]*?"uid":"[^"]+"/g);
    await up({ dataDir });
    const before = uids();
    const text = await up({ dataDir });
    expect(text).toContain("web: Settled, 5 of 5 instances ready");
    expect(uids()).toEqual(before);
    await expect(up({ dataDir, clusters: "2" })).rejects.toThrow("use --clusters 3, or another folder");
  });

  it("names the option and the remedy when one cannot be used", async () => {
    await expect(up({ clusters: "51" })).rejects.toThrow("--clusters '51' must be a whole number from 1 to 50");
    await expect(up({ example: "oracle" })).rejects.toThrow(
      "--example 'oracle' is not known; use statefulset, xline, etcd or none",
    );
    await expect(up({ logLevel: "loud" })).rejects.toThrow("--log-level 'loud' is not known");
  });

  it("explains itself", () => {
    const program = new Command("lockstep");
    registerUp(program);
    const help = program.commands[0]?.helpInformation() ?? "";
    for (const option of ["--clusters", "--example", "--data-dir"]) expect(help).toContain(option);
  });
});

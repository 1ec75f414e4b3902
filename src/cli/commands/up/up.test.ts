import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectCluster, KubeClient, resource } from "../../../kube/index.ts";
import { systemClock, systemRandom } from "../../../runtime/index.ts";
import { styleOf } from "../../terminal/output.ts";
import { registerUp } from "./command.ts";
import { STATEFULSETS } from "./example.ts";
import { runUp } from "./run.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-up-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const QUICK = { podStartMs: 5, podStopMs: 5, reactionMs: 0, deliveryMs: 0 };

/** Runs `up` until it prints that Ctrl-C stops it, does what the caller wants, and stops it. */
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

  it("starts a database with its own operator in every cluster", async () => {
    const text = await up({ example: "xline" });
    expect(text).toContain("xline: Settled, 5 of 5 instances ready");
    expect(text).toContain("lockstep status xline -w");
  });

  it("does not use a folder in which a fleet already runs", async () => {
    await up({ clusters: "1", example: "none" }, async () => {
      await expect(up({ clusters: "1", example: "none" })).rejects.toThrow(
        /a fleet already runs in this folder: https:\/\/127\.0\.0\.1:\d+\/? answers .*start this one in another folder/,
      );
    });
    // The leftovers of a fleet that has ended are not an obstacle.
    expect(await up({ clusters: "1", example: "none" })).toContain("one member cluster");
  });

  it("resumes from its data folder, with the same pods", async () => {
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

  it("reports that no data is kept, and how to keep it", async () => {
    const text = await up({ clusters: "1", example: "none" });
    expect(text).toContain("No data is kept: the next 'up' starts empty.");
    expect(text).toContain("lockstep up --data-dir .lockstep/data");
  });

  it("reports what is kept, and what a crash would lose", async () => {
    const dataDir = join(folder, "data");
    const text = await up({ clusters: "1", example: "none", dataDir });
    expect(text).toContain(`All objects are kept in ${dataDir}: every write is saved before it is acknowledged.`);
    expect(text).toContain("If this machine itself crashes, the writes of the last 5 seconds may be lost.");
    expect(text).not.toContain("No data is kept");
  });

  it("has lost no acknowledged write when it is killed", async () => {
    const [dataDir, image] = [join(folder, "data"), join(folder, "image")];
    const maps = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
    const names = async (kubeconfig: string, write: readonly string[]) => {
      const connection = await connectCluster({ clock: systemClock, kubeconfig, context: "member1" });
      const client = new KubeClient({ transport: connection.transport, clock: systemClock, random: systemRandom });
      for (const name of write) {
        const metadata = { name, namespace: "default" };
        await client.create(maps, { apiVersion: "v1", kind: "ConfigMap", metadata });
      }
      if (write.length > 0) await client.delete(maps, { name: "three", namespace: "default" });
      const { items } = await client.listAll(maps, { namespace: "default" });
      await connection.close();
      return items.map(({ metadata }) => metadata.name);
    };
    await up({ clusters: "1", example: "none", dataDir }, async (kubeconfig) => {
      await names(kubeconfig, ["one", "two", "three"]);
      // The next process finds the folder in its current state.
      cpSync(dataDir, image, { recursive: true });
    });
    rmSync(join(image, "lock"));
    await up({ clusters: "1", example: "none", dataDir: image }, async (kubeconfig) => {
      expect(await names(kubeconfig, [])).toEqual(["one", "two"]);
    });
  });

  it("refuses a data folder that cannot be written to, before it starts anything", async () => {
    await expect(up({ dataDir: "/proc/foo" })).rejects.toThrow(
      /^--data-dir: \/proc\/foo: cannot be used: .*\. Use a folder that you may write to$/,
    );
    await expect(up({ dataDir: join("/dev/null", "data") })).rejects.toThrow("Use a folder that you may write to");
  });

  it("refuses a data folder that another 'up' holds, and names that one", async () => {
    const dataDir = join(folder, "data");
    await up({ clusters: "1", example: "none", dataDir }, async () => {
      const mine = folder;
      folder = join(mine, "elsewhere");
      try {
        await expect(up({ clusters: "1", example: "none", dataDir })).rejects.toThrow(
          new RegExp(`^--data-dir ${dataDir} is used by another 'up': process ${process.pid}, since 20.*stop it`),
        );
      } finally {
        folder = mine;
      }
    });
    expect(existsSync(join(dataDir, "lock"))).toBe(false);
  });

  it("takes over a data folder from a killed 'up', even if another process has its number now", async () => {
    const dataDir = join(folder, "data");
    mkdirSync(dataDir);
    const killed = { pid: process.pid, started: "long/ago", host: hostname(), since: "2025-01-01T00:00:00Z" };
    for (const left of [JSON.stringify(killed), "half of i"]) {
      writeFileSync(join(dataDir, "lock"), left);
      expect(await up({ clusters: "1", example: "none", dataDir })).toContain("one member cluster");
    }
  });

  it("does not take over a data folder from another machine, which it cannot check", async () => {
    const dataDir = join(folder, "data");
    mkdirSync(dataDir);
    const far = { pid: 1, started: "then", host: "far.example.com", since: "2025-01-01T00:00:00Z" };
    writeFileSync(join(dataDir, "lock"), JSON.stringify(far));
    await expect(up({ clusters: "1", example: "none", dataDir })).rejects.toThrow(
      /process 1 on far\.example\.com, since 2025.*if that machine is gone for good, delete .*lock/,
    );
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

/** What an administrator does on a real Karmada: finds settings that fight, upgrades, and uninstalls. */
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { runCli } from "../../src/cli/program.ts";
import { systemIo } from "../../src/cli/terminal/io.ts";
import { isLongForm } from "../form.ts";
import { allowDistribution } from "../stories/applications.ts";
import { installedObjects, podUids } from "../stories/world.ts";
import { ensurePrograms } from "../tools/programs.ts";
import type { Rehearsal } from "./faults/ground.ts";
import { startPod } from "./faults/pods.ts";
import { settingsStory } from "./settings.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
/** The version that the upgrade starts from: an earlier commit of this repository. */
const OLD = "cc11dfd";
const TIMEOUT_MS = 300_000;
/** Longer than Karmada's controllers need to render everything again after a restart. */
const QUIET_MS = 10_000;

const SHOP = {
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "DistributedApplication",
  metadata: { name: "shop", namespace: "default" },
  spec: {
    source: {
      manifests: {
        inline: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shop" }, data: { open: "yes" } }],
      },
    },
    clusters: { names: ["member1"] },
    revisionSettleSeconds: 0,
  },
};

/** On the rehearsal's application, which is released at the end. */
export function operationsStory(on: () => Rehearsal): void {
  let rehearsal: Rehearsal;
  let kubectlPath = "";
  beforeAll(async () => {
    rehearsal = on();
    ({ kubectl: kubectlPath } = await ensurePrograms(["kubectl"]));
  });

  /** A command line as a user types it, with the hub as the current context. The controller runs on in this process. */
  const shell = async (command: string) => {
    const { folder, kubeconfig } = rehearsal.world.stack;
    const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: `${dirname(kubectlPath)}:${process.env.PATH}` };
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", command], { cwd: folder, env });
    return stdout;
  };

  /** What `lockstep` prints, as a program of its own would. */
  const lockstep = async (...args: string[]) => {
    const io = systemIo();
    const printed = { out: "", err: "" };
    const into = (stream: "out" | "err") => (text: string) => {
      printed[stream] += text;
    };
    const code = await runCli([...args, "--kubeconfig", rehearsal.world.stack.kubeconfig], {
      ...io,
      stdout: { ...io.stdout, write: into("out") },
      stderr: { ...io.stderr, write: into("err") },
    });
    return { code, ...printed };
  };
  const doctor = async () => {
    const { out } = await lockstep("doctor", "-o", "json");
    return JSON.parse(out) as { check: string; state: string; message: string; remedy?: string }[];
  };

  settingsStory(() => ({ world: rehearsal.world, shell, doctor }));

  it("a kubeconfig for the controller's pods is printed, with the hub's CA and a token of the controller's account", async () => {
    const { folder, hub } = rehearsal.world.stack;
    expect((await lockstep("install", "--set", "kubeconfig")).err).toContain("--hub-server");
    const options = ["--hub-server", hub.server, "--token-duration", "1h"];
    const printed = await lockstep("install", "--set", "kubeconfig", ...options);
    expect(printed).toMatchObject({ code: 0 });
    writeFileSync(join(folder, "account.kubeconfig"), printed.out);
    const who = await shell(
      "kubectl --kubeconfig account.kubeconfig auth whoami -o jsonpath='{.status.userInfo.username}'",
    );
    expect(who).toBe("system:serviceaccount:lockstep-system:lockstep-controller");
    const mine = await shell("kubectl --kubeconfig account.kubeconfig auth can-i create works.work.karmada.io -A");
    expect(mine.trim()).toBe("yes");
  });

  if (isLongForm) {
    const hasOld = isInHistory(OLD);
    it("an update that an older version began is completed by this one, and one of this by the older", {
      timeout: TIMEOUT_MS,
    }, async () => {
      if (!hasOld) {
        console.warn(`commit ${OLD} is not in this clone's history, so the upgrade was NOT tried`);
        return;
      }
      const { world } = rehearsal;
      const old = buildOld(join(world.stack.folder, "old"));
      await world.stopController();
      writeFileSync(join(world.stack.folder, "old.yaml"), execFileSync(process.execPath, [old, "install"]));
      await shell("kubectl apply --server-side --force-conflicts -f old.yaml");
      const before = await startPod(world, "old", [old]);
      await world.until("the old version leads", async () => (await before.leads()) && (await before.isReady()));
      const replaced = rehearsal.pods.gone.length;
      let after = before;
      // As the guide says: the hub's set of the new version, then the controller.
      const upgrade = async () => {
        await applyHubSet();
        world.stack.processes.kill(before.name, "SIGTERM");
        after = await startPod(world, "new");
        await world.until("the new version leads", () => after.leads());
      };
      await rehearsal.updateUnder({ name: "", lastsMs: 0, begin: upgrade, end: async () => {} });
      expectCalm();
      // Each instance was replaced once: the new version did not begin again.
      expect(rehearsal.pods.gone.length - replaced).toBe(5);
      const goBack = async () => {
        world.stack.processes.kill(after.name, "SIGTERM");
        world.stack.processes.restart(before.name);
        await world.until("the old version leads again", () => before.leads());
      };
      await rehearsal.updateUnder({ name: "", lastsMs: 0, begin: goBack, end: async () => {} });
      expectCalm();
      expect(rehearsal.pods.gone.length - replaced).toBe(10);
      await world.stack.processes.end(before.name);
      world.startController();
    });
  }

  it("is uninstalled as the guide says, and nothing moves in any member", { timeout: TIMEOUT_MS }, async () => {
    const { world } = rehearsal;
    await world.until("all is settled", rehearsal.isDone);
    // Deleting either of them as it is would take everything with it.
    await shell(`kubectl patch ccs web --type merge -p '{"spec":{"deletionPolicy":"Teardown"}}'`);
    await allowDistribution(world);
    await world.stack.hub.apply(SHOP);
    await world.until("the application is in its member", async () => (await shopIn()) !== undefined);
    const before = await everything();
    const listed = await lockstep("uninstall");
    expect(listed.out).toMatch(/ccs\/web +deletes what it deployed/);
    expect(listed.out).toMatch(/dapp\/shop +deletes what it deployed/);
    expect((await lockstep("uninstall", "--apply", "--yes")).err).toContain("still manages 2 objects");
    expect(await lockstep("uninstall", "--release", "--yes", "--timeout", "60s")).toMatchObject({ code: 0, err: "" });
    expect((await lockstep("uninstall", "--apply", "--yes")).err).toContain("leads: remove it from its cluster first");
    await world.stopController();
    const removed = await lockstep("uninstall", "--apply", "--yes");
    expect(removed).toMatchObject({ code: 0, err: "" });
    expect(removed.out).toContain("ClusterOverridePolicy lockstep-standing-hold deleted");
    await world.until("the kinds are gone", async () => {
      const { status } = await world.stack.hub.request(
        "GET",
        "/apis/apps.karmada.io/v1alpha1/crossclusterstatefulsets",
      );
      return status === 404;
    });
    // Karmada reads everything again when it starts, and would render what nothing holds.
    await world.stack.processes.end("karmada-controller-manager");
    world.stack.processes.restart("karmada-controller-manager");
    const end = performance.now() + QUIET_MS;
    await world.until("some time has passed", async () => {
      expect(await everything()).toEqual(before);
      return performance.now() > end;
    });
    world.startController();
  });

  const expectCalm = () => {
    const { pods, observer } = rehearsal;
    expect({ worst: pods.worst, withoutQuorumMs: pods.withoutQuorumMs }).toEqual({ worst: 1, withoutQuorumMs: 0 });
    expect(observer.violations()).toEqual([]);
  };

  /** Pods by uid, and each member's StatefulSet with its generation. */
  const everything = async () => {
    const { world } = rehearsal;
    const sets: Record<string, unknown> = {};
    for (const [name, api] of world.stack.members) {
      const set = await api.get("/apis/apps/v1/namespaces/default/statefulsets/web");
      sets[name] = { uid: set?.metadata.uid, generation: set?.metadata.generation, spec: set?.spec };
    }
    return { pods: await podUids(world, "web"), sets, shop: await shopIn() };
  };

  const shopIn = async () => {
    const found = await rehearsal.world.stack.members.get("member1")?.get("/api/v1/namespaces/default/configmaps/shop");
    return found && { uid: found.metadata.uid, data: found.data };
  };

  const hubSet = () => {
    const text = installedObjects("karmada").map((object) => stringify(object, { aliasDuplicateObjects: false }));
    writeFileSync(join(rehearsal.world.stack.folder, "hub.yaml"), text.join("---\n"));
  };
  const applyHubSet = async () => {
    hubSet();
    await shell("kubectl apply --server-side --force-conflicts -f hub.yaml");
  };
}

function isInHistory(commit: string): boolean {
  try {
    execFileSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: ROOT, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Resolves to the built program. */
function buildOld(folder: string): string {
  mkdirSync(folder);
  execFileSync("bash", ["-c", `git -C '${ROOT}' archive ${OLD} | tar -x -C '${folder}'`]);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: folder });
  return join(folder, "dist", "lockstep.js");
}

/** docs/guides/ocm.md, typed block by block on a real hub, with Lockstep's own program and a controller of its own. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MANAGED_CLUSTERS } from "../../src/engine/ocm/resources.ts";
import { findKubectl } from "../kubectl/find.ts";
import type { RealFleet } from "../stack/fleet.ts";
import { type Task, tasksOf } from "../start/docs/markdown.ts";
import { Reader } from "../start/docs/reader.ts";
import { CCS, podImages } from "../stories/world.ts";
import { startOcmFleet } from "./fleet.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const PAGE = "docs/guides/ocm.md";
const HERE = "npm run test:ocm runs it there";

/** The page's files, and the blocks that it says this suite runs; the controller continues in another terminal. */
const TASKS = tasksOf(PAGE, readFileSync(join(ROOT, PAGE), "utf8")).flatMap((task): Task[] => {
  if (task.kind !== "skipped" || !task.reason.includes(HERE)) return [task];
  const { line, code } = task;
  return [
    code.startsWith("lockstep controller")
      ? { kind: "start", line, code, until: '"leading"' }
      : { kind: "run", line, code, exit: 0 },
  ];
});

describe("the guide, on a real Open Cluster Management", () => {
  let fleet: RealFleet;
  let reader: Reader;
  let lockstep: (...words: string[]) => string;
  const left = [...TASKS];

  beforeAll(async () => {
    fleet = await startOcmFleet();
    const { path } = await findKubectl();
    const kubectl = path.includes("/") ? path : execFileSync("which", [path], { encoding: "utf8" }).trim();
    reader = new Reader(PAGE, { lockstep: join(ROOT, "bin/lockstep"), kubectl });
    const { kubeconfig } = fleet.stack;
    await reader.follow({ kind: "file", line: 0, name: "hub.config", text: readFileSync(kubeconfig, "utf8") });
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    lockstep = (...words) => execFileSync(join(ROOT, "bin/lockstep"), words, { env, encoding: "utf8" });
  });
  afterAll(async () => {
    await reader?.close();
    await fleet?.stop();
  });

  /** Follows the page up to and including the first block that contains this. */
  const upTo = async (text: string) => {
    for (;;) {
      const task = left.shift();
      if (!task) throw new Error(`the page has no further block with '${text}'`);
      await reader.follow(task);
      if ("code" in task && task.code.includes(text)) return;
    }
  };
  const counts = async () =>
    Object.fromEntries(Object.entries(await podImages(fleet, "web")).map(([cluster, pods]) => [cluster, pods.length]));
  const images = async () =>
    new Set(Object.values(await podImages(fleet, "web")).flatMap((pods) => pods.map((pod) => pod.split(" ")[1])));

  it("installs, and doctor says what is known of clusters that cannot be read", async () => {
    await upTo("lockstep doctor");
    const said = lockstep("doctor", "--engine", "ocm");
    for (const cluster of ["member1", "member2", "member3"]) {
      expect(said).toMatch(new RegExp(`member ${cluster}: .*known by its agent's reports alone`));
      expect(said).toMatch(new RegExp(`agent of ${cluster}: may apply and watch all kinds that are used`));
    }
    expect(said).toContain("agents can report changes at once");
  });

  it("deploys an application from one file, and gives it another image", async () => {
    await upTo("lockstep controller");
    await upTo("lockstep set-image");
    expect(await counts()).toEqual({ member1: 2, member2: 2, member3: 1 });
    expect(await images()).toEqual(new Set(["nginx:1.29.1"]));
  });

  it("lets a Placement select the clusters, by weight", async () => {
    await upTo("zones-patch.yaml");
    const object = await fleet.hub.get(CCS, { namespace: "default", name: "web" });
    expect(object.spec).toMatchObject({ topology: { placementRef: { name: "zones" } } });
    expect((await counts()).member1).toBeGreaterThanOrEqual(2);
  });

  it("reads a cluster with the roles that install has carried there", async () => {
    await upTo("create secret");
    await fleet.until("doctor says so", () => /member member1: .*its own API server answers/.test(lockstep("doctor")));
    expect(lockstep("doctor")).toMatch(/member member2: .*known by its agent's reports alone/);
  });

  it("lets the agents act as an account of their own", async () => {
    await upTo("--executor");
    await fleet.until("every agent does", () => {
      const said = lockstep("doctor");
      return /executor of member1: the agent acts as lockstep-system\/lockstep/.test(said) || said;
    });
    lockstep("set-image", "web", "web=nginx:1.29.2");
    lockstep("wait", "web");
    expect(await images()).toEqual(new Set(["nginx:1.29.2"]));
  });

  it("detaches a cluster after it was drained, and not before", async () => {
    // The page moves instances of applications that say how many each cluster has.
    const clusters = [2, 2, 1].map((replicas, at) => ({ name: `member${at + 1}`, replicas }));
    const body = { spec: { replicas: null, topology: { placementRef: null, clusters } } };
    await fleet.hub.patch(CCS, { namespace: "default", name: "web" }, { type: "merge", body });
    lockstep("wait", "web");
    await expect(fleet.hub.delete(MANAGED_CLUSTERS, { name: "member3" })).rejects.toThrow("lockstep drain member3");
    await upTo("lockstep drain member3");
    expect(await counts()).toEqual({ member1: 3, member2: 2, member3: 0 });
    await fleet.until("it is in use no more", () => {
      const said = /clusters in use.*/.exec(lockstep("doctor"))?.[0] ?? "";
      return !said.includes("member3") || said;
    });
    await upTo("delete managedcluster");
    const names = (await fleet.hub.listAll(MANAGED_CLUSTERS)).items.map(({ metadata }) => metadata.name);
    expect(names).toEqual(["member1", "member2"]);
    expect(left).toEqual([]);
  });
});

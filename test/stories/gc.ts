import { beforeAll, expect, it } from "vitest";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import { type KubeObject, type Resource, resource } from "../../src/kube/index.ts";
import { type AskedJob, CCJ, jobObject, lockstepOn } from "./job-objects.ts";
import { CCS, MANAGER, SYSTEM_NAMESPACE, type World } from "./world.ts";

const LEDGERS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterLedger",
  plural: "crossclusterledgers",
  namespaced: true,
});
const JOBS = resource({ apiVersion: "batch/v1", kind: "Job", plural: "jobs", namespaced: true });
const OWNER = "lockstep.karmada.io/app-name";

/**
 * What objects leave that go without the controller, as after a restored backup or a finalizer that a user removes, next
 * to work that runs. The controller does not run meanwhile: it would remove a part of it.
 */
export function gcStory(on: () => World): void {
  let world: World;
  beforeAll(() => {
    world = on();
  });

  const submit = (name: string, asked: AskedJob) => world.hub.apply(CCJ, jobObject(name, asked), MANAGER);
  const isIn = (name: string, phase: string) => async () => {
    const status = (await world.hub.find(CCJ, { namespace: "default", name }))?.status;
    return (status as { phase?: string } | undefined)?.phase === phase || JSON.stringify(status ?? {});
  };
  const inClusters = (...names: string[]) => ({ clusters: { names } });
  const vanish = async (of: Resource, name: string) => {
    const metadata = { finalizers: null };
    await world.hub.delete(of, { namespace: "default", name });
    await world.hub.patch(of, { namespace: "default", name }, { type: "merge", body: { metadata } }).catch(() => {});
    await world.until(
      `${name} is gone`,
      async () => (await world.hub.find(of, { namespace: "default", name })) === undefined,
    );
  };
  const jobsIn = async (cluster: string) => {
    const list = await world.stack.members
      .get(cluster)
      ?.get<{ items: KubeObject[] }>("/apis/batch/v1/namespaces/default/jobs");
    return (list?.items ?? []).map(({ metadata }) => metadata.name.replace(/-[0-9a-f]{5}-\d+$/, "")).sort();
  };
  const ledgers = async () => (await world.hub.listAll(LEDGERS, { namespace: SYSTEM_NAMESPACE })).items.length;
  const works = async () => {
    const { items } = await world.hub.listAll(world.stage.works);
    return items.flatMap(({ metadata }) => metadata.annotations?.[OWNER] ?? []).sort();
  };
  const everything = async () => [
    await ledgers(),
    await works(),
    await Promise.all(["member1", "member2", "member3"].map(jobsIn)),
  ];
  const gc = async (...args: string[]) => {
    const { code, said } = await lockstepOn(world, ["gc", ...args]);
    expect([code, said]).toEqual([0, expect.any(String)]);
    return said.split("\n");
  };
  const lineOf = (lines: readonly string[], ...words: string[]) =>
    lines.find((line) => words.every((word) => line.includes(word))) ?? "";

  it("lists what is left with the reasons, and changes nothing", async () => {
    await world.stage.declare(world, "left", statefulSet("left", 5, "left:1"));
    await submit("living", { spec: inClusters("member2"), pods: { "hold-in": "member2" } });
    await submit("torn", { spec: inClusters("member1"), pods: { "hold-in": "member1" } });
    await submit("ended", { spec: { ...inClusters("member1"), memberCleanup: "AfterTTL" } });
    await submit("kept", { spec: { ...inClusters("member3"), memberCleanup: "Never" } });
    for (const name of ["living", "torn"]) await world.until(`${name} runs`, isIn(name, "Running"));
    for (const name of ["ended", "kept"]) await world.until(`${name} is complete`, isIn(name, "Complete"));
    await world.until("the application is settled", () => world.settled("left"));
    await world.hub.delete(CCJ, { namespace: "default", name: "kept" });
    await world.until(
      "kept is gone",
      async () => (await world.hub.find(CCJ, { namespace: "default", name: "kept" })) === undefined,
    );
    await world.stopController();
    for (const name of ["torn", "ended"]) await vanish(CCJ, name);
    await vanish(CCS, "left");
    world.isolate("member3");

    const before = await everything();
    const lines = await gc();
    expect(await everything()).toEqual(before);
    for (const name of ["torn", "ended"]) {
      const gone = `CrossClusterJob default/${name} is gone`;
      expect(lineOf(lines, "CrossClusterLedger", gone), lines.join("\n")).not.toContain("kept:");
      expect(lineOf(lines, world.stage.works.kind, gone)).toContain("kept: deleting it would delete what it delivered");
    }
    expect(lineOf(lines, "CrossClusterLedger", "CrossClusterStatefulset default/left is gone")).not.toContain("kept:");
    // The readable copies of its revisions are the garbage collector's, which a real hub has.
    expect(lineOf(lines, "member1", "Job default/ended-")).toMatch(/its CrossClusterJob is gone$/);
    expect(lineOf(lines, "member1", "Job default/torn-")).toContain("kept: it has not ended, and may run");
    expect(lineOf(lines, "not looked at: member3")).not.toBe("");
    expect(lines.filter((line) => line.includes("living"))).toEqual([]);
    expect(lines.filter((line) => /Job default\/kept-/.test(line))).toEqual([]);
  });

  it("with --yes deletes exactly those that it does not keep, and nothing in the cluster that cannot be reached", async () => {
    const [, sent] = await everything();
    const lines = await gc("--yes");
    expect(lineOf(lines, "member1: Job ended-"), lines.join("\n")).toContain(": deleted");
    expect(await jobsIn("member1")).toEqual(["torn"]);
    expect(await jobsIn("member2")).toEqual(["living"]);
    // The member itself is asked here; only the hub cannot reach it.
    expect(await jobsIn("member3")).toEqual(["kept"]);
    expect(await ledgers(), lines.join("\n")).toBe(1);
    expect(await works()).toEqual(sent);
    const again = await gc();
    expect(again.filter((line) => /CrossClusterLedger|ControllerRevision|Job default\/ended-/.test(line))).toEqual([]);
  });

  it("when the cluster returns its leftovers are found, and work that runs continues", async () => {
    world.rejoin("member3");
    await world.until("the Job of member3 is deleted", async () => {
      const lines = await gc("--yes");
      return (await jobsIn("member3")).length === 0 || lines.join("\n");
    });
    world.startController();
    await world.until("the living work runs", isIn("living", "Running"));
    const { items } = await world.member("member2").listAll(JOBS, { namespace: "default" });
    expect(items.map(({ metadata }) => metadata.name)).toEqual([expect.stringContaining("living-")]);
  });
}

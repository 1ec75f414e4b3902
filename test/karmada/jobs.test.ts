import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WORKS } from "../../src/engine/testing/contract/index.ts";
import type { KubeObject } from "../../src/kube/index.ts";
import { valueAt } from "../../src/runtime/index.ts";
import { gcStory } from "../stories/gc.ts";
import { CCJ, jobObject } from "../stories/job-objects.ts";
import { JobPods } from "../stories/job-pods.ts";
import { jobStory } from "../stories/jobs.ts";
import { MANAGER, type World } from "../stories/world.ts";
import { startRelayedWorld } from "./world.ts";

const JOBS = "/apis/batch/v1/namespaces/default/jobs";

describe("CrossClusterJobs over three real clusters", () => {
  let world: World;
  let pods: JobPods;
  beforeAll(async () => {
    world = await startRelayedWorld();
    pods = new JobPods(world);
  });
  afterAll(async () => {
    await pods?.stop();
    await world?.stop();
  });

  jobStory(() => world);

  it("[J10] Karmada does not create a Job that was deleted in its member from the grant that let it run", async () => {
    const failover = { onClusterLoss: { clockAllowanceSeconds: 1 } };
    const asked = { pods: { "hold-in": "member1" }, spec: { failover } };
    await world.hub.apply(CCJ, jobObject("deleted", asked), MANAGER);
    await world.until("it runs", () => pods.of("deleted").length === 1);
    const work = async () => {
      const { items } = await world.hub.listAll(WORKS, { namespace: "karmada-es-member1" });
      return items.find(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"] === "deleted");
    };
    const jobs = async () => {
      const list = await world.stack.members.get("member1")?.get<{ items: KubeObject[] }>(JOBS);
      return (list?.items ?? []).map(({ metadata }) => metadata.name).filter((name) => name.startsWith("deleted-"));
    };
    await world.stopController();
    try {
      // Karmada's webhook has removed the labels by which an API server would refuse it.
      const [manifest] = (valueAt(await work(), "spec", "workload", "manifests") ?? []) as KubeObject[];
      expect(valueAt(manifest, "spec", "parallelism")).toBe(1);
      expect(JSON.stringify(valueAt(manifest, "spec", "template", "metadata"))).not.toContain("controller-uid");
      const [job] = await jobs();
      await world.stack.members.get("member1")?.request("DELETE", `${JOBS}/${job}?propagationPolicy=Background`);
      // Karmada delivers every Work again when it starts.
      await world.stack.processes.end("karmada-controller-manager");
      world.stack.processes.restart("karmada-controller-manager");
      await world.until("the member refuses to create it", async () => {
        const said = JSON.stringify((await work())?.status ?? {});
        return said.includes("`selector` not auto-generated") || said;
      });
      expect(await jobs()).toEqual([]);
    } finally {
      world.startController();
    }
    await world.until("the work is complete", async () => {
      const found = await world.hub.find(CCJ, { namespace: "default", name: "deleted" });
      return valueAt(found, "status", "phase") === "Complete" || JSON.stringify(found?.status);
    });
    expect(pods.of("deleted").map(({ cluster }) => cluster)).toEqual(["member1", "member2"]);
    await world.hub.delete(CCJ, { namespace: "default", name: "deleted" });
    await world.until(
      "it is gone",
      async () => (await world.hub.find(CCJ, { namespace: "default", name: "deleted" })) === undefined,
    );
  });

  describe("what is left of objects that are gone", () => gcStory(() => world));
});

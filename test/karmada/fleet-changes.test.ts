/** The fleet of a real Karmada changes while an application is being updated; one of its members is in pull mode. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { propagation, statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { KubeObject } from "../../src/kube/index.ts";
import { isLongForm } from "../form.ts";
import { agentOf } from "../stack/ground.ts";
import { PodRecorder, podImages, podUids, STATEFULSETS } from "../stories/world.ts";
import { CCS, type KarmadaWorld, MANAGER, POLICIES, startWorld } from "./world.ts";

const WEB = { namespace: "default", name: "web" };
const TIMEOUT_MS = 400_000;
/** A cluster that was away counts as Ready again after half a minute; Karmada's retries back off meanwhile. */
const RECOVERY_MS = 200_000;

describe("an application on a real Karmada whose fleet changes in the middle of updates", () => {
  let world: KarmadaWorld;
  const pods = new PodRecorder();
  let version = 1;
  let replicas = 5;
  let weights: Record<string, number> = { member1: 2, member2: 2, member3: 1 };

  beforeAll(async () => {
    world = await startWorld({ pulled: ["member2"] });
    for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, "web");
    await world.stage.declare(world, "web", statefulSet("web", replicas, "web:1"));
    await world.until("all instances are ready", () => world.settled("web", replicas), RECOVERY_MS);
  });
  afterAll(async () => {
    await pods.stop();
    await world?.stop();
  });

  const images = async () => Object.values(await podImages(world, "web")).flat();
  const isNew = (pod: string) => pod.endsWith(`web:${version}`);
  const declare = () => world.stage.declare(world, "web", statefulSet("web", replicas, `web:${version}`));
  const placed = () => world.hub.apply(POLICIES, placement("web", weights), MANAGER);
  const divided = async () =>
    Object.fromEntries(Object.entries(await podImages(world, "web")).map(([cluster, { length }]) => [cluster, length]));

  /** Starts an update, changes the fleet when its first instance is new, and waits until both are done. */
  async function updateWhile(change: () => Promise<void>): Promise<void> {
    version += 1;
    pods.expect(replicas, Math.floor(replicas / 2) + 1);
    await declare();
    await world.until("the update has begun", async () => (await images()).some(isNew), RECOVERY_MS);
    await change();
    await done();
  }

  async function done(): Promise<void> {
    await world.until(
      "all run the new image, and it is settled",
      async () => {
        const found = await images();
        return found.length === replicas && found.every(isNew) ? world.settled("web", replicas) : found.join();
      },
      RECOVERY_MS,
    );
    const { worst, withoutQuorumMs } = pods;
    expect(worst, pods.timeline.join("\n")).toBeLessThanOrEqual(1);
    expect(withoutQuorumMs).toBe(0);
  }

  it("uses a fourth cluster that joins in mid-update at once", { timeout: TIMEOUT_MS }, async () => {
    await updateWhile(async () => {
      await world.stack.addMember("member4");
      const api = world.stack.members.get("member4");
      if (api) pods.follow("member4", api, "web");
      weights = { ...weights, member4: 1 };
      replicas = 6;
      await placed();
      await declare();
    });
    expect(await divided()).toEqual({ member1: 2, member2: 2, member3: 1, member4: 1 });
  });

  if (!isLongForm) return;

  it("continues in a cluster that is tainted in mid-update, and moves nothing away", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const taint = { key: "maintenance", value: "yes", effect: "NoSchedule" };
    await updateWhile(() => tainted("member1", [taint]));
    expect(await divided()).toEqual({ member1: 2, member2: 2, member3: 1, member4: 1 });
    await tainted("member1", []);
  });

  it("continues in a cluster that is cordoned in mid-update, and moves nothing away", {
    timeout: TIMEOUT_MS,
  }, async () => {
    await updateWhile(async () => {
      await world.stack.karmadactl("cordon", "member3");
    });
    expect(await divided()).toEqual({ member1: 2, member2: 2, member3: 1, member4: 1 });
    await world.stack.karmadactl("uncordon", "member3");
  });

  it("waits for the pull-mode cluster whose agent is killed in mid-update, and continues when it returns", {
    timeout: TIMEOUT_MS,
  }, async () => {
    await updateWhile(async () => {
      const agent = agentOf("member2");
      await world.stack.processes.end(agent);
      await world.until("Karmada says that it is not Ready", async () => (await ready("member2")) !== "True", 120_000);
      world.stack.processes.restart(agent);
    });
    expect(await divided()).toEqual({ member1: 2, member2: 2, member3: 1, member4: 1 });
  });

  it("waits for the pull-mode cluster that is killed in mid-update, and continues when it returns", {
    timeout: TIMEOUT_MS,
  }, async () => {
    await updateWhile(async () => {
      await world.cut("member2");
      await world.until("Karmada says that it is not Ready", async () => (await ready("member2")) === "False", 120_000);
      await world.mend("member2");
    });
  });

  it("changes its weights in mid-update with never more than one instance missing", {
    timeout: TIMEOUT_MS,
  }, async () => {
    await updateWhile(async () => {
      weights = { member1: 1, member2: 2, member3: 2, member4: 1 };
      await placed();
    });
    await world.until("it is divided by the new weights", async () => {
      const now = await divided();
      return (
        JSON.stringify(now) === JSON.stringify({ member1: 1, member2: 2, member3: 2, member4: 1 }) ||
        JSON.stringify(now)
      );
    });
  });

  it("moves nothing when its policy is swapped for another one in mid-update", { timeout: TIMEOUT_MS }, async () => {
    await updateWhile(async () => {
      await world.hub.apply(POLICIES, placement("web-other", weights), MANAGER);
      await world.hub.delete(POLICIES, WEB);
    });
    expect(await divided()).toEqual({ member1: 1, member2: 2, member3: 2, member4: 1 });
    await placed();
    await world.hub.delete(POLICIES, { ...WEB, name: "web-other" });
    await done();
  });

  it("keeps what runs while its template is deleted, and continues when it is created again", {
    timeout: TIMEOUT_MS,
  }, async () => {
    await updateWhile(async () => {
      await world.hub.delete(STATEFULSETS, WEB);
      await world.until("the status says so", async () => {
        const { reason } = await world.status("web");
        return reason === "TemplateMissing" || String(reason);
      });
      const before = await podUids(world, "web");
      expect(Object.keys(before).length).toBeGreaterThanOrEqual(replicas - 1);
      await declare();
    });
  });

  it("waits for a cluster that is killed in mid-update, and continues when it returns", {
    timeout: TIMEOUT_MS,
  }, async () => {
    await updateWhile(async () => {
      await world.cut("member3");
      await world.until("Karmada says that it is not Ready", async () => (await ready("member3")) === "False", 120_000);
      await world.mend("member3");
    });
  });

  it("empties a cluster that leaves the placement in mid-update, which may then be unjoined", {
    timeout: TIMEOUT_MS,
  }, async () => {
    await updateWhile(async () => {
      weights = { member1: 2, member2: 2, member3: 2 };
      await placed();
    });
    await world.until("member4 has nothing", async () => (await divided()).member4 === 0);
    const before = await podUids(world, "web");
    await world.stack.unjoin("member4");
    expect(await podUids(world, "web")).toEqual(before);
    expect(await world.settled("web", replicas)).toBe(true);
  });

  it("is released on deletion, and nothing moves, in the pull-mode member neither", async () => {
    const before = await podUids(world, "web");
    await world.hub.delete(CCS, WEB);
    await world.until("the object is gone", async () => (await world.hub.find(CCS, WEB)) === undefined);
    expect(await podUids(world, "web")).toEqual(before);
  });

  async function tainted(name: string, taints: object[]): Promise<void> {
    const path = `/apis/cluster.karmada.io/v1alpha1/clusters/${name}`;
    const { status, text } = await world.stack.hub.request("PATCH", path, { spec: { taints } }, MERGE);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  }

  async function ready(name: string): Promise<string | undefined> {
    interface Conditions {
      readonly status?: { readonly conditions?: { readonly type: string; readonly status: string }[] };
    }
    const cluster = await world.stack.hub.get<Conditions>(`/apis/cluster.karmada.io/v1alpha1/clusters/${name}`);
    return cluster?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  }
});

const MERGE = "application/merge-patch+json";

/** The application's policy, under this name and with these weights. */
function placement(name: string, weights: Readonly<Record<string, number>>): KubeObject {
  const policy = propagation("web");
  const staticWeightList = Object.entries(weights).map(([cluster, weight]) => ({
    targetCluster: { clusterNames: [cluster] },
    weight,
  }));
  const replicaScheduling = {
    replicaSchedulingType: "Divided",
    replicaDivisionPreference: "Weighted",
    weightPreference: { staticWeightList },
  };
  const spec = {
    ...(policy.spec as object),
    placement: { clusterAffinity: { clusterNames: Object.keys(weights) }, replicaScheduling },
  };
  return { ...policy, metadata: { ...policy.metadata, name }, spec };
}

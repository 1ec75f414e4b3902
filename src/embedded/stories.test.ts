import { afterEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { SEED_ANNOTATIONS } from "../contract/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom, silentLog } from "../runtime/index.ts";
import { type Database, type SimulatedApplication, startXline } from "./database/index.ts";
import { CROSS_CLUSTER_STATEFULSETS, PodRecorder, World } from "./testing/world.ts";

/**
 * The use cases of the proposal's author, from the hub to the pods: its manifest, its kind, an operator per cluster.
 */
const schemas = new SchemaCache();
const MEMBERS = ["member1", "member2", "member3", "member4"];
const CONTRACT = { completion: { protocol: "Contract" } };

function topology(sizes: Readonly<Record<string, number>>): JsonObject {
  return { topology: { clusters: Object.entries(sizes).map(([name, replicas]) => ({ name, replicas })) } };
}

function crossCluster(spec: JsonObject): KubeObject {
  const template = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", name: "xline", namespace: "default" };
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "xline", namespace: "default" },
    spec: { resourceSelector: template, updateStrategy: { type: "RollingUpdate" }, ...spec },
  };
}

function xline(image: string): KubeObject {
  return {
    apiVersion: "apps.my.io/v1alpha1",
    kind: "XlineCluster",
    metadata: { name: "xline", namespace: "default" },
    spec: { replicas: 3, image },
  };
}

class Story {
  readonly world = new World(21, { schemas, members: MEMBERS });
  readonly pods = new PodRecorder(this.world.fleet);
  #xline: Database<SimulatedApplication> | undefined;

  async start(): Promise<void> {
    const { world } = this;
    await world.start();
    const parts = { fleet: world.fleet, clock: world.clock, random: seededRandom(22), log: silentLog };
    this.#xline = await world.ask(startXline(parts));
  }

  get application(): SimulatedApplication {
    if (!this.#xline) throw new Error("the story has not begun");
    return this.#xline.application("default/xline");
  }

  async deploy(image: string, spec: JsonObject, replicas: number): Promise<void> {
    const { world } = this;
    await world.apply(crossCluster({ ...CONTRACT, ...spec }));
    await world.until("the hold is in place", () => world.status("xline").reason === "TemplateMissing");
    await world.apply(xline(image));
    await this.settled(replicas);
  }

  settled(replicas: number): Promise<void> {
    return this.world.until(`${replicas} instances are settled`, () => this.world.isSettled("xline", replicas));
  }

  /** The object as an operator sees it. */
  copy(member: string): KubeObject | undefined {
    return this.world.fleet.member(member).api.get("apps.my.io/xlineclusters", "default", "xline");
  }

  async stop(): Promise<void> {
    if (this.#xline) await this.world.ask(this.#xline.stop());
    await this.world.stop();
  }
}

let story = new Story();
afterEach(() => story.stop());

async function begin(): Promise<Story> {
  story = new Story();
  await story.start();
  return story;
}

describe("the proposal's stories, with an operator on the contract in every cluster", () => {
  it("deploys dynamically: each instance joins those that are there, one membership change at a time", async () => {
    const { pods, application } = await begin();
    const joined: string[][] = [];
    application.onChange(() => joined.push([...application.members]));
    await story.deploy("xline:1", topology({ member1: 2, member2: 2, member3: 1 }), 5);
    expect(pods.order).toEqual([
      "member1/xline-0",
      "member1/xline-1",
      "member2/xline-2",
      "member2/xline-3",
      "member3/xline-4",
    ]);
    expect(joined.every((members, at) => at === 0 || members.length - (joined[at - 1]?.length ?? 0) <= 1)).toBe(true);
    expect(application.quorumLosses).toBe(0);
  });

  it("deploys statically: every cluster knows the full topology and starts at once", async () => {
    await begin();
    await story.deploy("xline:1", { ...topology({ member1: 2, member2: 1 }), podManagementPolicy: "Parallel" }, 3);
    for (const member of ["member1", "member2"]) {
      const annotations = story.copy(member)?.metadata.annotations ?? {};
      expect(JSON.parse(annotations[SEED_ANNOTATIONS.replicas] ?? "")).toEqual([
        { member1: "2", self: member === "member1" },
        { member2: "1", self: member === "member2" },
      ]);
      const initial = annotations["crossclusterstatefulset.karmada.io/initial-cluster"] ?? "";
      expect(initial.split(",").map((each) => each.split("=")[0])).toEqual(["xline-0", "xline-1", "xline-2"]);
    }
  });

  it("scales out over a new cluster and inside two old ones, in one edit", async () => {
    const { world, pods, application } = await begin();
    await story.deploy("xline:1", topology({ member1: 1, member2: 1, member3: 1 }), 3);
    const before = pods.images();
    await world.apply(crossCluster({ ...CONTRACT, ...topology({ member1: 2, member2: 2, member3: 1, member4: 2 }) }));
    await story.settled(7);
    expect(pods.images()).toMatchObject(before);
    expect([...application.members].sort()).toEqual([0, 1, 2, 3, 4, 5, 6].map((ordinal) => `xline-${ordinal}`));
    expect(application.quorumLosses).toBe(0);
  });

  it("leaves a cluster: it is drained before it is released, and the rest keeps its quorum", async () => {
    const { world, pods, application } = await begin();
    await story.deploy("xline:1", topology({ member1: 2, member2: 2, member3: 1 }), 5);
    await world.apply(crossCluster({ ...CONTRACT, ...topology({ member1: 2, member3: 1 }) }));
    await story.settled(3);
    await world.until("member2 has nothing left", () => story.copy("member2") === undefined);
    expect(Object.keys(pods.images())).toEqual(["member1/xline-0", "member1/xline-1", "member3/xline-4"]);
    expect([...application.members].sort()).toEqual(["xline-0", "xline-1", "xline-4"]);
    expect(application.quorumLosses).toBe(0);
  });

  it("updates followers first and the leader's cluster last, after the leader has moved to an updated one", async () => {
    const { world, pods, application } = await begin();
    const rollingUpdate = { leaderTransfer: { timeoutSeconds: 60 } };
    const spec = {
      ...topology({ member1: 2, member2: 2, member3: 1 }),
      updateStrategy: { type: "RollingUpdate", rollingUpdate },
    };
    await story.deploy("xline:1", spec, 5);
    expect(application.leader).toBe("xline-0");
    application.leaders.length = 0;
    pods.expect(5);
    await world.apply(xline("xline:2"));
    await world.until("all run the new image", () => Object.values(pods.images()).every((each) => each === "xline:2"));
    await story.settled(5);
    expect(pods.order.map((place) => place.split("/")[0])).toEqual([
      "member3",
      "member2",
      "member2",
      "member1",
      "member1",
    ]);
    expect(pods.worst).toBe(1);
    // One hand-over, to an updated instance: there always was a leader, and none stepped down twice.
    expect(application.leaders).toHaveLength(1);
    expect(application.leaders[0]).toMatch(/^xline-[234]$/);
    expect(application.quorumLosses).toBe(0);
  });

  it("updates only a part: the first instances of the global order stay on the old revision, as the partition requires", async () => {
    const { world, pods } = await begin();
    const updated = (partition: number) =>
      crossCluster({
        ...CONTRACT,
        ...topology({ member1: 2, member2: 2, member3: 1 }),
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } },
      });
    const { spec } = updated(3);
    await story.deploy("xline:1", isJsonObject(spec) ? spec : {}, 5);
    await world.apply(xline("xline:2"));
    const images = () => Object.values(pods.images());
    await world.until("two are updated", () => images().filter((image) => image === "xline:2").length === 2);
    await world.clock.advance(600_000);
    expect(images()).toEqual(["xline:1", "xline:1", "xline:1", "xline:2", "xline:2"]);
    await world.apply(updated(0));
    await world.until("all are updated", () => images().every((image) => image === "xline:2"));
    await story.settled(5);
  });

  it("replaces a lost cluster's instances once the application itself has removed them", async () => {
    const { world, pods, application } = await begin();
    const spec = {
      ...topology({ member1: 2, member2: 2, member3: 1 }),
      failover: { policy: "Replace", afterSeconds: 60 },
    };
    await story.deploy("xline:1", spec, 5);
    world.fleet.kill("member3");
    application.running("xline-4", false);
    await world.clock.advance(1_200_000);
    // Lost for long, but nothing proves yet that its instance is no longer a member.
    expect(Object.keys(pods.images())).toHaveLength(5);
    await application.leave("xline-4");
    await world.until("another instance joined", () => application.members.length === 5);
    await world.until("six pods, one of them lost", () => pods.order.length === 6);
    expect(pods.order[5]).toMatch(/^member[12]\/xline-5$/);
    expect(application.quorumLosses).toBe(0);
  });
});

describe("a teardown that keeps the volumes, and then the same manifest again", () => {
  const claims = () =>
    story.world.fleet.memberNames.flatMap((member) =>
      story.world.fleet
        .member(member)
        .api.list("/persistentvolumeclaims")
        .map(({ metadata }) => `${member}/${metadata.name}`),
    );
  const sizes = topology({ member1: 2, member2: 2, member3: 1 });

  async function tornDown(spec: JsonObject): Promise<void> {
    const { world } = await begin();
    await story.deploy("xline:1", { ...sizes, deletionPolicy: "Teardown", ...spec }, 5);
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "xline" }));
    await world.until("it is torn down", () => world.statefulset("xline") === undefined);
    expect(Object.keys(story.pods.images())).toEqual([]);
    expect(claims()).toHaveLength(5);
    story.pods.order.length = 0;
  }

  it("deploys all instances under new ordinals, and does not touch the old volumes", async () => {
    await tornDown({});
    const { world } = story;
    await world.apply(crossCluster({ ...CONTRACT, ...sizes }));
    await story.settled(5);
    expect(story.pods.order).toEqual([
      "member1/xline-5",
      "member1/xline-6",
      "member2/xline-7",
      "member2/xline-8",
      "member3/xline-9",
    ]);
    expect(claims()).toHaveLength(10);
    expect([...story.application.members].sort()).toEqual([5, 6, 7, 8, 9].map((ordinal) => `xline-${ordinal}`));
  });

  it("deploys them on their old volumes if the spec allows reuse", async () => {
    await tornDown({});
    const { world } = story;
    await world.apply(crossCluster({ ...CONTRACT, ...sizes, identity: { reuseVolumes: true } }));
    await story.settled(5);
    expect(story.pods.order[0]).toBe("member1/xline-0");
    expect(claims()).toHaveLength(5);
  });
});

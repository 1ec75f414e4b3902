import { afterEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { ANNOTATIONS, parseTopologyRef, TOPOLOGY_ELSEWHERE } from "../contract/index.ts";
import { type KubeObject, resource } from "../kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom, silentLog } from "../runtime/index.ts";
import { type Database, type SimulatedApplication, startXline } from "./database/index.ts";
import { type ControllerSettings, CROSS_CLUSTER_STATEFULSETS, PodRecorder, World } from "./testing/world.ts";

/**
 * Topologies given by reference, from the hub to the pods. Here the controller's limit is 400 bytes, so that a few
 * instances show what a thousand would; everything else is as installed.
 */
const INLINE_BYTES = 400;
const MEMBERS = ["member1", "member2", "member3"];
const XLINES = "apps.my.io/xlineclusters";
const WORKS = resource({ apiVersion: "work.karmada.io/v1alpha1", kind: "Work", plural: "works", namespaced: true });
const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const schemas = new SchemaCache();

function crossCluster(sizes: readonly number[], more: JsonObject = {}): KubeObject {
  const clusters = sizes.map((replicas, at) => ({ name: MEMBERS[at] ?? "", replicas }));
  const template = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", name: "xline", namespace: "default" };
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "xline", namespace: "default" },
    spec: {
      resourceSelector: template,
      completion: { protocol: "Contract" },
      topology: { clusters },
      ...more,
    },
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

/** A grant as the hub stored it, and whether its member had everything that it refers to at that moment. */
interface GrantSeen {
  readonly cluster: string;
  readonly epoch: string;
  readonly refersTo: readonly string[];
  readonly isThere: boolean;
}

class Story {
  readonly world: World;
  readonly pods: PodRecorder;
  readonly grants: GrantSeen[] = [];
  /** In this member a tenant is always faster, and has an immutable ConfigMap of the same name. */
  squatted: string | undefined;
  #xline: Database<SimulatedApplication> | undefined;

  constructor(settings: ControllerSettings) {
    this.world = new World(31, { schemas, members: MEMBERS }, settings);
    this.pods = new PodRecorder(this.world.fleet);
  }

  async start(): Promise<void> {
    const { world } = this;
    await world.start();
    const parts = { fleet: world.fleet, clock: world.clock, random: seededRandom(32), log: silentLog };
    this.#xline = await world.ask(startXline(parts));
    world.fleet.onHubCommit(({ key, object, old, type }) => {
      const isWork = key.resource === "work.karmada.io/works" && type !== "DELETED";
      if (!isWork || object.metadata.generation === old?.metadata.generation) return;
      const manifest = manifestOf(object);
      const cluster = key.namespace.replace("karmada-es-", "");
      if (manifest?.kind === "XlineCluster") this.#granted(cluster, manifest);
      else if (manifest && cluster === this.squatted) this.#squat(cluster, manifest.metadata.name);
    });
  }

  async deploy(sizes: readonly number[], more: JsonObject = {}): Promise<void> {
    const { world } = this;
    await world.apply(crossCluster(sizes, more));
    await world.until("the hold is in place", () => world.status("xline").reason === "TemplateMissing");
    await world.apply(xline("xline:1"));
    await this.settled(sizes);
  }

  async settled(sizes: readonly number[]): Promise<void> {
    const total = sizes.reduce((sum, each) => sum + each, 0);
    await this.world.until(`${total} instances are settled`, () => this.world.isSettled("xline", total));
  }

  annotations(member: string): Readonly<Record<string, string>> {
    return this.world.fleet.member(member).api.get(XLINES, "default", "xline")?.metadata.annotations ?? {};
  }

  /** The ConfigMaps that the member's object refers to. */
  refersTo(member: string): string[] {
    return [...(parseTopologyRef(this.annotations(member)[ANNOTATIONS.topologyRef] ?? "")?.configMaps ?? [])].sort();
  }

  /** The parts of topologies in the member. */
  parts(member: string): string[] {
    const maps = this.world.fleet.member(member).api.list("/configmaps", "default");
    const own = maps.filter(({ data }) => isJsonObject(data) && data.part !== "mine");
    return own.map(({ metadata }) => metadata.name).filter((name) => name.startsWith("xline-topology-"));
  }

  /** The tenant releases the names. */
  async giveBack(member: string): Promise<void> {
    this.squatted = undefined;
    const client = this.world.fleet.client(member);
    const maps = this.world.fleet.member(member).api.list("/configmaps", "default");
    for (const { metadata, data } of maps) {
      if (isJsonObject(data) && data.part === "mine") await this.world.ask(client.delete(CONFIG_MAPS, metadata));
    }
  }

  async stop(): Promise<void> {
    if (this.#xline) await this.world.ask(this.#xline.stop());
    await this.world.stop();
  }

  #granted(cluster: string, { metadata: { annotations = {} } }: KubeObject): void {
    const refersTo = parseTopologyRef(annotations[ANNOTATIONS.topologyRef] ?? "")?.configMaps ?? [];
    const held = this.parts(cluster);
    const isThere = refersTo.every((name) => held.includes(name));
    this.grants.push({ cluster, epoch: annotations[ANNOTATIONS.epoch] ?? "", refersTo, isThere });
  }

  #squat(cluster: string, name: string): void {
    const { api } = this.world.fleet.member(cluster);
    if (!name.startsWith("xline-topology-") || api.get("/configmaps", "default", name)) return;
    const metadata = { name, namespace: "default" };
    void api.create({ apiVersion: "v1", kind: "ConfigMap", metadata, immutable: true, data: { part: "mine" } });
  }
}

function manifestOf({ spec }: KubeObject): KubeObject | undefined {
  const workload = isJsonObject(spec) && isJsonObject(spec.workload) ? spec.workload : {};
  const [manifest] = Array.isArray(workload.manifests) ? workload.manifests : [];
  return isJsonObject(manifest) ? (manifest as KubeObject) : undefined;
}

let story: Story;
afterEach(() => story.stop());

async function begin(settings: ControllerSettings = { topologyInlineBytes: INLINE_BYTES }): Promise<Story> {
  story = new Story(settings);
  await story.start();
  return story;
}

describe("[I11] a topology that is too large for annotations", () => {
  it("is in each member before the grant that refers to it, and is removed when no grant does", async () => {
    const { world, grants } = await begin();
    await story.deploy([2, 2, 1]);
    expect(grants.length).toBeGreaterThan(5);
    expect(grants.filter(({ refersTo }) => refersTo.length > 0).length).toBeGreaterThan(3);
    expect(grants.filter(({ isThere }) => !isThere)).toEqual([]);
    await world.until("nothing superfluous is left", () =>
      MEMBERS.every((member) => story.parts(member).join() === story.refersTo(member).join()),
    );
    for (const member of MEMBERS) {
      expect(story.parts(member)).toHaveLength(1);
      expect(story.annotations(member)[ANNOTATIONS.topology]).toBe(TOPOLOGY_ELSEWHERE);
    }
  });

  it("is read by the operators: they scale and update with it as with an annotation", async () => {
    const { world, pods, grants } = await begin();
    await story.deploy([2, 1, 1]);
    pods.expect(4);
    await world.apply(xline("xline:2"));
    await world.until("all are updated", () => Object.values(pods.images()).every((image) => image === "xline:2"));
    await story.settled([2, 1, 1]);
    expect(pods.worst).toBe(1);
    await world.apply(crossCluster([2, 2, 2]));
    await story.settled([2, 2, 2]);
    await world.apply(crossCluster([2, 2, 0]));
    await story.settled([2, 2]);
    expect(grants.filter(({ isThere }) => !isThere)).toEqual([]);
    await world.until("member3 has nothing left", () => story.parts("member3").length === 0);
  });

  it("returns to annotations when it is small again, and leaves nothing behind", async () => {
    const { world } = await begin();
    await story.deploy([2, 2, 1]);
    await world.apply(crossCluster([1, 1, 0]));
    await story.settled([1, 1]);
    await world.until("no part is left", () => MEMBERS.every((member) => story.parts(member).length === 0));
    for (const member of ["member1", "member2"]) {
      expect(story.annotations(member)[ANNOTATIONS.topologyRef]).toBe("");
      expect(JSON.parse(story.annotations(member)[ANNOTATIONS.topology] ?? "")).toHaveLength(2);
    }
  });

  it("that does not arrive delays only its own grant, with a reason, and no other cluster", async () => {
    const { world, grants } = await begin();
    await story.deploy([2, 2, 1]);
    const before = story.annotations("member1")[ANNOTATIONS.epoch];
    const given = () => grants.filter(({ cluster }) => cluster === "member1").length;
    const givenBefore = given();
    story.squatted = "member1";
    await world.apply(crossCluster([2, 2, 2]));
    const waiting = () => JSON.stringify(world.status("xline").clusters);
    await world.until("the status names what is awaited", () =>
      waiting().includes("topology-ref names has to be there first"),
    );
    await world.until("member3 has grown", () => story.pods.order.length === 6);
    expect(given()).toBe(givenBefore);
    expect(story.annotations("member1")[ANNOTATIONS.epoch]).toBe(before);
    await story.giveBack("member1");
    await story.settled([2, 2, 2]);
    expect(grants.filter(({ isThere }) => !isThere)).toEqual([]);
    await world.until("member1 has the topology", () => story.annotations("member1")[ANNOTATIONS.epoch] !== before);
  });

  it("is dispatched again when a user deletes its Work before the member has it", async () => {
    const { world, grants } = await begin();
    await story.deploy([2, 2, 1]);
    story.squatted = "member1";
    await world.apply(crossCluster([2, 2, 2]));
    const waiting = () => JSON.stringify(world.status("xline").clusters);
    await world.until("it is awaited", () => waiting().includes("topology-ref names has to be there first"));
    const works = await world.ask(world.hub.listAll(WORKS, { namespace: "karmada-es-member1" }));
    const held = story.parts("member1");
    const isNew = (name: string) => name.startsWith("xline-topology-") && !held.includes(name);
    const undelivered = works.items.filter((work) => isNew(manifestOf(work)?.metadata.name ?? ""));
    expect(undelivered.length).toBeGreaterThan(0);
    const labels = { "resourcetemplate.karmada.io/deletion-protected": null };
    for (const { metadata } of undelivered) {
      const unprotected = { type: "merge" as const, body: { metadata: { labels, finalizers: null } } };
      await world.ask(world.hub.patch(WORKS, metadata, unprotected));
      await world.ask(world.hub.delete(WORKS, metadata));
    }
    await story.giveBack("member1");
    await story.settled([2, 2, 2]);
    await world.until(
      "member1 has the topology",
      () => story.refersTo("member1").join() === story.refersTo("member2").join(),
    );
    expect(grants.filter(({ isThere }) => !isThere)).toEqual([]);
  });

  it("of a lost cluster stays unchanged, so that its turn can be taken away without reading the member", async () => {
    const { world, grants } = await begin();
    const atOnce = { quorum: "None", podManagementPolicy: "Parallel", failover: { afterSeconds: 60 } };
    await story.deploy([2, 2, 1], atOnce);
    const epochOf = (member: string) => Number(story.annotations(member)[ANNOTATIONS.epoch]);
    const lastGiven = (member: string) => grants.findLast(({ cluster }) => cluster === member);
    const before = epochOf("member3");
    await world.apply(crossCluster([2, 2, 2], atOnce));
    await world.until("member3 has its turn", () => epochOf("member3") > before);
    expect(story.annotations("member3")[ANNOTATIONS.processor]).toBe("true");
    world.fleet.cut("member3");
    await world.apply(crossCluster([2, 3, 2], atOnce));
    await world.until(
      "member2 has a newer topology",
      () => story.refersTo("member2").join() !== story.refersTo("member3").join(),
    );
    await world.until("it is lost", () => JSON.stringify(world.status("xline").clusters).includes('"Lost"'));
    await world.until("its turn is taken away", () => Number(lastGiven("member3")?.epoch) > epochOf("member3"));
    expect([...(lastGiven("member3")?.refersTo ?? [])].sort()).toEqual(story.refersTo("member3"));
    world.fleet.mend("member3");
    await story.settled([2, 3, 2]);
    await world.until("all have the same topology", () =>
      MEMBERS.every((member) => story.refersTo(member).join() === story.refersTo("member1").join()),
    );
    expect(grants.filter(({ isThere }) => !isThere)).toEqual([]);
  });

  it("survives a controller that dies and another that takes over, and a part that a tenant has deleted", async () => {
    const { world, grants } = await begin();
    await story.deploy([2, 2, 1]);
    await world.stopController();
    const [part = ""] = story.parts("member2");
    const member2 = world.fleet.client("member2");
    await world.ask(member2.delete(CONFIG_MAPS, { namespace: "default", name: part }));
    world.startController();
    await world.apply(crossCluster([2, 2, 2]));
    await story.settled([2, 2, 2]);
    expect(grants.filter(({ isThere }) => !isThere)).toEqual([]);
    await world.until("nothing superfluous is left", () =>
      MEMBERS.every((member) => story.parts(member).join() === story.refersTo(member).join()),
    );
  });

  it.each([
    ["is kept by a release", "Release", 1],
    ["is torn down with the application", "Teardown", 0],
  ])("%s", async (_name, deletionPolicy, left) => {
    const { world } = await begin();
    await story.deploy([2, 2, 1], { deletionPolicy });
    await world.until("one part is left everywhere", () => MEMBERS.every((member) => story.parts(member).length === 1));
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "xline" }));
    await world.until("it is gone", () => world.statefulset("xline") === undefined);
    expect(MEMBERS.map((member) => story.parts(member).length)).toEqual([left, left, left]);
  });
});

/** As long as a DNS name may be: the topology exceeds 64 KiB with 270 instances instead of 600. */
const LONG_ADDRESS = `{instance}.{cluster}.${["a", "b", "c", "d"].map((letter) => letter.repeat(55)).join(".")}`;

it("[I11] [I12] with the installed limits an application outgrows its annotations and is scaled back", async () => {
  const { world, grants } = await begin({});
  const atOnce = {
    quorum: "None",
    podManagementPolicy: "Parallel",
    identity: { addressTemplate: LONG_ADDRESS },
  };
  await story.deploy([90, 90, 90], atOnce);
  for (const member of MEMBERS) {
    expect(story.annotations(member)[ANNOTATIONS.topology]?.slice(0, 80)).toBe(TOPOLOGY_ELSEWHERE);
    expect(story.refersTo(member)).toHaveLength(1);
  }
  expect(grants.filter(({ isThere }) => !isThere)).toEqual([]);
  await world.apply(crossCluster([40, 40, 40], atOnce));
  await story.settled([40, 40, 40]);
  for (const member of MEMBERS) {
    expect(story.annotations(member)[ANNOTATIONS.topologyRef]).toBe("");
    expect(JSON.parse(story.annotations(member)[ANNOTATIONS.topology] ?? "")).toHaveLength(3);
  }
  await world.until("no part is left", () => MEMBERS.every((member) => story.parts(member).length === 0));
}, 120_000);

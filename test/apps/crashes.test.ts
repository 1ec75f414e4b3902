/** A controller that is killed after any write of a rollout: the next one comes to the same, and no hook runs twice. */
import { afterEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../../src/apiserver/index.ts";
import type { HookEvent, RenderedObject, Renderer } from "../../src/charts/index.ts";
import { application, configMap, DISTRIBUTED_APPLICATIONS, settle } from "../../src/embedded/testing/application.ts";
import { PodRecorder, World } from "../../src/embedded/testing/world.ts";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import { isKubeObject, KubeClient, type Resource, resource } from "../../src/kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom } from "../../src/runtime/index.ts";
import { type CrashingTransport, crashingTransport } from "../stories/crashes.ts";

const MEMBERS = ["member1", "member2"];
const schemas = new SchemaCache();
/** More than any of these rollouts takes. */
const WRITES_MAX = 200;
const WORKS = resource({ apiVersion: "work.karmada.io/v1alpha1", kind: "Work", plural: "works", namespaced: true });
const SECRETS = resource({ apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true });
const LEDGERS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const AT = { namespace: "default", name: "shop" };

/** Reads hooks from inline objects, as a chart's are read, and makes a value that differs in every render. */
class Chart implements Pick<Renderer, "render"> {
  #renders = 0;
  readonly render: Renderer["render"] = async ({ source }) => {
    if (source.kind !== "manifests") throw new Error("only inline objects are rendered here");
    this.#renders++;
    const random = configMap("random", { value: String(this.#renders) });
    const objects = [...source.objects, random].filter(isKubeObject).map((object): RenderedObject => {
      const events = object.metadata.annotations?.["helm.sh/hook"]?.split(",").map((event) => event as HookEvent);
      const hook = events && { events, weight: 0, deletePolicies: ["before-hook-creation"] };
      return { object, keep: false, isCrd: false, ...(hook && { hook }) };
    });
    return { kind: "rendered", objects, digest: String(this.#renders), warnings: [] };
  };
}

let world: World;
afterEach(() => world.stop());

function shop(image: string, ...others: JsonObject[]) {
  const { apiVersion, kind, spec } = statefulSet("web", 1, image);
  const web = { apiVersion, kind, metadata: { name: "web" }, spec: isJsonObject(spec) ? spec : {} };
  const annotations = { "helm.sh/hook": "pre-install,pre-upgrade" };
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image }] } };
  const migrate = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "migrate", annotations },
    spec: { template },
  };
  return application("shop", {
    source: { manifests: { inline: [web, migrate, ...others] } },
    clusters: { names: MEMBERS },
    revisionSettleSeconds: 0,
  });
}

/** A controller whose connection ends after some writes. */
function startDoomed(afterWrites: number): CrashingTransport {
  const transport = crashingTransport(world.fleet.hub.transport(), afterWrites);
  const hub = new KubeClient({ transport, clock: world.clock, random: seededRandom(afterWrites) });
  world.startController(undefined, hub);
  return transport;
}

/** Runs the doomed controller until it is killed, or what is waited for is done without that; then another one. */
async function crash(doomed: CrashingTransport, isDone: () => boolean): Promise<boolean> {
  let isOver = false;
  void doomed.crashed.then(() => {
    isOver = true;
  });
  await world.until("it is killed, or done", () => isOver || isDone());
  doomed.end();
  await world.stopController();
  world.startController();
  return isOver;
}

async function begin(seed: number): Promise<{ pods: PodRecorder; jobs: Map<string, Set<string>> }> {
  world = new World(seed, { schemas, members: MEMBERS }, { renderer: new Chart() });
  await world.start();
  const jobs = new Map(MEMBERS.map((member) => [member, new Set<string>()]));
  for (const member of MEMBERS) {
    const { api } = world.fleet.member(member);
    api.on("batch/jobs", ({ object }) => void jobs.get(member)?.add(String(object.metadata.uid)));
  }
  return { pods: new PodRecorder(world.fleet), jobs };
}

const object = () => world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", "shop");
const isSettled = () => {
  const found = object();
  const status = isJsonObject(found?.status) ? found.status : {};
  return status.phase === "Settled" && status.observedGeneration === found?.metadata.generation;
};
const inMember = (member: string, resource: string, name: string) =>
  world.fleet.member(member).api.get(resource, "default", name);
const left = async (of: Resource) => (await world.ask(world.hub.listAll(of))).items;

describe("a controller that is killed after any write", () => {
  it("of an update leaves a rollout that the next one finishes: in order, each hook once, one pod at a time", {
    timeout: 300_000,
  }, async () => {
    for (let writes = 1; writes < WRITES_MAX; writes++) {
      const { pods, jobs } = await begin(writes);
      await world.apply(shop("web:1", configMap("old", { a: "1" })));
      await settle(world, "shop");
      await world.stopController();
      pods.expect(2);
      await world.apply(shop("web:2", configMap("new", { a: "1" })));
      const wasKilled = await crash(startDoomed(writes), isSettled);
      await settle(world, "shop");
      const where = `killed after ${writes} writes`;
      expect(pods.worst, where).toBe(1);
      const order = pods.order.filter((pod) => pod.endsWith("/web-0"));
      expect(order, where).toEqual(["member1/web-0", "member2/web-0"]);
      expect(
        MEMBERS.map((member) => jobs.get(member)?.size),
        where,
      ).toEqual([2, 2]);
      expect(
        MEMBERS.map((member) => inMember(member, "/configmaps", "old")),
        where,
      ).toEqual([undefined, undefined]);
      const values = MEMBERS.map((member) => inMember(member, "/configmaps", "random")?.data);
      expect(values[0], where).toEqual(values[1]);
      if (!wasKilled) return;
      await world.stop();
    }
    throw new Error(`the rollout takes more than ${WRITES_MAX} writes`);
  });

  it("of a deletion leaves nothing behind that the next one does not remove", { timeout: 300_000 }, async () => {
    for (let writes = 1; writes < WRITES_MAX; writes++) {
      await begin(writes);
      await world.apply(shop("web:1"));
      await settle(world, "shop");
      await world.stopController();
      await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, AT));
      const wasKilled = await crash(startDoomed(writes), () => object() === undefined);
      const where = `killed after ${writes} writes`;
      await world.until(`it is gone, ${where}`, () => object() === undefined);
      await world.clock.advance(10_000);
      expect(await left(WORKS), where).toEqual([]);
      expect(
        MEMBERS.map((member) => inMember(member, "apps/statefulsets", "web")),
        where,
      ).toEqual([undefined, undefined]);
      expect(
        MEMBERS.map((member) => inMember(member, "batch/jobs", "migrate")),
        where,
      ).toEqual([undefined, undefined]);
      const kept = [...(await left(SECRETS)), ...(await left(LEDGERS))].map(({ metadata }) => metadata);
      expect(
        kept.filter(({ namespace }) => namespace === "lockstep-system").map(({ name }) => name),
        where,
      ).toEqual([]);
      if (!wasKilled) return;
      await world.stop();
    }
    throw new Error(`the deletion takes more than ${WRITES_MAX} writes`);
  });
});

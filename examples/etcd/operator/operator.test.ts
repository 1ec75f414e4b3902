import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { World } from "../../../src/embedded/testing/world.ts";
import { isKubeObject, type KubeObject, resource } from "../../../src/kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom, silentLog } from "../../../src/runtime/index.ts";
import { checkOperator } from "../../../src/sdk/index.ts";
import { CALM_MS } from "./calm.ts";
import { KIND, runEtcdOperator } from "./operator.ts";
import { EVERYWHERE } from "./pod.ts";
import { SimulatedEtcd } from "./simulated-etcd.ts";

const MEMBERS = ["member1", "member2", "member3", "member4"];
const NAME = { namespace: "default", name: "etcd" };
const FIVE = { member1: 2, member2: 2, member3: 1 };

let world: World;
let etcd: SimulatedEtcd;
let stop: AbortController;
let operators: Promise<void>[];
/** Clusters whose processes are gone with everything else. */
let lost: Set<string>;

function pods(): { cluster: string; pod: KubeObject }[] {
  return MEMBERS.flatMap((cluster) =>
    world.fleet
      .member(cluster)
      .api.list("/pods")
      .map((pod) => ({ cluster, pod })),
  );
}

function commandOf(pod: KubeObject): string[] {
  const containers = isJsonObject(pod.spec) && Array.isArray(pod.spec.containers) ? pod.spec.containers : [];
  const [container] = containers.filter(isJsonObject);
  return Array.isArray(container?.command) ? container.command.map(String) : [];
}

function isReady(pod: KubeObject): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    JSON.stringify(pod.status ?? {}).includes('{"type":"Ready","status":"True"')
  );
}

function applyTo(cluster: string | undefined, object: KubeObject): Promise<unknown> {
  const client = world.fleet.client(cluster);
  const write = client.discovery
    .resource(object.apiVersion, object.kind)
    .then((found) => client.apply(resource(found), object, { fieldManager: "test", force: true }));
  return world.ask(write);
}

beforeEach(async () => {
  world = new World(1, { members: MEMBERS });
  await world.start();
  const text = readFileSync(new URL("./definition.yaml", import.meta.url), "utf8");
  const [definition, customization] = parseAllDocuments(text).map((each) => each.toJS());
  if (!isKubeObject(definition) || !isKubeObject(customization)) throw new Error("two objects");
  for (const cluster of [undefined, ...MEMBERS]) await applyTo(cluster, definition);
  await applyTo(undefined, customization);
  lost = new Set();
  etcd = new SimulatedEtcd(() =>
    pods()
      .filter(({ cluster }) => !lost.has(cluster))
      .map(({ pod }) => ({ command: commandOf(pod), isReady: isReady(pod) })),
  );
  stop = new AbortController();
  operators = MEMBERS.map((member) =>
    runEtcdOperator(
      {
        transport: world.fleet.member(member).entrance.transport(),
        ask: etcd.ask,
        clock: world.clock,
        random: seededRandom(1),
        log: silentLog,
        listen: () => EVERYWHERE,
        command: () => ["etcd"],
      },
      stop.signal,
    ),
  );
});

afterEach(async () => {
  stop.abort(new Error("the test ends"));
  await world.ask(Promise.all(operators));
  await world.stop();
});

async function scale(sizes: Readonly<Record<string, number>>, spec: JsonObject = {}): Promise<void> {
  await world.apply({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: NAME,
    spec: {
      resourceSelector: { apiVersion: KIND.apiVersion, kind: "EtcdCluster", ...NAME },
      completion: { protocol: "Contract" },
      identity: { addressTemplate: "{instance}.{cluster}" },
      updateStrategy: { rollingUpdate: { leaderTransfer: { timeoutSeconds: 30 } } },
      topology: { clusters: Object.entries(sizes).map(([name, replicas]) => ({ name, replicas })) },
      ...spec,
    },
  });
}

const template = (image: string) =>
  world.apply({ apiVersion: KIND.apiVersion, kind: "EtcdCluster", metadata: NAME, spec: { replicas: 1, image } });

async function deploy(spec: JsonObject = {}): Promise<void> {
  await scale(FIVE, spec);
  await world.until("the hold is in place", () => world.status("etcd").reason === "TemplateMissing");
  await template("etcd:3.6");
  await world.until("five are settled", () => world.isSettled("etcd", 5));
}

/** What the operator of a cluster says. */
const statusIn = (cluster: string) =>
  JSON.stringify(world.fleet.member(cluster).api.get("example.io/etcdclusters", "default", "etcd")?.status ?? {});

const everyImage = (image: string) =>
  pods().every(({ pod }) => pod.metadata.name === "etcd-5" || JSON.stringify(pod.spec).includes(image));

/** A while in which nothing may happen. */
async function pass(ms: number): Promise<void> {
  const endMs = world.clock.monotonicMs() + ms;
  await world.until(`${ms} ms have passed`, () => world.clock.monotonicMs() >= endMs);
}

const addresses = () => etcd.members.map(({ address }) => address).sort();

describe("the operator of examples/etcd", () => {
  it("deploys one member at a time: each joins as a learner and is promoted", async () => {
    await deploy();
    expect(addresses()).toEqual([
      "etcd-0.member1",
      "etcd-1.member1",
      "etcd-2.member2",
      "etcd-3.member2",
      "etcd-4.member3",
    ]);
    expect(etcd.history.filter((each) => !each.startsWith("lead"))).toEqual(
      [1, 2, 3, 4].flatMap((at) => [`add ${addresses()[at]}`, `promote ${addresses()[at]}`]),
    );
  });

  it("keeps each member's data on its mounted claim, and lets the node ask at the pod's own address", async () => {
    await deploy();
    for (const { pod } of pods()) {
      const { containers, volumes } = pod.spec as {
        containers: { volumeMounts: { name: string; mountPath: string }[]; readinessProbe: JsonObject }[];
        volumes: { name: string; persistentVolumeClaim?: { claimName: string } }[];
      };
      const claim = volumes.find(({ persistentVolumeClaim: of }) => of?.claimName === `data-${pod.metadata.name}`);
      const mount = containers[0]?.volumeMounts.find(({ name }) => name === claim?.name);
      expect(commandOf(pod)).toContainEqual(expect.stringMatching(`^--data-dir=${mount?.mountPath}/.`));
      const tls = containers[0]?.volumeMounts.find(({ name }) => name === "tls");
      expect(commandOf(pod)).toContain(`--peer-key-file=${tls?.mountPath}/tls.key`);
      expect(commandOf(pod)).toContain("--listen-client-urls=http://0.0.0.0:2379");
      expect(containers[0]?.readinessProbe.httpGet).not.toHaveProperty("host");
    }
  });

  it("deploys all members at once if they are to form the cluster together", async () => {
    await deploy({ podManagementPolicy: "Parallel" });
    expect(addresses()).toHaveLength(5);
    expect(etcd.history.filter((each) => !each.startsWith("lead"))).toEqual([]);
  });

  it("updates with one change of the leader, to a member that is already updated", async () => {
    await deploy();
    const before = etcd.history.length;
    await template("etcd:3.7");
    await world.until(
      "it is updated",
      () => pods().every(({ pod }) => JSON.stringify(pod.spec).includes("etcd:3.7")) && world.isSettled("etcd", 5),
    );
    expect(etcd.history.slice(before)).toHaveLength(1);
    expect(etcd.history.at(-1)).toMatch(/^lead etcd-[2-4]/);
  });

  it("grows to nine over a fourth cluster by one edit, and back", async () => {
    await deploy();
    await scale({ member1: 2, member2: 3, member3: 2, member4: 2 });
    await world.until("nine are settled", () => world.isSettled("etcd", 9));
    expect(etcd.members.filter(({ isLearner }) => !isLearner)).toHaveLength(9);
    await scale({ ...FIVE, member4: 0 });
    await world.until("five are settled", () => world.isSettled("etcd", 5));
    expect(addresses()).toEqual([
      "etcd-0.member1",
      "etcd-1.member1",
      "etcd-2.member2",
      "etcd-3.member2",
      "etcd-4.member3",
    ]);
  });

  it("recreates a lost pod on its volume, and replaces a member whose volume is lost in its next turn", async () => {
    await deploy();
    const { api } = world.fleet.member("member2");
    const pod = () => api.get("/pods", "default", "etcd-3");
    const ids = etcd.members.map(({ id }) => id);
    const first = pod();
    if (first) await world.ask(api.delete(first));
    await world.until(
      "it is back",
      () => pod() !== undefined && pod()?.metadata.uid !== first?.metadata.uid && world.isSettled("etcd", 5),
    );
    expect(etcd.members.map(({ id }) => id)).toEqual(ids);

    const claim = api.get("/persistentvolumeclaims", "default", "data-etcd-3");
    const second = pod();
    if (claim) await world.ask(api.delete(claim));
    if (second) await world.ask(api.delete(second));
    await world.until("it waits", () =>
      JSON.stringify(api.get("example.io/etcdclusters", "default", "etcd")?.status).includes(
        "volume of etcd-3 is lost",
      ),
    );
    await scale(FIVE, { restartedAt: "2026-01-01T00:00:00Z" });
    await world.until("it is replaced", () => pod() !== undefined && world.isSettled("etcd", 5));
    expect(etcd.history).toContain("remove etcd-3.member2");
    expect(etcd.members.filter(({ isLearner }) => !isLearner)).toHaveLength(5);
  });

  it("removes the members of a lost cluster once a user confirmed it, and only then adds the replacements", async () => {
    await deploy();
    const failover = { policy: "Replace", afterSeconds: 30 };
    await scale(FIVE, { failover });
    const before = etcd.history.length;
    lost.add("member2");
    world.fleet.kill("member2");
    await world.until("it is lost", () => JSON.stringify(world.status("etcd")).includes('"ClusterLost"'));
    expect(etcd.history.slice(before).filter((each) => !each.startsWith("lead"))).toEqual([]);
    await scale(FIVE, { failover: { ...failover, confirmedLost: [{ name: "member2", at: "2026-01-01T00:00:00Z" }] } });
    await world.until(
      "five others are there",
      () => etcd.members.filter(({ address, isLearner }) => !isLearner && !address.endsWith("member2")).length === 5,
    );
    const changes = etcd.history.slice(before).filter((each) => !each.startsWith("lead"));
    expect(changes.slice(0, 2).sort()).toEqual(["remove etcd-2.member2", "remove etcd-3.member2"]);
    expect(changes.slice(2).filter((each) => each.startsWith("add"))).toHaveLength(2);
    expect(addresses().filter((each) => each.endsWith("member2"))).toEqual([]);
  });

  it("stops no member within three seconds after the leader or the members have changed", async () => {
    await deploy();
    const seen = new Map<string, number>();
    let changedMs = 0;
    let changes = etcd.history.length;
    const tooEarly: string[] = [];
    const look = () => {
      const nowMs = world.clock.monotonicMs();
      if (etcd.history.length !== changes) [changes, changedMs] = [etcd.history.length, nowMs];
      for (const { pod } of pods()) {
        const { uid = "", name, deletionTimestamp } = pod.metadata;
        if (deletionTimestamp === undefined || seen.has(uid)) continue;
        seen.set(uid, nowMs);
        if (nowMs - changedMs < CALM_MS) tooEarly.push(`${name} ${nowMs - changedMs} ms after ${etcd.history.at(-1)}`);
      }
      return false;
    };
    await scale({ member1: 2, member2: 1, member3: 1 }, {});
    await template("etcd:3.7");
    await world.until("it is smaller and updated", () => look() || (world.isSettled("etcd", 4) && seen.size >= 5));
    expect(tooEarly).toEqual([]);
  });

  it("restarts no member while the others are no majority without it, and says so", async () => {
    const sizes = { member1: 1, member2: 3, member3: 1 };
    await scale(sizes);
    await world.until("the hold is in place", () => world.status("etcd").reason === "TemplateMissing");
    await template("etcd:3.6");
    await world.until("five are settled", () => world.isSettled("etcd", 5));
    await template("etcd:3.7");
    const isEnding = ({ cluster, pod }: ReturnType<typeof pods>[number]) =>
      cluster === "member2" && pod.metadata.deletionTimestamp !== undefined;
    await world.until("the first of three restarts", () => pods().some(isEnding));
    // The members of the other clusters fail at the same time: three of five are left when the first one is back.
    etcd.cutOff.add("etcd-0.member1").add("etcd-4.member3");
    await world.until("it says why it waits", () => statusIn("member2").includes("majority without it"));
    const uids = () => pods().map(({ pod }) => pod.metadata.uid);
    const before = uids();
    await pass(60_000);
    expect(etcd.leader).toBeDefined();
    expect(uids()).toEqual(before);
    etcd.cutOff.clear();
    await world.until("it is updated", () => world.isSettled("etcd", 5) && everyImage("etcd:3.7"));
  });

  /** An update in which the one member of member2 restarts, and the other does not answer the operator in time. */
  const updateWithLateNeighbour = async () => {
    await deploy();
    await template("etcd:3.7");
    const isRestarting = ({ pod }: ReturnType<typeof pods>[number]) =>
      pod.metadata.name === "etcd-3" && pod.metadata.deletionTimestamp !== undefined;
    await world.until("one restarts", () => pods().some(isRestarting));
    etcd.late.add("etcd-2.member2");
  };

  it("completes an update although a member's answer is late while its neighbour restarts", async () => {
    await updateWithLateNeighbour();
    const counts = new Set<string | undefined>();
    await world.until("the neighbour runs again", () => {
      counts.add(/"ready":(\d)/.exec(statusIn("member2"))?.[1]);
      return pods().some(({ pod }) => pod.metadata.name === "etcd-3" && isReady(pod));
    });
    expect([...counts].sort()).toEqual(["1", "2"]);
    etcd.late.clear();
    await world.until("it is updated", () => world.isSettled("etcd", 5) && everyImage("etcd:3.7"));
  });

  it("does not count a member that does not answer for three seconds, and the update halts", async () => {
    await updateWithLateNeighbour();
    // The neighbour does not come back so soon.
    etcd.cutOff.add("etcd-3.member2");
    await world.until("it does not count", () => /"ready":0\b/.test(statusIn("member2")));
    await world.until("it says so", () => JSON.stringify(world.status("etcd")).includes("MemberRestartsInParallel"));
  });

  it("removes no member whose answer is late while the others are no majority without it", async () => {
    await scale({ member1: 1, member2: 4, member3: 1 });
    await world.until("the hold is in place", () => world.status("etcd").reason === "TemplateMissing");
    await template("etcd:3.6");
    await world.until("six are settled", () => world.isSettled("etcd", 6));
    await scale({ member1: 1, member2: 2, member3: 1 });
    await world.until("the first of two has left", () => etcd.members.length === 5);
    // The members of the other clusters fail at the same time: three of five are left.
    etcd.cutOff.add("etcd-0.member1").add("etcd-5.member3");
    etcd.late.add("etcd-3.member2");
    await world.until("it says why it waits", () => statusIn("member2").includes("majority without it"));
    await pass(30_000);
    expect(etcd.leader).toBeDefined();
    expect(etcd.members).toHaveLength(5);
    etcd.cutOff.clear();
    etcd.late.clear();
    await world.until("four are left", () => world.isSettled("etcd", 4) && etcd.members.length === 4);
  });

  it("restarts one of two members, which cannot keep their majority", async () => {
    await scale({ member1: 1, member2: 1 });
    await world.until("the hold is in place", () => world.status("etcd").reason === "TemplateMissing");
    await template("etcd:3.6");
    await world.until("two are settled", () => world.isSettled("etcd", 2));
    await template("etcd:3.7");
    await world.until("it is updated", () => world.isSettled("etcd", 2) && everyImage("etcd:3.7"));
  });

  /** The last member of member2 does not catch up until `etcd.behind` is cleared. */
  const waitForLearner = async () => {
    etcd.behind.add("etcd-3.member2");
    await scale(FIVE);
    await world.until("the hold is in place", () => world.status("etcd").reason === "TemplateMissing");
    await template("etcd:3.6");
    await world.until("it says why it waits", () => statusIn("member2").includes("etcd-3 is a learner"));
  };

  it("waits for a learner that has not caught up, says so, and starts it again on its volume if it is lost", async () => {
    await waitForLearner();
    const { api } = world.fleet.member("member2");
    // A member beside it, and the learner itself.
    for (const instance of ["etcd-2", "etcd-3"]) {
      const pod = () => api.get("/pods", "default", instance);
      const first = pod();
      if (first) await world.ask(api.delete(first));
      await world.until("it runs again", () => pod() !== undefined && pod()?.metadata.uid !== first?.metadata.uid);
    }
    expect(etcd.history.filter((each) => each.endsWith("etcd-3.member2"))).toEqual(["add etcd-3.member2"]);
    etcd.behind.clear();
    await world.until("five are settled", () => world.isSettled("etcd", 5));
  });

  it("replaces a learner whose volume is lost: it must not return with the same identity", async () => {
    await waitForLearner();
    const { api } = world.fleet.member("member2");
    for (const found of [
      api.get("/persistentvolumeclaims", "default", "data-etcd-3"),
      api.get("/pods", "default", "etcd-3"),
    ]) {
      if (found) await world.ask(api.delete(found));
    }
    await world.until("it is replaced", () => etcd.history.includes("remove etcd-3.member2"));
    etcd.behind.clear();
    await world.until("five are settled", () => world.isSettled("etcd", 5));
    expect(etcd.history.filter((each) => each.endsWith("etcd-3.member2"))).toEqual([
      "add etcd-3.member2",
      "remove etcd-3.member2",
      "add etcd-3.member2",
      "promote etcd-3.member2",
    ]);
  });

  it("starts a member again that was promoted and lost before Lockstep saw it ready, on its volume", async () => {
    await waitForLearner();
    const { api } = world.fleet.member("member2");
    const promoted = etcd.members.find(({ address }) => address === "etcd-3.member2");
    if (promoted) promoted.isLearner = false;
    const pod = api.get("/pods", "default", "etcd-3");
    if (pod) await world.ask(api.delete(pod));
    await world.until("five are settled", () => world.isSettled("etcd", 5));
    expect(etcd.history.filter((each) => each.endsWith("etcd-3.member2"))).toEqual(["add etcd-3.member2"]);
  });

  it("deletes no pod of another owner that has the name of an instance, and says so", async () => {
    await deploy();
    const foreign: KubeObject = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "etcd-5", namespace: "default" },
      spec: { containers: [{ name: "main", image: "other:1.0" }] },
    };
    await applyTo("member3", foreign);
    const { api } = world.fleet.member("member3");
    const uid = () => api.get("/pods", "default", "etcd-5")?.metadata.uid;
    const before = uid();
    expect(before).toBeDefined();
    await scale({ ...FIVE, member3: 2 });
    await world.until("it says why it waits", () => statusIn("member3").includes("etcd-5 is not of this"));
    expect(addresses()).toHaveLength(5);
    await template("etcd:3.7");
    await scale(FIVE);
    await world.until("it is as before", () => world.isSettled("etcd", 5) && everyImage("etcd:3.7"));
    expect(uid()).toBe(before);
  });

  it("moves the leader on request", async () => {
    await deploy();
    await scale(FIVE, { transferLeader: { to: "member3", at: "2026-01-01T00:00:00Z" } });
    await world.until("it leads", () => etcd.leader === "etcd-4.member3");
  });

  it("follows every rule of the member contract", async () => {
    const found = await world.ask(
      checkOperator({
        transport: world.fleet.member("member1").entrance.transport(),
        clock: world.clock,
        kind: { ...KIND, kind: "EtcdCluster" },
        namespace: "default",
        name: "conformance",
        spec: { image: "etcd:3.6" },
        addressTemplate: "{instance}.member1",
        stepMs: 60_000,
        quietMs: 10_000,
      }),
    );
    expect(found.filter(({ broken }) => broken !== undefined)).toEqual([]);
    expect(found.length).toBeGreaterThan(20);
  });
});

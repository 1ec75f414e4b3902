/** Replicas that Karmada's own scheduler divides, by a copy on the hub that is held: on the embedded fleet. */
import { afterEach, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { readHold } from "../engine/index.ts";
import { statefulSet } from "../engine/testing/contract/index.ts";
import { KubeClient, type KubeObject, type Resource, resource } from "../kube/index.ts";
import {
  type HttpRequest,
  isJsonObject,
  type JsonObject,
  seededRandom,
  type Transport,
  valueAt,
} from "../runtime/index.ts";
import { application, DISTRIBUTED_APPLICATIONS, inline, rows, settle, statusOf } from "./testing/application.ts";
import { PodRecorder, World } from "./testing/world.ts";

const MEMBERS = ["member1", "member2", "member3"];
const schemas = new SchemaCache();
const kind = (apiVersion: string, name: string, plural: string): Resource =>
  resource({ apiVersion, kind: name, plural, namespaced: true });
const STATEFULSETS = kind("apps/v1", "StatefulSet", "statefulsets");
const WORKS = kind("work.karmada.io/v1alpha1", "Work", "works");
const POLICY_API = "policy.karmada.io/v1alpha1";
const PROPAGATION_POLICIES = kind(POLICY_API, "PropagationPolicy", "propagationpolicies");
const OVERRIDE_POLICIES = kind(POLICY_API, "OverridePolicy", "overridepolicies");
const NAMESPACE = "default";

let world = new World(76, { schemas, members: MEMBERS });
afterEach(() => world.stop());

async function begin(options: ConstructorParameters<typeof World>[1] = {}): Promise<PodRecorder> {
  world = new World(76, { schemas, members: MEMBERS, ...options });
  await world.start();
  return new PodRecorder(world.fleet);
}

function shop(image: string, total: number, more: JsonObject = {}): KubeObject {
  const { apiVersion, kind: of, spec } = statefulSet("web", 1, image);
  const web = { apiVersion, kind: of, metadata: { name: "web" }, spec: isJsonObject(spec) ? spec : {} };
  return application("shop", {
    source: inline(web),
    clusters: { names: MEMBERS },
    replicas: [{ kind: "StatefulSet", name: "web", by: "Scheduler", total }],
    revisionSettleSeconds: 0,
    ...more,
  });
}

const settled = () => settle(world, "shop");
const onHub = async (of: Resource) =>
  (await world.ask(world.hub.listAll(of, { namespace: NAMESPACE }))).items.filter(
    ({ metadata }) => metadata.labels?.["lockstep.karmada.io/app"] !== undefined,
  );
/** What there is on the hub to have the replicas divided: copies, their policies, their holds. */
const divisions = async () => ({
  copies: (await onHub(STATEFULSETS)).length,
  policies: (await onHub(PROPAGATION_POLICIES)).length,
  holds: (await onHub(OVERRIDE_POLICIES)).length,
});
const copy = async () => {
  const [found] = await onHub(STATEFULSETS);
  if (!found) throw new Error("the hub has no copy");
  return found;
};
/** Every StatefulSet of a member, and everything that any Work delivers. */
const delivered = async () => {
  const names = new Set<string>();
  for (const member of MEMBERS) {
    const { items } = await world.ask(world.fleet.client(member).listAll(STATEFULSETS));
    for (const { metadata } of items) names.add(metadata.name);
  }
  const works = await world.ask(world.hub.listAll(WORKS));
  for (const work of works.items) {
    for (const manifest of rows(valueAt(work, "spec", "workload", "manifests"))) {
      names.add(String(valueAt(manifest, "metadata", "name")));
    }
  }
  return [...names];
};
const shares = () =>
  Object.fromEntries(
    rows(rows(statusOf(world, "shop").workloads)[0]?.clusters).map(({ name, replicas }) => [name, replicas]),
  );
const isGone = () => world.fleet.hubObject("apps.karmada.io/distributedapplications", NAMESPACE, "shop") === undefined;

it("[A28] Karmada's scheduler divides the replicas by a copy that reaches no cluster, and all of it goes with the application", async () => {
  const pods = await begin();
  await world.apply(shop("web:1", 6));
  await settled();
  expect(Object.values(shares()).reduce((sum: number, share) => sum + Number(share), 0)).toBe(6);
  expect(Object.keys(pods.images())).toHaveLength(6);
  expect(await divisions()).toEqual({ copies: 1, policies: 1, holds: 1 });
  expect((await copy()).metadata.name).not.toBe("web");
  const [hold] = await onHub(OVERRIDE_POLICIES);
  const owner = { kind: "DistributedApplication", namespace: NAMESPACE, name: "shop" };
  expect(hold && readHold(hold)).toMatchObject({ app: owner, isPlain: true });
  expect(await delivered()).toEqual(["web"]);
  await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: NAMESPACE, name: "shop" }));
  await world.until("shop is gone", isGone);
  expect(await divisions()).toEqual({ copies: 0, policies: 0, holds: 0 });
  expect(await delivered()).toEqual([]);
});

it("[A28] a new total and a new revision move as the rollout says, and never below what was asked for", async () => {
  const pods = await begin();
  await world.apply(shop("web:1", 3));
  await settled();
  pods.expect(3);
  await world.apply(shop("web:1", 9));
  await world.until("all nine run", () => Object.keys(pods.images()).length === 9);
  await settled();
  expect(pods.worst).toBe(0);
  await world.apply(shop("web:2", 9));
  await settled();
  expect(new Set(Object.values(pods.images()))).toEqual(new Set(["web:2"]));
  expect(valueAt(await copy(), "spec", "replicas")).toBe(9);
  expect(await delivered()).toEqual(["web"]);
});

it("[A28] Pack gives all replicas to one cluster that has room for them", async () => {
  await begin();
  const replicas = [{ kind: "StatefulSet", name: "web", by: "Scheduler", total: 4, preference: "Pack" }];
  await world.apply(shop("web:1", 4, { replicas }));
  await settled();
  expect(Object.values(shares()).sort()).toEqual([0, 0, 4]);
});

it("divided by weights again, the copy, its policy and its hold are removed, and the replicas move", async () => {
  const pods = await begin();
  await world.apply(shop("web:1", 6));
  await settled();
  pods.expect(6);
  const replicas = [{ kind: "StatefulSet", name: "web", total: 6, weights: { member1: 2, member2: 1 } }];
  await world.apply(shop("web:1", 6, { replicas }));
  await world.until("they have moved", () => shares().member1 === 4 && shares().member3 === 0);
  await settled();
  expect(pods.worst).toBe(0);
  expect(await divisions()).toEqual({ copies: 0, policies: 0, holds: 0 });
  expect(await delivered()).toEqual(["web"]);
});

it("another controller finds everything as it is, and writes none of it again", async () => {
  await begin();
  await world.apply(shop("web:1", 6));
  await settled();
  const before = await Promise.all([STATEFULSETS, PROPAGATION_POLICIES, OVERRIDE_POLICIES].map(onHub));
  await world.stopController();
  world.startController();
  await world.clock.advance(60_000);
  await settled();
  expect(await Promise.all([STATEFULSETS, PROPAGATION_POLICIES, OVERRIDE_POLICIES].map(onHub))).toEqual(before);
});

/** A controller whose process ends right after so many writes: nothing that it sends later arrives. */
function startCrashing(writes: number): void {
  const { clock, fleet } = world;
  const way = fleet.hub.transport();
  let left = writes;
  const mayPass = ({ method }: HttpRequest) => method === "GET" || left-- > 0;
  const gone = () => Promise.reject(new Error("the process has ended"));
  const transport: Transport = {
    request: (request) => (mayPass(request) ? way.request(request) : gone()),
    stream: (request) => (mayPass(request) ? way.stream(request) : gone()),
  };
  world.startController(undefined, new KubeClient({ transport, clock, random: seededRandom(1) }));
}

it("without the right that --divide gives, the status names the command, nothing is held, and the application can be deleted", async () => {
  await begin();
  await world.stopController();
  const { clock, fleet } = world;
  const way = fleet.hub.transport();
  const isPolicy = ({ path }: HttpRequest) => path.includes("/propagationpolicies");
  const forbidden = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", code: 403 };
  const body = JSON.stringify({ ...forbidden, message: "propagationpolicies is forbidden" });
  const transport: Transport = {
    request: async (request) => (isPolicy(request) ? { status: 403, headers: {}, body } : way.request(request)),
    stream: (request) => way.stream(request),
  };
  world.startController(undefined, new KubeClient({ transport, clock, random: seededRandom(1) }));
  await world.apply(shop("web:1", 3));
  await world.until("it says so", () => statusOf(world, "shop").reason === "ScheduleUnknown");
  expect(JSON.stringify(statusOf(world, "shop"))).toContain("lockstep install --apply --divide statefulsets.apps");
  await world.clock.advance(60_000);
  expect(await divisions()).toEqual({ copies: 0, policies: 0, holds: 0 });
  await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: NAMESPACE, name: "shop" }));
  await world.until("shop is gone", isGone);
});

it.each(Array.from({ length: 16 }, (_, at) => at + 4))(
  "a crash after write %i delivers no copy, and another controller finishes",
  async (writes) => {
    await begin();
    await world.stopController();
    startCrashing(writes);
    await world.apply(shop("web:1", 3));
    await world.clock.advance(20_000);
    expect((await delivered()).filter((name) => name !== "web")).toEqual([]);
    await world.stopController();
    world.startController();
    await settled();
    expect(await divisions()).toEqual({ copies: 1, policies: 1, holds: 1 });
    expect(await delivered()).toEqual(["web"]);
    await world.stopController();
    startCrashing(writes);
    await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: NAMESPACE, name: "shop" }));
    await world.clock.advance(20_000);
    expect((await delivered()).filter((name) => name !== "web")).toEqual([]);
    await world.stopController();
    world.startController();
    await world.until("shop is gone", isGone);
    expect(await divisions()).toEqual({ copies: 0, policies: 0, holds: 0 });
  },
);

it("a copy or a policy that a user changes or deletes is repaired, and nothing that serves is taken away before", async () => {
  const pods = await begin();
  await world.apply(shop("web:1", 6));
  await settled();
  pods.expect(6);
  const { metadata } = await copy();
  const [policy] = await onHub(PROPAGATION_POLICIES);
  if (!policy) throw new Error("the hub has no policy");
  const everything = { placement: { clusterAffinity: { clusterNames: ["member3"] } }, propagateDeps: true };
  const spec = { ...(isJsonObject(policy.spec) ? policy.spec : {}), ...everything };
  await world.ask(world.hub.update(PROPAGATION_POLICIES, { ...policy, spec }));
  await world.clock.advance(90_000);
  await settled();
  await world.ask(world.hub.delete(STATEFULSETS, metadata));
  await world.clock.advance(90_000);
  await settled();
  const again = await copy();
  expect(again.metadata.name).toBe(metadata.name);
  expect(again.metadata.uid).not.toBe(metadata.uid);
  const [repaired] = await onHub(PROPAGATION_POLICIES);
  expect(repaired?.spec).toMatchObject({ placement: { clusterAffinity: { clusterNames: MEMBERS } } });
  expect(valueAt(repaired ?? {}, "spec", "propagateDeps")).not.toBe(true);
  expect(Object.values(shares()).reduce((sum: number, share) => sum + Number(share), 0)).toBe(6);
  expect(pods.worst).toBe(0);
  expect(await delivered()).toEqual(["web"]);
});

it("a policy that selects every StatefulSet of the fleet delivers no copy", async () => {
  await begin();
  await world.apply({
    apiVersion: POLICY_API,
    kind: "ClusterPropagationPolicy",
    metadata: { name: "all" },
    spec: {
      resourceSelectors: [{ apiVersion: "apps/v1", kind: "StatefulSet" }],
      placement: { clusterAffinity: { clusterNames: MEMBERS } },
    },
  });
  await world.apply(shop("web:1", 6));
  await settled();
  await world.ask(world.hub.delete(PROPAGATION_POLICIES, { ...(await copy()).metadata }));
  await world.clock.advance(90_000);
  expect(await delivered()).toEqual(["web"]);
  await settled();
});

it("what Karmada's scheduler cannot place waits with its own message, and what runs keeps its replicas", async () => {
  const pods = await begin();
  await world.apply(shop("web:1", 3));
  await settled();
  pods.expect(3);
  await world.apply(shop("web:1", 100_000));
  await world.until("it says so", () => statusOf(world, "shop").reason === "ScheduleUnknown");
  await world.clock.advance(120_000);
  expect(String(statusOf(world, "shop").message)).toMatch(/how StatefulSet\/web is divided is not known: .*not enough/);
  expect(Object.keys(pods.images())).toHaveLength(3);
  expect(pods.worst).toBe(0);
});

it("no copy is made of a kind that the controller may write for itself, or of one without a namespace", async () => {
  await begin();
  const policy = {
    apiVersion: POLICY_API,
    kind: "PropagationPolicy",
    metadata: { name: "all" },
    spec: { resourceSelectors: [{ apiVersion: "v1", kind: "Secret" }] },
  };
  const { source } = shop("web:1", 3).spec as { source: { manifests: { inline: JsonObject[] } } };
  const scope = { apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } };
  const objects = [...source.manifests.inline, policy, scope];
  for (const { kind: of, metadata } of [policy, scope]) {
    const replicas = [{ kind: of, name: metadata.name, by: "Scheduler", total: 1 }];
    await world.apply(shop("web:1", 3, { source: inline(...objects), replicas }));
    await world.until("it says so", () => statusOf(world, "shop").reason === "ScheduleUnknown");
    expect(String(statusOf(world, "shop").message)).toMatch(/no replicas to divide/);
    await world.clock.advance(60_000);
    expect(await divisions()).toEqual({ copies: 0, policies: 0, holds: 0 });
  }
});

it("the copy needs the right to create its kind, in the application's namespace and for its ServiceAccount", async () => {
  await begin({ authorizer: "RBAC" });
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "deployer", namespace: NAMESPACE } };
  const allow = (...verbs: string[]) =>
    world.apply({ ...rbac, kind: "Role", rules: [{ apiGroups: ["apps"], resources: ["statefulsets"], verbs }] });
  await allow("distribute");
  await world.apply({
    ...rbac,
    kind: "RoleBinding",
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "deployer" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace: NAMESPACE }],
  });
  await world.apply(shop("web:1", 3));
  await world.until("it is forbidden", () => statusOf(world, "shop").reason === "Forbidden");
  expect(String(statusOf(world, "shop").message)).toContain(
    "ServiceAccount default/default may not create statefulsets.apps in namespace default",
  );
  expect(await divisions()).toEqual({ copies: 0, policies: 0, holds: 0 });
  await allow("distribute", "create");
  await settled();
});

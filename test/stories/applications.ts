/** A whole application, from a chart with everything that charts of operators have, on any real hub. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { chartArchive, chartFiles } from "../../src/charts/testing/sources.ts";
import {
  application,
  configMap,
  DISTRIBUTED_APPLICATIONS,
  inline,
  rows,
} from "../../src/embedded/testing/application.ts";
import { type KubeObject, type Resource, resource } from "../../src/kube/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../../src/runtime/index.ts";
import { MANAGER, PodRecorder, podImages, type World } from "./world.ts";

const MEMBERS = ["member1", "member2", "member3"];
/** Less than a test may take. */
const PATIENCE_MS = 110_000;
const AT = "2030-01-01T00:00:0";
const kind = (apiVersion: string, name: string, plural: string, namespaced = true): Resource =>
  resource({ apiVersion, kind: name, plural, namespaced });
const CONFIG_MAPS = kind("v1", "ConfigMap", "configmaps");
const SECRETS = kind("v1", "Secret", "secrets");
const SERVICES = kind("v1", "Service", "services");
const DEPLOYMENTS = kind("apps/v1", "Deployment", "deployments");
const JOBS = kind("batch/v1", "Job", "jobs");
const ROLES = kind("rbac.authorization.k8s.io/v1", "Role", "roles");
const CLUSTER_ROLES = kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false);
const CRDS = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false);
const TICKETS = kind("orders.example/v1", "Ticket", "tickets");

/** The right to distribute everything, for the account that the stories' applications act for. */
export async function allowDistribution({ stack }: World): Promise<void> {
  const rbac = "rbac.authorization.k8s.io";
  const metadata = { name: "story-deployer" };
  const rules = [
    { apiGroups: ["*"], resources: ["*"], verbs: ["distribute"] },
    { apiGroups: [rbac], resources: ["roles", "clusterroles"], verbs: ["bind", "escalate"] },
  ];
  await stack.hub.apply({ apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata, rules });
  await stack.hub.apply({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: metadata.name },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
  });
}

export function applicationStory(on: () => World): void {
  let world: World;
  const pods = new PodRecorder();
  let first = "";
  let generated = "";

  beforeAll(async () => {
    world = on();
    await allowDistribution(world);
    for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, "orders");
    const archive = chartArchive("orders").toString("base64");
    const metadata = { name: "chart", namespace: "default" };
    await world.hub.apply(
      CONFIG_MAPS,
      { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData: { "orders.tgz": archive } },
      MANAGER,
    );
  });
  afterAll(() => pods.stop());

  const find = async (name = "orders") => world.hub.find(DISTRIBUTED_APPLICATIONS, { namespace: "default", name });
  const status = async (name = "orders"): Promise<JsonObject> => {
    const found = (await find(name))?.status;
    return isJsonObject(found) ? found : {};
  };
  const says = async (name: string, isSo: (said: JsonObject, object: KubeObject) => boolean) => {
    const object = await find(name);
    const said = isJsonObject(object?.status) ? object.status : {};
    return (object !== undefined && isSo(said, object)) || JSON.stringify({ ...said, history: [], objects: [] });
  };
  /** Three clusters one after the other, on a machine that may be busy. */
  const patiently: World["until"] = (what, isSo) => world.until(what, isSo, PATIENCE_MS);
  const settled = (name = "orders") =>
    patiently(`${name} is settled`, () =>
      says(name, ({ phase, observedGeneration }, { metadata }) => {
        return phase === "Settled" && observedGeneration === metadata.generation;
      }),
    );
  const declare = (values: JsonObject, more: JsonObject = {}) =>
    world.hub.apply(
      DISTRIBUTED_APPLICATIONS,
      application("orders", {
        source: { helm: { archive: { configMap: "chart" }, values } },
        clusters: { names: MEMBERS },
        revisionSettleSeconds: 0,
        ...more,
      }),
      MANAGER,
    );
  const inMember = (member: string, of: Resource, name: string) =>
    world.member(member).find(of, of.namespaced ? { namespace: "default", name } : { name });
  const holders = async (of: Resource, name: string) => {
    const found: string[] = [];
    for (const member of MEMBERS) if (await inMember(member, of, name)) found.push(member);
    return found;
  };
  const password = async () => {
    const secrets = await Promise.all(MEMBERS.map((member) => inMember(member, SECRETS, "orders-login")));
    const [found = "", ...others] = secrets.map((secret) => String(valueAt(secret, "data", "password")));
    expect(others).toEqual([found, found]);
    return found;
  };
  const images = async () => {
    const found = await podImages(world, "orders");
    return MEMBERS.map((member) => [...new Set((found[member] ?? []).map((pod) => pod.split(" ")[1]))].join());
  };
  const runs = (image: string) =>
    patiently(`all run ${image}`, async () => {
      const found = await images();
      return found.every((each) => each === image) || `${found} ${JSON.stringify(await status())}`;
    });
  const gone = async (name: string) => {
    await world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: "default", name });
    // In two steps, each with its own time: agents of OCM take half a minute for a dozen objects on a busy machine.
    await world.until("its workload is gone", async () => (await holders(DEPLOYMENTS, name)).length === 0);
    await patiently(`${name} is gone`, async () => {
      return (await find(name)) === undefined || JSON.stringify({ ...(await status(name)), history: [], objects: [] });
    });
  };

  it("on an engine that delivers only kinds of the hub, a chart's own kind is refused until the hub has it", async () => {
    if (world.stage.engine === "karmada") {
      await declare({ hooks: false });
      await world.until("it is refused", () => says("orders", ({ reason }) => reason === "RevisionRefused"));
      const { message } = await status();
      expect(message).toContain("create CustomResourceDefinition tickets.orders.example on the hub");
      await world.stack.hub.apply(parse(chartFiles("orders")["crds/tickets.yaml"] ?? ""));
    }
  });

  it("a chart with CRD, rights, Secret, Deployment and hook is deployed cluster by cluster", async () => {
    await declare({ extra: "old", kept: true });
    await settled();
    expect(pods.order.map((pod) => pod.split("/")[0])).toEqual(MEMBERS.flatMap((member) => [member, member]));
    generated = await password();
    expect(Buffer.from(generated, "base64").toString()).toMatch(/^\w{16}$/);
    for (const [of, name] of [
      [CRDS, "tickets.orders.example"],
      [TICKETS, "orders"],
      [ROLES, "orders"],
      [CLUSTER_ROLES, "orders-nodes"],
      [SERVICES, "orders"],
    ] as const) {
      expect(await holders(of, name)).toEqual(MEMBERS);
    }
    expect(await holders(JOBS, "orders-migrate")).toEqual([]);
    const { display, objects, revision } = await status();
    expect(display).toEqual({ clusters: "3/3", ready: "36/36" });
    expect(rows(objects).filter(({ health }) => health !== "Healthy")).toEqual([]);
    first = String(revision);
  });

  it("it is upgraded in order with the same password, and what the chart no longer has is pruned", async () => {
    pods.order.length = 0;
    pods.expect(6);
    await declare({ image: "orders:2", extra: "new", kept: true });
    await runs("orders:2");
    await settled();
    const order = pods.order.map((pod) => pod.split("/")[0]);
    expect(order).toEqual(MEMBERS.flatMap((member) => [member, member]));
    expect(await password()).toBe(generated);
    expect(await holders(CONFIG_MAPS, "orders-old")).toEqual([]);
    expect(await holders(CONFIG_MAPS, "orders-new")).toEqual(MEMBERS);
  });

  it("what a member's API server would refuse is known before anything moves, with its own message", async () => {
    const { revision } = await status();
    await declare({ image: "orders:3", seats: 1000, extra: "new", kept: true });
    await world.until("it is refused", () => says("orders", ({ reason }) => reason === "RevisionRefused"));
    const said = await status();
    expect(said.message).toContain("a dry run was refused, orders.example/v1 Ticket default/orders: member");
    expect(said.message).toContain("should be less than or equal to 100");
    expect(said.revision).toBe(revision);
    expect(await images()).toEqual(["orders:2", "orders:2", "orders:2"]);
    await declare({ image: "orders:2", extra: "new", kept: true });
    await settled();
  });

  it("a broken revision reaches one cluster only, and is rolled back", async () => {
    const { revision } = await status();
    await declare(
      { image: "orders:broken", extra: "new", kept: true },
      { rollout: { progressDeadlineSeconds: 3, onFailure: "Rollback" } },
    );
    await world.until("it is rolled back", () => says("orders", (said) => said.rejectedRevision !== undefined));
    const found = await podImages(world, "orders");
    expect([found.member2, found.member3].flat().filter((pod) => pod?.includes("broken"))).toEqual([]);
    await runs("orders:2");
    await world.until("all are back", () =>
      says("orders", ({ clusters, revision: to }) => {
        return to === revision && rows(clusters).every(({ phase }) => phase === "Settled");
      }),
    );
  });

  it("a hook that fails stops the rollout before anything else moves, and an undo goes back", async () => {
    await declare({ image: "orders:3", migration: "hook:failing", kept: true });
    await world.until("it has stopped", () => says("orders", ({ phase }) => phase === "Halted"));
    expect(String((await status()).message)).toContain("orders-migrate");
    expect(await images()).toEqual(["orders:2", "orders:2", "orders:2"]);
    const undo = { to: first, at: `${AT}1Z` };
    await declare({ image: "orders:3", migration: "hook:failing", kept: true }, { undo });
    await runs("orders:1");
    await world.until("all are back", () =>
      says("orders", ({ clusters, revision }) => {
        return revision === first && rows(clusters).every(({ phase }) => phase === "Settled");
      }),
    );
    expect(await password()).toBe(generated);
    expect(await holders(CONFIG_MAPS, "orders-old")).toEqual(MEMBERS);
  });

  it("what others delete in a member is recreated, and on Karmada what they change is changed back", async () => {
    const at = { namespace: "default", name: "orders" };
    const settings = { namespace: "default", name: "orders-settings" };
    // OCM's agents do the same every four to six minutes, which is too long for a suite.
    const isPrompt = world.stage.engine === "karmada";
    if (isPrompt) {
      const theirs = { type: "merge", body: { data: { image: "theirs" } } } as const;
      await world.member("member1").patch(DEPLOYMENTS, at, { type: "merge", body: { spec: { replicas: 5 } } });
      await world.member("member2").patch(CONFIG_MAPS, settings, theirs);
    }
    await world.member("member3").delete(SERVICES, at);
    await world.until("all is as before", async () => {
      const replicas = valueAt(await inMember("member1", DEPLOYMENTS, "orders"), "spec", "replicas");
      const image = valueAt(await inMember("member2", CONFIG_MAPS, "orders-settings"), "data", "image");
      const services = await holders(SERVICES, "orders");
      return (replicas === 2 && image === "orders:1" && services.length === 3) || `${replicas} ${image} ${services}`;
    });
  });

  it("an object that another owner has is refused by name, taken over with adopt, and never deleted", async () => {
    const metadata = { name: "guests", namespace: "default" };
    const theirs = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { list: "theirs" } };
    await world.member("member2").create(CONFIG_MAPS, theirs);
    const guest = (more: JsonObject) =>
      world.hub.apply(
        DISTRIBUTED_APPLICATIONS,
        application("guest", {
          source: inline(configMap("guests", { list: "ours" })),
          clusters: { names: MEMBERS },
          revisionSettleSeconds: 0,
          ...more,
        }),
        MANAGER,
      );
    await guest({});
    await world.until("it has stopped", () => says("guest", ({ phase }) => phase === "Halted"));
    expect(String((await status("guest")).message)).toContain("it exists and was not made by this application");
    expect((await inMember("member2", CONFIG_MAPS, "guests"))?.data).toEqual({ list: "theirs" });
    await guest({ adopt: true, resumedAt: `${AT}2Z` });
    await settled("guest");
    expect((await inMember("member2", CONFIG_MAPS, "guests"))?.data).toEqual({ list: "ours" });
    await gone("guest");
    expect(await holders(CONFIG_MAPS, "guests")).toEqual(["member2"]);
  });

  it("on an engine without a scheduler that divides, by: Scheduler is refused with the field and the remedy", async () => {
    if (world.stage.engine !== "karmada") {
      const replicas = [{ kind: "Deployment", name: "orders", by: "Scheduler" }];
      const spec = { source: inline(configMap("divided", {})), clusters: { names: MEMBERS }, replicas };
      await world.hub.apply(DISTRIBUTED_APPLICATIONS, application("divided", spec), MANAGER);
      await world.until("it is refused", () => says("divided", ({ reason }) => reason === "InvalidSpec"));
      expect((await status("divided")).message).toBe(
        "spec.replicas[0].by: only Karmada has a scheduler that divides replicas; remove it, and divide by weights",
      );
      await gone("divided");
    }
  });

  it("a lost cluster blocks no other, its replicas run elsewhere, and all come back when it does", {
    timeout: 300_000,
  }, async () => {
    const replicas = [
      { kind: "Deployment", name: "orders", total: 6, failover: { afterSeconds: 1, unhealthyAfterSeconds: 60 } },
    ];
    // A hook would wait for the member's Job controller, which takes its time after its API server was gone.
    const values = { image: "orders:4", kept: true, hooks: false };
    await declare(values, { replicas });
    await settled();
    const shares = (wanted: readonly number[]) =>
      world.until(`replicas are ${wanted}`, () =>
        says("orders", ({ workloads }) => {
          const clusters = rows(rows(workloads)[0]?.clusters);
          return JSON.stringify(clusters.map(({ ready }) => ready)) === JSON.stringify(wanted);
        }),
      );
    await shares([2, 2, 2]);
    await pods.stop();
    await world.cut("member3");
    await shares([3, 3, 0]);
    await declare({ ...values, image: "orders:5" }, { replicas });
    await world.until("the others run the new image", async () => {
      const found = await podImages({ ...world, stack: { ...world.stack, members: reachable(world) } }, "orders");
      return Object.values(found)
        .flat()
        .every((pod) => pod.endsWith("orders:5"));
    });
    await world.mend("member3");
    await world.until("it is seen again", () =>
      says("orders", ({ clusters }) => rows(clusters).every(({ phase }) => phase !== "Lost")),
    );
    await runs("orders:5");
    await settled();
    await shares([2, 2, 2]);
  });

  it("deletion removes everything but the CRD and what the chart says to keep", async () => {
    await gone("orders");
    for (const [of, name] of [
      [DEPLOYMENTS, "orders"],
      [SECRETS, "orders-login"],
      [TICKETS, "orders"],
      [ROLES, "orders"],
      [CLUSTER_ROLES, "orders-nodes"],
      [SERVICES, "orders"],
    ] as const) {
      expect(await holders(of, name)).toEqual([]);
    }
    expect(await holders(CRDS, "tickets.orders.example")).toEqual(MEMBERS);
    expect(await holders(CONFIG_MAPS, "orders-kept")).toEqual(MEMBERS);
    const { items } = await world.hub.listAll(world.stage.works);
    const left = items.filter(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"] === "orders");
    expect(left.map(({ metadata }) => metadata.name)).toEqual([]);
  });

  it("on an engine that can deliver them, a kind that only the clusters know is asked for there", async () => {
    if (world.stage.engine !== "karmada") {
      const ticket = {
        apiVersion: TICKETS.apiVersion,
        kind: TICKETS.kind,
        metadata: { name: "single" },
        spec: { seats: 1 },
      };
      const spec = { source: inline(ticket), clusters: { names: MEMBERS }, revisionSettleSeconds: 0 };
      await world.hub.apply(DISTRIBUTED_APPLICATIONS, application("single", spec), MANAGER);
      await settled("single");
      expect(await holders(TICKETS, "single")).toEqual(MEMBERS);
      await gone("single");
      expect(await holders(TICKETS, "single")).toEqual([]);
    }
  });
}

function reachable({ stack }: World) {
  return new Map([...stack.members].filter(([name]) => name !== "member3"));
}

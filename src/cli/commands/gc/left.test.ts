/** Holds, topologies and readable copies that applications which are gone have left; the controller does not run. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ownerId } from "../../../controllers/index.ts";
import { ENGINES, ownerMark } from "../../../engine/index.ts";
import { KubeClient, type KubeObject, resource } from "../../../kube/index.ts";
import { type HttpRequest, type JsonObject, seededRandom, type Transport } from "../../../runtime/index.ts";
import type { Hub } from "../../hub/hub.ts";
import { CliWorld, exampleObjects, exampleTemplate, InstantClock } from "../../testing/harness.ts";
import { findOrphans, isStillOrphan } from "./orphans.ts";

const HOLDS = "policy.karmada.io/overridepolicies";
const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const PROTECTION = { "resourcetemplate.karmada.io/deletion-protected": "Always" };
const HASH = "0123456789abcdef".repeat(2);

const holdNameOf = (app: string) => `lockstep-hold-${ownerMark({ namespace: "default", name: app })}`;

/** As the controller writes it. */
function holdOf(app: string, template: string, more: readonly JsonObject[] = [], protection = PROTECTION): KubeObject {
  const mark = ownerMark({ namespace: "default", name: app });
  const remove = { path: "/lockstep-holds-this", operator: "remove" };
  return {
    apiVersion: "policy.karmada.io/v1alpha1",
    kind: "OverridePolicy",
    metadata: {
      name: holdNameOf(app),
      namespace: "default",
      labels: { ...protection, "lockstep.karmada.io/hold": "true", "lockstep.karmada.io/app": mark },
      annotations: { "lockstep.karmada.io/app-namespace": "default", "lockstep.karmada.io/app-name": app },
    },
    spec: {
      resourceSelectors: [{ apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: template }],
      overrideRules: [{ overriders: { plaintext: [remove, ...more] } }],
    },
  };
}

function topology(name: string): KubeObject {
  const labels = { "app.kubernetes.io/managed-by": "lockstep" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default", labels }, data: { peers: "" } };
}

function workWith(manifest: KubeObject, app: string, of = ENGINES.karmada): KubeObject {
  return {
    apiVersion: of.dispatches.apiVersion,
    kind: of.dispatches.kind,
    metadata: {
      name: `${manifest.metadata.name}-${app}`,
      namespace: of.dispatchNamespace("member1"),
      labels: { "lockstep.karmada.io/app": app },
      annotations: { "lockstep.karmada.io/app-namespace": "default", "lockstep.karmada.io/app-name": app },
    },
    spec: { workload: { manifests: [JSON.parse(JSON.stringify(manifest))] } },
  };
}

function copyOf(name: string, uid: string, labelUid = uid): KubeObject {
  const owner = { namespace: "default", name: "gone", uid: labelUid };
  const reference = { apiVersion: "apps.karmada.io/v1alpha1", kind: "CrossClusterStatefulset", name: "gone", uid };
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name,
      namespace: "default",
      labels: { "lockstep.karmada.io/owner": ownerId(owner) },
      ownerReferences: [{ ...reference }],
    },
    revision: 1,
  };
}

describe("lockstep gc, without the applications", () => {
  const cli = new CliWorld(2);
  const { world } = cli;
  const hold = (app: string) => world.fleet.hubObject(HOLDS, "default", holdNameOf(app));
  const topologies = (member: string) =>
    world.fleet
      .member(member)
      .api.list("/configmaps", "default")
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.includes("-topology"))
      .sort();

  beforeAll(async () => {
    await world.start();
    await world.stopController();
    const [living] = exampleObjects();
    if (living) await world.apply(living);
    await world.apply({ ...exampleTemplate("nginx:1"), metadata: { name: "there", namespace: "default" } });
    await world.apply(holdOf("web", "web"));
    await world.apply(holdOf("gone", "nowhere"));
    await world.apply(holdOf("released", "nowhere-either", [], {} as typeof PROTECTION));
    await world.apply(holdOf("has-template", "there"));
    await world.apply(holdOf("edited", "nowhere", [{ path: "/spec/replicas", operator: "replace", value: 1 }]));
    await world.apply(workWith(topology("sent-topology"), "elsewhere"));
    const names = ["old-topology", `old-topology-${HASH}`, "web-topology", `we-topology-${HASH}`, "sent-topology"];
    for (const member of ["member1", "member3"]) {
      const client = world.fleet.client(member);
      for (const name of [...names, "a-tenants"]) {
        await world.ask(client.apply(CONFIG_MAPS, topology(name), { fieldManager: "test", force: true }));
      }
    }
    world.fleet.cut("member3");
    await world.until("member3 is not Ready", () => {
      const cluster = world.fleet.hubObject("cluster.karmada.io/clusters", "", "member3");
      return !JSON.stringify(cluster?.status ?? {}).includes('"type":"Ready","status":"True"');
    });
  });
  afterAll(() => world.stop());

  it("lists holds of applications that are gone, with the command for those that it would not delete", async () => {
    const { out } = await cli.run(["gc"]);
    const lineOf = (app: string) => out.split("\n").find((line) => line.includes(` default/${app} is gone`)) ?? "";
    expect(lineOf("gone")).toMatch(/hub +OverridePolicy default\/lockstep-hold-\S+ +CrossClusterStatefulset/);
    expect(lineOf("gone")).not.toContain("kept");
    expect(lineOf("released")).not.toContain("kept");
    const name = holdNameOf("has-template");
    expect(lineOf("has-template")).toContain(
      "kept: Karmada would render StatefulSet default/there to all its clusters at once; if you want that: " +
        `kubectl -n default label overridepolicy ${name} resourcetemplate.karmada.io/deletion-protected- && ` +
        `kubectl -n default delete overridepolicy ${name}`,
    );
    expect(lineOf("edited")).toContain("kept: another writer has changed it");
    expect(lineOf("web")).toBe("");
  });

  it("lists topologies in members that neither a dispatch object nor a living application explains", async () => {
    const { out } = await cli.run(["gc"]);
    const listed = out.split("\n").filter((line) => line.includes("ConfigMap"));
    expect(listed).toHaveLength(2);
    expect(listed[0]).toMatch(/member1 +ConfigMap default\/old-topology +no CrossClusterStatefulset has this topology/);
    expect(listed[0]).toContain("if nothing in member1 does, there: kubectl -n default delete configmap old-topology");
    expect(listed[1]).toContain(`default/old-topology-${HASH} `);
    expect(out).toContain("not looked at: member3");
  });

  it("keeps a hold whose template appears between the list and the deletion", async () => {
    let asked = 0;
    const body = JSON.stringify({ ...exampleTemplate("nginx:1"), metadata: { name: "nowhere", namespace: "default" } });
    const intercept = ({ method, path }: HttpRequest) => {
      const isTemplate = method === "GET" && path.split("?")[0]?.endsWith("/statefulsets/nowhere");
      if (isTemplate && ++asked > 1) return { status: 200, headers: { "content-type": "application/json" }, body };
      return method === "DELETE" ? refusal() : undefined;
    };
    const { code, out } = await cli.run(["gc", "--yes"], { intercept });
    expect(code).toBe(0);
    expect(out).toContain(`hub: OverridePolicy ${holdNameOf("gone")}: kept, it is in use now`);
    expect(hold("gone")?.metadata.labels).toMatchObject(PROTECTION);
  });

  it("continues if it may not delete one of them", async () => {
    const { out } = await cli.run(["gc", "--yes"], {
      intercept: ({ method, path }) =>
        method === "DELETE" && path.includes(holdNameOf("released")) ? refusal() : undefined,
    });
    expect(out).toMatch(/hub: OverridePolicy lockstep-hold-released-\w+: kept, .*not yours/);
    expect(hold("released")).toBeDefined();
    expect(out).toContain(`hub: OverridePolicy ${holdNameOf("gone")}: deleted`);
  });

  it("with --yes deletes holds without a template, and leaves every other hold and every topology", async () => {
    const { out } = await cli.run(["gc", "--yes"]);
    expect(out).toContain(`hub: OverridePolicy ${holdNameOf("released")}: deleted`);
    for (const app of ["gone", "released"]) expect(hold(app), app).toBeUndefined();
    for (const app of ["web", "has-template", "edited"]) {
      expect(hold(app)?.metadata.labels, app).toMatchObject(PROTECTION);
    }
    const all = ["old-topology", `old-topology-${HASH}`, "sent-topology", `we-topology-${HASH}`, "web-topology"];
    for (const member of ["member1", "member3"]) expect(topologies(member)).toEqual(all);
  });

  it("completion offers the command and its flags", async () => {
    const offered = async (...words: string[]) =>
      (await cli.run(["__complete", "--", ...words])).out.split("\n").filter(Boolean);
    expect(await offered("g")).toEqual(["gc"]);
    expect(await offered("gc", "--y")).toEqual(["--yes"]);
    expect(await offered("gc", "--sys")).toEqual(["--system-namespace"]);
  });
});

function refusal() {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", code: 403 };
  const body = JSON.stringify({ ...status, message: "this is not yours" });
  return { status: 403, headers: { "content-type": "application/json" }, body };
}

it("on Open Cluster Management lists copies and ManifestWorks, asks for no hold, and looks into no member without access", async () => {
  const paths: string[] = [];
  let alive = "";
  const lists: Readonly<Record<string, readonly KubeObject[]>> = {
    controllerrevisions: [copyOf("copy-left", "life-1"), copyOf("copy-foreign", "life-1", "life-2")],
    manifestworks: [workWith(topology("old-topology"), "gone", ENGINES.ocm)],
    managedclusters: ["member1", "member2"].map((name) => ({
      apiVersion: ENGINES.ocm.clusters.apiVersion,
      kind: ENGINES.ocm.clusters.kind,
      metadata: { name },
      spec: { hubAcceptsClient: true },
      status: {
        conditions: ["HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable"].map(
          (type) => ({ type, status: name === "member1" || !type.endsWith("Available") ? "True" : "False" }),
        ),
      },
    })),
  };
  const transport: Transport = {
    async request({ path }) {
      const [last = ""] = path.split("?")[0]?.split("/").slice(-1) ?? [];
      paths.push(last);
      const items = path.includes("/namespaces/") ? [] : (lists[last] ?? []);
      const list = { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items };
      const missing = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404 };
      const of = { apiVersion: "apps.karmada.io/v1alpha1", kind: "CrossClusterStatefulset" };
      const owner = { ...of, metadata: { namespace: "default", name: "gone", uid: alive } };
      const [status, body] = last !== "gone" ? [200, list] : alive === "" ? [404, missing] : [200, owner];
      return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    },
    stream: async () => Promise.reject(new Error("nothing is watched")),
  };
  const [clock, random] = [new InstantClock(), seededRandom(1)];
  const client = new KubeClient({ transport, clock, random, userAgent: "test" });
  const place = { server: "https://hub.test", context: "hub", namespace: "default", request: {} };
  const hub: Hub = { client, transport, clock, random, ...place };
  const { found, unseen } = await findOrphans(hub, ENGINES.ocm, "lockstep-system");
  expect(found.map(({ object, kept }) => [object.kind, object.metadata.name, kept !== undefined])).toEqual([
    // A readable copy counts only if its label and its reference name the same life.
    ["ControllerRevision", "copy-left", false],
    ["ManifestWork", "old-topology-gone", true],
  ]);
  const [copy] = found;
  if (!copy) throw new Error("no copy");
  expect(await isStillOrphan(hub, ENGINES.karmada, copy)).toBe(true);
  alive = "life-1";
  expect(await isStillOrphan(hub, ENGINES.karmada, copy)).toBe(false);
  alive = "life-2";
  expect(await isStillOrphan(hub, ENGINES.karmada, copy)).toBe(true);
  expect(unseen.map(({ cluster }) => cluster)).toEqual(["member1", "member2"]);
  expect(unseen[0]?.why).toContain("gives access to cluster member1");
  expect(unseen[1]?.why).toContain("it is ");
  expect(paths).not.toContain("overridepolicies");
});

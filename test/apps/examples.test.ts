/** The worked examples for whole applications, file by file, on the embedded fleet with the roles that `install` writes. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { SchemaCache } from "../../src/apiserver/index.ts";
import { account, defaultRoles } from "../../src/apiserver/testing/roles.ts";
import { installManifests } from "../../src/cli/commands/install/manifests.ts";
import { startXline } from "../../src/embedded/index.ts";
import { DISTRIBUTED_APPLICATIONS, rows, settle, statusOf } from "../../src/embedded/testing/application.ts";
import { PodRecorder, World } from "../../src/embedded/testing/world.ts";
import { isKubeObject, type KubeObject, type Resource, resource } from "../../src/kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom, silentLog } from "../../src/runtime/index.ts";
import { objectsIn, packaged } from "../stories/operator-by-chart.ts";
import { type RealRenderer, realRenderer } from "./harness.ts";

const MEMBERS = ["member1", "member2", "member3"];
const schemas = new SchemaCache();
const kind = (apiVersion: string, name: string, plural: string, namespaced = true): Resource =>
  resource({ apiVersion, kind: name, plural, namespaced });
const CRDS = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false);
const DEPLOYMENTS = kind("apps/v1", "Deployment", "deployments");
const XLINES = kind("apps.my.io/v1alpha1", "XlineCluster", "xlineclusters");
const HELM_RELEASES = kind("helm.toolkit.fluxcd.io/v2", "HelmRelease", "helmreleases");
const ARGO_APPLICATIONS = kind("argoproj.io/v1alpha1", "Application", "applications");

let renderer: RealRenderer;
let world: World;

beforeAll(async () => {
  renderer = await realRenderer();
});
afterAll(() => {
  expect(renderer.leftovers()).toEqual([]);
  renderer.stop();
});
afterEach(() => world.stop());

/** The controller has the account and the roles of an installed one, and nothing else. */
async function begin(seed: number, ...kinds: Resource[]): Promise<void> {
  const distributed = kinds.map(({ plural, apiVersion }) => ({ plural, group: apiVersion.split("/")[0] ?? "" }));
  const settings = { systemNamespace: "lockstep-system", standingHold: true, distributed };
  const workloads = [{ plural: "xlineclusters", group: "apps.my.io" }];
  const installed = [...defaultRoles(), ...installManifests({ ...settings, workloads })];
  world = new World(seed, { authorizer: "RBAC", schemas, members: MEMBERS, installed }, { renderer });
  await world.ask(world.fleet.start());
  world.startController(account("lockstep-system", "lockstep-controller"));
}

async function applyFile(path: string): Promise<void> {
  for (const object of objectsIn(path)) await world.apply(object);
}

const inMember = (member: string, of: Resource, name: string, namespace = "default") =>
  world.ask(world.fleet.client(member).find(of, of.namespaced ? { namespace, name } : { name }));

async function holders(of: Resource, name: string, namespace?: string): Promise<string[]> {
  const found: string[] = [];
  for (const member of MEMBERS) if (await inMember(member, of, name, namespace)) found.push(member);
  return found;
}

const says = (name: string, text: string) =>
  world
    .until(`the status says ${text}`, () => String(statusOf(world, name).message).includes(text))
    .catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(statusOf(world, name), null, 1)}`);
    });

describe("examples/operator-chart", () => {
  it("brings the operator by chart to three clusters in order, and then its database runs over all of them", async () => {
    await begin(91);
    const pods = new PodRecorder(world.fleet);
    await applyFile("operator-chart/chart/crds/xlineclusters.yaml");
    await world.apply(packaged(renderer.helm, "operator-chart/chart", "xline-operator-chart"));
    await applyFile("operator-chart/2-operator.yaml");
    await says("xline-operator", "may not");
    expect(statusOf(world, "xline-operator").message).toContain(
      "ServiceAccount default/deployer may not distribute namespaces, distribute customresourcedefinitions",
    );
    expect(await holders(CRDS, "xlineclusters.apps.my.io")).toEqual([]);
    await applyFile("operator-chart/1-rights.yaml");
    await settle(world, "xline-operator");
    expect(await holders(CRDS, "xlineclusters.apps.my.io")).toEqual(MEMBERS);
    expect(await holders(DEPLOYMENTS, "xline-operator", "xline-system")).toEqual(MEMBERS);
    expect(pods.order.map((pod) => pod.split("/")[0])).toEqual(MEMBERS);

    // The operators' program: it runs where the chart's Deployment is.
    const parts = { fleet: world.fleet, clock: world.clock, random: seededRandom(92), log: silentLog };
    const database = await world.ask(startXline(parts));
    for (const file of ["1-propagationpolicy.yaml", "2-crossclusterstatefulset.yaml"]) await applyFile(`xline/${file}`);
    await world.until("the hold is in place", () => world.status("xline").reason === "TemplateMissing");
    await applyFile("xline/3-xlinecluster.yaml");
    await world.until("five instances run", () => world.isSettled("xline", 5));

    await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: "default", name: "xline-operator" }));
    const left = () => world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", "xline-operator");
    await world.until("the operator is gone", () => left() === undefined);
    expect(await holders(DEPLOYMENTS, "xline-operator", "xline-system")).toEqual([]);
    expect(await holders(XLINES, "xline")).toEqual(MEMBERS);
    expect(world.isSettled("xline", 5)).toBe(true);
    await world.ask(database.stop());
  });
});

/** A definition as the projects themselves install it, as far as the API server is concerned. */
function definition({ apiVersion, kind: name, plural }: Resource, hasStatus: boolean): KubeObject {
  const [group = "", version = ""] = apiVersion.split("/");
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } };
  const subresources = hasStatus ? { subresources: { status: {} } } : {};
  return {
    apiVersion: CRDS.apiVersion,
    kind: CRDS.kind,
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind: name, plural, singular: name.toLowerCase() },
      scope: "Namespaced",
      versions: [{ name: version, served: true, storage: true, schema, ...subresources }],
    },
  };
}

/** The account `default` may distribute these kinds. */
async function allow(...kinds: Resource[]): Promise<void> {
  const rbac = "rbac.authorization.k8s.io";
  const metadata = { name: "example" };
  const rules = kinds.map(({ apiVersion, plural }) => {
    return { apiGroups: [apiVersion.split("/")[0] ?? ""], resources: [plural], verbs: ["distribute"] };
  });
  await world.apply({ apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata, rules });
  const subjects = [{ kind: "ServiceAccount", name: "default", namespace: "default" }];
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: metadata.name };
  await world.apply({ apiVersion: `${rbac}/v1`, kind: "ClusterRoleBinding", metadata, roleRef, subjects });
}

async function serve(...definitions: KubeObject[]): Promise<void> {
  for (const each of definitions) {
    await world.apply(each);
    for (const member of MEMBERS) {
      await world.ask(world.fleet.client(member).apply(CRDS, each, { fieldManager: "test", force: true }));
    }
  }
}

/** What the member's own controller would write. */
async function report(member: string, of: Resource, namespace: string, status: (object: KubeObject) => JsonObject) {
  const client = world.fleet.client(member);
  const object = await world.ask(client.get(of, { namespace, name: "podinfo" }));
  const body = { status: status(object) };
  const subresource = of === HELM_RELEASES ? { subresource: "status" as const } : {};
  await world.ask(client.patch(of, { namespace, name: "podinfo" }, { type: "merge", body }, subresource));
}

const has = (member: string, { apiVersion, plural }: Resource, namespace: string) =>
  world.fleet.member(member).api.get(`${apiVersion.split("/")[0]}/${plural}`, namespace, "podinfo") !== undefined;
const message = () => String(statusOf(world, "podinfo").message);
const phases = () => rows(statusOf(world, "podinfo").clusters).map(({ phase }) => String(phase));

describe("examples/flux", () => {
  const repositories = kind("source.toolkit.fluxcd.io/v1", "HelmRepository", "helmrepositories");
  const ready = (status: string, text: string) => (object: KubeObject) => {
    const { generation = 0 } = object.metadata;
    const condition = { type: "Ready", status, observedGeneration: generation, reason: "Test", message: text };
    return { observedGeneration: generation, conditions: [condition] };
  };

  it("waits in each cluster until Flux has installed this very version, and shows Flux's own message", async () => {
    await begin(93, HELM_RELEASES, repositories);
    await serve(definition(HELM_RELEASES, true), definition(repositories, true));
    await allow(HELM_RELEASES, repositories);
    await applyFile("flux/podinfo.yaml");
    for (const [at, member] of MEMBERS.entries()) {
      await world.until(
        `${member} has it`,
        () => phases()[at] === "Deploying" && has(member, HELM_RELEASES, "default"),
      );
      expect(await holders(HELM_RELEASES, "podinfo")).toEqual(MEMBERS.slice(0, at + 1));
      await report(member, HELM_RELEASES, "default", ready("False", "install retries exhausted"));
      await says("podinfo", "install retries exhausted");
      await report(member, HELM_RELEASES, "default", ready("True", "installed"));
    }
    await settle(world, "podinfo");

    // Flux shows Ready of the old version until it has begun with the new one: that opens nothing.
    const [object] = objectsIn("flux/podinfo.yaml");
    const text = JSON.stringify(object).replaceAll("6.7.0", "6.7.1");
    const parsed: unknown = JSON.parse(text);
    if (!isKubeObject(parsed)) throw new Error("no object");
    await world.apply(parsed);
    await world.until("member1 works on it", () => phases()[0] === "Updating" && message().includes("HelmRelease"));
    const version = async (member: string) =>
      JSON.stringify((await inMember(member, HELM_RELEASES, "podinfo"))?.spec).includes("6.7.1");
    expect([await version("member1"), await version("member2")]).toEqual([true, false]);
    await report("member1", HELM_RELEASES, "default", ready("True", "upgraded"));
    await world.until("member2 follows", () => phases()[1] === "Updating");
  });
});

describe("examples/argo", () => {
  it("waits in each cluster until Argo CD has synced this very source", async () => {
    await begin(94, ARGO_APPLICATIONS);
    await serve(definition(ARGO_APPLICATIONS, false));
    await allow(ARGO_APPLICATIONS);
    for (const member of MEMBERS) {
      const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "argocd" } };
      const namespaces = kind("v1", "Namespace", "namespaces", false);
      await world.ask(world.fleet.client(member).create(namespaces, namespace));
    }
    await applyFile("argo/podinfo.yaml");
    const source = ({ spec }: KubeObject) => (isJsonObject(spec) && isJsonObject(spec.source) ? spec.source : {});
    const synced = (status: string, of: (object: KubeObject) => JsonObject) => (object: KubeObject) => ({
      health: { status },
      sync: { status: "Synced", revision: "6.7.0", comparedTo: { source: of(object) } },
    });
    for (const [at, member] of MEMBERS.entries()) {
      await world.until(
        `${member} has it`,
        () => phases()[at] === "Deploying" && has(member, ARGO_APPLICATIONS, "argocd"),
      );
      await report(member, ARGO_APPLICATIONS, "argocd", synced("Progressing", source));
      await says("podinfo", "sync Synced, health Progressing");
      await report(
        member,
        ARGO_APPLICATIONS,
        "argocd",
        synced("Healthy", () => ({ repoURL: "https://old.example" })),
      );
      await report(member, ARGO_APPLICATIONS, "argocd", synced("Healthy", source));
    }
    await settle(world, "podinfo");
    expect(await holders(ARGO_APPLICATIONS, "podinfo", "argocd")).toEqual(MEMBERS);
  });
});

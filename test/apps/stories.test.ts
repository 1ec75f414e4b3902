/** Applications from charts and kustomizations, rendered by the real programs, on the embedded fleet. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { SchemaCache } from "../../src/apiserver/index.ts";
import { ChartHost } from "../../src/charts/testing/host.ts";
import { chartArchive, chartWithVersion, kustomizationArchive } from "../../src/charts/testing/sources.ts";
import { application, DISTRIBUTED_APPLICATIONS, settle, statusOf } from "../../src/embedded/testing/application.ts";
import { PodRecorder, World } from "../../src/embedded/testing/world.ts";
import { type KubeObject, type Resource, resource } from "../../src/kube/index.ts";
import { type JsonObject, valueAt } from "../../src/runtime/index.ts";
import { type RealRenderer, realRenderer } from "./harness.ts";

const MEMBERS = ["member1", "member2", "member3"];
const kind = (apiVersion: string, name: string, plural: string): Resource =>
  resource({ apiVersion, kind: name, plural, namespaced: true });
const CONFIG_MAPS = kind("v1", "ConfigMap", "configmaps");
const SECRETS = kind("v1", "Secret", "secrets");
const STATEFULSETS = kind("apps/v1", "StatefulSet", "statefulsets");
const ORDER = MEMBERS.map((member) => `${member}/notes-0`);
const schemas = new SchemaCache();

let renderer: RealRenderer;
let host: ChartHost;
let world: World;
let pods: PodRecorder;

beforeAll(async () => {
  renderer = await realRenderer();
  const charts = ["1.0.0", "1.1.0"].map((version) => ({
    name: "notes",
    version,
    archive: chartWithVersion("notes", version),
  }));
  host = await ChartHost.start({ charts });
});
afterAll(async () => {
  expect(renderer.leftovers()).toEqual([]);
  renderer.stop();
  await host.stop();
});
beforeEach(async () => {
  world = new World(81, { schemas, members: MEMBERS }, { renderer });
  await world.start();
  pods = new PodRecorder(world.fleet);
});
afterEach(() => world.stop());

function archived(name: string, archive: Buffer): KubeObject {
  const metadata = { name, namespace: "default" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData: { "archive.tgz": archive.toString("base64") } };
}

const CHART = { archive: { configMap: "chart" } };
const notes = (helm: JsonObject, more: JsonObject = {}) =>
  application("notes", { source: { helm }, clusters: { names: MEMBERS }, revisionSettleSeconds: 0, ...more });
const settled = () => settle(world, "notes");
const status = () => statusOf(world, "notes");

/** What every member has of an object, by member. */
async function everywhere(of: Resource, name: string): Promise<(KubeObject | undefined)[]> {
  const found: (KubeObject | undefined)[] = [];
  for (const member of MEMBERS) {
    found.push(await world.ask(world.fleet.client(member).find(of, { namespace: "default", name })));
  }
  return found;
}

async function holders(of: Resource, name: string): Promise<string[]> {
  const found = await everywhere(of, name);
  return MEMBERS.filter((_, index) => found[index] !== undefined);
}

/** The generated password; every member must have the same. */
async function password(): Promise<string> {
  const all = (await everywhere(SECRETS, "notes-login")).map((secret) => String(valueAt(secret, "data", "password")));
  const [first = ""] = all;
  expect(all).toEqual(MEMBERS.map(() => first));
  expect(Buffer.from(first, "base64").toString()).toMatch(/^\w{16}$/);
  return first;
}

async function deleted(): Promise<void> {
  await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: "default", name: "notes" }));
  const object = () => world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", "notes");
  await world.until("notes is gone", () => object() === undefined);
}

it("a chart in a ConfigMap is deployed, upgraded with the same password, undone and deleted", async () => {
  await world.apply(archived("chart", chartArchive("notes")));
  await world.apply(notes(CHART));
  await settled();
  expect(pods.order).toEqual(ORDER);
  const generated = await password();
  const first = String(status().revision);
  const checksum = async () =>
    (await everywhere(STATEFULSETS, "notes")).map((set) =>
      valueAt(set, "spec", "template", "metadata", "annotations", "checksum/secret"),
    );
  const sums = await checksum();

  pods.expect(3);
  await world.apply(notes({ ...CHART, values: { image: "notes:2" } }));
  await settled();
  expect(pods.worst).toBe(1);
  expect(pods.order).toEqual(ORDER);
  expect(Object.values(pods.images())).toEqual(["notes:2", "notes:2", "notes:2"]);
  expect(await password()).toBe(generated);
  expect(await checksum()).toEqual(sums);
  expect((await everywhere(CONFIG_MAPS, "notes-settings"))[2]?.data).toMatchObject({
    upgrade: "true",
    kubernetes: (await world.ask(world.hub.discovery.serverVersion()))?.split("+")[0] ?? "",
    hasJobs: "true",
    hasApplications: "true",
  });

  const undo = { to: first, at: "2030-01-01T00:00:00Z" };
  await world.apply(notes({ ...CHART, values: { image: "notes:2" } }, { undo }));
  await settled();
  expect(Object.values(pods.images())).toEqual(["notes:1", "notes:1", "notes:1"]);
  expect(await password()).toBe(generated);
  expect(status().revision).toBe(first);

  await deleted();
  expect(await holders(STATEFULSETS, "notes")).toEqual([]);
  expect(await holders(SECRETS, "notes-login")).toEqual([]);
});

it("a chart of a repository follows its version", async () => {
  const from = (version: string, values: JsonObject = {}) =>
    notes({ repository: host.repository, chart: "notes", version, values });
  await world.apply(from("1.0.0"));
  await settled();
  const generated = await password();
  await world.apply(from("^1.1", { image: "notes:2" }));
  await settled();
  expect(Object.values(pods.images())).toEqual(["notes:2", "notes:2", "notes:2"]);
  expect(await password()).toBe(generated);
});

it("values of one cluster change that cluster alone, and its password is that of the others, also after an upgrade", async () => {
  await world.apply(archived("chart", chartArchive("notes")));
  const overrides = [{ clusters: { names: ["member2"] }, values: { image: "notes:special" } }];
  await world.apply(notes(CHART, { overrides }));
  await settled();
  expect(Object.values(pods.images())).toEqual(["notes:1", "notes:special", "notes:1"]);
  const generated = await password();
  await world.apply(notes({ ...CHART, values: { image: "notes:2" } }, { overrides }));
  await settled();
  expect(Object.values(pods.images())).toEqual(["notes:2", "notes:special", "notes:2"]);
  expect(await password()).toBe(generated);
});

it("a chart that does not render leaves the running revision untouched, and shows helm's message", async () => {
  await world.apply(archived("chart", chartArchive("notes")));
  await world.apply(notes(CHART));
  await settled();
  const { revision } = status();
  pods.expect(3);
  await world.apply(notes({ ...CHART, values: { image: "notes:2", fault: "here" } }));
  await world.until("it is refused", () => status().reason === "RevisionRefused");
  expect(String(status().message)).toContain("the value 'fault' must be empty, not here");
  expect(status().revision).toBe(revision);
  expect(pods.worst).toBe(0);
  await world.apply(notes({ ...CHART, values: { image: "notes:2" } }));
  await settled();
  expect(Object.values(pods.images())).toEqual(["notes:2", "notes:2", "notes:2"]);
});

it("hooks run in order around each cluster's objects, and the next cluster waits for them", async () => {
  await world.apply(archived("chart", chartArchive("notes")));
  await world.apply(notes({ ...CHART, values: { hooks: true } }));
  await settled();
  const ran = (name: string) => name.replace(/-[0-9a-f]{6}$/, "");
  expect(pods.order.map(ran)).toEqual(
    MEMBERS.flatMap((member) => ["first", "later", "0", "after"].map((name) => `${member}/notes-${name}`)),
  );
});

it("what a chart no longer has is pruned; what it says to keep stays, also after a deletion", async () => {
  await world.apply(archived("chart", chartArchive("notes")));
  await world.apply(notes({ ...CHART, values: { extra: "old", kept: true } }));
  await settled();
  expect(await holders(CONFIG_MAPS, "notes-old")).toEqual(MEMBERS);
  await world.apply(notes({ ...CHART, values: { extra: "new" } }));
  await settled();
  expect(await holders(CONFIG_MAPS, "notes-old")).toEqual([]);
  expect(await holders(CONFIG_MAPS, "notes-new")).toEqual(MEMBERS);
  expect(await holders(CONFIG_MAPS, "notes-kept")).toEqual(MEMBERS);
  await deleted();
  expect(await holders(CONFIG_MAPS, "notes-new")).toEqual([]);
  expect(await holders(CONFIG_MAPS, "notes-kept")).toEqual(MEMBERS);
});

it("a kustomization in a ConfigMap is deployed, upgraded, undone and deleted", async () => {
  const site = (image: string) =>
    kustomizationArchive({
      "notes/kustomization.yaml": [
        "namePrefix: my-",
        "resources: [set.yaml]",
        "configMapGenerator: [{name: settings, literals: [tier=prod]}]",
        `images: [{name: notes, newTag: "${image}"}]`,
      ].join("\n"),
      "notes/set.yaml": [
        "apiVersion: apps/v1",
        "kind: StatefulSet",
        "metadata: {name: notes}",
        "spec:",
        "  serviceName: notes",
        "  selector: {matchLabels: {app: notes}}",
        "  template:",
        "    metadata: {labels: {app: notes}}",
        "    spec:",
        "      containers: [{name: notes, image: notes, envFrom: [{configMapRef: {name: settings}}]}]",
      ].join("\n"),
    });
  const source = { kustomize: { path: "site/notes", archive: { configMap: "site" } } };
  const app = (more: JsonObject = {}) =>
    application("notes", { source, clusters: { names: MEMBERS }, revisionSettleSeconds: 0, ...more });
  await world.apply(archived("site", site("1")));
  await world.apply(app());
  await settled();
  expect(pods.order).toEqual(MEMBERS.map((member) => `${member}/my-notes-0`));
  const first = String(status().revision);
  await world.apply(archived("site", site("2")));
  const runs = (image: string) => () => Object.values(pods.images()).every((each) => each === image);
  await world.until("the new image runs everywhere", runs("notes:2"));
  await settled();
  await world.apply(app({ undo: { to: first, at: "2030-01-01T00:00:00Z" } }));
  await world.until("the old image runs everywhere", runs("notes:1"));
  await settled();
  await deleted();
  expect(await holders(STATEFULSETS, "my-notes")).toEqual([]);
});

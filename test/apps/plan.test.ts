/** `plan` and `render` of charts: what they say is what happens, and no Secret's value is in it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { SchemaCache } from "../../src/apiserver/index.ts";
import { chartArchive, kustomizationArchive } from "../../src/charts/testing/sources.ts";
import { hideSecrets } from "../../src/cli/preview/rendering.ts";
import { runCli } from "../../src/cli/program.ts";
import { type Ran, type TestIoOptions, testIo } from "../../src/cli/testing/harness.ts";
import { application, settle } from "../../src/embedded/testing/application.ts";
import { World } from "../../src/embedded/testing/world.ts";
import { yamlDiff } from "../../src/interpret/index.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { isJsonObject, type JsonObject, systemClock, type Transport, valueAt } from "../../src/runtime/index.ts";
import { type RealRenderer, realRenderer } from "./harness.ts";

const MEMBERS = ["member1", "member2", "member3"];
const WORKS = resource({ apiVersion: "work.karmada.io/v1alpha1", kind: "Work", plural: "works", namespaced: true });
const schemas = new SchemaCache();
const FORBIDDEN = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", code: 403 };

let renderer: RealRenderer;
let world: World;

beforeAll(async () => {
  renderer = await realRenderer();
  world = new World(82, { schemas, members: MEMBERS }, { renderer });
  await world.start();
});
afterAll(async () => {
  await world.stop();
  expect(renderer.leftovers()).toEqual([]);
  renderer.stop();
});

/** The command line on real time, as its helm is; each request lets as much virtual time pass as it needs. */
async function lockstep(
  args: readonly string[],
  files: Readonly<Record<string, string>>,
  options: TestIoOptions = {},
): Promise<Ran> {
  const hub = world.fleet.hub.transport();
  let last: Promise<unknown> = Promise.resolve();
  const transport: Transport = {
    request: (request) => {
      const answer = last.then(async () => options.intercept?.(request) ?? world.ask(hub.request(request)));
      last = answer.catch(() => undefined);
      return answer;
    },
    stream: (request) => hub.stream(request),
  };
  const io = testIo(systemClock, transport, { ...options, files });
  const programs = ["--helm", renderer.helm, "--kustomize", renderer.kustomize];
  const code = await runCli([...args, ...programs], io);
  return { code, out: io.out.join(""), err: io.err.join("") };
}

/** What was sent to each cluster, hooks left out, without Lockstep's marks. */
async function dispatched(name: string): Promise<Map<string, Map<string, JsonObject>>> {
  const { items } = await world.ask(world.hub.listAll(WORKS));
  const found = new Map<string, Map<string, JsonObject>>(MEMBERS.map((member) => [member, new Map()]));
  for (const work of items) {
    const manifests = valueAt(work, "spec", "workload", "manifests");
    const [manifest] = Array.isArray(manifests) ? manifests.filter(isJsonObject) : [];
    if (!manifest || !isJsonObject(manifest.metadata)) continue;
    const { labels = {}, annotations = {}, ...metadata } = manifest.metadata;
    const mark = isJsonObject(labels) ? labels["lockstep.karmada.io/owner"] : undefined;
    if (typeof mark !== "string" || !JSON.stringify(work.metadata).includes(name)) continue;
    if (isJsonObject(annotations) && annotations["helm.sh/hook"] !== undefined) continue;
    const own = (map: unknown) => {
      const kept = Object.entries(isJsonObject(map) ? map : {}).filter(([key]) => !/karmada\.io\//.test(key));
      return kept.length > 0 ? Object.fromEntries(kept) : undefined;
    };
    const [ownLabels, ownAnnotations] = [own(labels), own(annotations)];
    const object: JsonObject = {
      ...manifest,
      metadata: {
        ...metadata,
        ...(ownLabels && { labels: ownLabels }),
        ...(ownAnnotations && { annotations: ownAnnotations }),
      },
    };
    const { namespace, name: own_ } = metadata;
    const key = `${manifest.apiVersion} ${manifest.kind} ${namespace === undefined ? "" : `${namespace}/`}${own_}`;
    found.get(String(work.metadata.namespace).replace(/^karmada-es-/, ""))?.set(key, object);
  }
  return found;
}

/** In the form in which `plan -o json` says it. */
function changes(before: ReadonlyMap<string, JsonObject>, after: ReadonlyMap<string, JsonObject>) {
  return {
    added: [...after.keys()].filter((key) => !before.has(key)).sort(),
    removed: [...before.keys()].filter((key) => !after.has(key)).sort(),
    changed: [...after]
      .flatMap(([key, object]) => {
        const old = before.get(key);
        const diff = old ? yamlDiff(hideSecrets(old), hideSecrets(object, old)) : [];
        return diff.length > 0 ? [{ key, diff }] : [];
      })
      .sort((a, b) => (a.key < b.key ? -1 : 1)),
  };
}

interface Said {
  cluster: string;
  added: string[];
  changed: { key: string; diff: string[] }[];
  removed: { key: string; stays?: string }[];
}

function planned({ added, changed, removed }: Said) {
  return {
    added: [...added].sort(),
    removed: removed.map(({ key }) => key).sort(),
    changed: [...changed].sort((a, b) => (a.key < b.key ? -1 : 1)),
  };
}

function archived(name: string, archive: Buffer): KubeObject {
  const metadata = { name, namespace: "default" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData: { "archive.tgz": archive.toString("base64") } };
}

interface Case {
  readonly name: string;
  readonly archive: Buffer;
  readonly source: (values: JsonObject) => JsonObject;
  readonly first: JsonObject;
  readonly second: JsonObject;
  readonly more?: JsonObject;
}

const chart = (name: string) => (values: JsonObject) => ({ helm: { archive: { configMap: name }, values } });
const SET = [
  "apiVersion: apps/v1",
  "kind: StatefulSet",
  "metadata: {name: site}",
  "spec:",
  "  serviceName: site",
  "  selector: {matchLabels: {app: site}}",
  "  template: {metadata: {labels: {app: site}}, spec: {containers: [{name: site, image: site}]}}",
].join("\n");
const site = kustomizationArchive({
  "one/kustomization.yaml":
    "resources: [set.yaml]\nsecretGenerator: [{name: login, literals: [password=hidden-one]}]\nconfigMapGenerator: [{name: settings, literals: [a=1]}]",
  "one/set.yaml": SET,
  "two/kustomization.yaml":
    "resources: [set.yaml]\nsecretGenerator: [{name: login, literals: [password=hidden-two]}]\nimages: [{name: site, newTag: '2'}]",
  "two/set.yaml": SET,
});

const CASES: readonly Case[] = [
  {
    name: "notes",
    archive: chartArchive("notes"),
    source: chart("notes"),
    first: { extra: "old", kept: true, hooks: true },
    second: { image: "notes:2", extra: "new", hooks: true },
    more: {
      overrides: [{ clusters: { names: ["member2"] }, values: { image: "notes:special" } }],
      replicas: [{ kind: "StatefulSet", name: "notes", total: 6, weights: { member1: 2, member2: 1 } }],
    },
  },
  { name: "odd", archive: chartArchive("odd"), source: chart("odd"), first: {}, second: { fault: "random-secret" } },
  {
    name: "site",
    archive: site,
    source: ({ path }) => ({ kustomize: { path: `site/${path}`, archive: { configMap: "site" } } }),
    first: { path: "one" },
    second: { path: "two" },
  },
];

describe.each(CASES)("$name", ({ name, archive, source, first, second, more = {} }) => {
  const app = (values: JsonObject) =>
    application(name, { source: source(values), clusters: { names: MEMBERS }, revisionSettleSeconds: 0, ...more });
  const plan = async (values: JsonObject): Promise<Said[]> => {
    const ran = await lockstep(["plan", "-f", "app.yaml", "-o", "json"], { "app.yaml": stringify(app(values)) });
    expect(ran).toMatchObject({ code: 0, err: "" });
    return JSON.parse(ran.out);
  };
  const expectAsPlanned = async (said: readonly Said[], before: Awaited<ReturnType<typeof dispatched>>) => {
    const after = await dispatched(name);
    for (const cluster of MEMBERS) {
      const actual = changes(before.get(cluster) ?? new Map(), after.get(cluster) ?? new Map());
      const [promised] = said.filter((each) => each.cluster === cluster);
      expect({ cluster, ...(promised && planned(promised)) }).toEqual({ cluster, ...actual });
    }
    return after;
  };

  it("what plan says is what happens in every cluster, on the first install and on an upgrade", async () => {
    await world.apply(archived(name, archive));
    const install = await plan(first);
    await world.apply(app(first));
    await settle(world, name);
    const before = await expectAsPlanned(install, new Map());
    expect((await lockstep(["plan", `dapp/${name}`], {})).out).toContain(
      "nothing changes in member1, member2, member3",
    );

    const upgrade = await plan(second);
    expect(upgrade.flatMap(({ changed, added }) => [...changed, ...added])).not.toEqual([]);
    await world.apply(app(second));
    await settle(world, name);
    await expectAsPlanned(upgrade, before);
  });

  it("render shows what each cluster has, and no value of a Secret", async () => {
    const { out, err } = await lockstep(["render", `dapp/${name}`, "-o", "json"], {});
    expect(err).toBe("");
    const rendered: { cluster: string; objects: KubeObject[] }[] = JSON.parse(out);
    const now = await dispatched(name);
    for (const { cluster, objects } of rendered) {
      const own = objects.filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"] === undefined);
      const sent = [...(now.get(cluster) ?? [])].map(([, object]) => hideSecrets(object));
      expect(new Set(own.map((each) => JSON.stringify(sorted(each))))).toEqual(
        new Set(sent.map((each) => JSON.stringify(sorted(each)))),
      );
    }
    const values = [...now.values()].flatMap((objects) =>
      [...objects.values()].flatMap(({ kind, data, stringData }) =>
        kind === "Secret" ? Object.values({ ...Object(data), ...Object(stringData) }).map(String) : [],
      ),
    );
    expect(values).not.toEqual([]);
    for (const value of values) expect(out).not.toContain(value);
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}

describe("a caller without rights in Lockstep's namespace", () => {
  const app = (image: string) =>
    application("notes", {
      source: chart("notes")({ image, extra: "new", hooks: true }),
      clusters: { names: MEMBERS },
      ...CASES[0]?.more,
    });
  const forbidding = (pattern: RegExp): TestIoOptions => ({
    intercept: ({ path }) =>
      pattern.test(path)
        ? { status: 403, headers: {}, body: JSON.stringify({ ...FORBIDDEN, message: "no" }) }
        : undefined,
  });

  it("sees the same plan, with the password from a member", async () => {
    const files = { "app.yaml": stringify(app("notes:3")) };
    const all = await lockstep(["plan", "-f", "app.yaml"], files);
    const some = await lockstep(["plan", "-f", "app.yaml"], files, forbidding(/lockstep-system/));
    expect(some).toEqual(all);
    expect(some.out).not.toContain("Secret");
  });

  it("reads which Secret is unknown when the password cannot be read in a member either", async () => {
    const files = { "app.yaml": stringify(app("notes:3")) };
    const { err } = await lockstep(["plan", "-f", "app.yaml"], files, forbidding(/lockstep-system|\/proxy\//));
    expect(err).toContain("the content of Secret default/notes-login cannot be read with your rights");
  });
});

/** `render` and `plan` of an application: what each cluster would get, and what would change there. */
import type { ParsedDistributedApplication } from "../../api/index.ts";
import {
  type Bundle,
  gatherInputs,
  type HubReader,
  Kinds,
  makeBundle,
  type Part,
  partsFor,
  unpackBundle,
} from "../../controllers/index.ts";
import type { EngineCluster } from "../../engine/index.ts";
import { toYaml, yamlDiff } from "../../interpret/index.ts";
import { type KubeObject, resource } from "../../kube/index.ts";
import { labelSelectorMatches } from "../../render/index.ts";
import { isJsonObject, type JsonObject, silentLog } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import { type Hub, withHub } from "../hub/hub.ts";
import type { GlobalOptions } from "../options.ts";
import { readObjects } from "../preview/sources.ts";
import type { Io } from "../terminal/io.ts";
import { formatOf, print, printData, styleOf } from "../terminal/output.ts";
import { APPLICATIONS, applicationName, describeApplication, getApplication, readApplication } from "./kind.ts";
import type { ProgramOptions } from "./program-options.ts";
import { openRenderer } from "./renderer.ts";

export interface RenderingOptions extends GlobalOptions, ProgramOptions {
  readonly filename?: string[];
  readonly cluster?: string;
  readonly offline?: boolean;
  readonly output?: string;
  readonly diff?: boolean;
}

const CLUSTERS = resource({
  apiVersion: "cluster.karmada.io/v1alpha1",
  kind: "Cluster",
  plural: "clusters",
  namespaced: false,
});
const REVISIONS = resource({
  apiVersion: "apps/v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  namespaced: true,
});
/** Kinds without a namespace, where no hub says so. */
const CLUSTER_SCOPED =
  /^(Namespace|CustomResourceDefinition|ClusterRole|ClusterRoleBinding|StorageClass|PriorityClass|PersistentVolume|IngressClass|RuntimeClass|APIService|.*WebhookConfiguration|ValidatingAdmissionPolicy.*)$/;

/** Whether a name or files mean an application. */
export function isAboutApplication(io: Io, name: string | undefined, filename: readonly string[] = []): boolean {
  if (applicationName(name) !== undefined) return true;
  return (
    name === undefined && filename.some((path) => readObjects(io, path).some(({ kind }) => kind === APPLICATIONS.kind))
  );
}

interface Subject {
  readonly app: ParsedDistributedApplication;
  readonly bundle: Bundle;
  readonly clusters: readonly string[];
  /** What each cluster was granted, as far as its readable copy shows. */
  readonly granted: ReadonlyMap<string, Bundle>;
}

export function renderApplication(io: Io, name: string | undefined, options: RenderingOptions): Promise<undefined> {
  const format = formatOf(options.output, ["json", "yaml"]);
  return withSubject(io, name, options, async ({ bundle, clusters }) => {
    const wanted = options.cluster === undefined ? clusters : [options.cluster];
    if (options.cluster !== undefined && !clusters.includes(options.cluster)) {
      throw new CommandError(
        `--cluster ${options.cluster}: the application is not in that cluster; it is in ${clusters.join(", ")}`,
      );
    }
    const rendered = wanted.map((cluster) => ({
      cluster,
      objects: partsFor(bundle, cluster).map(({ object }) => object),
    }));
    if (format === "json") printData(io, "json", rendered);
    else {
      for (const { cluster, objects } of rendered) {
        print(io, `# cluster ${cluster}`);
        for (const object of objects) print(io, `---\n${toYaml(object).trimEnd()}`);
      }
    }
    return undefined;
  });
}

export function planApplication(io: Io, name: string | undefined, options: RenderingOptions): Promise<number> {
  const format = formatOf(options.output, ["json", "yaml"]);
  return withSubject(io, name, options, async ({ app, bundle, clusters, granted }) => {
    const changes = inOrder(app, clusters).map((cluster) => ({
      cluster,
      ...changesIn(granted.get(cluster), bundle, cluster),
    }));
    if (format !== "text") printData(io, format, changes);
    else {
      const style = styleOf(io);
      const { maxUnavailableClusters } = app.spec.rollout;
      print(
        io,
        `${style.bold(describeApplication(app))}: ${maxUnavailableClusters} of ${clusters.length} clusters at a time, in this order`,
      );
      for (const [index, { cluster, added, changed, removed }] of changes.entries()) {
        const counts = `${added.length} new, ${changed.length} changed, ${removed.length} removed`;
        print(io, `${index + 1}. ${style.bold(cluster)}  ${counts}`);
        for (const key of added) print(io, `   + ${key}`);
        for (const { key, diff } of changed) {
          print(io, `   ~ ${key}`);
          if (options.diff !== false) for (const line of diff) print(io, `       ${line}`);
        }
        for (const key of removed) print(io, `   - ${key}${app.spec.prune ? "" : " (stays: prune is false)"}`);
      }
    }
    return 0;
  });
}

function inOrder({ spec }: ParsedDistributedApplication, clusters: readonly string[]): string[] {
  const waves = spec.rollout.waves ?? [];
  const waveOf = (cluster: string) => {
    const found = waves.findIndex((wave) => wave.clusters.includes(cluster));
    return found < 0 ? waves.length : found;
  };
  return [...clusters].sort((a, b) => waveOf(a) - waveOf(b));
}

function changesIn(before: Bundle | undefined, after: Bundle, cluster: string) {
  const old = new Map((before ? partsFor(before, cluster) : []).filter(isOwn).map((part) => [part.key, part]));
  const now = new Map(
    partsFor(after, cluster)
      .filter(isOwn)
      .map((part) => [part.key, part]),
  );
  return {
    added: [...now.keys()].filter((key) => !old.has(key)),
    removed: [...old.keys()].filter((key) => !now.has(key)),
    changed: [...now.values()].flatMap(({ key, object }) => {
      const previous = old.get(key)?.object;
      if (!previous) return [];
      // The readable copy has no Secret's content: whether one changes is not known here, and none is ever printed.
      if (object.kind === "Secret") return [];
      const diff = yamlDiff(previous, object);
      return diff.length > 0 ? [{ key, diff }] : [];
    }),
  };
}

function isOwn({ hook }: Part): boolean {
  return hook === undefined;
}

async function withSubject<T>(
  io: Io,
  name: string | undefined,
  options: RenderingOptions,
  use: (subject: Subject) => Promise<T>,
): Promise<T> {
  if (options.offline) {
    const files = (options.filename ?? []).flatMap((path) => readObjects(io, path));
    const app = applicationIn(files, options.namespace ?? "default");
    const clusters = app.spec.clusters.names;
    if (!clusters)
      throw new CommandError("--offline needs spec.clusters.names: without a hub no cluster can be selected");
    const [clock, random] = await Promise.all([io.clock(), io.random()]);
    const bundle = await bundleOf(
      app,
      clusters,
      new Map(),
      files,
      undefined,
      offlineKinds(),
      openRenderer(io, { clock, random, log: silentLog }, options),
    );
    return use({ app, bundle, clusters, granted: new Map() });
  }
  return withHub(io, options, async (hub) => {
    const files = (options.filename ?? []).flatMap((path) => readObjects(io, path));
    const given = applicationName(name);
    const app =
      given === undefined
        ? applicationIn(files, hub.namespace)
        : readApplication(await getApplication(hub, given), `dapp/${given}`);
    const fleet = await fleetOf(hub);
    const clusters = chosenIn(app, fleet);
    const renderer = openRenderer(io, { clock: hub.clock, random: hub.random, log: silentLog }, options);
    const bundle = await bundleOf(app, clusters, fleet, files, hub, new Kinds(hub.client), renderer);
    return use({ app, bundle, clusters, granted: await grantedIn(hub, await onHub(hub, app)) });
  });
}

function applicationIn(files: readonly KubeObject[], namespace: string): ParsedDistributedApplication {
  const [found, ...more] = files.filter(({ kind }) => kind === APPLICATIONS.kind);
  if (!found || more.length > 0)
    throw new CommandError(
      `the files must have exactly one ${APPLICATIONS.kind}; they have ${found ? more.length + 1 : 0}`,
    );
  const metadata = { ...found.metadata, namespace: found.metadata.namespace ?? namespace };
  return readApplication({ ...found, metadata }, `${APPLICATIONS.kind} ${found.metadata.name}`);
}

async function bundleOf(
  app: ParsedDistributedApplication,
  clusters: readonly string[],
  fleet: ReadonlyMap<string, EngineCluster>,
  files: readonly KubeObject[],
  hub: Hub | undefined,
  kinds: Kinds,
  renderer: ReturnType<typeof openRenderer>,
): Promise<Bundle> {
  const reader = new FileReader(files, hub);
  for (;;) {
    const inputs = gatherInputs(reader, "cli", app, clusters, fleet);
    if (inputs.kind === "pending" && (await reader.fetch())) continue;
    if (inputs.kind !== "inputs") throw new CommandError(`${inputs.message}. ${inputs.remedy}`);
    const made = await makeBundle(renderer, kinds, app, inputs.variants, undefined, new AbortController().signal);
    if (made.kind === "refused") throw new CommandError(`${made.message}. ${made.remedy}`);
    return made.bundle;
  }
}

/** ConfigMaps and Secrets from the files, and what they do not have from the hub. */
class FileReader implements HubReader {
  readonly #files: readonly KubeObject[];
  readonly #hub: Hub | undefined;
  readonly #fetched = new Map<string, KubeObject | undefined>();
  readonly #missing = new Map<string, { kind: string; namespace: string; name: string }>();

  constructor(files: readonly KubeObject[], hub: Hub | undefined) {
    this.#files = files;
    this.#hub = hub;
  }

  get(_key: string, { kind, namespace, name }: Parameters<HubReader["get"]>[1]): ReturnType<HubReader["get"]> {
    const file = this.#files.find((object) => object.kind === kind && object.metadata.name === name);
    const id = `${kind}/${name}`;
    if (file) return { kind: "present", object: file };
    if (this.#fetched.has(id) || !this.#hub) {
      const object = this.#fetched.get(id);
      return object ? { kind: "present", object } : { kind: "absent" };
    }
    this.#missing.set(id, { kind, namespace, name });
    return { kind: "unknown", message: "not read yet" };
  }

  list(): undefined {
    return undefined;
  }

  notServed(): undefined {
    return undefined;
  }

  /** Whether anything more is known now. */
  async fetch(): Promise<boolean> {
    const hub = this.#hub;
    if (!hub || this.#missing.size === 0) return false;
    for (const [id, { kind, namespace, name }] of this.#missing) {
      const of = resource({ apiVersion: "v1", kind, plural: `${kind.toLowerCase()}s`, namespaced: true });
      this.#fetched.set(id, await hub.client.find(of, { namespace, name }, hub.request));
    }
    this.#missing.clear();
    return true;
  }
}

function offlineKinds(): Kinds {
  const discovery = {
    resource: async (apiVersion: string, kind: string) =>
      resource({ apiVersion, kind, plural: `${kind.toLowerCase()}s`, namespaced: !CLUSTER_SCOPED.test(kind) }),
    served: async () => [],
    serverVersion: async () => undefined,
  };
  return new Kinds({ discovery, isGuess: true });
}

async function fleetOf({ client, request }: Hub): Promise<Map<string, EngineCluster>> {
  const { items } = await client.listAll(CLUSTERS, request);
  return new Map(
    items.map(({ metadata: { name, labels = {} } }) => [name, { name, state: "Ready" as const, labels, zones: [] }]),
  );
}

function chosenIn({ spec }: ParsedDistributedApplication, fleet: ReadonlyMap<string, EngineCluster>): string[] {
  const { names, selector, placementRef } = spec.clusters;
  if (names) return [...names];
  if (placementRef) throw new CommandError("spec.clusters.placementRef cannot be resolved here: name the clusters");
  return [...fleet.values()]
    .filter(({ labels }) => labelSelectorMatches({ ...selector }, labels))
    .map(({ name }) => name);
}

/** A file has no status: what the hub says of the same application counts. */
async function onHub(
  { client, request }: Hub,
  app: ParsedDistributedApplication,
): Promise<ParsedDistributedApplication> {
  const { namespace, name } = app.metadata;
  const found = await client.find(APPLICATIONS, { namespace, name }, request);
  return found ? readApplication(found, describeApplication(found)) : app;
}

/** What the clusters were granted, from the readable copies in the application's namespace. */
async function grantedIn(
  { client, request }: Hub,
  { metadata, status }: ParsedDistributedApplication,
): Promise<Map<string, Bundle>> {
  const granted = new Map<string, Bundle>();
  for (const { name, revision } of status?.clusters ?? []) {
    if (revision === undefined) continue;
    const copy = await client.find(REVISIONS, { namespace: metadata.namespace, name: revision }, request);
    const bundle = copy && bundleIn(copy);
    if (bundle) granted.set(name, bundle);
  }
  return granted;
}

function bundleIn({ data }: KubeObject): Bundle | undefined {
  const content = isJsonObject(data) && isJsonObject(data.content) ? data.content : undefined;
  if (!content || !isJsonObject(content.template) || !Array.isArray(content.dependencies)) return undefined;
  const dependencies: JsonObject[] = content.dependencies.filter(isJsonObject);
  return unpackBundle({ template: content.template, dependencies, overrides: [] });
}

/** What `render` and `plan` of an application speak of: from files not yet applied, from the hub, or from both. */
import type { ParsedDistributedApplication } from "../../api/index.ts";
import { baseShares, type Mode } from "../../applications/index.ts";
import {
  type Bundle,
  type Bundled,
  gatherInputs,
  Kinds,
  makeBundle,
  managedIn,
  type Part,
  packBundle,
  Way,
  wantedClusters,
} from "../../controllers/index.ts";
import type { EngineCluster } from "../../engine/index.ts";
import { type KubeObject, resource } from "../../kube/index.ts";
import { labelSelectorMatches, revisionMeaning } from "../../render/index.ts";
import { silentLog } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import { engineOf } from "../hub/engine.ts";
import { type Hub, listStatefulsets, withHub } from "../hub/hub.ts";
import type { GlobalOptions } from "../options.ts";
import { withEngine } from "../preview/moment.ts";
import { HubReads } from "../preview/reads.ts";
import { readObjects, withNamespace } from "../preview/sources.ts";
import type { Io } from "../terminal/io.ts";
import { type Before, NOTHING_BEFORE, readBefore } from "./before.ts";
import { APPLICATIONS, applicationName, describeApplication, getApplication, readApplication } from "./kind.ts";
import { askMembers, guessedKind } from "./member-kinds.ts";
import type { ProgramOptions } from "./program-options.ts";
import { openLocalRenderer } from "./renderer.ts";

export interface SubjectOptions extends GlobalOptions, ProgramOptions {
  readonly filename?: string[];
  readonly offline?: boolean;
  /** For a server, which starts no program and fetches no archive because a person looks: only what is kept is shown. */
  readonly onlyKept?: boolean;
}

/** One object as a cluster gets it, but for Lockstep's marks. */
export interface Placed {
  readonly key: string;
  readonly object: KubeObject;
  readonly part: Part;
}

export interface Subject {
  readonly app: ParsedDistributedApplication;
  /** Those that it is to be in. */
  readonly clusters: readonly string[];
  /** Those that it is in, and is to leave. */
  readonly leaving: readonly string[];
  /** Without hooks. */
  readonly after: (cluster: string) => readonly Placed[];
  /** With hooks. */
  readonly all: (cluster: string) => readonly KubeObject[];
  /** Undefined: the cluster has nothing yet, or what it has is not kept any more. */
  readonly before: (cluster: string) => readonly Placed[] | undefined;
  /** Hooks that run on the way, in order; none if the cluster has this revision already. */
  readonly hooks: (cluster: string) => readonly string[];
  readonly notes: readonly string[];
}

const AFTER = "after";
const MAX_ROUNDS = 50;

/** Whether a name or files mean an application. */
export function isAboutApplication(io: Io, name: string | undefined, filename: readonly string[] = []): boolean {
  if (applicationName(name) !== undefined) return true;
  return (
    name === undefined && filename.some((path) => readObjects(io, path).some(({ kind }) => kind === APPLICATIONS.kind))
  );
}

export async function withSubject<T>(
  io: Io,
  name: string | undefined,
  options: SubjectOptions,
  use: (subject: Subject) => Promise<T>,
): Promise<T> {
  const given = (options.filename ?? []).flatMap((path) => readObjects(io, path));
  if (options.offline) {
    const files = given.map((object) => withNamespace(object, options.namespace ?? "default"));
    const app = applicationIn(files);
    const clusters = app.spec.clusters.names;
    if (!clusters)
      throw new CommandError("--offline needs spec.clusters.names: without a hub no cluster can be selected");
    const [clock, random] = await Promise.all([io.clock(), io.random()]);
    const renderer = openLocalRenderer(io, { clock, random, log: silentLog }, options);
    const made = await bundleOf({ app, clusters, fleet: new Map(), files, kinds: offlineKinds(), renderer });
    return use(subjectOf(app, clusters, made, NOTHING_BEFORE, []));
  }
  return withHub(io, options, async (hub) => {
    const files = given.map((object) => withNamespace(object, hub.namespace));
    const named = applicationName(name);
    const asked =
      named === undefined ? applicationIn(files) : readApplication(await getApplication(hub, named), `dapp/${named}`);
    const app = await withHubsFacts(hub, asked);
    const fleet = await fleetOf(hub);
    const clusters = await chosenIn(hub, app, fleet);
    const renderer = openLocalRenderer(io, { clock: hub.clock, random: hub.random, log: silentLog }, options);
    const before = await readBefore(hub, app);
    const kinds = new Kinds(hub.client, await askMembers(hub));
    const { onlyKept } = options;
    const made = await bundleOf({ app, clusters, fleet, files, hub, kinds, renderer, before, onlyKept });
    return use(subjectOf(app, clusters, made, before, await listStatefulsets(hub, app.spec.targetNamespace)));
  });
}

function applicationIn(files: readonly KubeObject[]): ParsedDistributedApplication {
  const [found, ...more] = files.filter(({ kind }) => kind === APPLICATIONS.kind);
  if (!found || more.length > 0)
    throw new CommandError(
      `the files must have exactly one ${APPLICATIONS.kind}; they have ${found ? more.length + 1 : 0}`,
    );
  return readApplication(found, `${APPLICATIONS.kind} ${found.metadata.name}`);
}

/** A file has no status and no identity: what the hub says of the same application counts. */
async function withHubsFacts(
  { client, request }: Hub,
  app: ParsedDistributedApplication,
): Promise<ParsedDistributedApplication> {
  const { namespace, name } = app.metadata;
  const object = await client.find(APPLICATIONS, { namespace, name }, request);
  if (!object) return app;
  const { status } = readApplication(object, describeApplication(object));
  const { uid } = object.metadata;
  return { ...app, metadata: { ...app.metadata, ...(uid !== undefined && { uid }) }, ...(status && { status }) };
}

function subjectOf(
  app: ParsedDistributedApplication,
  clusters: readonly string[],
  { bundle, warnings }: Pick<Made, "bundle" | "warnings">,
  { granted, unread }: Before,
  statefulsets: readonly KubeObject[],
): Subject {
  const isManaged = managedIn(app, statefulsets);
  const wayOf = (of: Bundle | undefined) =>
    new Way({ app, bundles: new Map(of ? [[AFTER, of]] : []), mark: "", isManaged, hasNoDeleteHooks: false });
  const next = wayOf(bundle);
  const rows = app.status?.workloads ?? [];
  const grantedOf = (key: string) => rows.find(({ kind, name }) => `${kind}/${name}` === key)?.clusters ?? [];
  const divided = next.divided(AFTER);
  const shares = divided.map((workload) => ({
    key: workload.key,
    of: workload.scheduled
      ? new Map(grantedOf(workload.key).map(({ name, replicas }) => [name, replicas]))
      : baseShares(clusters, workload),
  }));
  const scheduled = divided.filter((workload) => workload.scheduled).map(({ key }) => key);
  const placed = (way: Way, cluster: string, shareOf: (key: string) => number | undefined): Placed[] =>
    (way.parts(AFTER, cluster) ?? []).map((part) => {
      const share = shareOf(`${part.object.kind}/${part.object.metadata.name}`);
      return { key: part.key, part, object: withReplicas(part.object, share) };
    });
  const all = (cluster: string) =>
    placed(next, cluster, (key) => shares.find((each) => each.key === key)?.of.get(cluster));
  const digests = new Map<Bundle, string>();
  const digestOf = (of: Bundle) => {
    const known = digests.get(of) ?? revisionMeaning(packBundle(app.metadata.name, of));
    digests.set(of, known);
    return known;
  };
  return {
    app,
    clusters,
    leaving: [...granted.keys()].filter((cluster) => !clusters.includes(cluster)),
    all: (cluster) => all(cluster).map(({ object }) => object),
    after: (cluster) => all(cluster).filter(isOwn),
    before: (cluster) => {
      const of = granted.get(cluster);
      if (!of) return undefined;
      const shareOf = (key: string) => grantedOf(key).find((each) => each.name === cluster)?.replicas;
      return placed(wayOf(of), cluster, shareOf).filter(isOwn);
    },
    hooks: (cluster) => {
      const of = granted.get(cluster);
      if (of && digestOf(of) === digestOf(bundle)) return [];
      const mode: Mode = of ? "Upgrade" : "Install";
      const stages = next.stages(AFTER, cluster, mode) ?? [];
      return stages.flatMap((stage) => (stage.kind === "hook" ? [`${stage.object} (${stage.title})`] : []));
    },
    notes: [
      ...warnings,
      ...(unread.length === 0
        ? []
        : [
            `the content of Secret ${unread.join(", ")} cannot be read with your rights, neither in Lockstep's namespace nor in a member; a chart that looks it up is rendered as if it did not exist`,
          ]),
      ...(scheduled.length === 0
        ? []
        : [
            `Karmada's scheduler divides the replicas of ${scheduled.join(", ")}: shown are those that each cluster has now, and in a cluster that has none yet, those of the source`,
          ]),
    ],
  };
}

function isOwn({ part }: Placed): boolean {
  return part.hook === undefined;
}

function withReplicas(object: KubeObject, replicas: number | undefined): KubeObject {
  if (replicas === undefined) return object;
  const { spec } = object;
  return { ...object, spec: { ...(typeof spec === "object" && !Array.isArray(spec) ? spec : {}), replicas } };
}

type Made = Extract<Bundled, { kind: "bundle" }>;

interface Sources {
  readonly app: ParsedDistributedApplication;
  readonly clusters: readonly string[];
  readonly fleet: ReadonlyMap<string, EngineCluster>;
  readonly files: readonly KubeObject[];
  readonly hub?: Hub;
  readonly kinds: Kinds;
  readonly renderer: ReturnType<typeof openLocalRenderer>;
  readonly before?: Before;
  readonly onlyKept?: boolean | undefined;
}

async function bundleOf({
  app,
  clusters,
  fleet,
  files,
  hub,
  kinds,
  renderer,
  before,
  onlyKept,
}: Sources): Promise<Pick<Made, "bundle" | "warnings">> {
  const reads = new HubReads(hub, files);
  for (let round = 0; ; round++) {
    const inputs = gatherInputs(reads, "cli", app, clusters, fleet);
    if (inputs.kind === "pending" && round < MAX_ROUNDS && (await reads.read())) continue;
    if (inputs.kind !== "inputs") throw new CommandError(`${inputs.message}. ${inputs.remedy}`);
    const again = await unrendered(app, inputs.digest, before);
    if (again) return { bundle: again, warnings: [] };
    if (onlyKept && !app.spec.source.manifests) {
      throw new CommandError("it is rendered by a program, and what that wrote is not readable with these rights");
    }
    const never = new AbortController().signal;
    const { earlier } = before ?? NOTHING_BEFORE;
    const ready = clusters.filter((cluster) => fleet.get(cluster)?.state === "Ready");
    const made = await makeBundle(renderer, kinds, app, inputs.variants, earlier, ready, never);
    if (made.kind === "refused") throw new CommandError(`${made.message}. ${made.remedy}`);
    return made;
  }
}

/** The same inputs are never rendered again; after an undo the revision that it returned to stays. */
async function unrendered(
  { status }: ParsedDistributedApplication,
  inputs: string,
  { kept }: Before = NOTHING_BEFORE,
): Promise<Bundle | undefined> {
  const source = kept?.source;
  if (!kept || source?.inputs !== inputs) return undefined;
  const isUndone = status?.rejectedRevision === source.revision && status.revision !== undefined;
  return kept.bundle(isUndone ? (status.revision ?? source.revision) : source.revision);
}

function offlineKinds(): Kinds {
  const discovery = {
    resource: async (apiVersion: string, kind: string) => resource({ apiVersion, kind, ...guessedKind(kind) }),
    served: async () => [],
    serverVersion: async () => undefined,
  };
  return new Kinds({ discovery, isGuess: true });
}

async function fleetOf(hub: Hub): Promise<Map<string, EngineCluster>> {
  const { clusters, readCluster } = await engineOf(hub);
  const { items } = await hub.client.listAll(clusters, hub.request);
  return new Map(items.flatMap((object) => readCluster(object) ?? []).map((cluster) => [cluster.name, cluster]));
}

async function chosenIn(
  hub: Hub,
  app: ParsedDistributedApplication,
  fleet: ReadonlyMap<string, EngineCluster>,
): Promise<readonly string[]> {
  const { names, selector, placementRef } = app.spec.clusters;
  if (names) return names;
  if (!placementRef) {
    const matched = [...fleet.values()].filter(({ labels }) => labelSelectorMatches({ ...selector }, labels));
    return matched.map(({ name }) => name).sort();
  }
  const { namespace, name } = app.metadata;
  const owner = { kind: "DistributedApplication", namespace, name, objects: [] } as const;
  const wanted = await withEngine(hub, async (engine) => wantedClusters(app, engine, owner, fleet));
  if (wanted.kind === "known") return wanted.names;
  throw new CommandError(`spec.clusters.placementRef: ${wanted.message}`);
}

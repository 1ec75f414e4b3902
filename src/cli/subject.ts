/** Gathers what `plan` and `render` speak of: from files not yet applied, from the hub, or from both. */
import {
  type ParsedCrossClusterStatefulset,
  parseCrossClusterStatefulset,
  parseRolloutApproval,
  type RolloutApproval,
} from "../api/index.ts";
import { intentOf } from "../controllers/index.ts";
import type { EngineCluster, EngineSchedule } from "../engine/index.ts";
import { FileProblem, httpWebhookTransports, Interpreter, readYamlObjects } from "../interpret/index.ts";
import {
  ForbiddenError,
  InvalidObjectError,
  isKubeObject,
  type KubeObject,
  NotFoundError,
  UnknownKindError,
} from "../kube/index.ts";
import { emptyLedger, type Intent, type Ledger, type Observation } from "../plan/index.ts";
import {
  labelSelectorMatches,
  NEUTRAL_REPLICAS,
  nameRevision,
  type ReplicaSource,
  type RevisionContent,
  snapshotRevision,
} from "../render/index.ts";
import { type JsonObject, silentLog } from "../runtime/index.ts";
import type { GlobalOptions } from "./command.ts";
import { CommandError } from "./errors.ts";
import type { Approval } from "./forecast.ts";
import { APPROVALS, findLedger, getStatefulset, type Hub, STATEFULSETS, withHub } from "./hub.ts";
import { engineFacts } from "./hub-facts.ts";
import type { Io } from "./io.ts";
import { observationsOf } from "./observations.ts";
import { listRevisions, wholeContent } from "./revisions.ts";

export interface SubjectOptions extends GlobalOptions {
  readonly filename?: readonly string[];
  readonly offline?: boolean;
}

/** One CrossClusterStatefulset as it would be, and everything that decides what happens to it. */
export interface Subject {
  readonly statefulset: ParsedCrossClusterStatefulset;
  readonly interpreter: Interpreter;
  readonly clusters: ReadonlyMap<string, EngineCluster>;
  readonly ledger: Ledger;
  readonly observations: Readonly<Record<string, Observation>>;
  /** By id; the wanted one and those that clusters run. */
  readonly contents: ReadonlyMap<string, RevisionContent>;
  readonly revision: string;
  readonly nowMs: number;
  readonly intentAt: (nowMs: number, approvals: readonly Approval[]) => Intent;
  readonly events: readonly KubeObject[];
  /** What a reader should know about where this comes from. */
  readonly notes: readonly string[];
}

const CARRIED_KINDS = new Set(["v1/ConfigMap", "v1/Secret", "v1/ServiceAccount"]);
const POLICY_KINDS = new Set(["OverridePolicy", "ClusterOverridePolicy"]);
const CUSTOMIZATION = { apiVersion: "config.karmada.io/v1alpha1", kind: "ResourceInterpreterCustomization" };
const WEBHOOKS = ["ResourceInterpreterWebhookConfiguration", "ResourceExploringWebhookConfiguration"];

/** Loads the subject and hands it to `use` while the hub, if there is one, is still connected. */
export async function withSubject<T>(
  io: Io,
  name: string | undefined,
  options: SubjectOptions,
  use: (subject: Subject) => Promise<T>,
): Promise<T> {
  const files = (options.filename ?? []).flatMap((path) => readObjects(io, path));
  if (name === undefined && files.length === 0) {
    throw new CommandError("say what to look at: the NAME of a CrossClusterStatefulset, or files with -f FILE");
  }
  if (options.offline) {
    if (files.length === 0) throw new CommandError("--offline needs files: -f FILE");
    return use(await load(io, undefined, name, files, options.namespace ?? "default"));
  }
  return withHub(io, options, async (hub) => use(await load(io, hub, name, files, hub.namespace)));
}

function readObjects(io: Io, path: string): KubeObject[] {
  let text: string;
  try {
    text = io.readFile(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new CommandError(`${path} cannot be read (${code}); give a file with YAML or JSON, or - for standard input`);
  }
  try {
    return readYamlObjects(path, text).map(({ value, lineOf }) => {
      if (isKubeObject(value)) return value;
      throw new FileProblem(path, lineOf([]), "is no Kubernetes object; it needs apiVersion, kind and metadata.name");
    });
  } catch (error) {
    if (error instanceof FileProblem) throw new CommandError(error.message);
    throw error;
  }
}

async function load(
  io: Io,
  hub: Hub | undefined,
  name: string | undefined,
  given: readonly KubeObject[],
  namespace: string,
): Promise<Subject> {
  const [clock, random] = await Promise.all([io.clock(), io.random()]);
  const notes: string[] = [];
  const named = given.map((object) => withNamespace(object, namespace));
  const files = hub ? await Promise.all(named.map((object) => asApplied(hub, object, notes))) : named;
  const statefulset = await findStatefulset(hub, name, files);
  const owner = statefulset.metadata;
  const template = await findTemplate(hub, statefulset, files);
  const interpreter = new Interpreter({ clock, random, log: silentLog, transports: httpWebhookTransports });
  await teach(interpreter, hub, files);
  const ref = {
    apiVersion: template.apiVersion,
    kind: template.kind,
    namespace: owner.namespace,
    name: template.metadata.name,
  };
  const facts = hub
    ? await engineFacts(hub, { namespace: owner.namespace, name: owner.name, template: ref })
    : offlineFacts(statefulset);
  if (!hub) notes.push("offline: every cluster of spec.topology is taken for Ready, and nothing for deployed yet");

  const policies = overlay(
    facts.policies,
    files.filter(({ kind }) => POLICY_KINDS.has(kind)),
  );
  const dependencies = await dependenciesOf(interpreter, hub, template, owner.namespace, files, notes);
  const content = snapshotRevision({
    template,
    dependencies,
    policies,
    replicas: await neutralReplicas(interpreter, template),
    ...(statefulset.spec.restartedAt !== undefined && { restart: statefulset.spec.restartedAt }),
  });
  const contents = await keptContents(hub, owner, notes);
  const revision = nameRevision(content, (id) => contents.get(id)).id;
  contents.set(revision, content);
  if (changesSchedule(files, template, facts.schedule, statefulset)) {
    notes.push("the engine has not scheduled the file yet: its present schedule is used");
  }

  const ledger = (hub && (await findLedger(hub, owner))) ?? emptyLedger();
  const approvals = hub ? await approvalsOf(hub, owner) : [];
  const replicas = await interpreter.interpretNow("InterpretReplica", { object: template });
  const intentAt = (nowMs: number, assumed: readonly Approval[]): Intent => {
    const intent = intentOf({
      statefulset,
      template,
      templateReplicas: replicas.state === "known" ? replicas.value.replicas : undefined,
      revision: { kind: "ready", id: revision },
      schedule: facts.schedule,
      clusters: facts.clusters,
      goneSinceMs: goneFrom(ledger, facts.clusters, nowMs),
      approvals,
      baselines: {},
      nowMs,
    });
    const { requests } = intent;
    return { ...intent, requests: { ...requests, approvals: [...requests.approvals, ...assumed] } };
  };
  return {
    statefulset,
    interpreter,
    clusters: new Map(facts.clusters.map((cluster) => [cluster.name, cluster])),
    ledger,
    observations: observationsOf(ledger, statefulset.status),
    contents,
    revision,
    nowMs: clock.now(),
    intentAt,
    events: facts.events,
    notes,
  };
}

/**
 * The object as the hub would have it after the file was applied: with the server's defaults, so that a file that says
 * the same as the hub is no change. A dry run; nothing is written.
 */
async function asApplied(hub: Hub, object: KubeObject, notes: string[]): Promise<KubeObject> {
  const { client, request } = hub;
  const options = { ...request, dryRun: true, fieldManager: "lockstep-cli" };
  const what = `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
  try {
    const resource = await client.discovery.resource(object.apiVersion, object.kind, request);
    const given = resource.namespaced ? object : withoutNamespace(object);
    const live = await client.find(resource, given.metadata, request);
    if (!live) {
      return await client.create(resource, given, options);
    }
    const { metadata } = live;
    const labels = { ...metadata.labels, ...given.metadata.labels };
    const annotations = { ...metadata.annotations, ...given.metadata.annotations };
    return await client.update(
      resource,
      { ...live, ...given, metadata: { ...metadata, labels, annotations } },
      options,
    );
  } catch (error) {
    if (error instanceof InvalidObjectError)
      throw new CommandError(`the hub would refuse ${what}: ${error.status.message}`);
    if (!(error instanceof ForbiddenError || error instanceof UnknownKindError)) throw error;
    notes.push(`${what} is taken as the file has it, without the server's defaults: ${error.message}`);
    return object;
  }
}

function withoutNamespace(object: KubeObject): KubeObject {
  const { namespace: _none, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, name: object.metadata.name } };
}

function withNamespace(object: KubeObject, namespace: string): KubeObject {
  return object.metadata.namespace === undefined ? { ...object, metadata: { ...object.metadata, namespace } } : object;
}

/** From the files, with what only the hub knows of it (uid, status); or by name; or the one that manages a given template. */
async function findStatefulset(
  hub: Hub | undefined,
  name: string | undefined,
  files: readonly KubeObject[],
): Promise<ParsedCrossClusterStatefulset> {
  const inFiles = files.filter(
    ({ kind, apiVersion }) => kind === STATEFULSETS.kind && apiVersion === STATEFULSETS.apiVersion,
  );
  const chosen = name === undefined ? inFiles : inFiles.filter(({ metadata }) => metadata.name === name);
  const [first, second] = chosen;
  if (second) {
    const names = chosen.map(({ metadata }) => metadata.name).join(", ");
    throw new CommandError(`the files hold several CrossClusterStatefulsets; name one: ${names}`);
  }
  if (first) {
    const live = hub && (await findOnHub(hub, first));
    return parsed(
      live ? { ...first, metadata: { ...first.metadata, ...identityOf(live) }, status: live.status } : first,
    );
  }
  if (!hub) throw new CommandError("the files hold no CrossClusterStatefulset, and --offline asks no hub for one");
  if (name !== undefined) return parsed(await getStatefulset(hub, name));
  const { items } = await hub.client.listAll(STATEFULSETS, { namespace: hub.namespace, ...hub.request });
  const managing = items.filter((object) => {
    const read = parseCrossClusterStatefulset(object);
    return read.ok && files.some((file) => isSelected(file, read.value));
  });
  const [only, another] = managing;
  if (!only || another) {
    throw new CommandError(
      `the files hold no CrossClusterStatefulset, and ${managing.length} of namespace ${hub.namespace} manage an object of the files; add the manifest, or give its name`,
    );
  }
  return parsed(only);
}

async function findOnHub(hub: Hub, object: KubeObject): Promise<KubeObject | undefined> {
  return hub.client.find(STATEFULSETS, object.metadata, hub.request);
}

function identityOf({ metadata }: KubeObject): JsonObject {
  const { uid, generation, resourceVersion, deletionTimestamp } = metadata;
  return {
    ...(uid !== undefined && { uid }),
    ...(generation !== undefined && { generation }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
  };
}

function parsed(object: KubeObject): ParsedCrossClusterStatefulset {
  const result = parseCrossClusterStatefulset(object);
  if (result.ok) return result.value;
  const errors = result.errors.map(({ path, message }) => `  ${path}: ${message}`).join("\n");
  throw new CommandError(
    `CrossClusterStatefulset ${object.metadata.namespace}/${object.metadata.name} is not valid:\n${errors}`,
  );
}

function isSelected({ apiVersion, kind, metadata }: KubeObject, { spec }: ParsedCrossClusterStatefulset): boolean {
  const selector = spec.resourceSelector;
  if (kind !== selector.kind || groupOf(apiVersion) !== groupOf(selector.apiVersion)) return false;
  if (metadata.namespace !== selector.namespace) return false;
  if (selector.name !== undefined) return metadata.name === selector.name;
  const labels: JsonObject = JSON.parse(JSON.stringify(selector.labelSelector ?? {}));
  return labelSelectorMatches(labels, metadata.labels ?? {});
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

async function findTemplate(
  hub: Hub | undefined,
  statefulset: ParsedCrossClusterStatefulset,
  files: readonly KubeObject[],
): Promise<KubeObject> {
  const { apiVersion, kind, namespace, name } = statefulset.spec.resourceSelector;
  const matching = files.filter((object) => isSelected(object, statefulset));
  if (hub) {
    const resource = await hub.client.discovery.resource(apiVersion, kind, hub.request);
    const onHub =
      name === undefined
        ? (await hub.client.listAll(resource, { namespace, ...hub.request })).items
        : [await hub.client.find(resource, { namespace, name }, hub.request)];
    for (const object of onHub) {
      if (!object || !isSelected(object, statefulset)) continue;
      if (!matching.some(({ metadata }) => metadata.name === object.metadata.name)) matching.push(object);
    }
  }
  const [only, second] = matching;
  if (only && !second) return only;
  const where = hub ? "neither in the files nor on the hub" : "not in the files";
  const what = `spec.resourceSelector of CrossClusterStatefulset ${namespace}/${statefulset.metadata.name}`;
  throw new CommandError(
    only
      ? `${what} matches ${matching.length} objects (${matching.map(({ metadata }) => metadata.name).join(", ")}); it must match exactly one`
      : `${what} names ${kind} ${namespace}/${name ?? "(by labels)"}, which is ${where}; add it with -f, or correct the selector`,
  );
}

async function teach(interpreter: Interpreter, hub: Hub | undefined, files: readonly KubeObject[]): Promise<void> {
  const inFiles = (kinds: readonly string[]) => files.filter(({ kind }) => kinds.includes(kind));
  const onHub = async (kind: string) => (hub ? await listIfServed(hub, CUSTOMIZATION.apiVersion, kind) : []);
  const customizations = overlay(await onHub(CUSTOMIZATION.kind), inFiles([CUSTOMIZATION.kind]));
  interpreter.setCustomizations(customizations);
  const webhooks = (await Promise.all(WEBHOOKS.map(onHub))).flat();
  interpreter.setWebhooks(overlay(webhooks, inFiles(WEBHOOKS)));
}

async function listIfServed(hub: Hub, apiVersion: string, kind: string): Promise<readonly KubeObject[]> {
  try {
    const found = await hub.client.discovery.resource(apiVersion, kind, hub.request);
    return (await hub.client.listAll(found, hub.request)).items;
  } catch (error) {
    if (error instanceof UnknownKindError) return [];
    throw error;
  }
}

/** A file's object stands for the hub's of the same kind and name. */
function overlay(onHub: readonly KubeObject[], inFiles: readonly KubeObject[]): KubeObject[] {
  const same = (a: KubeObject, b: KubeObject) =>
    a.kind === b.kind &&
    a.metadata.name === b.metadata.name &&
    (a.metadata.namespace ?? "") === (b.metadata.namespace ?? "");
  return [...onHub.filter((object) => !inFiles.some((file) => same(file, object))), ...inFiles];
}

async function dependenciesOf(
  interpreter: Interpreter,
  hub: Hub | undefined,
  template: KubeObject,
  namespace: string,
  files: readonly KubeObject[],
  notes: string[],
): Promise<KubeObject[]> {
  const named = await interpreter.interpretNow("InterpretDependency", { object: template });
  const found: KubeObject[] = [];
  for (const { apiVersion, kind, name, namespace: own } of named.state === "known" ? named.value : []) {
    if (!CARRIED_KINDS.has(`${apiVersion}/${kind}`) || name === undefined) continue;
    const at = own ?? namespace;
    const isIt = ({ metadata, kind: given }: KubeObject) =>
      given === kind && metadata.name === name && metadata.namespace === at;
    const object = files.find(isIt) ?? (hub && (await getIfThere(hub, apiVersion, kind, at, name)));
    if (object) found.push(object);
    else notes.push(`${kind} ${at}/${name} is named by the template and not there yet; it is left out`);
  }
  return found;
}

async function getIfThere(hub: Hub, apiVersion: string, kind: string, namespace: string, name: string) {
  try {
    const resource = await hub.client.discovery.resource(apiVersion, kind, hub.request);
    return await hub.client.get(resource, { namespace, name }, hub.request);
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof UnknownKindError) return undefined;
    throw error;
  }
}

/** As the controller takes a revision: the count is taken out of the template by whoever knows where it is. */
async function neutralReplicas(interpreter: Interpreter, template: KubeObject): Promise<ReplicaSource> {
  return replicaSource(interpreter, template, NEUTRAL_REPLICAS);
}

export async function replicaSource(
  interpreter: Interpreter,
  template: JsonObject | KubeObject,
  replicas: number,
): Promise<ReplicaSource> {
  const apiVersion = String(template.apiVersion);
  if (apiVersion === "apps/v1" || apiVersion === "batch/v1") return { kind: "native" };
  const revised = await interpreter.interpretNow("ReviseReplica", { object: template, replicas });
  const taught = revised.state === "known" && revised.layer !== "native";
  return taught ? { kind: "revised", object: revised.value } : { kind: "native" };
}

async function keptContents(
  hub: Hub | undefined,
  owner: { namespace: string; name: string },
  notes: string[],
): Promise<Map<string, RevisionContent>> {
  const contents = new Map<string, RevisionContent>();
  if (!hub) return contents;
  for (const kept of await listRevisions(hub, owner)) {
    try {
      contents.set(kept.id, await wholeContent(hub, owner.namespace, kept));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      notes.push(`the Secrets of revision ${kept.id} cannot be read, so it may be taken for another one: ${why}`);
      contents.set(kept.id, kept.content);
    }
  }
  return contents;
}

async function approvalsOf(hub: Hub, owner: { namespace: string; name: string }): Promise<RolloutApproval[]> {
  const { items } = await hub.client.listAll(APPROVALS, { namespace: owner.namespace, ...hub.request });
  return items.flatMap((object) => {
    const read = parseRolloutApproval(object);
    return read.ok && read.value.spec.name === owner.name ? [read.value] : [];
  });
}

function goneFrom(ledger: Ledger, clusters: readonly EngineCluster[], nowMs: number): Record<string, number> {
  const there = new Set(clusters.map(({ name }) => name));
  const gone = Object.keys(ledger.clusters).filter((name) => !there.has(name));
  return Object.fromEntries(gone.map((name) => [name, nowMs]));
}

function changesSchedule(
  files: readonly KubeObject[],
  template: KubeObject,
  schedule: EngineSchedule,
  { spec }: ParsedCrossClusterStatefulset,
): boolean {
  return spec.topology === undefined && schedule.kind === "known" && files.includes(template);
}

function offlineFacts({ spec, metadata }: ParsedCrossClusterStatefulset) {
  const names = spec.topology?.clusters.map(({ name }) => name);
  if (!names) {
    throw new CommandError(
      `CrossClusterStatefulset ${metadata.namespace}/${metadata.name} has no spec.topology, and --offline asks no engine for a schedule; add spec.topology, or leave --offline out`,
    );
  }
  const clusters: EngineCluster[] = names.map((name) => ({ name, state: "Ready", labels: {}, zones: [] }));
  const schedule: EngineSchedule = { kind: "unknown", message: "offline" };
  return { clusters, schedule, policies: [], events: [] };
}

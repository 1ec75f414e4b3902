/** The objects that a preview speaks of: from files, from the hub, or a file's as the hub would have it. */
import { type ParsedCrossClusterStatefulset, parseCrossClusterStatefulset } from "../api/index.ts";
import { FileProblem, type Interpreter, readYamlObjects } from "../interpret/index.ts";
import {
  ForbiddenError,
  InvalidObjectError,
  isKubeObject,
  type KubeObject,
  NotFoundError,
  UnknownKindError,
} from "../kube/index.ts";
import { labelSelectorMatches } from "../render/index.ts";
import type { JsonObject } from "../runtime/index.ts";
import { CommandError } from "./errors.ts";
import { getStatefulset, type Hub, listStatefulsets, STATEFULSETS } from "./hub.ts";
import type { Io } from "./io.ts";

/** What travels with a grant. */
const CARRIED_KINDS = new Set(["v1/ConfigMap", "v1/Secret", "v1/ServiceAccount"]);

export function readObjects(io: Pick<Io, "readFile">, path: string): KubeObject[] {
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

/**
 * The object as the hub would have it after the file was applied: with the server's defaults, so that a file that says
 * the same as the hub is no change. A dry run; nothing is written.
 */
export async function asApplied(hub: Hub, object: KubeObject, notes: string[]): Promise<KubeObject> {
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

export function withNamespace(object: KubeObject, namespace: string): KubeObject {
  return object.metadata.namespace === undefined ? { ...object, metadata: { ...object.metadata, namespace } } : object;
}

/** From the files, with what only the hub knows of it (uid, status); or by name; or the one that manages a given template. */
export async function findStatefulset(
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
  const items = await listStatefulsets(hub, hub.namespace);
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

export async function findTemplate(
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

export async function listIfServed(hub: Hub, apiVersion: string, kind: string): Promise<readonly KubeObject[]> {
  try {
    const found = await hub.client.discovery.resource(apiVersion, kind, hub.request);
    return (await hub.client.listAll(found, hub.request)).items;
  } catch (error) {
    if (error instanceof UnknownKindError) return [];
    throw error;
  }
}

/** A file's object stands for the hub's of the same kind and name. */
export function overlay(onHub: readonly KubeObject[], inFiles: readonly KubeObject[]): KubeObject[] {
  const same = (a: KubeObject, b: KubeObject) =>
    a.kind === b.kind &&
    a.metadata.name === b.metadata.name &&
    (a.metadata.namespace ?? "") === (b.metadata.namespace ?? "");
  return [...onHub.filter((object) => !inFiles.some((file) => same(file, object))), ...inFiles];
}

export async function dependenciesOf(
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

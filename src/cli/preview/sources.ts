/** The objects that a preview speaks of: from files, from the hub, or a file's as the hub would have it. */
import { type ParsedCrossClusterStatefulset, parseCrossClusterStatefulset } from "../../api/index.ts";
import { findTemplate as templateOf, unknownKindText } from "../../controllers/index.ts";
import { FileProblem, readYamlObjects } from "../../interpret/index.ts";
import {
  ForbiddenError,
  InvalidObjectError,
  isKubeObject,
  type KubeObject,
  keyOf,
  UnknownKindError,
} from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import { getStatefulset, type Hub, listStatefulsets, STATEFULSETS } from "../hub/hub.ts";
import type { Io } from "../terminal/io.ts";
import { HubReads } from "./reads.ts";

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

/**
 * From the files, with what only the hub knows of it (uid, status); or by name; or the one that manages a given
 * template.
 */
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
      `the files hold no CrossClusterStatefulset, and ${managing.length} of namespace ` +
        `${hub.namespace} manage an object of the files; add the manifest, or give its name`,
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

function isSelected(file: KubeObject, statefulset: ParsedCrossClusterStatefulset): boolean {
  if (statefulset.spec.template !== undefined) return false;
  return templateOf(new HubReads(undefined, [file]), keyOf(statefulset.metadata), statefulset).kind === "one";
}

/** The template, read until it is known. */
export async function findTemplate(
  hub: Hub | undefined,
  statefulset: ParsedCrossClusterStatefulset,
  reads = new HubReads(hub, []),
): Promise<KubeObject> {
  const { metadata, spec } = statefulset;
  const { kind, namespace, name } = spec.resourceSelector;
  let found = templateOf(reads, keyOf(metadata), statefulset);
  while (found.kind === "unknown" && (await reads.read())) found = templateOf(reads, keyOf(metadata), statefulset);
  if (found.kind === "one") return found.object;
  const what = `spec.resourceSelector of CrossClusterStatefulset ${namespace}/${metadata.name}`;
  if (found.kind === "unknown") throw new CommandError(unknownKindText(found) ?? `${what}: ${found.message}`);
  if (name === undefined) throw new CommandError(`${what}: ${found.message}`);
  const where = hub ? "neither in the files nor on the hub" : "not in the files";
  throw new CommandError(
    `${what} names ${kind} ${namespace}/${name}, which is ${where}; add it with -f, or correct the selector`,
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

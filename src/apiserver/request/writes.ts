import { clone, isJsonObject, type Json, type JsonObject, ownField, sameJson, timestamp } from "../../runtime/index.ts";
import { managersAfterUpdate, type Write } from "../apply/managers.ts";
import type { Core, WriteContext } from "../core.ts";
import type { Decoder } from "../kinds/decode.ts";
import { generateName, readMetadata, validateMetadata } from "../kinds/metadata.ts";
import { apiVersionOf } from "../kinds/registry.ts";
import { isRemovable } from "../store/deletion.ts";
import { StoredObject } from "../store/store.ts";
import { setDefault, sharing } from "../store/values.ts";
import type { FieldProblem, KubeObject, ManagedFieldsEntry, ObjectKey, ResourceDefinition } from "../types.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  invalid,
  MODIFIED,
  notFound,
  problem,
  StatusError,
} from "./status.ts";

/** Generated names collide once in millions; then another is tried, as in Kubernetes. */
const GENERATED_NAME_ATTEMPTS = 8;

export interface Written {
  readonly stored: StoredObject;
  readonly created: boolean;
}

export function keyOf(write: WriteContext, name: string): ObjectKey {
  return { resource: write.definition.resource, namespace: write.namespace, name };
}

/**
 * Reads a client's object: right kind, typed metadata, no unknown fields. Changes `raw`, which belongs to this request,
 * except for parts that it shares with `known`.
 */
export function readObject(write: WriteContext, raw: Json, known?: KubeObject): KubeObject {
  const { definition } = write;
  const apiVersion = apiVersionOf(definition);
  if (!isJsonObject(raw))
    throw badRequest(`the object of a request must be a JSON object, not ${JSON.stringify(raw)?.slice(0, 40)}`);
  // Go's decoder knows a built-in kind from the URL; a custom resource must contain it.
  if (definition.builtIn) {
    setDefault(raw, "kind", definition.kind);
    setDefault(raw, "apiVersion", apiVersion);
  }
  for (const field of ["kind", "apiVersion"]) {
    if (typeof raw[field] !== "string" || raw[field] === "") {
      const name = field === "kind" ? "Kind" : field;
      throw badRequest(`Object '${name}' is missing in the request's ${definition.kind}`);
    }
  }
  if (raw.kind !== definition.kind) {
    throw badRequest(
      `${String(raw.kind)} in version ${JSON.stringify(raw.apiVersion)} cannot be handled as a ${definition.kind}`,
    );
  }
  if (raw.apiVersion !== apiVersion) {
    throw badRequest(
      `the API version in the data (${String(raw.apiVersion)}) does not match the expected API version (${apiVersion})`,
    );
  }
  const unknown: string[] = [];
  const metadata = readMetadata(raw.metadata, unknown);
  const { kind, apiVersion: _sameApiVersion, metadata: _read, ...rest } = raw;
  const object: KubeObject = { apiVersion, kind, metadata, ...rest };
  if (definition.decoder) {
    // Metadata has been read already, including managedFields, which no schema describes.
    const body: JsonObject = { ...object, metadata: {} };
    unknown.push(...decode(write, definition.decoder, body));
    for (const key of Object.keys(object)) if (ownField(body, key) === undefined) delete object[key];
    for (const key of Object.keys(body)) if (key !== "metadata") object[key] = body[key];
  } else if (definition.schema) unknown.push(...definition.schema.prune(object, known));
  reportUnknown(write, unknown);
  return object;
}

function decode(write: WriteContext, decoder: Decoder, body: JsonObject): string[] {
  try {
    return decoder.decode(body);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const { kind, version } = write.definition;
    throw badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${error.message}`);
  }
}

function reportUnknown(write: WriteContext, unknown: readonly string[]): void {
  if (unknown.length === 0 || write.fieldValidation === "Ignore") return;
  const sentences = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  if (write.fieldValidation === "Warn") {
    write.warnings.push(...sentences);
    return;
  }
  const { kind, version } = write.definition;
  throw badRequest(
    `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: strict decoding error: ${sentences.join(", ")}`,
  );
}

/** Stores a new object. `applied` are the managedFields that server-side apply has computed. */
export function createObject(core: Core, write: WriteContext, raw: Json, applied?: ManagedFieldsEntry[]): Written {
  const { definition, namespace } = write;
  const object = readObject(write, raw);
  const { metadata } = object;
  checkIdentity(write, object);
  if (metadata.resourceVersion) throw badRequest("resourceVersion should not be set on objects to be created");
  const isGenerated = metadata.name === "" && (metadata.generateName ?? "") !== "";
  if (isGenerated) metadata.name = freeName(core, write, metadata.generateName ?? "");
  checkServed(core, definition);
  if (definition.namespaced) {
    metadata.namespace = namespace;
    checkNamespace(core, write, metadata.name);
  } else delete metadata.namespace;

  const client = metadata.managedFields;
  metadata.uid = core.random.uuid();
  metadata.creationTimestamp = timestamp(core.clock.now());
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.resourceVersion;
  delete metadata.managedFields;
  delete metadata.generation;
  if (hasGeneration(definition)) metadata.generation = 1;
  if (definition.subresources.status) delete object.status;
  fillDefaults(definition, object, undefined);
  definition.strategy.prepareForCreate?.(object);
  refuseInvalid(definition, object, undefined);
  core.admit(write, object, undefined);

  const key = keyOf(write, metadata.name);
  if (core.store.get(key)) throw alreadyExists(definition, metadata.name);
  const managed = applied ?? trackUpdate(core, write, undefined, object, client);
  if (managed) metadata.managedFields = managed;
  return { stored: commit(core, write, key, object), created: true };
}

/**
 * Replaces an object with a client's version. `raw` comes from a PUT, or from a patch of the old one; it may share
 * nothing with the stored object. Equal parts become shared, if the old object was validated with the same schema: then
 * only changed parts are pruned, defaulted and validated.
 */
export function updateObject(
  core: Core,
  write: WriteContext,
  old: StoredObject,
  raw: Json,
  applied?: { managedFields: ManagedFieldsEntry[] | undefined },
): Written {
  const { definition } = write;
  const before = old.objectFor(definition);
  const { schema } = definition;
  const known = schema && core.checkedBy.get(old.object) === schema ? before : undefined;
  const object = readObject(write, known ? sharing(raw, known) : raw, known);
  checkIdentity(write, object);
  checkVersion(write, object, before);
  const client = object.metadata.managedFields;
  keepServerFields(write, object, before, known);
  fillDefaults(definition, object, known);
  if (write.subresource !== "status") definition.strategy.prepareForUpdate?.(object, before);
  if (hasGeneration(definition) && isNewGeneration(definition, object, before)) {
    object.metadata.generation = (before.metadata.generation ?? 0) + 1;
  }
  refuseInvalid(definition, object, before);
  refuseNewFinalizers(definition, object, before);
  core.admit(write, object, before);

  const managed = applied ? applied.managedFields : trackUpdate(core, write, before, object, client);
  if (managed) object.metadata.managedFields = managed;
  if (sameJson(object, before)) return { stored: old, created: false };
  if (isRemovable(definition, object)) {
    if (!write.dryRun) core.store.remove(old.key);
    return { stored: new StoredObject(old.key, toStorage(definition, object), old.version), created: false };
  }
  return { stored: commit(core, write, old.key, object), created: false };
}

/** PUT: replaces, or creates if the kind allows it. */
export function putObject(core: Core, write: WriteContext, raw: Json): Written {
  const { definition, name } = write;
  const old = core.store.get(keyOf(write, name));
  if (old) return updateObject(core, write, old, raw);
  if (!definition.strategy.createOnUpdate || write.subresource !== "") throw notFound(definition, name);
  const uid = isJsonObject(raw) && isJsonObject(raw.metadata) ? raw.metadata.uid : undefined;
  if (typeof uid === "string" && uid !== "") throw uidMismatch(definition, name, uid, "");
  if (isJsonObject(raw) && isJsonObject(raw.metadata)) delete raw.metadata.resourceVersion;
  return createObject(core, write, raw);
}

function commit(core: Core, write: WriteContext, key: ObjectKey, object: KubeObject): StoredObject {
  const { definition } = write;
  const stored = toStorage(definition, object);
  if (!write.dryRun) {
    // A conversion creates another object than the validated one.
    if (definition.schema && !definition.convert) core.checkedBy.set(stored, definition.schema);
    return core.store.put(key, stored);
  }
  const version = core.store.get(key)?.object.metadata.resourceVersion;
  if (version === undefined) delete stored.metadata.resourceVersion;
  else stored.metadata.resourceVersion = version;
  return new StoredObject(key, stored, core.store.version);
}

function toStorage(definition: ResourceDefinition, object: KubeObject): KubeObject {
  if (definition.convert) return definition.convert.toStorage(object);
  return { ...object, apiVersion: definition.storageApiVersion };
}

function checkIdentity(write: WriteContext, object: KubeObject): void {
  const { metadata } = object;
  if (write.definition.namespaced && (metadata.namespace ?? "") !== "" && metadata.namespace !== write.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (write.name === "") return;
  if (metadata.name === "" && write.subresource === "") metadata.name = write.name;
  if (metadata.name !== write.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${write.name})`);
  }
}

/** A kind that is being deleted accepts no new objects; otherwise its deletion would never complete. */
function checkServed(core: Core, definition: ResourceDefinition): void {
  if (definition.builtIn) return;
  const name = `${definition.plural}.${definition.group}`;
  const crd = core.store.get({ resource: "apiextensions.k8s.io/customresourcedefinitions", namespace: "", name });
  if (crd?.object.metadata.deletionTimestamp === undefined) return;
  const why = "create not allowed while custom resource definition is terminating";
  throw new StatusError(405, "MethodNotAllowed", why, {});
}

function checkNamespace(core: Core, write: WriteContext, name: string): void {
  const found = core.store.get({ resource: "/namespaces", namespace: "", name: write.namespace });
  if (!found) throw notFound({ group: "", plural: "namespaces", kind: "Namespace" }, write.namespace);
  if (found.object.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${write.namespace} because it is being terminated`;
  throw forbidden(write.definition, name, why);
}

function freeName(core: Core, write: WriteContext, prefix: string): string {
  for (let attempt = 0; attempt < GENERATED_NAME_ATTEMPTS; attempt++) {
    const name = generateName(prefix, () => core.random.next());
    if (!core.store.get(keyOf(write, name))) return name;
  }
  throw new StatusError(
    409,
    "AlreadyExists",
    `the server was not able to generate a unique name for ${write.definition.plural} beginning with ${JSON.stringify(prefix)}; send the request again`,
  );
}

function checkVersion(write: WriteContext, object: KubeObject, before: KubeObject): void {
  const { definition } = write;
  const { name, uid, resourceVersion } = object.metadata;
  if (uid !== undefined && uid !== "" && uid !== before.metadata.uid) {
    throw uidMismatch(definition, name, uid, before.metadata.uid ?? "");
  }
  if (resourceVersion === undefined || resourceVersion === "" || resourceVersion === "0") {
    if (definition.strategy.requireResourceVersion) {
      throw invalid(definition, name, [
        {
          field: "metadata.resourceVersion",
          reason: "FieldValueInvalid",
          message: "Invalid value: 0x0: must be specified for an update",
        },
      ]);
    }
    return;
  }
  if (!/^\d+$/.test(resourceVersion)) {
    throw badRequest(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
  }
  if (resourceVersion !== before.metadata.resourceVersion) throw conflict(definition, name, MODIFIED);
}

function uidMismatch(definition: ResourceDefinition, name: string, asked: string, real: string): StatusError {
  return conflict(
    definition,
    name,
    `StorageError: invalid object, Code: 4, Key: ${name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${asked}, UID in object meta: ${real}`,
  );
}

/** What a client's write does not change: identity, times, and everything that other subresources write. */
function keepServerFields(
  write: WriteContext,
  object: KubeObject,
  before: KubeObject,
  known: KubeObject | undefined,
): void {
  const { definition, subresource } = write;
  const { metadata } = object;
  if (subresource === "status") {
    const status = ownField(object, "status");
    for (const key of Object.keys(object)) delete object[key];
    Object.assign(object, known ? { ...known, metadata: { ...known.metadata } } : clone(before));
    if (status === undefined) delete object.status;
    else object.status = status;
    delete object.metadata.managedFields;
    return;
  }
  if (definition.subresources.status) {
    const status = ownField(before, "status");
    if (status === undefined) delete object.status;
    else object.status = known ? status : clone(status);
  }
  const kept = [
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
  ];
  for (const field of kept) {
    const value = before.metadata[field];
    if (value === undefined) delete metadata[field];
    else metadata[field] = value;
  }
  if (definition.namespaced) metadata.namespace = write.namespace;
  else delete metadata.namespace;
  delete metadata.managedFields;
}

function fillDefaults(definition: ResourceDefinition, object: KubeObject, known: KubeObject | undefined): void {
  definition.schema?.applyDefaults(object, known);
  definition.strategy.defaults?.(object);
}

function hasGeneration(definition: ResourceDefinition): boolean {
  return !definition.builtIn || definition.strategy.generation === true;
}

/**
 * Built-in kinds count changes of their spec; custom resources count everything except metadata and a status
 * subresource.
 */
function isNewGeneration(definition: ResourceDefinition, object: KubeObject, before: KubeObject): boolean {
  if (definition.builtIn) return !sameJson(ownField(object, "spec"), ownField(before, "spec"));
  const ignored = new Set(["metadata", "apiVersion", "kind", ...(definition.subresources.status ? ["status"] : [])]);
  const keys = new Set([...Object.keys(object), ...Object.keys(before)]);
  return [...keys].some((key) => !ignored.has(key) && !sameJson(ownField(object, key), ownField(before, key)));
}

function refuseInvalid(definition: ResourceDefinition, object: KubeObject, before: KubeObject | undefined): void {
  const problems: FieldProblem[] = validateMetadata(object, definition.strategy);
  for (const { kind, path, message } of definition.schema?.validate(object, before) ?? []) {
    problems.push({ field: path, reason: `FieldValue${kind}`, message });
  }
  problems.push(...(definition.strategy.validate?.(object, before) ?? []));
  if (problems.length > 0) throw invalid(definition, object.metadata.name, problems);
}

function refuseNewFinalizers(definition: ResourceDefinition, object: KubeObject, before: KubeObject): void {
  if (before.metadata.deletionTimestamp === undefined) return;
  const known = before.metadata.finalizers ?? [];
  const added = (object.metadata.finalizers ?? []).filter((finalizer) => !known.includes(finalizer));
  if (added.length === 0) return;
  const list = added.map((finalizer) => JSON.stringify(finalizer)).join(", ");
  throw invalid(definition, object.metadata.name, [
    problem.forbidden(
      "metadata.finalizers",
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
    ),
  ]);
}

export function writeOf(core: Core, write: WriteContext, operation: "Apply" | "Update"): Write {
  const { definition } = write;
  return {
    manager: {
      name: write.fieldManager,
      operation,
      apiVersion: apiVersionOf(definition),
      subresource: write.subresource,
    },
    shape: definition.shape,
    hasStatus: definition.subresources.status === true,
    time: timestamp(core.clock.now()),
  };
}

function trackUpdate(
  core: Core,
  write: WriteContext,
  before: KubeObject | undefined,
  object: KubeObject,
  client: Json | undefined,
): ManagedFieldsEntry[] | undefined {
  if (!core.trackUpdates) return before?.metadata.managedFields;
  return managersAfterUpdate(before, object, writeOf(core, write, "Update"), client);
}

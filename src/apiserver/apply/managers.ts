import { clone, isJsonObject, type Json, type JsonObject, sameJson } from "../../runtime/index.ts";
import { StatusError } from "../request/status.ts";
import type { KubeObject, ManagedFieldsEntry, Shape } from "../types.ts";
import { covers, FieldSet, overlaps } from "./field-set.ts";
import { refreshLastApplied, takenOver } from "./last-applied.ts";
import { compare, merge, ownedFields, removeAbandoned } from "./structure.ts";

/** A writer, as managedFields distinguishes them. */
export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
}

interface Managed extends Manager {
  readonly time: string;
  readonly set: FieldSet;
  /** As stored; unchanged entries are not written again. */
  readonly stored?: ManagedFieldsEntry;
}

/** Fields without an owner: identity, and what only the server writes. */
const UNOWNED_METADATA = [
  "name",
  "namespace",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
  "uid",
  "generation",
  "managedFields",
  "resourceVersion",
  "generateName",
];

function strip(set: FieldSet): FieldSet {
  set.member = false;
  set.children.delete("f:apiVersion");
  set.children.delete("f:kind");
  const metadata = set.children.get("f:metadata");
  if (metadata) {
    metadata.member = false;
    for (const field of UNOWNED_METADATA) metadata.children.delete(`f:${field}`);
    if (metadata.isEmpty()) set.children.delete("f:metadata");
  }
  return set;
}

/** Writers without a subresource own nothing of `status` if it is one, and writers of `status` own nothing else. */
function limitTo(set: FieldSet, subresource: string, hasStatus: boolean): FieldSet {
  if (!hasStatus) return set;
  for (const element of [...set.children.keys()]) {
    if ((element === "f:status") !== (subresource === "status")) set.children.delete(element);
  }
  return set;
}

/** An entry of managedFields; its set is parsed when needed, which is seldom: most writes affect few managers. */
class StoredManager implements Managed {
  readonly stored: ManagedFieldsEntry;
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string;
  #set: FieldSet | undefined;

  constructor(entry: ManagedFieldsEntry) {
    this.stored = entry;
    this.name = entry.manager ?? "";
    this.operation = entry.operation === "Apply" ? "Apply" : "Update";
    this.apiVersion = entry.apiVersion ?? "";
    this.subresource = entry.subresource ?? "";
    this.time = entry.time ?? "";
  }

  get set(): FieldSet {
    this.#set ??= FieldSet.fromFieldsV1(this.stored.fieldsV1) ?? new FieldSet();
    return this.#set;
  }
}

function storedManagers(object: KubeObject | undefined): StoredManager[] {
  return (object?.metadata.managedFields ?? []).map((entry) => new StoredManager(entry));
}

/** Undefined if an entry is not valid managedFields: then the object's own are kept. */
function sentEntries(entries: Json[]): StoredManager[] | undefined {
  const managers: StoredManager[] = [];
  for (const entry of entries) {
    if (!isJsonObject(entry) || !FieldSet.fromFieldsV1(entry.fieldsV1)) return undefined;
    const { operation, apiVersion, manager, time, subresource } = entry;
    const isText = (value: Json | undefined) => value === undefined || typeof value === "string";
    if ((operation !== "Apply" && operation !== "Update") || typeof apiVersion !== "string") return undefined;
    if (![manager, time, subresource].every(isText)) return undefined;
    managers.push(new StoredManager(entry));
  }
  return managers;
}

/** Managers that no longer own anything are left out. */
function encodeManagers(managers: readonly Managed[]): ManagedFieldsEntry[] | undefined {
  const owners = managers.filter((each) => each.stored !== undefined || !each.set.isEmpty());
  if (owners.length === 0) return undefined;
  return owners.sort(inOrder).map((each) => each.stored ?? encode(each));
}

function encode(each: Managed): ManagedFieldsEntry {
  return {
    manager: each.name,
    operation: each.operation,
    apiVersion: each.apiVersion,
    ...(each.time && { time: each.time }),
    fieldsType: "FieldsV1",
    fieldsV1: each.set.toFieldsV1(),
    ...(each.subresource && { subresource: each.subresource }),
  };
}

function withSet({ name, operation, apiVersion, subresource, time }: Managed, set: FieldSet): Managed {
  return { name, operation, apiVersion, subresource, time, set };
}

function inOrder(left: Managed, right: Managed): number {
  const key = (each: Managed) => [each.operation, each.time, each.name, each.apiVersion, each.subresource].join("\n");
  const [a, b] = [key(left), key(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}

function isSame(left: Manager, right: Manager): boolean {
  return (
    left.name === right.name &&
    left.operation === right.operation &&
    left.apiVersion === right.apiVersion &&
    left.subresource === right.subresource
  );
}

export interface Write {
  readonly manager: Manager;
  readonly shape: Shape;
  readonly hasStatus: boolean;
  readonly time: string;
}

/**
 * managedFields after a plain write: the writer owns what it changed, and removed fields have no owner. `client` are
 * the managedFields that the writer sent; a reset (one empty entry) and valid ones replace the object's.
 */
export function managersAfterUpdate(
  old: KubeObject | undefined,
  current: KubeObject,
  write: Write,
  client: Json | undefined,
): ManagedFieldsEntry[] | undefined {
  const { changed, removed } = compare(old ?? {}, current, write.shape);
  limitTo(strip(changed), write.manager.subresource, write.hasStatus);
  limitTo(strip(removed), write.manager.subresource, write.hasStatus);
  const sent = write.manager.subresource === "" ? sentManagers(client, old) : undefined;
  if (sent === "reset") return undefined;
  if (changed.isEmpty() && removed.isEmpty()) return sent ? encodeManagers(sent) : old?.metadata.managedFields;

  const next: Managed[] = [];
  let known = false;
  for (const each of sent ?? storedManagers(old)) {
    const isOwn = isSame(each, write.manager);
    known ||= isOwn;
    const { fieldsV1 } = each.stored;
    const isTouched = overlaps(fieldsV1, removed) || (isOwn ? !covers(fieldsV1, changed) : overlaps(fieldsV1, changed));
    if (!isTouched) {
      next.push(each);
      continue;
    }
    const left = each.set.clone().subtract(removed);
    if (isOwn) next.push({ ...withSet(each, left.add(changed)), time: write.time });
    else next.push(withSet(each, left.subtract(changed)));
  }
  if (!known) next.push({ ...write.manager, set: changed, time: write.time });
  return encodeManagers(next);
}

/** The managedFields a client sent on purpose: one empty entry resets them, other valid ones replace them. */
function sentManagers(client: Json | undefined, old: KubeObject | undefined): StoredManager[] | "reset" | undefined {
  if (!Array.isArray(client) || client.length === 0 || sameJson(client, old?.metadata.managedFields)) return undefined;
  if (client.length === 1 && sameJson(client[0], {})) return "reset";
  return sentEntries(client);
}

export interface ApplyResult {
  readonly object: JsonObject;
  readonly managedFields: ManagedFieldsEntry[] | undefined;
}

/**
 * Server-side apply: `config` is merged into the object, and what the applier no longer applies is removed. Throws 409
 * if it would change what others own, unless forced. The caller stores managedFields after defaulting.
 */
export function applyConfiguration(
  live: KubeObject | undefined,
  config: JsonObject,
  write: Write,
  force: boolean,
): ApplyResult {
  const { shape, manager } = write;
  const managers = storedManagers(live);
  const configured = limitTo(strip(ownedFields(config, shape)), manager.subresource, write.hasStatus);
  const last = managers.find((each) => isSame(each, manager));
  const others = managers.filter((each) => each !== last);
  const saysTheSame = last?.set.equals(configured) ?? false;

  // Nothing may be shared with the stored object: defaulting and admission still change the result.
  let merged: Json = clone(merge(live ?? {}, config, shape));
  if (last && !saysTheSame) {
    const allManagers = configured.clone();
    for (const other of others) allManagers.add(other.set);
    merged = removeAbandoned(merged, shape, last.set, allManagers) ?? {};
  }
  if (!isJsonObject(merged)) throw new TypeError("applying an object must give an object");

  const { changed, removed } = compare(live ?? {}, merged, shape);
  limitTo(strip(changed), manager.subresource, write.hasStatus);
  limitTo(strip(removed), manager.subresource, write.hasStatus);
  const next: Managed[] = [];
  const conflicts: Conflict[] = [];
  const allowed = takenOver(manager.name, live, shape);
  for (const other of others) {
    const { fieldsV1 } = other.stored;
    if (!overlaps(fieldsV1, changed) && !overlaps(fieldsV1, removed)) {
      next.push(other);
      continue;
    }
    const disputed = other.set.intersection(changed).subtract(allowed);
    for (const path of disputed.paths()) conflicts.push({ manager: other, path });
    next.push(withSet(other, other.set.clone().subtract(removed).subtract(changed)));
  }
  if (conflicts.length > 0 && !force) throw conflictError(conflicts);
  refreshLastApplied(manager.name, live, config, merged);
  next.push(last && saysTheSame ? last : { ...manager, set: configured, time: write.time });
  return { object: merged, managedFields: encodeManagers(next) };
}

interface Conflict {
  readonly manager: Manager;
  readonly path: string;
}

function conflictError(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${printed(manager)}`,
    field: path,
  }));
  return new StatusError(409, "Conflict", conflictMessage(conflicts), { causes });
}

function conflictMessage(conflicts: readonly Conflict[]): string {
  const [only] = conflicts;
  if (only && conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${printed(only.manager)}: ${only.path}`;
  }
  const byManager = new Map<string, string[]>();
  for (const { manager, path } of conflicts) {
    const name = printed(manager);
    byManager.set(name, [...(byManager.get(name) ?? []), `- ${path}`]);
  }
  const parts = [...byManager].sort(([left], [right]) => (left < right ? -1 : 1));
  const text = parts.map(([name, paths]) => `conflicts with ${name}:\n${paths.join("\n")}`).join("\n");
  return `Apply failed with ${conflicts.length} conflicts: ${text}`;
}

function printed(manager: Manager): string {
  const subresource = manager.subresource ? ` with subresource ${JSON.stringify(manager.subresource)}` : "";
  const using = manager.operation === "Update" ? ` using ${manager.apiVersion}` : "";
  return JSON.stringify(manager.name) + subresource + using;
}

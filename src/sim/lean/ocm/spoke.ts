/** What an agent does in its own cluster: it applies, owns and deletes objects. */
import { isCoveredBy } from "../../../engine/testing/observer.ts";
import { isJsonObject, type Json, type JsonObject, valueAt } from "../../../runtime/index.ts";
import { WRITE_ANNOTATION } from "../../world/dispatching.ts";
import type { Replacement } from "../member.ts";
import type { LeanStore, StoredObject } from "../store.ts";

/** What the model needs of a member. */
export interface OcmMember {
  readonly name: string;
  reachable: boolean;
  readonly store: LeanStore;
  pluralOf(kind: string): string;
  replace(object: Replacement): void;
  remove(kind: string, name: string): void;
  noteApplied(kind: string, name: string, spec: unknown): void;
}

export type Strategy =
  | { readonly type: "ServerSideApply"; readonly manager: string; readonly force: boolean }
  | { readonly type: "Update" | "CreateOnly" | "ReadOnly" };

export interface Delivery {
  readonly manifest: StoredObject;
  readonly strategy: Strategy;
  /** The agent's record of the ManifestWork, which owns the object; undefined: it must not own it. */
  readonly owner: string;
  readonly owns: boolean;
}

/** `conflict`: another writer has a field, and the agent does not retry. */
export type Applied =
  | { readonly kind: "applied" }
  | { readonly kind: "refused" | "conflict"; readonly message: string };

interface Field {
  readonly manager: string;
  readonly text: string;
}

const PLAIN_MANAGER = "work-agent";
const APPLIED: Applied = { kind: "applied" };

/** A member as its agent writes to it. */
export class Spoke {
  readonly #member: OcmMember;
  /** By the object's uid: what each field was last set to, and by which manager. Edits of others are not recorded. */
  readonly #fields = new Map<string, Map<string, Field>>();

  constructor(member: OcmMember) {
    this.#member = member;
  }

  get(kind: string, name: string): StoredObject | undefined {
    return this.#member.store.get(this.#member.pluralOf(kind), name);
  }

  apply({ manifest, strategy, owner, owns }: Delivery): Applied {
    if (strategy.type === "ReadOnly") return APPLIED;
    const { kind, metadata } = manifest;
    const before = this.get(kind, metadata.name);
    if (before && strategy.type === "CreateOnly") {
      this.#own(before, owner, owns);
      return APPLIED;
    }
    const leaves = leavesOf(manifest);
    const manager = strategy.type === "ServerSideApply" ? strategy.manager : PLAIN_MANAGER;
    const fields = this.#fields.get(before?.metadata.uid ?? "") ?? new Map<string, Field>();
    if (before && strategy.type === "ServerSideApply" && !strategy.force) {
      const path = [...leaves].find(([at, value]) => this.#isTaken(before, fields, at, value, manager))?.[0];
      if (path !== undefined)
        return { kind: "conflict", message: `Apply failed with 1 conflict: another manager has ${path}` };
    }
    const isReplacing = strategy.type !== "ServerSideApply";
    const dropped = [...fields].filter(([path, field]) => {
      return field.manager === manager && !leaves.has(path) && (!isReplacing || path.startsWith("/spec/"));
    });
    const changed = new Set(dropped.map(([path]) => path));
    for (const [path, value] of leaves) {
      const live = before && at(before, path);
      if (live === undefined || fields.get(path)?.text !== JSON.stringify(value) || !isCoveredBy(value, live))
        changed.add(path);
    }
    const owners = ownersOf(before, owner, owns);
    const isOwnedAlike = JSON.stringify(owners) === JSON.stringify(before?.metadata.ownerReferences ?? []);
    if (before && changed.size === 0 && isOwnedAlike) return APPLIED;
    const next = merged(before, manifest, changed, leaves, isReplacing);
    const problem = problemWith(next, before);
    if (problem !== undefined) return { kind: "refused", message: problem };
    this.#member.replace({ ...next, metadata: { ...next.metadata, ownerReferences: owners } });
    const uid = this.get(kind, metadata.name)?.metadata.uid ?? "";
    for (const [path] of dropped) fields.delete(path);
    for (const path of changed) {
      const value = leaves.get(path);
      if (value !== undefined) fields.set(path, { manager, text: JSON.stringify(value) });
    }
    this.#fields.set(uid, fields);
    changed.delete(WRITE_MARK);
    if (changed.size > 0) this.#member.noteApplied(kind, metadata.name, manifest.spec);
    return APPLIED;
  }

  /** The owner is gone: what only it owned is deleted with it. Returns whether anything was. */
  abandon(kind: string, name: string, owner: string): boolean {
    const object = this.get(kind, name);
    if (!object || !ownerNames(object).includes(owner)) return false;
    if (ownerNames(object).length > 1) {
      this.#own(object, owner, false);
      return false;
    }
    this.#member.remove(kind, name);
    return true;
  }

  /** The message of a server that would refuse to store this in place of what it has. */
  refusal(manifest: StoredObject): string | undefined {
    const before = this.get(manifest.kind, manifest.metadata.name);
    const leaves = leavesOf(manifest);
    return problemWith(merged(before, manifest, new Set(leaves.keys()), leaves, false), before);
  }

  #own(object: StoredObject, owner: string, owns: boolean): void {
    const ownerReferences = ownersOf(object, owner, owns);
    if (JSON.stringify(ownerReferences) === JSON.stringify(object.metadata.ownerReferences ?? [])) return;
    const { status: _kept, metadata, ...content } = object;
    const { uid: _uid, resourceVersion: _version, generation: _generation, ...rest } = metadata;
    this.#member.replace({ ...content, metadata: { ...rest, ...named(metadata), ownerReferences } });
  }

  /** Another manager has set it, or it was edited since; the same value is shared. */
  #isTaken(
    object: StoredObject,
    fields: ReadonlyMap<string, Field>,
    path: string,
    value: Json,
    manager: string,
  ): boolean {
    const live = at(object, path);
    const field = fields.get(path);
    if (live === undefined || isCoveredBy(value, live)) return false;
    // All fields of a Job that no agent has delivered are its creator's.
    if (field === undefined)
      return object.kind === "Job" && object.metadata.annotations[WRITE_ANNOTATION] === undefined;
    return field.manager !== manager || !isCoveredBy(JSON.parse(field.text), live);
  }
}

/** Written again with every question for a sign of life. */
const WRITE_MARK = `/metadata/annotations/${WRITE_ANNOTATION}`;

/** Fields as far as their owners matter here: each label, annotation and field of the spec, and every other part. */
function leavesOf({ metadata, spec, apiVersion: _version, kind: _kind, status: _status, ...parts }: StoredObject) {
  const leaves = new Map<string, Json>();
  for (const [key, value] of Object.entries(metadata.labels ?? {})) leaves.set(`/metadata/labels/${key}`, value);
  for (const [key, value] of Object.entries(metadata.annotations ?? {}))
    leaves.set(`/metadata/annotations/${key}`, value);
  for (const [key, value] of Object.entries(isJsonObject(spec) ? spec : {}))
    if (value !== undefined) leaves.set(`/spec/${key}`, value);
  for (const [key, value] of Object.entries(parts)) if (value !== undefined) leaves.set(`/${key}`, value);
  return leaves;
}

function at(object: StoredObject, path: string): Json | undefined {
  const [, first = "", second = "", ...rest] = path.split("/");
  if (first !== "metadata") {
    const part = object[first];
    return second === "" ? part : isJsonObject(part) ? part[second] : undefined;
  }
  const map = second === "labels" ? object.metadata.labels : object.metadata.annotations;
  return map[rest.join("/")];
}

function merged(
  before: StoredObject | undefined,
  manifest: StoredObject,
  changed: ReadonlySet<string>,
  leaves: ReadonlyMap<string, Json>,
  isReplacing: boolean,
): Replacement {
  const { apiVersion, kind } = manifest;
  const parts: JsonObject = {};
  const spec: JsonObject = isReplacing ? {} : { ...(isJsonObject(before?.spec) ? before.spec : {}) };
  const labels = { ...before?.metadata.labels };
  const annotations = { ...before?.metadata.annotations };
  const set = (path: string, value: Json | undefined) => {
    const [, first = "", second = "", ...rest] = path.split("/");
    const into: JsonObject = first === "spec" ? spec : second === "labels" ? labels : annotations;
    const key = first === "spec" ? second : rest.join("/");
    if (first !== "spec" && first !== "metadata") parts[first] = value;
    else if (value === undefined) delete into[key];
    else into[key] = value;
  };
  for (const path of changed) set(path, leaves.get(path));
  if (isReplacing) for (const [path, value] of leaves) if (path.startsWith("/spec/")) set(path, value);
  const { metadata: _metadata, status: _status, spec: _spec, ...kept }: JsonObject = before ?? {};
  return {
    ...kept,
    ...parts,
    apiVersion,
    kind,
    ...((before?.spec ?? manifest.spec) !== undefined && { spec }),
    metadata: { ...named(manifest.metadata), labels, annotations },
  };
}

function named({ name, namespace = "", labels = {}, annotations = {} }: StoredObject["metadata"]) {
  return { name, namespace, labels, annotations };
}

/** The rules of a Job's API server that matter to a dispatch: its own uid is in its pods' labels. */
function problemWithJob(next: Replacement, before: StoredObject | undefined): string | undefined {
  const labels = valueAt(next, "spec", "template", "metadata", "labels");
  const pin = isJsonObject(labels) ? labels["controller-uid"] : undefined;
  const invalid = `Job.batch "${next.metadata.name}" is invalid: spec.template`;
  if (valueAt(next, "spec", "template", "spec") === undefined) return `${invalid}: Required value`;
  if (pin !== undefined && pin !== before?.metadata.uid) return `${invalid}: field is immutable`;
  return undefined;
}

/** The rules of a StatefulSet's API server that matter to a dispatch. */
function problemWith(next: Replacement, before: StoredObject | undefined): string | undefined {
  if (next.kind === "Job") return problemWithJob(next, before);
  if (next.kind !== "StatefulSet") return undefined;
  const invalid = `StatefulSet.apps "${next.metadata.name}" is invalid`;
  const spec = isJsonObject(next.spec) ? next.spec : undefined;
  if (!spec || !isJsonObject(spec.template) || !isJsonObject(spec.selector))
    return `${invalid}: spec.selector: Required value`;
  const { metadata } = spec.template;
  const labels = isJsonObject(metadata) && isJsonObject(metadata.labels) ? metadata.labels : {};
  const selected = isJsonObject(spec.selector.matchLabels) ? spec.selector.matchLabels : {};
  if (Object.entries(selected).some(([key, value]) => labels[key] !== value))
    return `${invalid}: spec.template.metadata.labels: \`selector\` does not match template \`labels\``;
  const old = isJsonObject(before?.spec) ? before.spec : undefined;
  const isMoved = ["serviceName", "selector", "podManagementPolicy", "volumeClaimTemplates"].some(
    (field) => old?.[field] !== undefined && spec[field] !== undefined && !isCoveredBy(spec[field], old[field]),
  );
  return isMoved
    ? `${invalid}: spec: Forbidden: updates to statefulset spec for these fields are forbidden`
    : undefined;
}

function ownersOf(object: StoredObject | undefined, owner: string, owns: boolean): JsonObject[] {
  const all = object?.metadata.ownerReferences;
  const others = (Array.isArray(all) ? all.filter(isJsonObject) : []).filter(({ name }) => name !== owner);
  const own = {
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "AppliedManifestWork",
    name: owner,
    uid: owner,
  };
  return owns ? [...others, own] : others;
}

function ownerNames(object: StoredObject): string[] {
  const all = object.metadata.ownerReferences;
  return (Array.isArray(all) ? all.filter(isJsonObject) : []).map(({ name }) => String(name));
}

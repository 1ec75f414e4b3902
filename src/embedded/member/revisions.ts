/** A StatefulSet's revisions: stored as ControllerRevisions, compared by meaning, named by a hash of their content. */
import { createHash } from "node:crypto";
import type { KubeObject } from "../../apiserver/index.ts";
import { isJsonObject, type Json, type JsonObject, sameJson } from "../../runtime/index.ts";
import type { LocalApi } from "../local-api.ts";
import { numberAt, objectAt, textAt } from "../values.ts";
import type { Revision } from "./decide.ts";
import { isOwnedBy, ownerReference, revisionOf } from "./pods.ts";

const RESOURCE = "apps/controllerrevisions";
/** The letters of Kubernetes' generated names, which never spell a word. */
const SAFE_LETTERS = "bcdfghjklmnpqrstvwxz2456789";
const HASH_LETTERS = 10;
const DEFAULT_HISTORY_LIMIT = 10;

export class Revisions {
  readonly #api: LocalApi;

  constructor(api: LocalApi) {
    this.#api = api;
  }

  /** The revision that the pods have and the one that they should have; created if missing. */
  async of(set: KubeObject): Promise<{ current: Revision; update: Revision }> {
    const known = this.#list(set);
    const template = objectAt(set, "spec", "template");
    const update = (await this.#existing(set, known, template)) ?? (await this.#create(set, known, template));
    const currentName = textAt(set, "status", "currentRevision");
    const current = known.find(({ metadata }) => metadata.name === currentName);
    return { current: current ? read(current) : update, update };
  }

  /** Deletes the oldest unused ones, beyond the set's limit. */
  async truncate(set: KubeObject, pods: readonly KubeObject[], live: readonly Revision[]): Promise<void> {
    const inUse = new Set([...live.map(({ name }) => name), ...pods.map(revisionOf)]);
    const unused = this.#list(set).filter(({ metadata }) => !inUse.has(metadata.name));
    const limit = numberAt(set, "spec", "revisionHistoryLimit") ?? DEFAULT_HISTORY_LIMIT;
    for (const revision of unused.slice(0, Math.max(0, unused.length - limit))) await this.#api.delete(revision);
  }

  /** The oldest first. */
  #list(set: KubeObject): KubeObject[] {
    const uid = set.metadata.uid ?? "";
    return this.#api
      .list(RESOURCE, set.metadata.namespace)
      .filter((revision) => isOwnedBy(revision, uid))
      .sort((left, right) => number(left) - number(right));
  }

  /** Returning to an old revision makes it the newest again. */
  async #existing(set: KubeObject, known: readonly KubeObject[], template: JsonObject): Promise<Revision | undefined> {
    const found = known.findLast((revision) => sameJson(read(revision).template, template));
    if (!found) return undefined;
    if (found !== known.at(-1)) await this.#api.update({ ...found, revision: nextNumber(known) });
    return { name: found.metadata.name, template: objectAt(set, "spec", "template") };
  }

  async #create(set: KubeObject, known: readonly KubeObject[], template: JsonObject): Promise<Revision> {
    const hash = hashOf(template);
    const name = `${set.metadata.name}-${hash}`;
    await this.#api.create({
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: {
        name,
        namespace: set.metadata.namespace ?? "",
        labels: { "controller.kubernetes.io/hash": hash },
        ownerReferences: [ownerReference(set)],
      },
      revision: nextNumber(known),
      data: { spec: { template: { ...template, $patch: "replace" } } },
    });
    return { name, template };
  }
}

function read(revision: KubeObject): Revision {
  const { $patch: _marker, ...template } = objectAt(revision, "data", "spec", "template");
  return { name: revision.metadata.name, template };
}

function number(revision: KubeObject): number {
  return numberAt(revision, "revision") ?? 0;
}

function nextNumber(known: readonly KubeObject[]): number {
  return Math.max(0, ...known.map(number)) + 1;
}

export function hashOf(template: JsonObject): string {
  const digest = createHash("sha256").update(stable(template)).digest();
  return [...digest.subarray(0, HASH_LETTERS)].map((byte) => SAFE_LETTERS[byte % SAFE_LETTERS.length]).join("");
}

/** A canonical text, independent of the order of fields. */
function stable(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(stable).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value ?? null);
  const fields = Object.keys(value).sort();
  return `{${fields.map((field) => `${JSON.stringify(field)}:${stable(value[field])}`).join(",")}}`;
}

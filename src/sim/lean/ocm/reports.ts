/** What an agent writes into the status of a ManifestWork. Nothing in it says when it was observed. */
import type { KubeObject } from "../../../apiserver/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import type { Reach } from "../../seed/reach.ts";
import { WRITE_ANNOTATION } from "../../world/dispatching.ts";
import { type Part, partsOf } from "./agent.ts";
import type { Applied, OcmMember } from "./spoke.ts";
import { valuesOf } from "./values.ts";

export type Report = {
  conditions: JsonObject[];
  resourceStatus: { manifests: JsonObject[] };
};

export class ReportBook {
  readonly #member: OcmMember;
  readonly #reach: Reach;
  readonly #reportsParts: boolean;
  /** By ManifestWork: the objects that it has found, and watches from then on. */
  readonly #watched = new Map<string, Set<string>>();

  constructor(member: OcmMember, reach: Reach, reportsParts: boolean) {
    this.#reportsParts = reportsParts;
    this.#member = member;
    this.#reach = reach;
  }

  watches(work: string, plural: string, name: string): boolean {
    return this.#watched.get(work)?.has(`${plural}/${name}`) === true;
  }

  /** The first controller's part: what it has applied. What the other has fed back stays, of whatever version it is. */
  applied(work: KubeObject, parts: readonly Part[], results: readonly Applied[], generation: number): Report {
    const before = entriesOf(work);
    const manifests = parts.map((part, at) => {
      const { manifest, plural } = part;
      const result = results[at] ?? { kind: "applied" };
      const known = before.find((entry) => isEntryOf(entry, part));
      const message = result.kind === "applied" ? "Apply manifest complete" : result.message;
      const condition = conditionOf("Applied", result.kind === "applied", { observedGeneration: generation, message });
      if (at === 0 && result.kind === "applied" && known && isOlder(known, manifest))
        this.#reach.count("Applied before its values");
      if (result.kind === "applied" && this.#member.store.get(plural, manifest.metadata.name))
        this.#watch(work.metadata.name, plural, manifest.metadata.name);
      const { apiVersion, kind, metadata } = manifest;
      return {
        resourceMeta: { apiVersion, kind, resource: plural, namespace: metadata.namespace ?? "", name: metadata.name },
        conditions: [condition, ...conditionsOf(known).filter(({ type }) => type !== "Applied")],
        statusFeedback: known?.statusFeedback ?? { values: [] },
      };
    });
    const isWhole = results.every(({ kind }) => kind === "applied");
    const condition = conditionOf("Applied", isWhole, { observedGeneration: generation });
    const others = conditionsOf(work.status).filter(({ type }) => type !== "Applied");
    return { conditions: [condition, ...others], resourceStatus: { manifests } };
  }

  /** The second controller's part: what it finds now. Values of an object that is gone stay. */
  looked(work: KubeObject): Report | undefined {
    const entries = entriesOf(work);
    if (entries.length === 0) return undefined;
    const parts = partsOf(work, this.#member);
    const manifests = entries.map((entry) => {
      const part = parts.find((each) => isEntryOf(entry, each));
      if (!part) return entry;
      const { name } = part.manifest.metadata;
      const object = this.#member.store.get(part.plural, name);
      const was = conditionsOf(entry).find(({ type }) => type === "Available")?.status;
      if (object) this.#watch(work.metadata.name, part.plural, name);
      else if (was === "True") this.#reach.count("feedback stays after its object is gone");
      const synced = conditionOf("StatusFeedbackSynced", true);
      const others = conditionsOf(entry).filter(({ type }) => type === "Applied");
      const values = object && valuesOf(object, part.paths, this.#reportsParts);
      return {
        ...entry,
        conditions: [...others, conditionOf("Available", object !== undefined), synced],
        statusFeedback: values ? { values } : (entry.statusFeedback ?? { values: [] }),
      };
    });
    const isAvailable = manifests.every((entry) =>
      conditionsOf(entry).some(({ type, status }) => type === "Available" && status === "True"),
    );
    const observedGeneration = work.metadata.generation ?? 0;
    const condition = conditionOf("Available", isAvailable, { observedGeneration });
    const others = conditionsOf(work.status).filter(({ type }) => type !== "Available");
    return { conditions: [...others, condition], resourceStatus: { manifests } };
  }

  #watch(work: string, plural: string, name: string): void {
    const watched = this.#watched.get(work) ?? new Set();
    this.#watched.set(work, watched.add(`${plural}/${name}`));
  }
}

function entriesOf({ status }: KubeObject): JsonObject[] {
  const part = isJsonObject(status) && isJsonObject(status.resourceStatus) ? status.resourceStatus : {};
  return Array.isArray(part.manifests) ? part.manifests.filter(isJsonObject) : [];
}

function isEntryOf({ resourceMeta }: JsonObject, { manifest }: Part): boolean {
  if (!isJsonObject(resourceMeta)) return false;
  return resourceMeta.kind === manifest.kind && resourceMeta.name === manifest.metadata.name;
}

/** Its values are of an earlier write than the manifest. */
function isOlder({ statusFeedback }: JsonObject, { metadata }: Part["manifest"]): boolean {
  const mark = metadata.annotations?.[WRITE_ANNOTATION];
  const text = JSON.stringify(statusFeedback ?? {});
  return mark !== undefined && text.includes("/metadata/uid") && !text.includes(mark);
}

function conditionsOf(of: unknown): JsonObject[] {
  return isJsonObject(of) && Array.isArray(of.conditions) ? of.conditions.filter(isJsonObject) : [];
}

function conditionOf(type: string, holds: boolean, more: JsonObject = {}): JsonObject {
  return { type, status: holds ? "True" : "False", reason: type, ...more };
}

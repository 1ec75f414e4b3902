import {
  appLabel,
  HUB_MARKS,
  type Owner,
  packRevision,
  REVISIONS,
  type RevisionBook,
  type StoredRevision,
} from "../../controllers/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { nameRevision, type RevisionContent, revisionMeaning } from "../../render/index.ts";
import { isJsonObject, type Json } from "../../runtime/index.ts";
import type { Hub } from "../hub/hub.ts";

export interface KeptRevision {
  readonly id: string;
  readonly number: number;
  readonly createdAt: string | undefined;
  /** Without Secrets' content, and of a large revision without its dependencies' content. */
  readonly content: RevisionContent;
  /** `revisionMeaning` of the whole content. */
  readonly meaning: string;
}

/** The revisions that the controller keeps for one object, newest first. */
export async function listRevisions(hub: Hub, name: { namespace: string; name: string }): Promise<KeptRevision[]> {
  const { items } = await hub.client.listAll(REVISIONS, {
    namespace: name.namespace,
    labelSelector: `${HUB_MARKS.app}=${appLabel(name)}`,
    ...hub.request,
  });
  return items.flatMap((object) => readRevision(object) ?? []).sort((a, b) => b.number - a.number);
}

function readRevision(object: KubeObject): KeptRevision | undefined {
  const data = isJsonObject(object.data) ? object.data : {};
  const content = readContent(data.content);
  if (!content) return undefined;
  const created = object.metadata.creationTimestamp;
  return {
    id: object.metadata.name,
    number: typeof object.revision === "number" ? object.revision : 0,
    createdAt: typeof created === "string" ? created : undefined,
    content,
    meaning: typeof data.meaning === "string" ? data.meaning : "",
  };
}

function readContent(value: Json | undefined): RevisionContent | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.template)) return undefined;
  const list = (items: Json | undefined) => (Array.isArray(items) ? items.filter(isJsonObject) : []);
  const { restart, dependencyDigest } = value;
  return {
    template: value.template,
    dependencies: list(value.dependencies),
    overrides: list(value.overrides),
    ...(typeof restart === "string" && { restart }),
    ...(typeof dependencyDigest === "string" && { dependencyDigest }),
  };
}

/** The revisions that there would be: those that the controller keeps, and what a preview makes. Nothing is stored. */
export class DraftRevisions implements RevisionBook {
  readonly #kept = new Map<string, KeptRevision>();
  readonly #reached: ReadonlySet<string>;

  /** `reached`: those that clusters have run. */
  constructor(kept: readonly KeptRevision[], reached: readonly string[]) {
    for (const revision of kept) this.#kept.set(revision.id, revision);
    this.#reached = new Set(reached);
  }

  /** By id, as far as it may be read. */
  get contents(): ReadonlyMap<string, RevisionContent> {
    return new Map([...this.#kept].map(([id, { content }]) => [id, content]));
  }

  has(_owner: Owner, id: string): boolean {
    return this.#kept.has(id);
  }

  list(): StoredRevision[] {
    return [...this.#kept.values()].sort((a, b) => b.number - a.number).map((revision) => this.#stored(revision));
  }

  async content(_owner: Owner, id: string): Promise<RevisionContent | undefined> {
    return this.#kept.get(id)?.content;
  }

  /** Throws RevisionTooLargeError, as the store does. */
  async save(_owner: Owner, content: RevisionContent): Promise<StoredRevision> {
    const { id } = nameRevision(content, (candidate) => this.#kept.get(candidate)?.meaning);
    const known = this.#kept.get(id);
    if (!known) packRevision(content);
    const number = known?.number ?? Math.max(0, ...[...this.#kept.values()].map((each) => each.number)) + 1;
    // The whole content, in place of a readable copy.
    const revision = { id, number, createdAt: known?.createdAt, content, meaning: revisionMeaning(content) };
    this.#kept.set(id, revision);
    return this.#stored(revision);
  }

  #stored({ id, number, createdAt = "" }: KeptRevision): StoredRevision {
    return { id, number, createdAt, dryRun: this.#reached.has(id) ? "accepted" : "unknown" };
  }
}

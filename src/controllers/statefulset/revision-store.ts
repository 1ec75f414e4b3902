import { AlreadyExistsError, type Cache, type KubeClient, type KubeObject, NotFoundError } from "../../kube/index.ts";
import { nameRevision, type RevisionContent } from "../../render/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { appLabel, OWN, REVISIONS, SECRETS } from "./resources.ts";

export interface RevisionOwner {
  readonly namespace: string;
  readonly name: string;
}

export interface StoredRevision {
  readonly id: string;
  /** Rises with every revision of one application. */
  readonly number: number;
  readonly createdAt: string | undefined;
  readonly dryRun: "accepted" | "unknown";
}

const SECRET_TYPE = "lockstep.karmada.io/revision";
/** Contents kept in memory: a few revisions each of a thousand applications. */
const MAX_CACHED_CONTENTS = 4_000;

/**
 * What each revision was, kept on the hub as ControllerRevisions before any grant names it. Secrets' content is kept in
 * a Secret beside it, so that reading revisions gives nobody a right to secrets.
 */
export class RevisionStore {
  readonly #client: KubeClient;
  readonly #cache: Cache<KubeObject>;
  readonly #contents = new Map<string, RevisionContent>();

  constructor(client: KubeClient, cache: Cache<KubeObject>) {
    this.#client = client;
    this.#cache = cache;
    cache.defineIndex("app", (object) => {
      const label = object.metadata.labels?.[OWN.app];
      return label === undefined ? [] : [`${object.metadata.namespace}/${label}`];
    });
  }

  /** Newest first. */
  list(owner: RevisionOwner): StoredRevision[] {
    return this.#objects(owner)
      .map(readRevision)
      .sort((a, b) => b.number - a.number);
  }

  /**
   * Stores the content under the name that follows from it, unless it is stored already. `beforeCreating` may refuse: what
   * is made for an owner that has been deleted meanwhile would stay for ever.
   */
  async save(
    owner: RevisionOwner,
    content: RevisionContent,
    beforeCreating: () => Promise<void>,
  ): Promise<StoredRevision> {
    const existing = new Map<string, RevisionContent>();
    for (const { id } of this.list(owner)) {
      const known = await this.content(owner, id);
      if (known) existing.set(id, known);
    }
    const { id, isNew } = nameRevision(content, (candidate) => existing.get(candidate));
    const found = this.#cache.get({ namespace: owner.namespace, name: id });
    if (!isNew && found) return readRevision(found);

    await beforeCreating();
    const { rest, secrets } = withoutSecrets(content);
    // The Secret first: a ControllerRevision that is there is whole.
    if (secrets.length > 0) await this.#createOnce(SECRETS, secretObject(owner, id, secrets));
    const number = Math.max(0, ...this.list(owner).map((revision) => revision.number)) + 1;
    const created = await this.#createOnce(REVISIONS, revisionObject(owner, id, number, rest, secrets.length > 0));
    this.#cache.wrote(created);
    this.#remember(`${owner.namespace}/${id}`, content);
    return readRevision(created);
  }

  /** Undefined when the revision is no longer there. */
  async content(owner: RevisionOwner, id: string): Promise<RevisionContent | undefined> {
    const key = `${owner.namespace}/${id}`;
    const known = this.#contents.get(key);
    if (known) return known;
    const name = { namespace: owner.namespace, name: id };
    const object = this.#cache.get(name) ?? (await this.#client.find(REVISIONS, name));
    const data = isJsonObject(object?.data) ? object.data : undefined;
    if (!data || !isJsonObject(data.content)) return undefined;
    const secrets = data.hasSecrets === true ? await this.#readSecrets(name) : [];
    if (secrets === undefined) return undefined;
    const stored = data.content as unknown as RevisionContent;
    const content = { ...stored, dependencies: [...stored.dependencies, ...secrets].sort(byKindAndName) };
    this.#remember(key, content);
    return content;
  }

  async markAccepted(owner: RevisionOwner, id: string): Promise<void> {
    const name = { namespace: owner.namespace, name: id };
    const body = { metadata: { annotations: { [OWN.dryRun]: "accepted" } } };
    this.#cache.wrote(await this.#client.patch(REVISIONS, name, { type: "merge", body }));
  }

  /** Deletes the oldest revisions beyond the limit that nothing refers to. */
  async prune(owner: RevisionOwner, inUse: ReadonlySet<string>, limit: number): Promise<void> {
    const unused = this.list(owner).filter(({ id }) => !inUse.has(id));
    for (const { id } of unused.slice(limit)) await this.#delete({ namespace: owner.namespace, name: id });
  }

  async removeAll(owner: RevisionOwner): Promise<void> {
    for (const { id } of this.list(owner)) await this.#delete({ namespace: owner.namespace, name: id });
  }

  async #delete(name: { namespace: string; name: string }): Promise<void> {
    const object = this.#cache.get(name);
    for (const of of [REVISIONS, SECRETS]) {
      try {
        await this.#client.delete(of, name);
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error;
      }
    }
    if (object) this.#cache.deleted(object);
    this.#contents.delete(`${name.namespace}/${name.name}`);
  }

  #objects(owner: RevisionOwner): KubeObject[] {
    return this.#cache.byIndex("app", `${owner.namespace}/${appLabel(owner.name)}`);
  }

  /** Tried once: before another try it is asked again whether the owner still exists. */
  async #createOnce(of: typeof REVISIONS, object: KubeObject): Promise<KubeObject> {
    try {
      return await this.#client.create(of, object, { maxAttempts: 1 });
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
      return this.#client.get(of, object.metadata);
    }
  }

  async #readSecrets(name: { namespace: string; name: string }): Promise<JsonObject[] | undefined> {
    const secret = await this.#client.find(SECRETS, name);
    const data = isJsonObject(secret?.data) ? secret.data.content : undefined;
    if (typeof data !== "string") return undefined;
    const parsed: unknown = JSON.parse(Buffer.from(data, "base64").toString("utf8"));
    return Array.isArray(parsed) ? parsed.filter(isJsonObject) : undefined;
  }

  #remember(key: string, content: RevisionContent): void {
    this.#contents.set(key, content);
    if (this.#contents.size <= MAX_CACHED_CONTENTS) return;
    const oldest = this.#contents.keys().next();
    if (!oldest.done) this.#contents.delete(oldest.value);
  }
}

function readRevision(object: KubeObject): StoredRevision {
  const created = object.metadata.creationTimestamp;
  return {
    id: object.metadata.name,
    number: typeof object.revision === "number" ? object.revision : 0,
    createdAt: typeof created === "string" ? created : undefined,
    dryRun: object.metadata.annotations?.[OWN.dryRun] === "accepted" ? "accepted" : "unknown",
  };
}

function withoutSecrets(content: RevisionContent): { rest: RevisionContent; secrets: readonly JsonObject[] } {
  const isSecret = (object: JsonObject) => object.apiVersion === "v1" && object.kind === "Secret";
  return {
    rest: { ...content, dependencies: content.dependencies.filter((object) => !isSecret(object)) },
    secrets: content.dependencies.filter(isSecret),
  };
}

function metadata(owner: RevisionOwner, id: string) {
  return { name: id, namespace: owner.namespace, labels: { [OWN.app]: appLabel(owner.name) } };
}

function revisionObject(
  owner: RevisionOwner,
  id: string,
  revision: number,
  content: RevisionContent,
  hasSecrets: boolean,
): KubeObject {
  return {
    apiVersion: REVISIONS.apiVersion,
    kind: REVISIONS.kind,
    metadata: metadata(owner, id),
    revision,
    data: { content: content as unknown as JsonObject, hasSecrets },
  };
}

function secretObject(owner: RevisionOwner, id: string, secrets: readonly JsonObject[]): KubeObject {
  return {
    apiVersion: SECRETS.apiVersion,
    kind: SECRETS.kind,
    metadata: metadata(owner, id),
    type: SECRET_TYPE,
    immutable: true,
    data: { content: Buffer.from(JSON.stringify(secrets)).toString("base64") },
  };
}

function byKindAndName(a: JsonObject, b: JsonObject): number {
  const key = (object: JsonObject) => `${object.kind} ${isJsonObject(object.metadata) ? object.metadata.name : ""}`;
  return key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0;
}

import {
  AlreadyExistsError,
  type KubeClient,
  type KubeObject,
  NotFoundError,
  type Resource,
} from "../../../kube/index.ts";
import { nameRevision, type RevisionContent, revisionMeaning } from "../../../render/index.ts";
import { type Clock, isJsonObject, type Log, LruMap, timestamp } from "../../../runtime/index.ts";
import { type Owner, ownerId } from "../owner.ts";
import { OWN, SECRETS, STATEFULSETS } from "../resources.ts";
import { packRevision, RevisionDamagedError, unpackRevision } from "./revision-content.ts";
import { RevisionCopies } from "./revision-copies.ts";
import type { RevisionEntry } from "./revision-index.ts";

export interface StoredRevision {
  readonly id: string;
  /** Rises with every revision of one application. */
  readonly number: number;
  readonly createdAt: string;
  readonly dryRun: "accepted" | "unknown";
}

export interface RevisionStoreOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Lockstep's own namespace, where tenants have no rights. */
  readonly namespace: string;
  /** The kind that the revisions are of; absent: CrossClusterStatefulset. */
  readonly of?: Resource;
}

const SECRET_TYPE = "lockstep.karmada.io/revision";
/** Contents kept in memory: a few revisions each of a thousand applications. */
const MAX_CACHED_CONTENTS = 4_000;
/** Names need only tell contents apart; the whole digest is in the ledger. */
const NAME_CHARS = 24;

/**
 * What each revision was, kept as Secrets in Lockstep's own namespace before any grant names it. Which revisions there
 * are, and the digest of each, is part of the application's ledger: the store begins with what the ledger says
 * (`open`), and the ledger is written with what the store has (`entries`). Content is used only if it matches its
 * digest.
 */
export class RevisionStore {
  readonly #options: RevisionStoreOptions;
  readonly #copies: RevisionCopies;
  readonly #entries = new Map<string, readonly RevisionEntry[]>();
  /** By owner and digest. */
  readonly #contents = new LruMap<string, RevisionContent>(MAX_CACHED_CONTENTS);
  /** Revisions that the ledger on the hub may still name: their content goes once it does not. */
  readonly #dropped = new Map<string, RevisionEntry[]>();

  constructor(options: RevisionStoreOptions) {
    this.#options = options;
    this.#copies = new RevisionCopies(options.client, options.log, options.of ?? STATEFULSETS);
  }

  /** Begins, or begins again, with what the ledger says. */
  open(owner: Owner, entries: readonly RevisionEntry[]): void {
    this.#entries.set(ownerId(owner), entries);
    this.#dropped.delete(ownerId(owner));
  }

  close(owner: Owner): void {
    this.#entries.delete(ownerId(owner));
    this.#dropped.delete(ownerId(owner));
  }

  /** What the ledger has to say. The same list as long as nothing has changed. */
  entries(owner: Owner): readonly RevisionEntry[] {
    return this.#entries.get(ownerId(owner)) ?? NONE;
  }

  has(owner: Owner, id: string): boolean {
    return this.entries(owner).some((entry) => entry.id === id);
  }

  /** Newest first. */
  list(owner: Owner): StoredRevision[] {
    return this.entries(owner)
      .map(storedRevision)
      .sort((a, b) => b.number - a.number);
  }

  /**
   * Stores the content under the name that follows from it, unless it is stored already. `beforeCreating` may refuse: a
   * revision created for an owner that has been deleted meanwhile would never be removed. Throws RevisionTooLargeError.
   */
  async save(owner: Owner, content: RevisionContent, beforeCreating: () => Promise<void>): Promise<StoredRevision> {
    const known = new Map(this.entries(owner).map((entry) => [entry.id, entry]));
    const { id } = nameRevision(content, (candidate) => known.get(candidate)?.meaning);
    const found = known.get(id);
    if (found) return storedRevision(found);
    const { parts, digest } = packRevision(content);
    await beforeCreating();
    for (const [index, part] of parts.entries()) await this.#createPart(owner, digest, index, part);
    const entry: RevisionEntry = {
      id,
      number: Math.max(0, ...this.entries(owner).map(({ number }) => number)) + 1,
      digest,
      meaning: revisionMeaning(content),
      parts: parts.length,
      createdAt: timestamp(this.#options.clock.now()),
      accepted: false,
    };
    this.#entries.set(ownerId(owner), [...this.entries(owner), entry]);
    this.#contents.set(contentKey(owner, digest), content);
    await this.#copies.write(owner, entry, content);
    return storedRevision(entry);
  }

  /** Undefined when the ledger knows no such revision. Throws RevisionDamagedError. */
  async content(owner: Owner, id: string): Promise<RevisionContent | undefined> {
    const entry = this.entries(owner).find((each) => each.id === id);
    if (!entry) return undefined;
    const key = contentKey(owner, entry.digest);
    const known = this.#contents.get(key);
    if (known) return known;
    const indexes = Array.from({ length: entry.parts }, (_, index) => index);
    const parts = await Promise.all(indexes.map((index) => this.#readPart(owner, entry, index)));
    const content = unpackRevision(id, parts, entry.digest);
    this.#contents.set(key, content);
    return content;
  }

  /** Kept with the next write of the ledger; a crash before it costs one more dry run. */
  markAccepted(owner: Owner, id: string): void {
    const entries = this.entries(owner);
    if (!entries.some((entry) => entry.id === id && !entry.accepted)) return;
    const accepted = entries.map((entry) => (entry.id === id ? { ...entry, accepted: true } : entry));
    this.#entries.set(ownerId(owner), accepted);
  }

  /** Drops revisions that nothing refers to; their content goes with `deleteDropped`. Of the others the newest stay. */
  prune(owner: Owner, inUse: ReadonlySet<string>, limit: number, useless: ReadonlySet<string> = new Set()): void {
    const unused = this.list(owner).filter(({ id }) => !inUse.has(id));
    const kept = new Set(unused.filter(({ id }) => !useless.has(id)).slice(0, limit));
    const surplus = new Set(unused.filter((revision) => !kept.has(revision)).map(({ id }) => id));
    if (surplus.size === 0) return;
    const entries = this.entries(owner);
    const dropped = this.#dropped.get(ownerId(owner)) ?? [];
    this.#dropped.set(ownerId(owner), [...dropped, ...entries.filter(({ id }) => surplus.has(id))]);
    this.#entries.set(
      ownerId(owner),
      entries.filter(({ id }) => !surplus.has(id)),
    );
  }

  /** Called after the ledger was written without them: content that a ledger names is always there. */
  async deleteDropped(owner: Owner): Promise<void> {
    const dropped = this.#dropped.get(ownerId(owner));
    if (!dropped) return;
    this.#dropped.delete(ownerId(owner));
    // What was saved again meanwhile has the same content under the same name.
    const kept = new Set(this.entries(owner).map(({ digest }) => digest));
    for (const entry of dropped) if (!kept.has(entry.digest)) await this.#delete(owner, entry);
  }

  /** Before the ledger itself goes. */
  async removeAll(owner: Owner, entries: readonly RevisionEntry[] = this.entries(owner)): Promise<void> {
    for (const entry of [...entries, ...(this.#dropped.get(ownerId(owner)) ?? [])]) await this.#delete(owner, entry);
    this.close(owner);
  }

  async #delete(owner: Owner, { id, digest, parts }: RevisionEntry): Promise<void> {
    this.#contents.delete(contentKey(owner, digest));
    for (let index = 0; index < parts; index++) {
      try {
        await this.#options.client.delete(SECRETS, this.#partName(owner, digest, index));
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error;
      }
    }
    await this.#copies.remove(owner, id);
  }

  /** Tried once: before another try it is asked again whether the owner still exists. */
  async #createPart(owner: Owner, digest: string, index: number, part: Buffer): Promise<void> {
    const { client } = this.#options;
    const secret = this.#partObject(owner, digest, index, part);
    try {
      await client.create(SECRETS, secret, { maxAttempts: 1 });
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
      const there = await client.find(SECRETS, secret.metadata);
      if (there && contentOf(there) === contentOf(secret)) return;
      // Left by a write that was cut short, or changed by hand; it cannot be edited, only replaced.
      if (there) await client.delete(SECRETS, there.metadata);
      await client.create(SECRETS, secret, { maxAttempts: 1 });
    }
  }

  async #readPart(owner: Owner, { id, digest }: RevisionEntry, index: number): Promise<Buffer> {
    const name = this.#partName(owner, digest, index);
    const secret = await this.#options.client.find(SECRETS, name);
    const content = secret && contentOf(secret);
    if (content === undefined) throw new RevisionDamagedError(id, `Secret ${name.namespace}/${name.name} is missing`);
    return Buffer.from(content, "base64");
  }

  #partName(owner: Owner, digest: string, index: number) {
    const name = `revision-${ownerId(owner).slice(0, NAME_CHARS)}${partSuffix(digest, index)}`;
    return { namespace: this.#options.namespace, name };
  }

  #partObject(owner: Owner, digest: string, index: number, part: Buffer): KubeObject {
    return {
      apiVersion: SECRETS.apiVersion,
      kind: SECRETS.kind,
      metadata: { ...this.#partName(owner, digest, index), labels: { [OWN.owner]: ownerId(owner) } },
      type: SECRET_TYPE,
      immutable: true,
      data: { content: part.toString("base64") },
    };
  }
}

/** Whether a Secret of the revision's owner holds a part of it. */
export function isPartOf({ metadata }: KubeObject, { digest, parts }: RevisionEntry): boolean {
  return Array.from({ length: parts }, (_, index) => partSuffix(digest, index)).some((end) =>
    metadata.name.endsWith(end),
  );
}

function partSuffix(digest: string, index: number): string {
  return `-${digest.slice(0, NAME_CHARS)}-${index}`;
}

const NONE: readonly RevisionEntry[] = [];

function contentKey(owner: Owner, digest: string): string {
  return `${ownerId(owner)}/${digest}`;
}

function contentOf({ data }: KubeObject): string | undefined {
  return isJsonObject(data) && typeof data.content === "string" ? data.content : undefined;
}

function storedRevision({ id, number, createdAt, accepted }: RevisionEntry): StoredRevision {
  return { id, number, createdAt, dryRun: accepted ? "accepted" : "unknown" };
}

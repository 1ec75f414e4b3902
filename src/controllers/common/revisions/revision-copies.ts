import {
  AlreadyExistsError,
  type KubeClient,
  type KubeObject,
  NotFoundError,
  type Resource,
} from "../../../kube/index.ts";
import type { RevisionContent } from "../../../render/index.ts";
import { isJsonObject, type JsonObject, type Log } from "../../../runtime/index.ts";
import { type Owner, ownerId } from "../owner.ts";
import { appLabel, OWN, REVISIONS, STATEFULSETS } from "../resources.ts";
import type { RevisionEntry } from "./revision-index.ts";

/** An API server takes no object above 1.5 MiB; a copy that large would help no reader either. */
const COPY_MAX_BYTES = 900_000;

/**
 * Readable copies of revisions in the application's own namespace, for `history`, `plan` and diffs. They hold no
 * Secret's content, and the controller never reads one back: a tenant who edits a copy deceives only its readers. A
 * copy that cannot be written (a quota, a namespace that is being deleted) holds nothing up.
 */
export class RevisionCopies {
  readonly #client: KubeClient;
  readonly #log: Log;

  readonly #of: Resource;

  constructor(client: KubeClient, log: Log, of: Resource) {
    this.#client = client;
    this.#of = of;
    this.#log = log;
  }

  async write(owner: Owner, entry: RevisionEntry, content: RevisionContent): Promise<void> {
    try {
      await this.#client.create(REVISIONS, copyOf(this.#of, owner, entry, content), { maxAttempts: 1 });
    } catch (error) {
      if (error instanceof AlreadyExistsError) return;
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.warn("a revision's readable copy could not be written", { revision: entry.id, reason });
    }
  }

  /** Only a copy that carries this owner's mark: a tenant's own object of the same name stays. */
  async remove(owner: Owner, id: string): Promise<void> {
    const name = { namespace: owner.namespace, name: id };
    try {
      const found = await this.#client.find(REVISIONS, name);
      if (found?.metadata.labels?.[OWN.owner] !== ownerId(owner) || found.metadata.uid === undefined) return;
      await this.#client.delete(REVISIONS, name, { preconditions: { uid: found.metadata.uid } });
    } catch (error) {
      if (error instanceof NotFoundError) return;
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.warn("a revision's readable copy could not be deleted", { revision: id, reason });
    }
  }
}

function copyOf(
  of: Resource,
  owner: Owner,
  { id, number, meaning }: RevisionEntry,
  content: RevisionContent,
): KubeObject {
  const readable = withoutSecrets(content);
  const isLarge = Buffer.byteLength(JSON.stringify(readable)) > COPY_MAX_BYTES;
  const shown = isLarge ? { ...readable, dependencies: readable.dependencies.map(outline) } : readable;
  const { apiVersion, kind } = of;
  return {
    apiVersion: REVISIONS.apiVersion,
    kind: REVISIONS.kind,
    metadata: {
      name: id,
      namespace: owner.namespace,
      labels: { [of === STATEFULSETS ? OWN.app : OWN.application]: appLabel(owner), [OWN.owner]: ownerId(owner) },
      // The hub's garbage collector removes it with its owner, should the controller not get to it.
      ownerReferences: [{ apiVersion, kind, name: owner.name, uid: owner.uid }],
    },
    revision: number,
    data: { content: shown as unknown as JsonObject, meaning },
  };
}

function withoutSecrets(content: RevisionContent): RevisionContent {
  const dependencies = content.dependencies.map((object) => (object.kind === "Secret" ? outline(object) : object));
  return { ...content, dependencies };
}

/** Says that the object is part of the revision, and nothing of what it holds. */
function outline({ apiVersion, kind, metadata }: JsonObject): JsonObject {
  const { namespace, name } = isJsonObject(metadata) ? metadata : {};
  return { apiVersion, kind, metadata: { namespace, name }, omitted: true };
}

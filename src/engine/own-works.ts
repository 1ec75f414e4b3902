import {
  AlreadyExistsError,
  type Cache,
  ConflictError,
  type KubeClient,
  type KubeObject,
  keyOf,
  NotFoundError,
  type Resource,
} from "../kube/index.ts";
import {
  appMark,
  carriedBy,
  laterTermOf,
  objectsOf,
  reservedRef,
  termOf,
  termPatch,
  uidPrecondition,
  workName,
} from "./dispatch-objects.ts";
import { DispatchConflictError } from "./errors.ts";
import { MARKS } from "./marks.ts";
import type { Claim, EngineOwner, ObjectRef } from "./port.ts";

export interface OwnWorksOptions {
  readonly hub: KubeClient;
  /** The kind of the engine's dispatch objects. */
  readonly works: Resource;
  /** The hub's namespace of a cluster's dispatch objects. */
  readonly namespaceOf: (cluster: string) => string;
  /** An empty one. */
  readonly reservationFor: (app: EngineOwner, ref: ObjectRef, claim: Claim) => KubeObject | Promise<KubeObject>;
  readonly cache: Cache<KubeObject>;
  /** The view of the application with this mark may have changed. */
  readonly changed: (mark: string) => void;
}

/**
 * A write that keeps losing its race with the engine's status writes gives up after this many attempts, and is decided
 * again.
 */
export const SWAP_ATTEMPTS = 5;

/**
 * Lockstep's own dispatch objects: found by application, read by name, and written so that only other writers' changes
 * are news.
 */
export class OwnWorks {
  readonly #hub: KubeClient;
  readonly #works: Resource;
  readonly #namespaceOf: OwnWorksOptions["namespaceOf"];
  readonly #reservationFor: OwnWorksOptions["reservationFor"];
  readonly #cache: Cache<KubeObject>;
  readonly #changed: (mark: string) => void;
  readonly #marks = new WeakMap<EngineOwner, string>();
  /** The Works that are being written, each with the versions that arrived meanwhile. */
  readonly #underWay = new Map<string, Set<string | undefined>>();

  constructor({ hub, works, namespaceOf, reservationFor, cache, changed }: OwnWorksOptions) {
    this.#hub = hub;
    this.#works = works;
    this.#namespaceOf = namespaceOf;
    this.#reservationFor = reservationFor;
    this.#cache = cache;
    this.#changed = changed;
  }

  mark(app: EngineOwner): string {
    const known = this.#marks.get(app) ?? appMark(app);
    this.#marks.set(app, known);
    return known;
  }

  /** The Works that this process has seen. */
  of(app: EngineOwner): KubeObject[] {
    return this.#cache.byIndex("app", this.mark(app));
  }

  delivers(mark: string, cluster: string, { apiVersion, kind, namespace, name }: ObjectRef): boolean {
    const group = (of: string) => of.split("/").slice(0, -1).join();
    const isIt = (each: ObjectRef) =>
      group(each.apiVersion) === group(apiVersion) &&
      each.kind === kind &&
      each.namespace === namespace &&
      each.name === name;
    const works = this.#cache.byIndex("app", mark);
    return works.some((work) => {
      if (work.metadata.namespace !== this.#namespaceOf(cluster)) return false;
      const refs = refsOf(work);
      // What cannot be read may be this one.
      return refs.length === 0 || refs.some(isIt);
    });
  }

  /** Whether others than the owner with this mark have an object in a namespace of the cluster, or are about to. */
  hasOthersIn(mark: string, cluster: string, namespace: string): boolean {
    const works = this.#cache.list().filter(({ metadata }) => metadata.namespace === this.#namespaceOf(cluster));
    return works.some((work) => {
      const of = work.metadata.labels?.[MARKS.app];
      return of !== undefined && of !== mark && refsOf(work).some((ref) => ref.namespace === namespace);
    });
  }

  /** A Work changed on the hub. */
  tell(work: KubeObject): void {
    const seen = this.#underWay.get(keyOf(work.metadata));
    if (seen) seen.add(work.metadata.resourceVersion);
    else this.#changed(work.metadata.labels?.[MARKS.app] ?? "");
  }

  /**
   * From the server: the Works that were seen, and those that carry its objects to each of these clusters. Read by
   * name, because a list by label costs the server more the more Works of others exist.
   */
  async read(app: EngineOwner, clusters: readonly string[]): Promise<KubeObject[]> {
    const seen = this.of(app).map(({ metadata }) => metadata);
    return this.#find(app, [...seen, ...this.#unseen(app, clusters)]);
  }

  /**
   * Stamps a leader's term on all of them; afterwards a leader of an earlier term cannot change any. Works that were
   * seen need not be read again: the write succeeds only if the server still has that version.
   */
  async stamp(app: EngineOwner, term: number, clusters: readonly string[]): Promise<KubeObject[]> {
    let works = [...this.of(app), ...(await this.#find(app, this.#unseen(app, clusters)))];
    for (let attempt = 0; attempt < SWAP_ATTEMPTS; attempt++) {
      const later = works.find((work) => termOf(work) > term);
      if (later) throw laterTermOf(later, term, termOf(later));
      if (works.every((work) => termOf(work) === term)) return works;
      const written = await Promise.all(works.map((work) => this.#stampOne(app, work, term)));
      works = written.flatMap((work) => work ?? []);
    }
    throw new DispatchConflictError(app.name, `a ${this.#works.kind} of this application`);
  }

  /** An empty Work; undefined if one exists already. */
  async reserve(app: EngineOwner, ref: ObjectRef, claim: Claim): Promise<KubeObject | undefined> {
    const work = await this.#reservationFor(app, ref, claim);
    try {
      return await this.write(app, work, () => this.#hub.create(this.#works, work));
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
      await this.#find(app, [work.metadata]);
      return undefined;
    }
  }

  /**
   * Writes a Work. The writer continues from the answer and is not notified of its own write, whether the watch or the
   * answer arrives first. Changes by other writers during the write are reported when it has ended.
   */
  write(app: EngineOwner, { metadata }: KubeObject, send: () => Promise<KubeObject>): Promise<KubeObject> {
    return this.#quietly(app, metadata, async (seen) => {
      const written = await send();
      this.#cache.wrote(written);
      seen.delete(written.metadata.resourceVersion);
      return written;
    });
  }

  /**
   * Deletes a Work in the same way, and returns whether it is gone. The engine's finalizer keeps it until the member's
   * object is gone; the end of the Work is then reported, regardless of which process deleted it.
   */
  delete(app: EngineOwner, work: KubeObject): Promise<boolean> {
    return this.#quietly(app, work.metadata, async (seen) => {
      const left = await this.#hub.delete(this.#works, work.metadata, uidPrecondition(work));
      if (left) {
        this.#cache.wrote(left);
        seen.delete(left.metadata.resourceVersion);
      } else this.#cache.deleted(work);
      return left === undefined;
    });
  }

  async #quietly<Answer>(
    app: EngineOwner,
    metadata: KubeObject["metadata"],
    write: (seen: Set<string | undefined>) => Promise<Answer>,
  ): Promise<Answer> {
    const key = keyOf(metadata);
    const seen = new Set<string | undefined>();
    this.#underWay.set(key, seen);
    try {
      return await write(seen);
    } finally {
      this.#underWay.delete(key);
      if (seen.size > 0) this.#changed(this.mark(app));
    }
  }

  /** The Work with the term, or its current state if another writer has just written it; undefined if it is gone. */
  async #stampOne(app: EngineOwner, work: KubeObject, term: number): Promise<KubeObject | undefined> {
    if (termOf(work) === term) return work;
    try {
      return await this.write(app, work, () => this.#hub.patch(this.#works, work.metadata, termPatch(work, term)));
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
      return (await this.#find(app, [work.metadata]))[0];
    }
  }

  #unseen(app: EngineOwner, clusters: readonly string[]): { namespace: string; name: string }[] {
    const workNames = objectsOf(app).map((ref) => workName(app, ref));
    const names = clusters.flatMap((cluster) =>
      workNames.map((name) => ({ namespace: this.#namespaceOf(cluster), name })),
    );
    return names.filter((each) => !this.#cache.get(each));
  }

  async #find(
    app: EngineOwner,
    names: readonly { readonly namespace?: string | undefined; readonly name: string }[],
  ): Promise<KubeObject[]> {
    const found = await Promise.all(names.map((name) => this.#hub.find(this.#works, name)));
    const works = found.flatMap((work) => (work?.metadata.labels?.[MARKS.app] === this.mark(app) ? work : []));
    for (const work of works) this.#cache.wrote(work);
    return works;
  }
}

/** What it delivers, and what it has the place of. */
function refsOf(work: KubeObject): ObjectRef[] {
  const reserved = reservedRef(work.metadata.annotations?.[MARKS.reserved]);
  return [...carriedBy(work), ...(reserved ? [reserved] : [])];
}

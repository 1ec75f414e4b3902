import {
  AlreadyExistsError,
  type Cache,
  ConflictError,
  type KubeClient,
  type KubeObject,
  keyOf,
  NotFoundError,
} from "../../kube/index.ts";
import { DispatchConflictError, SupersededError } from "../errors.ts";
import type { Claim, EngineApp, ObjectRef } from "../port.ts";
import { executionNamespace, MARKS, WORKS } from "./resources.ts";
import { appMark, reservationFor, termOf, termPatch, uidPrecondition, workName } from "./works.ts";

export interface OwnWorksOptions {
  readonly hub: KubeClient;
  readonly cache: Cache<KubeObject>;
  /** Something about the application with this mark may look different now. */
  readonly changed: (mark: string) => void;
}

/** A write that keeps losing its race with Karmada's status writes gives up after so many tries, and is decided anew. */
export const SWAP_ATTEMPTS = 5;

/** Lockstep's own Works: found by application, read by name, and written so that only others' changes are news. */
export class OwnWorks {
  readonly #hub: KubeClient;
  readonly #cache: Cache<KubeObject>;
  readonly #changed: (mark: string) => void;
  readonly #marks = new WeakMap<EngineApp, string>();
  /** The Works that are being written, each with the versions that came in meanwhile. */
  readonly #underWay = new Map<string, Set<string | undefined>>();

  constructor({ hub, cache, changed }: OwnWorksOptions) {
    this.#hub = hub;
    this.#cache = cache;
    this.#changed = changed;
  }

  mark(app: EngineApp): string {
    const known = this.#marks.get(app) ?? appMark(app);
    this.#marks.set(app, known);
    return known;
  }

  /** Those that this process has seen. */
  of(app: EngineApp): KubeObject[] {
    return this.#cache.byIndex("app", this.mark(app));
  }

  /** A Work changed on the hub. */
  tell(work: KubeObject): void {
    const seen = this.#underWay.get(keyOf(work.metadata));
    if (seen) seen.add(work.metadata.resourceVersion);
    else this.#changed(work.metadata.labels?.[MARKS.app] ?? "");
  }

  /**
   * As the server has them: those that have been seen, and what carries the workload to each of these clusters. Read by
   * name: a list by label would cost the server the more, the more Works of others there are.
   */
  async read(app: EngineApp, clusters: readonly string[]): Promise<KubeObject[]> {
    const seen = this.of(app).map(({ metadata }) => metadata);
    return this.#find(app, [...seen, ...this.#unseen(app, clusters)]);
  }

  /**
   * Stamps a leader's term on all of them; afterwards a leader of an earlier term can change none. What has been seen need
   * not be read: the write goes through only if it is still what the server has.
   */
  async stamp(app: EngineApp, term: number, clusters: readonly string[]): Promise<KubeObject[]> {
    let works = [...this.of(app), ...(await this.#find(app, this.#unseen(app, clusters)))];
    for (let attempt = 0; attempt < SWAP_ATTEMPTS; attempt++) {
      const later = works.find((work) => termOf(work) > term);
      if (later) {
        throw new SupersededError(`Work ${later.metadata.namespace}/${later.metadata.name}`, term, termOf(later));
      }
      if (works.every((work) => termOf(work) === term)) return works;
      const written = await Promise.all(works.map((work) => this.#stampOne(app, work, term)));
      works = written.flatMap((work) => work ?? []);
    }
    throw new DispatchConflictError(app.name, "a Work of this application");
  }

  /** A Work that says nothing yet; undefined when there is one already. */
  async reserve(app: EngineApp, ref: ObjectRef, claim: Claim): Promise<KubeObject | undefined> {
    const work = reservationFor(app, ref, claim);
    try {
      return await this.write(app, work, () => this.#hub.create(WORKS, work));
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
      await this.#find(app, [work.metadata]);
      return undefined;
    }
  }

  /**
   * Writes a Work. Whoever writes goes on from the answer and need not be told of it, whether the watch or the answer
   * brings it first; what somebody else did to the Work meanwhile is told when the write has ended.
   */
  write(app: EngineApp, { metadata }: KubeObject, send: () => Promise<KubeObject>): Promise<KubeObject> {
    return this.#quietly(app, metadata, async (seen) => {
      const written = await send();
      this.#cache.wrote(written);
      seen.delete(written.metadata.resourceVersion);
      return written;
    });
  }

  /**
   * Deletes a Work, as quietly, and says whether it is gone. Karmada's finalizer keeps it until the member's object is; when
   * it goes, that is news, whoever had asked for it.
   */
  delete(app: EngineApp, work: KubeObject): Promise<boolean> {
    return this.#quietly(app, work.metadata, async (seen) => {
      const left = await this.#hub.delete(WORKS, work.metadata, uidPrecondition(work));
      if (left) {
        this.#cache.wrote(left);
        seen.delete(left.metadata.resourceVersion);
      } else this.#cache.deleted(work);
      return left === undefined;
    });
  }

  async #quietly<Answer>(
    app: EngineApp,
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

  /** The Work with the term, or as it is now if somebody has just written it; undefined when it is gone. */
  async #stampOne(app: EngineApp, work: KubeObject, term: number): Promise<KubeObject | undefined> {
    if (termOf(work) === term) return work;
    try {
      return await this.write(app, work, () => this.#hub.patch(WORKS, work.metadata, termPatch(work, term)));
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
      return (await this.#find(app, [work.metadata]))[0];
    }
  }

  #unseen(app: EngineApp, clusters: readonly string[]): { namespace: string; name: string }[] {
    const name = workName(app, app.template);
    const names = clusters.map((cluster) => ({ namespace: executionNamespace(cluster), name }));
    return names.filter((each) => !this.#cache.get(each));
  }

  async #find(
    app: EngineApp,
    names: readonly { readonly namespace?: string | undefined; readonly name: string }[],
  ): Promise<KubeObject[]> {
    const found = await Promise.all(names.map((name) => this.#hub.find(WORKS, name)));
    const works = found.flatMap((work) => (work?.metadata.labels?.[MARKS.app] === this.mark(app) ? work : []));
    for (const work of works) this.#cache.wrote(work);
    return works;
  }
}

import type { CrossClusterStatefulsetStatus } from "../../api/index.ts";
import {
  type Cache,
  ConflictError,
  type KubeClient,
  type KubeObject,
  keyOf,
  NotFoundError,
  type Resource,
  WorkQueue,
} from "../../kube/index.ts";
import { type Clock, isJsonObject, type JsonObject, type Log, type Random, sameJson } from "../../runtime/index.ts";
import { STATEFULSETS } from "./resources.ts";

/** A status that is computed when it is written: unchanged conditions keep the times of the previous status. */
export type Statement<Status extends JsonObject> = (before: Status | undefined) => Status;

export interface StatusWriterOptions {
  readonly hub: KubeClient;
  /** The kind whose statuses are written; absent: CrossClusterStatefulset. */
  readonly resource?: Resource;
  readonly cache: Cache<KubeObject>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly mayAct: () => boolean;
  /** Called if another client changed the object while its status was being written. */
  readonly changed: (key: string) => void;
}

const FIELD_MANAGER = "lockstep-status";
/** One step changes the status in several plans, milliseconds apart: they are written together. */
const COLLECT_MS = 100;
/**
 * One object's status is written no more often than this: people read no faster, and a hub has thousands of objects.
 */
const INTERVAL_MS = 1_000;
/** Users edit rarely, and one read makes up for a lagging cache. A write that still conflicts is retried later. */
const SWAP_ATTEMPTS = 3;
/** Few, so that statuses never take the connections that grants need. */
const CONCURRENCY = 2;

/**
 * Reports, after the fact and beside the work: of several statuses of one object only the newest is written, and a
 * grant never waits for one.
 */
export class StatusWriter<Status extends JsonObject = CrossClusterStatefulsetStatus> {
  readonly #options: StatusWriterOptions;
  readonly #queue: WorkQueue;
  readonly #pending = new Map<string, Statement<Status>>();
  /** The version that our last write of each object made, and when, on the monotonic clock. */
  readonly #written = new Map<string, { readonly version: string | undefined; readonly atMs: number }>();
  /** The objects whose status is being written, each with the versions that came in meanwhile. */
  readonly #underWay = new Map<string, Set<string | undefined>>();

  constructor(options: StatusWriterOptions) {
    const { clock, random, log } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, log, concurrency: CONCURRENCY, work: (key) => this.#write(key) });
    this.#queue.start();
  }

  say(key: string, statement: Statement<Status>): void {
    this.#pending.set(key, statement);
    const lastMs = this.#written.get(key)?.atMs ?? Number.NEGATIVE_INFINITY;
    const freeMs = lastMs + INTERVAL_MS - this.#options.clock.monotonicMs();
    this.#queue.addAfter(key, Math.max(COLLECT_MS, freeMs));
  }

  /**
   * Whether a change is only our own write: no news. While a write is in progress, its event may arrive before its
   * response. Other changes that arrive meanwhile are reported when the write has ended.
   */
  isEcho(object: KubeObject, previous: KubeObject): boolean {
    const { generation, deletionTimestamp, finalizers, resourceVersion } = object.metadata;
    const key = keyOf(object.metadata);
    // The response to our write also contains what another client wrote just before.
    const onlyStatus =
      generation === previous.metadata.generation &&
      deletionTimestamp === previous.metadata.deletionTimestamp &&
      sameJson(finalizers, previous.metadata.finalizers);
    if (!onlyStatus) return false;
    const seen = this.#underWay.get(key);
    seen?.add(resourceVersion);
    return seen !== undefined || this.#written.get(key)?.version === resourceVersion;
  }

  forget(key: string): void {
    this.#pending.delete(key);
    this.#written.delete(key);
    this.#queue.forget(key);
  }

  /** Resolves when the writes in progress are done. The next leader writes what is left. */
  async shutdown(): Promise<void> {
    this.#pending.clear();
    await this.#queue.shutdown();
  }

  async #write(key: string): Promise<undefined> {
    const statement = this.#pending.get(key);
    if (!statement) return undefined;
    for (let attempt = 1; !(await this.#wrote(key, statement, attempt)); attempt++);
    // A failed write keeps its statement for the next try; a newer statement, made meanwhile, has its own turn.
    if (this.#pending.get(key) === statement) this.#pending.delete(key);
    return undefined;
  }

  /** False: another client has just changed the object, and it was read again. */
  async #wrote(key: string, statement: Statement<Status>, attempt: number): Promise<boolean> {
    const { hub, cache, clock, mayAct, resource = STATEFULSETS } = this.#options;
    const object = cache.getByKey(key);
    if (!object || !mayAct()) return true;
    const before = isJsonObject(object.status) ? object.status : undefined;
    const status = statement(before as Status | undefined);
    if (sameJson(before, status)) return true;
    const seen = new Set<string | undefined>();
    this.#underWay.set(key, seen);
    try {
      // Not applied: working out who owns each of its many fields costs the server several times the write.
      const options = { fieldManager: FIELD_MANAGER, subresource: "status" } as const;
      const written = await hub.update(resource, { ...object, status: { ...status } }, options);
      this.#written.set(key, { version: written.metadata.resourceVersion, atMs: clock.monotonicMs() });
      cache.wrote(written);
      seen.delete(written.metadata.resourceVersion);
      return true;
    } catch (error) {
      // The object was deleted in the meantime: there is no status to write.
      if (error instanceof NotFoundError) return true;
      if (!(error instanceof ConflictError) || attempt >= SWAP_ATTEMPTS) throw error;
      const now = await hub.find(resource, object.metadata);
      if (now) cache.wrote(now);
      return now === undefined;
    } finally {
      this.#underWay.delete(key);
      if (seen.size > 0) this.#options.changed(key);
    }
  }
}

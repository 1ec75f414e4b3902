import type { Engine, NamespaceLimits } from "../../../engine/index.ts";
import type { Ledger, PlanResult } from "../../../plan/index.ts";
import type { Clock } from "../../../runtime/index.ts";
import type { Subject } from "../subject.ts";
import { type Moment, memberIn } from "./moment.ts";

/** What was read of a cluster; absent limits: it could not be read. */
interface QuotaReading {
  readonly limits: NamespaceLimits | undefined;
  /** On the monotonic clock. */
  readonly atMs: number;
}

/** By cluster. */
export type KnownLimits = ReadonlyMap<string, NamespaceLimits>;

/** A plan that may add instances follows its reading within this time, or another reading is taken. */
const KNOWN_FOR_MS = 15_000;
/** An application that waits for room is not the reason for more than one reading in this time. */
const REFUSAL_FOR_MS = 10_000;

/**
 * What the namespaces of members limit, read when a plan would add instances there ([S18]). A watch of every quota in
 * every cluster would cost far more than reading a few when an application grows.
 *
 * A plan that adds instances without having read the quotas is not carried out: they are read, and the next reconcile
 * plans with them. A reading lets instances be added once. What cannot be read is not waited for, because the member
 * itself refuses what its quota does not allow.
 */
export class Quotas {
  readonly #engine: Pick<Engine, "member">;
  readonly #clock: Clock;
  /** By application and cluster. */
  readonly #read = new Map<string, Map<string, QuotaReading>>();

  constructor(engine: Pick<Engine, "member">, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** What was read for this plan. */
  known(key: string): KnownLimits {
    const found = new Map<string, NamespaceLimits>();
    for (const [cluster, { limits, atMs }] of this.#read.get(key) ?? []) {
      if (limits && this.#clock.monotonicMs() - atMs <= KNOWN_FOR_MS) found.set(cluster, limits);
    }
    return found;
  }

  /** Reads what the plan would have needed to know. False: there is nothing more to ask. */
  async ask({ key, app }: Subject, moment: Pick<Moment, "members">, before: Ledger, result: PlanResult) {
    const { namespace } = app.template;
    const wanted = growing(before, result.ledger).filter(
      (cluster) => memberIn(moment, cluster).kind !== "unreachable" && !this.#isKnown(key, cluster),
    );
    if (wanted.length === 0) return false;
    const read = this.#read.get(key) ?? new Map<string, QuotaReading>();
    this.#read.set(key, read);
    await Promise.all(
      wanted.map(async (cluster) => {
        const limits = await this.#engine.member(cluster).limits(namespace);
        read.set(cluster, { limits, atMs: this.#clock.monotonicMs() });
      }),
    );
    return true;
  }

  /** The plan is carried out: what let instances be added is used up; what refused them is kept for a while. */
  used(key: string, { waiting }: PlanResult): void {
    const read = this.#read.get(key);
    if (!read) return;
    const refused = new Set(waiting.flatMap(({ code, cluster }) => (code === "NoRoom" && cluster ? [cluster] : [])));
    const nowMs = this.#clock.monotonicMs();
    for (const [cluster, { atMs }] of read) {
      if (!refused.has(cluster) || nowMs - atMs > REFUSAL_FOR_MS) read.delete(cluster);
    }
    if (read.size === 0) this.#read.delete(key);
  }

  forget(key: string): void {
    this.#read.delete(key);
  }

  #isKnown(key: string, cluster: string): boolean {
    const reading = this.#read.get(key)?.get(cluster);
    return reading !== undefined && this.#clock.monotonicMs() - reading.atMs <= KNOWN_FOR_MS;
  }
}

/** Clusters that the plan grants more instances than they had. */
function growing(before: Ledger, { clusters }: Ledger): string[] {
  return Object.entries(clusters).flatMap(([cluster, { grant }]) =>
    (grant?.replicas ?? 0) > (before.clusters[cluster]?.grant?.replicas ?? 0) ? [cluster] : [],
  );
}

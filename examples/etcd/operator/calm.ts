import type { EtcdView } from "./etcd.ts";

/**
 * etcd drops writes that are on their way to a leader that hands over, and those on their way to a member that is
 * removed. Clients retry such a write when its timeout is over. If another member stopped at that moment, the retry could
 * fail, too. So no member stops before clients have had the time for a timeout of two seconds and a retry.
 */
export const CALM_MS = 3_000;

/** Longer than etcd needs with the timeouts that are usual between clusters. */
const MAX_ELECTION_MS = 15_000;

/** A node calls a pod unready when three probes, a second apart, have failed. The same patience as for those. */
const PATIENCE_MS = 3_000;

/**
 * Since when neither the leader nor the members of one etcd have changed, as far as this process has seen. After a
 * restart of the operator it counts from zero, which only costs time.
 */
export class Calm {
  #seen = "";
  #sinceMs = Number.NEGATIVE_INFINITY;
  /** When each member took part last, by its address. */
  readonly #heardMs = new Map<string, number>();

  heard(address: string, nowMs: number): void {
    this.#heardMs.set(address, nowMs);
  }

  /** It took part a moment ago: a single answer that is missing or late does not mean that it is down. */
  wasHeard(address: string, nowMs: number): boolean {
    return nowMs - (this.#heardMs.get(address) ?? Number.NEGATIVE_INFINITY) < PATIENCE_MS;
  }

  /** An etcd that does not answer is not calm. */
  look(view: EtcdView | undefined, nowMs: number): void {
    const members = view?.members.map(({ id, isLearner }) => `${id}${isLearner ? "?" : ""}`).sort();
    const seen = view?.leader && members ? `${view.leader.id} in term ${view.term}: ${members.join()}` : "";
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#sinceMs = nowMs;
  }

  /** It does not answer, and did until a moment ago: most likely it elects a leader. */
  isElecting(nowMs: number): boolean {
    return this.#seen === "" && nowMs - this.#sinceMs < MAX_ELECTION_MS;
  }

  isCalm(nowMs: number): boolean {
    return this.#seen !== "" && nowMs - this.#sinceMs >= CALM_MS;
  }
}

/** Every object is reconciled several times a second, so one that was not for this long is gone. */
const FORGET_MS = 60_000;

/** One for each etcd, for as long as its object exists. Starting again from nothing only costs time. */
export class Calms {
  readonly #all = new Map<string, { readonly calm: Calm; usedMs: number }>();

  of(uid: string, nowMs: number): Calm {
    for (const [other, { usedMs }] of this.#all) if (nowMs - usedMs > FORGET_MS) this.#all.delete(other);
    const found = this.#all.get(uid) ?? { calm: new Calm(), usedMs: nowMs };
    found.usedMs = nowMs;
    this.#all.set(uid, found);
    return found.calm;
  }

  get size(): number {
    return this.#all.size;
  }
}

import { type Clock, isJsonObject, type Log, type Random, silentLog } from "../runtime/index.ts";
import type { KubeClient } from "./client.ts";
import { AlreadyExistsError, ConflictError } from "./errors.ts";
import type { KubeObject } from "./object.ts";
import { resource } from "./resource.ts";

const LEASES = resource({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", plural: "leases", namespaced: true });

/** A period during which one candidate may act. */
export interface Leadership {
  /** Aborts when the leadership ends, always before another candidate can start. */
  readonly signal: AbortSignal;
  /** Increases with every leadership of this lease; never the same for two. */
  readonly term: number;
  /**
   * Check it right before acting. Unlike the signal, it is also correct if the process was stopped for a while and its
   * timers have not fired yet.
   */
  isCurrent(): boolean;
  /**
   * Reads the lease from the server, and returns whether this leadership still holds it. Unlike `isCurrent`, it is also
   * correct if the machine was suspended and its monotonic clock stopped. If another candidate holds the lease, the
   * leadership ends.
   */
  confirm(): Promise<boolean>;
}

export interface ElectionOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  readonly namespace: string;
  readonly name: string;
  /**
   * For users, such as the pod's name. The lease has it with a unique suffix, because a restarted pod is a new
   * candidate.
   */
  readonly identity: string;
  /**
   * Two processes never run with this identity at once, as with a pod's name: a process that finds the lease of an
   * earlier one with its identity knows that this one is dead, and takes the lease at once.
   */
  readonly isIdentityUnique?: boolean | undefined;
  readonly leaseDurationMs?: number | undefined;
  readonly renewDeadlineMs?: number | undefined;
  readonly retryPeriodMs?: number | undefined;
}

/** client-go's times. Others take the lease after 15 s without a renewal; the holder stops acting after 10 s. */
const LEASE_DURATION_MS = 15_000;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_PERIOD_MS = 2_000;
/**
 * Between our stop and the first moment another candidate may start: a margin for pauses, and for clocks that run at
 * different speeds.
 */
const MIN_SAFETY_MARGIN_MS = 1_000;

export interface ElectionState {
  /** `candidate`: not known yet which one leads. */
  readonly role: "candidate" | "standby" | "leader";
  /** When the server last answered about the lease, on the monotonic clock. */
  readonly answeredMs: number | undefined;
  /** Why the last attempt failed; undefined after an answer. */
  readonly failure: string | undefined;
}

interface LeaseSpec {
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly acquireTime: string;
  /** Changes with every renewal; only compared for equality. */
  readonly fingerprint: string;
}

/**
 * Leader election on a Lease. The argument for "never two at once", which does not depend on wall clocks:
 * - a candidate takes a held lease only after it has seen the lease unchanged for a whole lease duration on its own
 *   monotonic clock, and only by compare-and-swap on that version;
 * - other candidates see a renewal no earlier than it was sent, so they cannot take the lease before `sent + lease
 *   duration`;
 * - the holder stops at `sent + renew deadline`, counted from when it sent its last successful renewal, which is
 *   earlier by a safety margin. One case remains: a process that sleeps while its monotonic clock does not advance (a
 *   suspended machine). Against that, put the term into every write and refuse older terms.
 */
export class Election {
  readonly identity: string;
  readonly #options: ElectionOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #leaseMs: number;
  readonly #renewMs: number;
  readonly #retryMs: number;
  #lease: KubeObject | undefined;
  #observed: { fingerprint: string; sinceMs: number } | undefined;
  /** The leader that this candidate has already logged. */
  #standsBy: { leader: string; term: number } | undefined;
  #writes = 0;
  #answeredMs: number | undefined;
  #failure: string | undefined;
  #isLeading = false;

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.identity = `${options.identity}_${options.random.uuid()}`;
    this.#log = (options.log ?? silentLog).with({ lease: `${options.namespace}/${options.name}` });
    this.#leaseMs = options.leaseDurationMs ?? LEASE_DURATION_MS;
    this.#renewMs = options.renewDeadlineMs ?? RENEW_DEADLINE_MS;
    this.#retryMs = options.retryPeriodMs ?? RETRY_PERIOD_MS;
    if (this.#renewMs + MIN_SAFETY_MARGIN_MS > this.#leaseMs || this.#retryMs >= this.#renewMs) {
      throw new Error(
        `election times must satisfy retryPeriod (${this.#retryMs} ms) < renewDeadline (${this.#renewMs} ms) <= leaseDuration (${this.#leaseMs} ms) - ${MIN_SAFETY_MARGIN_MS} ms`,
      );
    }
  }

  get state(): ElectionState {
    const role = this.#isLeading ? "leader" : this.#standsBy ? "standby" : "candidate";
    return { role, answeredMs: this.#answeredMs, failure: this.#failure };
  }

  /**
   * Takes part until aborted, and calls `lead` for every leadership that it wins. `lead` must return soon after its
   * signal aborts; only then is the lease released or contested again. Resolves after a clean end, with the lease
   * released. Rejects with what `lead` threw.
   */
  async run(signal: AbortSignal, lead: (leadership: Leadership) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      const sentMs = await this.#tryToHold();
      if (sentMs !== undefined && signal.aborted) return this.#release();
      if (sentMs !== undefined) await this.#lead(sentMs, signal, lead);
      const jitter = 1 + this.#options.random.next() * 0.2;
      await this.#clock.sleep(this.#retryMs * jitter, signal).catch(() => {});
    }
  }

  async #lead(firstSentMs: number, stop: AbortSignal, lead: (leadership: Leadership) => Promise<void>): Promise<void> {
    let sentMs = firstSentMs;
    const leading = new AbortController();
    const workDone = new AbortController();
    const term = this.#lease ? readLease(this.#lease).transitions : 0;
    const lost = () => this.#clock.monotonicMs() >= sentMs + this.#renewMs;
    this.#standsBy = undefined;
    this.#isLeading = true;
    this.#log.info("leading", { identity: this.identity, term });
    const onStop = () => leading.abort(stop.reason);
    if (stop.aborted) onStop();
    stop.addEventListener("abort", onStop, { once: true });

    const guard = async () => {
      while (!lost()) {
        const leftMs = Math.ceil(sentMs + this.#renewMs - this.#clock.monotonicMs());
        await this.#clock.sleep(leftMs, workDone.signal);
      }
      leading.abort(new Error("the lease could not be renewed in time"));
    };
    const renew = async () => {
      while (!lost()) {
        await this.#clock.sleep(this.#retryMs, workDone.signal);
        const renewedMs = await this.#tryToHold();
        // An answer after the deadline cannot restore a leadership.
        if (renewedMs !== undefined && !lost()) sentMs = renewedMs;
        else if (this.#isLostToOther()) return leading.abort(new Error("another candidate holds the lease"));
      }
    };
    const isCurrent = () => !leading.signal.aborted && !lost();
    const confirm = async () => {
      const { client, namespace, name } = this.#options;
      const now = await client.find(LEASES, { namespace, name }, { timeoutMs: this.#renewMs / 2 });
      const lease = now && readLease(now);
      if (lease?.holder !== this.identity || lease.transitions !== term) {
        leading.abort(new Error("another candidate holds the lease"));
      }
      return isCurrent();
    };
    const upkeep = Promise.allSettled([guard(), renew()]);
    try {
      await lead({ signal: leading.signal, term, isCurrent, confirm });
    } finally {
      leading.abort(new Error("the leadership is over"));
      this.#isLeading = false;
      workDone.abort(new Error("the work is done"));
      stop.removeEventListener("abort", onStop);
      await upkeep;
      await this.#release();
      this.#log.info("no longer leading", { identity: this.identity, term });
    }
  }

  /** One attempt to take or renew the lease. Returns when it was sent, if it succeeded. Never throws. */
  async #tryToHold(): Promise<number | undefined> {
    const { client, namespace, name } = this.#options;
    // No retries inside: the time of sending must be that of the copy that was answered.
    const options = { timeoutMs: this.#renewMs / 2, maxAttempts: 1 };
    try {
      const known = this.#lease;
      if (known && readLease(known).holder === this.identity) {
        // The common case: our own lease as we last wrote it; a conflict shows if that is not so.
        const sentMs = this.#clock.monotonicMs();
        this.#remember(await client.update(LEASES, this.#renewed(known, false), options));
        return sentMs;
      }
      const current = await client.find(LEASES, { namespace, name }, options);
      if (!current) {
        const sentMs = this.#clock.monotonicMs();
        this.#remember(await client.create(LEASES, this.#newLease(), options));
        return sentMs;
      }
      this.#remember(current);
      if (!this.#mayTake(current)) {
        this.#sayStandingBy(current);
        return undefined;
      }
      const sentMs = this.#clock.monotonicMs();
      this.#remember(await client.update(LEASES, this.#renewed(current, true), options));
      return sentMs;
    } catch (error) {
      const lostRace = error instanceof ConflictError || error instanceof AlreadyExistsError;
      const reason = error instanceof Error ? error.message : String(error);
      if (!lostRace) {
        this.#failure = reason;
        this.#log.warn("the lease could not be read or written", { reason });
      }
      // After any failure, the next attempt starts with a read.
      if (this.#lease && readLease(this.#lease).holder === this.identity) await this.#reread(options);
      return undefined;
    }
  }

  async #reread(options: { timeoutMs: number; maxAttempts: number }): Promise<void> {
    const { client, namespace, name } = this.#options;
    try {
      const current = await client.find(LEASES, { namespace, name }, options);
      this.#lease = undefined;
      if (current) this.#remember(current);
    } catch {
      // Still unreachable: the old copy stays, and its version decides at the next attempt.
    }
  }

  #remember(lease: KubeObject): void {
    const { fingerprint } = readLease(lease);
    this.#lease = lease;
    this.#answeredMs = this.#clock.monotonicMs();
    this.#failure = undefined;
    if (this.#observed?.fingerprint === fingerprint) return;
    this.#observed = { fingerprint, sinceMs: this.#clock.monotonicMs() };
  }

  #mayTake(lease: KubeObject): boolean {
    const { holder, durationMs } = readLease(lease);
    if (holder === "" || holder === this.identity) return true;
    const { identity, isIdentityUnique } = this.#options;
    if (isIdentityUnique && holder.startsWith(`${identity}_`) && holder.length === this.identity.length) return true;
    const unchangedMs = this.#clock.monotonicMs() - (this.#observed?.sinceMs ?? Number.POSITIVE_INFINITY);
    // The holder relies on its own duration, which may be longer than ours.
    return unchangedMs >= Math.max(durationMs, this.#leaseMs);
  }

  /** Logged once for every other leader. */
  #sayStandingBy(lease: KubeObject): void {
    const { holder: leader, transitions: term, acquireTime: since } = readLease(lease);
    if (this.#standsBy?.leader === leader && this.#standsBy.term === term) return;
    this.#standsBy = { leader, term };
    this.#log.info("standing by; another candidate leads", { identity: this.identity, leader, term, since });
  }

  #isLostToOther(): boolean {
    return this.#lease === undefined || readLease(this.#lease).holder !== this.identity;
  }

  /**
   * `taking` starts a new term, even if we held the lease before: observers of the old term must not confuse the two.
   */
  #renewed(lease: KubeObject, taking: boolean): KubeObject {
    const { transitions, acquireTime } = readLease(lease);
    // The counter makes every renewal differ from the one before, even if the wall clock stops or goes back. A server
    // ignores an equal write, and other candidates would see a lease that is not renewed.
    const now = microTime(this.#clock.now(), this.#writes++ % 1000);
    return {
      ...lease,
      spec: {
        ...(isJsonObject(lease.spec) ? lease.spec : {}),
        holderIdentity: this.identity,
        leaseDurationSeconds: Math.ceil(this.#leaseMs / 1000),
        acquireTime: taking || acquireTime === "" ? now : acquireTime,
        renewTime: now,
        leaseTransitions: taking ? transitions + 1 : transitions,
      },
    };
  }

  #newLease(): KubeObject {
    const { namespace, name } = this.#options;
    const empty = { apiVersion: LEASES.apiVersion, kind: LEASES.kind, metadata: { namespace, name } };
    return this.#renewed(empty, true);
  }

  async #release(): Promise<void> {
    const lease = this.#lease;
    if (!lease || this.#isLostToOther()) return;
    const spec = { ...(isJsonObject(lease.spec) ? lease.spec : {}), holderIdentity: "", leaseDurationSeconds: 1 };
    try {
      await this.#options.client.update(LEASES, { ...lease, spec }, { timeoutMs: this.#renewMs / 2, maxAttempts: 1 });
      this.#log.info("lease released", { identity: this.identity });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.warn("the lease could not be released; it expires by itself", { reason });
    }
    this.#lease = undefined;
  }
}

function readLease(lease: KubeObject): LeaseSpec {
  const spec = isJsonObject(lease.spec) ? lease.spec : {};
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : 0);
  return {
    holder: text(spec.holderIdentity),
    durationMs: number(spec.leaseDurationSeconds) * 1000,
    transitions: number(spec.leaseTransitions),
    acquireTime: text(spec.acquireTime),
    fingerprint: JSON.stringify([lease.metadata.uid, spec.holderIdentity, spec.renewTime, spec.leaseTransitions]),
  };
}

/** Leases use microseconds. */
function microTime(ms: number, micros: number): string {
  return new Date(ms).toISOString().replace("Z", `${String(micros).padStart(3, "0")}Z`);
}

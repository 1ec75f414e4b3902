import type { KubeClient } from "../../../kube/index.ts";
import type { Clock, Log, Random } from "../../../runtime/index.ts";
import { HubKind } from "./hub-kind.ts";
import type { HubReader } from "./hub-reader.ts";
import type { Found, Outline, Reading } from "./hub-readings.ts";
import { HubReads } from "./hub-reads.ts";

export interface HubRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

interface HubObjectsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** An object that this application asked for may have changed. */
  readonly changed: (appKey: string) => void;
}

export interface HubUsage {
  readonly kinds: number;
  /** Objects that applications name, and that are kept therefore. */
  readonly objects: number;
  /** Of which the newest state is not known yet. */
  readonly beingRead: number;
}

interface OpenKind {
  readonly kind: HubKind;
  readonly reads: HubReads;
  readonly stop: AbortController;
  /** Set while it is unused: ends the time after which it is closed. */
  closing: AbortController | undefined;
}

/** What an application read in the round that it is in, and in the one before. */
interface Rounds {
  now: Set<Reading>;
  before: Set<Reading>;
}

/** A kind that no application reads any more is watched for so long: an edit may bring its readers back. */
const UNUSED_KIND_MS = 60_000;

/**
 * Templates and what they depend on: any object of any kind on the hub, from the first time an application asks for it
 * until none does. One watch per kind, however many namespaces and applications there are.
 */
export class HubObjects implements HubReader {
  readonly #options: HubObjectsOptions;
  readonly #signal: AbortSignal;
  readonly #kinds = new Map<string, OpenKind>();
  readonly #rounds = new Map<string, Rounds>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: HubObjectsOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** The application is looked at again: what it asked for neither in the last round nor in this one is let go. */
  begin(appKey: string): void {
    const rounds = this.#rounds.get(appKey);
    if (!rounds) return;
    for (const reading of rounds.before) if (!rounds.now.has(reading)) reading.leave(appKey);
    rounds.before = rounds.now;
    rounds.now = new Set();
  }

  get(appKey: string, { apiVersion, kind, namespace, name }: HubRef): Found {
    const of = this.#kind(apiVersion, kind);
    const object = this.#entered(appKey, of.object(namespace, name));
    const message = of.whyUnknown;
    if (message === undefined) return object.found;
    const { notServed } = of;
    return { kind: "unknown", message, ...(notServed !== undefined && { notServed }) };
  }

  list(appKey: string, { apiVersion, kind, namespace }: Omit<HubRef, "name">): readonly Outline[] | undefined {
    return this.#entered(appKey, this.#kind(apiVersion, kind).outlines(namespace)).known;
  }

  notServed({ apiVersion, kind }: Pick<HubRef, "apiVersion" | "kind">): string | undefined {
    return this.#kinds.get(`${apiVersion}/${kind}`)?.kind.notServed;
  }

  forget(appKey: string): void {
    const { now = [], before = [] } = this.#rounds.get(appKey) ?? {};
    this.#rounds.delete(appKey);
    for (const reading of [...now, ...before]) reading.leave(appKey);
  }

  usage(): HubUsage {
    const kinds = [...this.#kinds.values()];
    const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
    const objects = sum(kinds.map(({ kind }) => kind.size));
    return { kinds: kinds.length, objects, beingRead: sum(kinds.map(({ reads }) => reads.size)) };
  }

  async stopped(): Promise<void> {
    for (const { closing } of this.#kinds.values()) closing?.abort();
    await Promise.all(this.#running);
  }

  #entered<Kept extends Reading>(appKey: string, reading: Kept): Kept {
    const rounds = this.#rounds.get(appKey);
    if (rounds) rounds.now.add(reading);
    else this.#rounds.set(appKey, { now: new Set([reading]), before: new Set() });
    reading.enter(appKey);
    return reading;
  }

  #kind(apiVersion: string, kind: string): HubKind {
    const id = `${apiVersion}/${kind}`;
    const known = this.#kinds.get(id);
    if (known) {
      known.closing?.abort();
      known.closing = undefined;
      return known.kind;
    }
    const { client, clock, random, log, changed } = this.#options;
    const stop = new AbortController();
    const reads = new HubReads({ clock, random }, stop.signal);
    const unused = () => this.#closeLater(id, open);
    const open: OpenKind = {
      kind: new HubKind({ apiVersion, kind, client, clock, random, log, reads, changed, unused }),
      reads,
      stop,
      closing: undefined,
    };
    this.#kinds.set(id, open);
    const end = () => stop.abort(this.#signal.reason);
    this.#signal.addEventListener("abort", end, { once: true });
    if (this.#signal.aborted) end();
    const ended = open.kind.run(stop.signal).then(() => reads.stopped());
    const running = ended.finally(() => {
      this.#signal.removeEventListener("abort", end);
      this.#running.delete(running);
    });
    this.#running.add(running);
    return open.kind;
  }

  #closeLater(id: string, open: OpenKind): void {
    open.closing?.abort();
    const closing = new AbortController();
    open.closing = closing;
    const close = () => {
      this.#kinds.delete(id);
      open.stop.abort(new Error("no application reads this kind any more"));
    };
    void this.#options.clock.sleep(UNUSED_KIND_MS, closing.signal).then(close, () => {});
  }
}

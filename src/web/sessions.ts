/** Who is signed in. In memory only: a restart signs every viewer out, and no credential is ever written to disk. */
import type { Clock } from "../runtime/index.ts";
import type { Viewer } from "./viewer.ts";

/** A working day; after that the viewer signs in again, whatever the token's own lifetime. */
const LIFETIME_MS = 8 * 60 * 60 * 1000;
/** A page that is open sends no requests of its own for long; its live stream counts as use. */
const IDLE_MS = 60 * 60 * 1000;
/** Each holds connections to the hub. Above this, the one that was used least recently ends. */
const MAX_SESSIONS = 100;
/** Long enough to read what `up` prints and to open it; a link that stays in a scrollback is worth nothing. */
const LINK_LIFETIME_MS = 15 * 60 * 1000;
const MAX_LINKS = 20;
/** Pages that one viewer has open at a time. Browsers open six connections to one host. */
const MAX_STREAMS_PER_SESSION = 12;

export interface Session {
  readonly viewer: Viewer;
  /** Aborts when the session ends. */
  readonly ended: AbortSignal;
}

interface Entry extends Session {
  readonly key: string;
  readonly end: AbortController;
  readonly untilMs: number;
  usedMs: number;
  streams: number;
}

export class Sessions {
  readonly #clock: Clock;
  readonly #newSecret: () => string;
  /** By the secret in the cookie; in the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  /** Secrets of one-time links, each with what it signs in as. */
  readonly #links = new Map<string, { readonly open: () => Promise<Viewer>; readonly untilMs: number }>();

  constructor(options: { readonly clock: Clock; readonly newSecret: () => string }) {
    this.#clock = options.clock;
    this.#newSecret = options.newSecret;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the secret for the cookie, and the key that the page keeps for its own origin. */
  begin(viewer: Viewer): { readonly secret: string; readonly key: string } {
    this.#endOld();
    while (this.#entries.size >= MAX_SESSIONS) this.#end([...this.#entries.keys()][0] ?? "");
    const secret = this.#newSecret();
    const key = this.#newSecret();
    const now = this.#clock.monotonicMs();
    const end = new AbortController();
    this.#entries.set(secret, {
      key,
      viewer,
      end,
      ended: end.signal,
      untilMs: now + LIFETIME_MS,
      usedMs: now,
      streams: 0,
    });
    return { secret, key };
  }

  find(secret: string | undefined, key: string | undefined): Session | undefined {
    this.#endOld();
    const entry = secret === undefined ? undefined : this.#entries.get(secret);
    if (secret === undefined || !entry || entry.key !== key) return undefined;
    entry.usedMs = this.#clock.monotonicMs();
    this.#entries.delete(secret);
    this.#entries.set(secret, entry);
    return entry;
  }

  /** For a request of a page: with its cookie alone, another local server cannot even end it. */
  endOwn(secret: string | undefined, key: string | undefined): void {
    if (this.find(secret, key)) this.end(secret);
  }

  end(secret: string | undefined): void {
    if (secret !== undefined) this.#end(secret);
  }

  /** A place for one live stream, and how to give it back; undefined: the viewer has too many open. */
  stream(secret: string): (() => void) | undefined {
    const entry = this.#entries.get(secret);
    if (!entry || entry.streams >= MAX_STREAMS_PER_SESSION) return undefined;
    entry.streams += 1;
    return () => {
      entry.streams -= 1;
      entry.usedMs = this.#clock.monotonicMs();
    };
  }

  /** A secret that signs in once, as `open` says. */
  oneTimeLink(open: () => Promise<Viewer>): string {
    const secret = this.#newSecret();
    this.#links.set(secret, { open, untilMs: this.#clock.monotonicMs() + LINK_LIFETIME_MS });
    while (this.#links.size > MAX_LINKS) this.#links.delete([...this.#links.keys()][0] ?? "");
    return secret;
  }

  /** What the link signs in as. It works once. */
  useLink(secret: string): (() => Promise<Viewer>) | undefined {
    const link = this.#links.get(secret);
    this.#links.delete(secret);
    return link && this.#clock.monotonicMs() < link.untilMs ? link.open : undefined;
  }

  endAll(): void {
    this.#links.clear();
    for (const secret of [...this.#entries.keys()]) this.#end(secret);
  }

  #endOld(): void {
    const now = this.#clock.monotonicMs();
    for (const [secret, { untilMs, usedMs, streams }] of this.#entries) {
      if (now >= untilMs || (streams === 0 && now - usedMs >= IDLE_MS)) this.#end(secret);
    }
  }

  #end(secret: string): void {
    const entry = this.#entries.get(secret);
    if (!entry) return;
    this.#entries.delete(secret);
    entry.end.abort(new Error("the session has ended"));
    void entry.viewer.close().catch(() => {});
  }
}

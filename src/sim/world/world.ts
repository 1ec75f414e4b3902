import { Dice } from "../seed/dice.ts";
import { Agenda, type Entry } from "./agenda.ts";
import { drain } from "./drain.ts";

/** Thrown when a property does not hold; `seed` replays it. */
export class PropertyViolation extends Error {
  override readonly name = "PropertyViolation";
  readonly property: string;
  readonly atMs: number;

  constructor(property: string, message: string, atMs: number) {
    super(message);
    this.property = property;
    this.atMs = atMs;
  }
}

/** A Wednesday of 2025, so that dates of simulated objects are easy to recognize. */
const START_WALL_MS = Date.UTC(2025, 0, 1);
/** A run with more events than this is an endless loop. */
const MAX_EVENTS = 400_000;

/**
 * Everything happens here, one event at a time, in the order of virtual time; what follows from one event (promise
 * chains) completes before the next starts. The same seed gives the same events in every process: `hash` proves it.
 */
export class World {
  readonly dice: Dice;
  readonly startWallMs = START_WALL_MS;
  readonly #agenda = new Agenda();
  readonly #ties: Dice;
  readonly #lines: string[] | undefined;
  readonly #afterEvent: (() => void)[] = [];
  #nowMs = 0;
  #order = 0;
  #events = 0;
  #hash = 0x811c9dc5;
  #failure: PropertyViolation | undefined;

  /** `records`: keep a transcript. Costs time, and changes nothing else. */
  constructor(seed: number, records: boolean) {
    this.dice = new Dice(seed);
    this.#ties = this.dice.branch("ties");
    this.#lines = records ? [] : undefined;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get events(): number {
    return this.#events;
  }

  /** Of every event's time and name, and of everything noted, in order. */
  get hash(): string {
    return this.#hash.toString(16).padStart(8, "0");
  }

  get transcript(): readonly string[] {
    return this.#lines ?? [];
  }

  get failure(): PropertyViolation | undefined {
    return this.#failure;
  }

  after(delayMs: number, label: string, run: () => void): Entry {
    const entry: Entry = {
      atMs: this.#nowMs + Math.max(0, delayMs),
      tieBreak: this.#ties.next(),
      order: this.#order++,
      label,
      run,
    };
    this.#agenda.add(entry);
    return entry;
  }

  cancel(entry: Entry): void {
    this.#agenda.cancel(entry);
  }

  /** For the transcript and the hash. `text` is evaluated only when a transcript is kept. */
  note(who: string, what: string, text?: () => string): void {
    this.#mix(what);
    if (!this.#lines) return;
    const seconds = (this.#nowMs / 1000).toFixed(3).padStart(9);
    const more = text?.() ?? "";
    this.#lines.push(`${seconds} ${who.padEnd(14)} ${what}${more === "" ? "" : ` ${more}`}`);
  }

  /** A line for the transcript that is not part of the hash. */
  noteQuietly(who: string, text: () => string): void {
    if (!this.#lines) return;
    this.#lines.push(`${(this.#nowMs / 1000).toFixed(3).padStart(9)} ${who.padEnd(14)}   ${text()}`);
  }

  /** Called after every event, when everything that followed from it is complete. */
  afterEvent(check: () => void): void {
    this.#afterEvent.push(check);
  }

  /** Ends the run: the first violation is the one that counts. */
  violated(property: string, message: string): void {
    if (this.#failure) return;
    this.note("PROPERTY", `${property}: ${message}`);
    this.#failure = new PropertyViolation(property, message, this.#nowMs);
  }

  /**
   * Runs events until `done` holds (checked after each), a property fails, or `endMs` is reached. Returns whether
   * `done` held.
   */
  async run(endMs: number, done: () => boolean): Promise<boolean> {
    await drain();
    while (!this.#failure) {
      if (done()) return true;
      const next = this.#agenda.take();
      if (!next) return done();
      if (next.atMs > endMs) {
        this.#agenda.add(next);
        this.#nowMs = endMs;
        return false;
      }
      this.#nowMs = next.atMs;
      this.#mix(next.label);
      if (++this.#events > MAX_EVENTS) {
        this.violated("bounded", `more than ${MAX_EVENTS} events: this is an endless loop`);
        return false;
      }
      const { run } = next;
      next.run = undefined as unknown as () => void;
      run();
      await drain();
      for (const check of this.#afterEvent) check();
    }
    return false;
  }

  /** Advances time until the promise settles: for the setup before the run starts. */
  async finish(promise: Promise<void>): Promise<void> {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    await this.run(Number.POSITIVE_INFINITY, () => settled);
    return promise;
  }

  #mix(text: string): void {
    let hash = this.#hash ^ (this.#nowMs * 1000);
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    this.#hash = hash >>> 0;
  }
}

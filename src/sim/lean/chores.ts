import type { Dice } from "../dice.ts";
import type { World } from "../world.ts";
import { HubRefused } from "./hub.ts";

/** A delay, from and to, in milliseconds. */
export type Span = readonly [number, number];

/** What Karmada's controllers have to do, each thing a while after there was a reason for it. */
export class Chores {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #pending = new Set<string>();
  #held: (() => void)[] | undefined;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  /** Several reasons to do something make it done once. */
  once(what: string, delay: Span, run: () => Promise<void>): void {
    if (this.#pending.has(what)) return;
    this.#pending.add(what);
    this.after(delay, what, () => {
      this.#pending.delete(what);
      this.write(run, () => this.once(what, delay, run));
    });
  }

  after([low, high]: Span, label: string, run: () => void): void {
    this.#world.after(this.#dice.whole(low, high), label, () => {
      if (this.#held) this.#held.push(run);
      else run();
    });
  }

  /** A write that lost its race is decided anew: what it raced with is known by then. */
  write(run: () => Promise<void>, again: () => void): void {
    run().catch((error: unknown) => {
      if (!(error instanceof HubRefused)) throw error;
      if (error.status !== 409 && error.status !== 404) throw error;
      again();
    });
  }

  /** Without the hub nothing can be done; afterwards everything is done that was due meanwhile. */
  hold(): void {
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const run of held) run();
  }
}

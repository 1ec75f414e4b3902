import type { Dice } from "../seed/dice.ts";
import type { World } from "../world/world.ts";
import { HubRefused } from "./hub.ts";

/** A delay, from and to, in milliseconds. */
export type Span = readonly [number, number];

/** The work of an engine's controllers and agents, each item some time after its cause. */
export class Chores {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #pending = new Set<string>();
  #held: (() => void)[] | undefined;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  /** Several causes result in one run. */
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

  /** A write that lost its race is decided again: the winning write is then known. */
  write(run: () => Promise<void>, again: () => void): void {
    run().catch((error: unknown) => {
      if (!(error instanceof HubRefused)) throw error;
      if (error.status !== 409 && error.status !== 404) throw error;
      again();
    });
  }

  /** Without the hub nothing can be done; afterwards everything that was due meanwhile is done. */
  hold(): void {
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const run of held) run();
  }
}

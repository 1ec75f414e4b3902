import { type Random, seededRandom } from "../../runtime/index.ts";

/** A separate stream of choices for every purpose, so that one more choice here changes none there. */
export class Dice {
  readonly #random: Random;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed >>> 0;
    this.#random = seededRandom(this.#seed);
  }

  /** Another stream, named: the same for the same seed and name in every process. */
  branch(name: string): Dice {
    let hash = this.#seed ^ 0x811c9dc5;
    for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
    return new Dice(hash >>> 0);
  }

  get random(): Random {
    return this.#random;
  }

  next(): number {
    return this.#random.next();
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.#random.next() * (high - low + 1));
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.#random.next() * items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }
}

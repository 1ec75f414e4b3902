import { type CancelTimer, type Clock, type Random, seededRandom } from "../../runtime/index.ts";
import type { World } from "../world/world.ts";

/**
 * A process of the simulated world, with its own clock and randomness. After a kill, none of its promises settles and
 * nothing that it sends has an effect, so that not even its `finally` blocks run: like kill -9.
 */
export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly #world: World;
  readonly #startedMs: number;
  readonly #wakes: string;
  #alive = true;
  #pausedSinceMs: number | undefined;
  /** Meanwhile a suspended machine's monotonic clock stops; a stopped process's does not. */
  #clockStands = false;
  #suspendedMs = 0;
  #wallOffsetMs = 0;
  #held: (() => void)[] = [];
  readonly #onKill: (() => void)[] = [];

  constructor(world: World, name: string) {
    this.name = name;
    this.#world = world;
    this.#startedMs = world.nowMs;
    this.#wakes = `wake ${name}`;
    this.random = seededRandom(world.dice.branch(`process ${name}`).whole(0, 2 ** 31));
    this.clock = {
      now: () => Math.floor(world.startWallMs + world.nowMs + this.#wallOffsetMs),
      monotonicMs: () => this.#monotonicMs(),
      sleep: (durationMs, signal) => this.#sleep(durationMs, signal),
      after: (durationMs, run) => this.#after(durationMs, run),
    };
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  get isPaused(): boolean {
    return this.#pausedSinceMs !== undefined;
  }

  kill(): void {
    this.#alive = false;
    this.#held = [];
    for (const end of this.#onKill.splice(0)) end();
  }

  /** What happens when the process dies: the kernel closes its connections. */
  onKill(end: () => void): void {
    this.#onKill.push(end);
  }

  pause(clockStands: boolean): void {
    if (!this.#alive || this.isPaused) return;
    this.#pausedSinceMs = this.#world.nowMs;
    this.#clockStands = clockStands;
  }

  /** Everything that arrived meanwhile is available at once. */
  resume(): void {
    if (!this.#alive || this.#pausedSinceMs === undefined) return;
    if (this.#clockStands) this.#suspendedMs += this.#world.nowMs - this.#pausedSinceMs;
    this.#pausedSinceMs = undefined;
    const held = this.#held;
    this.#held = [];
    for (const run of held) run();
  }

  jumpWall(deltaMs: number): void {
    this.#wallOffsetMs += deltaMs;
  }

  /** Something from outside reaches the process: now, when it resumes, or never. */
  deliver(run: () => void): void {
    if (!this.#alive) return;
    if (this.isPaused) this.#held.push(run);
    else run();
  }

  #monotonicMs(): number {
    const standing =
      this.#clockStands && this.#pausedSinceMs !== undefined ? this.#world.nowMs - this.#pausedSinceMs : 0;
    return this.#world.nowMs - this.#startedMs - this.#suspendedMs - standing;
  }

  #sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.#after(durationMs, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  #after(durationMs: number, run: () => void): CancelTimer {
    let isCancelled = false;
    // Held while the process is paused, it may be cancelled before it arrives.
    const arrive = () => {
      if (!isCancelled) run();
    };
    const entry = this.#world.after(durationMs, this.#wakes, () => this.deliver(arrive));
    return () => {
      isCancelled = true;
      this.#world.cancel(entry);
    };
  }
}

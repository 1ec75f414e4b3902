/** Suspends a script between two long calls, so that the event loop has time for other work. */
import type { Clock } from "../runtime/index.ts";
import type { LuaScript } from "./lua/index.ts";

/** A cheaper call takes a fraction of a millisecond: no suspension is needed after it. */
const LIGHT_FUEL = 20_000;
/** A compilation step takes about as long as this much fuel; scripts of ordinary size are cheap. */
const FUEL_PER_COMPILE_STEP = 100;
const LIGHT_COMPILE_STEPS = 2_000;
/** A call takes about a tenth of its suspension: a millisecond is about 100,000 units of fuel. */
const FUEL_PER_REST_MS = 10_000;

/**
 * Limits apply to one call. A reconcile calls an application's own script for the objects of all its clusters, and a
 * hundred long calls in a row would block the event loop for seconds. So a script that took long is suspended for ten
 * times as long; its answers are pending meanwhile.
 */
export class ScriptRests {
  readonly #clock: Clock;
  readonly #untilMs = new WeakMap<LuaScript, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long until the script may run; 0: now. */
  restMs(script: LuaScript): number {
    return Math.max((this.#untilMs.get(script) ?? 0) - this.#clock.monotonicMs(), 0);
  }

  called(script: LuaScript): void {
    const { fuel } = script.usage();
    if (fuel > LIGHT_FUEL) this.#rest(script, fuel);
  }

  /** Compiling a script also runs its own lines once. */
  compiled(script: LuaScript): void {
    const loading = script.usage().fuel;
    if (script.size <= LIGHT_COMPILE_STEPS && loading <= LIGHT_FUEL) return;
    this.#rest(script, script.size * FUEL_PER_COMPILE_STEP + loading);
  }

  #rest(script: LuaScript, fuel: number): void {
    this.#untilMs.set(script, this.#clock.monotonicMs() + Math.ceil(fuel / FUEL_PER_REST_MS));
  }
}

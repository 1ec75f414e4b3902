import { type MaintenanceWindow, type WindowState, windowState } from "./windows.ts";

// A state without a known end is computed again after this time.
const LONGEST_MS = 24 * 60 * 60_000;

/** Computes a window's state once for each time it opens or closes: time-zone arithmetic is expensive. */
export class WindowMemory {
  readonly #known = new WeakMap<readonly MaintenanceWindow[], { fromMs: number; toMs: number; state: WindowState }>();

  /** The same as `windowState`, for windows that the caller never changes in place. */
  state(windows: readonly MaintenanceWindow[] | undefined, nowMs: number): WindowState {
    if (windows === undefined) return windowState(windows, nowMs);
    const known = this.#known.get(windows);
    // Clocks can be set back: a computed state is not valid for earlier times.
    if (known && known.fromMs <= nowMs && nowMs < known.toMs) return known.state;
    const state = windowState(windows, nowMs);
    const toMs = Math.min(state.changesAtMs ?? Number.POSITIVE_INFINITY, nowMs + LONGEST_MS);
    this.#known.set(windows, { fromMs: nowMs, toMs, state });
    return state;
  }
}

import { type MaintenanceWindow, type WindowState, windowState } from "./windows.ts";

// A state whose end is out of sight is looked at again now and then.
const LONGEST_MS = 24 * 60 * 60_000;

/** Reckons when windows open and close once per turn, not at every look: calendars and time zones are dear to ask. */
export class WindowMemory {
  readonly #known = new WeakMap<readonly MaintenanceWindow[], { fromMs: number; toMs: number; state: WindowState }>();

  /** The same as `windowState`, for windows that nobody changes in place. */
  state(windows: readonly MaintenanceWindow[] | undefined, nowMs: number): WindowState {
    if (windows === undefined) return windowState(windows, nowMs);
    const known = this.#known.get(windows);
    // Clocks are also set back: what was reckoned holds only from then on.
    if (known && known.fromMs <= nowMs && nowMs < known.toMs) return known.state;
    const state = windowState(windows, nowMs);
    const toMs = Math.min(state.changesAtMs ?? Number.POSITIVE_INFINITY, nowMs + LONGEST_MS);
    this.#known.set(windows, { fromMs: nowMs, toMs, state });
    return state;
  }
}

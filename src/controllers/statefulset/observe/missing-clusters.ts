import type { Ledger } from "../../../plan/index.ts";

/** Since when each cluster that holds grants has been missing from the fleet, as far as this process has seen. */
export class MissingClusters {
  readonly #sinceMs = new Map<string, number>();

  of(ledger: Ledger, fleet: ReadonlyMap<string, unknown>, nowMs: number): Record<string, number> {
    const missing: Record<string, number> = {};
    for (const name of Object.keys(ledger.clusters)) {
      if (fleet.has(name)) {
        this.#sinceMs.delete(name);
        continue;
      }
      const sinceMs = this.#sinceMs.get(name) ?? nowMs;
      this.#sinceMs.set(name, sinceMs);
      missing[name] = sinceMs;
    }
    return missing;
  }
}

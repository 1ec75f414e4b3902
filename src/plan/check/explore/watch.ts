import type { Planned, Planner, Step } from "./controller.ts";
import type { Property, Verdict } from "./properties/property.ts";
import { COSTLY_PROPERTIES, PROPERTIES } from "./properties.ts";
import type { State } from "./state.ts";

/** Every so many plans the costly properties are checked too. */
const COSTLY_EVERY = 7;

type Named = Pick<Property, "rule" | "name">;

export const LIVENESS: Named = { rule: "U2 S1", name: "when faults end, the fleet settles as requested" };
export const PURITY: Named = { rule: "R2", name: "inputs are never changed" };

/** Thrown inside when a property does not hold; carries what was found to where the path is known. */
export class Broken extends Error {
  readonly property: Named;
  constructor(property: Named, what: string) {
    super(what);
    this.property = property;
  }
}

/** Checks everything that happens against the properties, and counts how often the danger of each was there. */
export class Watch {
  readonly dangers: Record<string, number> = {};
  readonly #watched: ReadonlySet<string> | undefined;
  readonly #planner: Planner;
  #plans = 0;

  /** `watched`: only these properties are checked. */
  constructor(planner: Planner, watched?: ReadonlyArray<Pick<Property, "name">>) {
    this.#planner = planner;
    this.#watched = watched && new Set(watched.map(({ name }) => name));
    for (const { name } of [...PROPERTIES, ...COSTLY_PROPERTIES, LIVENESS]) this.dangers[name] = 0;
  }

  watches({ name }: Pick<Property, "name">): boolean {
    return this.#watched?.has(name) ?? true;
  }

  /** What a move did to the world. */
  step(before: State, { state, deeds, planned }: Step): void {
    for (const deed of deeds) {
      this.#judge(PROPERTIES, (each) => (each.on === "deed" ? each.check(deed, before, state) : "quiet"));
    }
    if (planned && !planned.idle)
      this.#judge(PROPERTIES, (each) => (each.on === "world" ? each.check(planned) : "quiet"));
  }

  /** A plan that was not made before. */
  plan(planned: Planned): void {
    const check = (each: Property) => (each.on === "plan" ? each.check(planned, this.#planner) : "quiet");
    this.#judge(PROPERTIES, check);
    if (this.#plans++ % COSTLY_EVERY === 0) this.#judge(COSTLY_PROPERTIES, check);
  }

  met({ name }: Named): void {
    this.dangers[name] = (this.dangers[name] ?? 0) + 1;
  }

  #judge(properties: readonly Property[], check: (property: Property) => Verdict): void {
    for (const property of properties) {
      if (!this.watches(property)) continue;
      const verdict = check(property);
      if (verdict === "quiet") continue;
      this.met(property);
      if (verdict !== "danger") throw new Broken(property, verdict.broken);
    }
  }
}

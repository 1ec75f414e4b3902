/**
 * What every engine adapter must do, as one suite. It runs on the simulator's model, on the embedded fleet and on the
 * real engine, with the same scenarios and the same observer.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ContractBench, type ContractFleet } from "./bench.ts";
import { bundlesContract } from "./bundles.ts";
import { dispatchContract } from "./dispatch.ts";
import { holdsContract } from "./holds.ts";
import type { ContractHub } from "./hub.ts";
import { KARMADA_HUB } from "./karmada-hub.ts";
import { membersContract } from "./members.ts";
import { rivalsContract } from "./rivals.ts";
import { scheduleContract } from "./schedule.ts";

export type { ContractFleet } from "./bench.ts";
export { propagation, WORKS } from "./karmada-hub.ts";
export { STATEFULSETS, statefulSet } from "./objects.ts";
export { OCM_HUB } from "./ocm-hub.ts";

export function engineContract(
  name: string,
  start: () => Promise<ContractFleet>,
  hub: ContractHub = KARMADA_HUB,
): void {
  describe(`engine contract: ${name}`, () => {
    const bench = new ContractBench(hub);
    beforeAll(() => bench.start(start));
    afterAll(() => bench.stop());

    scheduleContract(bench);
    dispatchContract(bench);
    if (hub.rendersTemplates) holdsContract(bench);
    rivalsContract(bench);
    membersContract(bench);
    bundlesContract(bench);

    it("never let a member run what no dispatch object requested", () => {
      // Adoption begins with objects that run without Lockstep: they are what is adopted.
      const violations = bench.observer.violations().filter(({ name: object }) => object !== "adopted");
      expect(violations).toEqual([]);
      expect(bench.observer.states).toBeGreaterThan(5);
    });
  });
}

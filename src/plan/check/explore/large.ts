import fc from "fast-check";
import type { ClusterName, Wave } from "../../types/index.ts";
import { rolling, type Scenario, scaleTo, scenario, template } from "./scenario.ts";

/** Together they bound a fleet to 60 instances: too many states to explore, few enough to walk through. */
const CLUSTERS_MAX = 12;
const INSTANCES_MAX = 5;

const sizes = fc.array(fc.integer({ min: 1, max: INSTANCES_MAX }), { minLength: 2, maxLength: CLUSTERS_MAX });

/** Any sensible mixture of settings for a large fleet. */
export const largeFleets = fc.record({
  sizes,
  rescaled: sizes,
  protocol: fc.constantFrom("contract" as const, "statefulset" as const, "ignorant" as const),
  maxUnavailable: fc.integer({ min: 1, max: 6 }),
  partition: fc.constantFrom(0, 0, 1, 7),
  batches: fc.constantFrom([], [], [1, 3], [5]),
  waves: fc.constantFrom(0, 0, 1, 2),
  policy: fc.constantFrom("OrderedReady" as const, "Parallel" as const),
  leads: fc.boolean(),
  superseded: fc.boolean(),
});

type Settings = typeof largeFleets extends fc.Arbitrary<infer T> ? T : never;

function named(numbers: readonly number[]): Record<ClusterName, number> {
  return Object.fromEntries(numbers.map((replicas, i) => [`m${i}`, replicas]));
}

export function largeScenario(given: Settings): Scenario {
  const first = named(given.sizes);
  const second = named(given.rescaled);
  const waves: Wave[] = Object.keys(first)
    .slice(0, given.waves)
    .map((cluster, i) => ({ clusters: [cluster], soakSeconds: 10 * i, approval: i === 0 ? "Automatic" : "Manual" }));
  const ignorant = given.protocol === "ignorant";
  return scenario(JSON.stringify(given), {
    sizes: first,
    spare: Object.keys(second).filter((cluster) => !(cluster in first)),
    protocol: given.protocol,
    leader: given.leads ? "m0" : null,
    spec: { podManagementPolicy: given.policy },
    identity: ignorant ? { mode: "PerCluster" } : {},
    update: {
      maxUnavailable: given.maxUnavailable,
      partition: ignorant ? 0 : given.partition,
      batches: given.batches,
      waves,
    },
    faults: { accident: 3, cut: 1, crash: 1, leader: 1, wait: 2 },
    edits: [
      template("B"),
      scaleTo(second),
      ...(given.superseded ? [template("C")] : []),
      rolling({ paused: true }),
      rolling({ paused: false }),
    ],
  });
}

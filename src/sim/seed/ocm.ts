/** What a seed draws in addition if the engine is Open Cluster Management: how clusters join, and what agents do. */
import type { EngineName } from "../lean/hub.ts";
import type { Joined } from "../lean/ocm/model.ts";
import type { Dice } from "./dice.ts";
import type { Happening } from "./happenings.ts";
import type { Abilities, Scenario } from "./scenario.ts";

export interface OcmTraits {
  readonly joined: Readonly<Record<string, Joined>>;
  /** A Placement selects the clusters; absent: spec.topology names them. */
  readonly placed?: Placed;
}

export interface Placed {
  /** Clusters that are not available stay selected. */
  readonly tolerates: boolean;
  /** The Placement's controller decides this much later than usual, as after a restart. */
  readonly lagMs: number;
}

/** The name of the Placement. */
export const PLACED = "placed";

/** The inline template needs spec.topology, so no instances are divided by the engine. */
export const OCM_ABILITIES: Abilities & { readonly engine: EngineName } = {
  engine: "ocm",
  protocolFor: (drawn) => drawn,
  hasBrokenRevisions: true,
  twists: undefined,
};

const ACCESS_CHANCE = 0.4;
const POLLS_CHANCE = 0.3;
const LONG_SILENCE_CHANCE = 0.25;
const PLACED_CHANCE = 0.3;
/** Through these the user would say that a cluster is not wanted; a Placement says that by its own fields. */
const UNPLACED = new Set(["scale", "drain", "leave", "give up", "confirm lost"]);

export function withAgents(scenario: Scenario, dice: Dice): Scenario {
  const joined = Object.fromEntries(
    scenario.clusters.map((cluster) => [
      cluster,
      {
        // What runs without Lockstep can only be adopted where it can be read as a whole.
        access: dice.chance(ACCESS_CHANCE) || scenario.adoption !== undefined,
        polls: dice.chance(POLLS_CHANCE),
      },
    ]),
  );
  const at = () => dice.whole(8_000, scenario.calmAtMs - 5_000);
  const span = (low: number, high: number) => 1000 * dice.whole(low, high);
  const cluster = () => dice.pick(scenario.clusters);
  const dies = (forMs: number): Happening => {
    return { atMs: at(), kind: "agent dies", cluster: cluster(), forMs, workOnly: dice.chance(0.6) };
  };
  const kinds: (() => Happening)[] = [
    () => dies(span(2, 25)),
    () => dies(span(50, 100)),
    () => ({ atMs: at(), kind: "tear off", cluster: cluster() }),
    () => ({ atMs: at(), kind: "rival", cluster: cluster(), forMs: span(3, 30) }),
  ];
  const count = dice.pick([0, 0, 1, 1, 2]);
  const happenings = Array.from({ length: count }, () => dice.pick(kinds)());
  const met = { ...scenario, ocm: { joined }, happenings: [...scenario.happenings, ...happenings] };
  return withPlacement(withLongSilence(met, dice.branch("long silence")), dice.branch("placement"));
}

/** A Placement wants every cluster, and drops those that are not available for as long as they are not. */
function withPlacement(scenario: Scenario, dice: Dice): Scenario {
  const { ocm, adoption, replicas, spec, happenings } = scenario;
  if (!ocm || adoption || !dice.chance(PLACED_CHANCE)) return scenario;
  const clusters = Object.entries(replicas).map(([name, weight]) => ({ name, weight }));
  // Shorter than failover.afterSeconds: after that what a returned cluster holds is protected anyway.
  const cuts = dice.pick([0, 1, 1, 2]);
  const losses = Array.from({ length: cuts }, (): Happening => {
    const atMs = dice.whole(15_000, scenario.calmAtMs - 5_000);
    return { atMs, kind: "cut", cluster: dice.pick(scenario.clusters), forMs: 1000 * dice.whole(11, 28) };
  });
  const placed = { tolerates: dice.chance(0.2), lagMs: dice.chance(0.5) ? 1000 * dice.whole(2, 90) : 0 };
  return {
    ...scenario,
    spec: {
      ...spec,
      replicas: clusters.reduce((sum, { weight }) => sum + weight, 0),
      topology: { placementRef: { name: PLACED }, clusters },
    },
    happenings: [...happenings.filter(({ kind }) => !UNPLACED.has(kind)), ...losses],
    ocm: { ...ocm, placed },
  };
}

/**
 * A work agent dies early, and so long that its cluster, which only reports show, must be seen to be silent. The faults
 * end only afterwards.
 */
function withLongSilence(scenario: Scenario & { readonly ocm: OcmTraits }, dice: Dice): Scenario {
  const byReports = scenario.clusters.filter((cluster) => scenario.ocm.joined[cluster]?.access === false);
  if (byReports.length === 0 || !dice.chance(LONG_SILENCE_CHANCE)) return scenario;
  const atMs = 1000 * dice.whole(15, 35);
  const forMs = 1000 * dice.whole(75, 110);
  const silence: Happening = { atMs, kind: "agent dies", cluster: dice.pick(byReports), forMs, workOnly: true };
  const calmAtMs = Math.max(scenario.calmAtMs, atMs + forMs + 5_000);
  return { ...scenario, calmAtMs, happenings: [...scenario.happenings, silence] };
}

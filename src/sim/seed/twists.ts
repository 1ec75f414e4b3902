import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { LEADER_LABEL } from "../lean/member.ts";
import type { Dice } from "./dice.ts";
import type { Happening } from "./happenings.ts";
import type { Scenario } from "./scenario.ts";

/**
 * An additional feature of a seed; undefined if it does not fit. Twists with `leavesObject` do not change the user's
 * object.
 */
interface Twist {
  readonly name: string;
  readonly leavesObject?: boolean;
  apply(scenario: Scenario, dice: Dice): Scenario | undefined;
}

const TWIST_CHANCE = 0.55;
const SECOND_TWIST_CHANCE = 0.2;

/**
 * One or two twists for about half of all seeds, from separate dice: the other half stays as it would be without them.
 */
export function withTwists(
  scenario: Scenario,
  dice: Dice,
  known: readonly string[] | undefined,
  isGiven: boolean,
): Scenario {
  const usable = TWISTS.filter((twist) => {
    return (known?.includes(twist.name) ?? true) && (!isGiven || twist.leavesObject === true);
  });
  if (usable.length === 0 || !dice.chance(TWIST_CHANCE)) return scenario;
  const first = dice.pick(usable);
  const once = first.apply(scenario, dice) ?? scenario;
  if (!dice.chance(SECOND_TWIST_CHANCE)) return once;
  const second = dice.pick(usable);
  return second === first ? once : (second.apply(once, dice) ?? once);
}

const LONG_ACCIDENT_CHANCE = 0.04;

/**
 * An instance that has been down long enough to be known, and then an update with a budget for it and one more, which
 * reaches its cluster last and so does not repair it first; with a quorum most worlds would be too small for two. Drawn
 * separately: other seeds' failures hardly last that long.
 */
export function withLongAccident(scenario: Scenario, dice: Dice): Scenario {
  if (!dice.chance(LONG_ACCIDENT_CHANCE)) return scenario;
  const cluster = dice.pick(scenario.clusters);
  const others = scenario.clusters.filter((other) => other !== cluster);
  if (others.length === 0) return scenario;
  const roomy = withRolling(scenario, { maxUnavailable: 2, waves: [{ clusters: others }, { clusters: [cluster] }] });
  if (!roomy) return scenario;
  const atMs = seconds(dice, 15, 25);
  const editMs = atMs + seconds(dice, 70, 85);
  const happenings: Happening[] = [
    { atMs, kind: "fail", cluster, forMs: seconds(dice, 110, 130) },
    { atMs: editMs, kind: "edit", image: "app:beside" },
  ];
  return including({ ...roomy, spec: { ...roomy.spec, quorum: "None" } }, happenings, editMs + 15_000);
}

const DELETED_WORKS_CHANCE = 0.03;

/**
 * A user deletes what was dispatched to a cluster, despite its protection. Drawn separately, so that other seeds stay
 * unchanged.
 */
export function withDeletedWorks(scenario: Scenario, dice: Dice): Scenario {
  if (!dice.chance(DELETED_WORKS_CHANCE)) return scenario;
  const all = dice.branch("all").chance(0.5);
  const happenings = Array.from({ length: dice.whole(1, 2) }, (): Happening => {
    return { atMs: midway(scenario, dice), kind: "delete works", cluster: dice.pick(scenario.clusters), all };
  });
  return including(scenario, happenings);
}

const REFERENCES_CHANCE = 0.05;

/**
 * [I11] Topologies by reference, with a few instances: always, or whenever the application is a little larger. Drawn
 * separately, so that other seeds stay unchanged.
 */
export function withReferences(scenario: Scenario, dice: Dice): Scenario {
  if (!dice.chance(REFERENCES_CHANCE)) return scenario;
  return { ...scenario, topologyInlineBytes: dice.pick([0, 300, 500]) };
}

const seconds = (dice: Dice, low: number, high: number) => 1000 * dice.whole(low, high);

function including(scenario: Scenario, happenings: readonly Happening[], calmAfterMs = 0): Scenario {
  const calmAtMs = Math.max(scenario.calmAtMs, calmAfterMs);
  return { ...scenario, calmAtMs, happenings: [...scenario.happenings, ...happenings] };
}

/** A moment with something in progress before it and some time left after it. */
function midway(scenario: Scenario, dice: Dice): number {
  return dice.whole(12_000, Math.max(15_000, scenario.calmAtMs - 15_000));
}

function withRolling(scenario: Scenario, more: JsonObject): Scenario | undefined {
  const { updateStrategy } = scenario.spec;
  if (!isJsonObject(updateStrategy) || !isJsonObject(updateStrategy.rollingUpdate)) return undefined;
  const rollingUpdate = { ...updateStrategy.rollingUpdate, ...more };
  return { ...scenario, spec: { ...scenario.spec, updateStrategy: { ...updateStrategy, rollingUpdate } } };
}

function withFailover(scenario: Scenario, policy: "Wait" | "Replace"): Scenario {
  const failover = isJsonObject(scenario.spec.failover) ? scenario.spec.failover : {};
  return { ...scenario, spec: { ...scenario.spec, failover: { ...failover, policy } } };
}

const TWISTS: readonly Twist[] = [
  {
    name: "a leader that stalls right after a write",
    leavesObject: true,
    apply(scenario, dice) {
      const pause = () => ({ write: dice.whole(3, 50), forMs: seconds(dice, 18, 45) });
      const happenings: Happening[] = [{ atMs: 0, kind: "pause at write", ...pause() }];
      if (dice.chance(0.5)) happenings.push({ atMs: 0, kind: "pause at write", ...pause() });
      return { ...including(scenario, happenings), standby: true };
    },
  },
  {
    name: "outdated lists",
    leavesObject: true,
    apply(scenario, dice) {
      const atMs = midway(scenario, dice);
      const crash: Happening = { atMs: atMs + 100, kind: "crash at write", write: 1, point: "crash acknowledged" };
      return including(scenario, [{ atMs, kind: "stale lists", forMs: seconds(dice, 20, 60) }, crash]);
    },
  },
  {
    name: "a hub that is down for ten minutes",
    leavesObject: true,
    apply(scenario, dice) {
      const atMs = midway(scenario, dice);
      const forMs = 600_000;
      // Soon after an edit: a cluster has its turn by then.
      const edit: Happening = { atMs: atMs - dice.whole(300, 3_000), kind: "edit", image: "app:hub" };
      return including(scenario, [edit, { atMs, kind: "hub down", forMs }], atMs + forMs + 20_000);
    },
  },
  {
    name: "a cluster that leaves the fleet",
    apply(scenario, dice) {
      if (scenario.clusters.length < 3) return undefined;
      const cluster = dice.pick(scenario.clusters);
      const atMs = midway(scenario, dice);
      const confirmMs = atMs + seconds(dice, 2, 40);
      const happenings: Happening[] = [
        { atMs, kind: "leave", cluster },
        { atMs: confirmMs, kind: "confirm lost", cluster },
        { atMs: confirmMs + seconds(dice, 0, 10), kind: "give up", cluster },
      ];
      return including(scenario, happenings, confirmMs + 12_000);
    },
  },
  {
    name: "lost instances that are replaced after a user's confirmation",
    apply(scenario, dice) {
      const cluster = dice.pick(scenario.clusters);
      const atMs = midway(scenario, dice);
      const confirmMs = atMs + seconds(dice, 14, 60);
      const happenings: Happening[] = [
        { atMs, kind: "cut", cluster, forMs: seconds(dice, 80, 120) },
        { atMs: confirmMs, kind: "confirm lost", cluster },
      ];
      return including(withFailover(scenario, "Replace"), happenings, confirmMs + seconds(dice, 5, 40));
    },
  },
  {
    name: "lost instances that the application removes",
    apply(scenario, dice) {
      if (scenario.protocol !== "contract") return undefined;
      const cluster = dice.pick(scenario.clusters);
      const atMs = midway(scenario, dice);
      const evictMs = atMs + seconds(dice, 75, 110);
      const happenings: Happening[] = [
        { atMs, kind: "cut", cluster, forMs: seconds(dice, 130, 180) },
        { atMs: evictMs, kind: "evict", cluster },
      ];
      const replacing = withFailover(scenario, dice.pick(["Wait", "Replace"]));
      return including({ ...replacing, listsMembers: true }, happenings, evictMs + seconds(dice, 10, 40));
    },
  },
  {
    name: "members that the application lists",
    apply: (scenario) => (scenario.protocol === "contract" ? { ...scenario, listsMembers: true } : undefined),
  },
  {
    name: "a lost cluster that is given up",
    apply(scenario, dice) {
      const cluster = dice.pick(scenario.clusters);
      const atMs = midway(scenario, dice);
      const giveUpMs = atMs + seconds(dice, 32, 60);
      const happenings: Happening[] = [
        { atMs, kind: "cut", cluster, forMs: seconds(dice, 80, 120) },
        { atMs: giveUpMs, kind: "give up", cluster },
      ];
      return including(scenario, happenings, giveUpMs + seconds(dice, 5, 30));
    },
  },
  {
    name: "an engine that fails over",
    apply(scenario, dice) {
      if (scenario.explicit) return undefined;
      const atMs = midway(scenario, dice);
      const cut: Happening = {
        atMs,
        kind: "cut",
        cluster: dice.pick(scenario.clusters),
        forMs: seconds(dice, 70, 110),
      };
      return including({ ...scenario, engineFailsOver: true }, [cut], atMs + 60_000);
    },
  },
  {
    name: "an application that is already running",
    apply(scenario, dice) {
      if (scenario.protocol === "contract") return undefined;
      const spec = { ...scenario.spec, identity: { mode: "PerCluster" } };
      return { ...scenario, spec, adoption: { differs: dice.chance(0.3) } };
    },
  },
  {
    name: "OnDelete",
    apply(scenario, dice) {
      if (scenario.protocol !== "statefulset") return undefined;
      const spec = { ...scenario.spec, updateStrategy: { type: "OnDelete" } };
      const happenings: Happening[] = Array.from({ length: dice.whole(1, 6) }, () => ({
        atMs: dice.whole(10_000, scenario.calmAtMs),
        kind: "delete one" as const,
        cluster: dice.pick(scenario.clusters),
      }));
      return including({ ...scenario, spec }, happenings);
    },
  },
  {
    name: "a leader that operators report and that can move",
    apply(scenario) {
      if (scenario.protocol !== "contract") return undefined;
      const moving = withRolling(scenario, { leaderTransfer: { timeoutSeconds: 10 } });
      return moving && { ...moving, listsMembers: true };
    },
  },
  {
    name: "a leader that a label shows",
    apply(scenario) {
      if (scenario.protocol !== "statefulset") return undefined;
      const leader = { podLabel: `${LEADER_LABEL.key}=${LEADER_LABEL.value}` };
      return { ...scenario, spec: { ...scenario.spec, leader }, labelsLeader: true };
    },
  },
  {
    name: "maintenance windows",
    apply: (scenario) =>
      withRolling(scenario, {
        maintenanceWindows: [
          { cron: `*/${WINDOWS.everyMinutes} * * * *`, durationSeconds: WINDOWS.openSeconds, timeZone: "UTC" },
        ],
      }),
  },
];

export const WINDOWS = { everyMinutes: 3, openSeconds: 60 } as const;

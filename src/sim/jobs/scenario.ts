/** What a seed draws: a CrossClusterJob, members, and what goes wrong. */
import type { Guarantee } from "../../jobs/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import type { EngineName } from "../lean/hub.ts";
import { Dice } from "../seed/dice.ts";
import type { CrashPoint } from "../seed/happenings.ts";
import type { JobTraits } from "./member.ts";
import { FIRST_FORGETFUL_SEED, type JobShape, shapeFields, shapeOf } from "./shape.ts";

export type JobHappening = { readonly atMs: number } & (
  | { readonly kind: "crash"; readonly write: number; readonly point: CrashPoint }
  | { readonly kind: "stall"; readonly write: number; readonly forMs: number }
  | { readonly kind: "pause" | "hub down" | "stale lists"; readonly forMs: number }
  | { readonly kind: "flaky"; readonly rate: number; readonly forMs: number }
  | { readonly kind: "stale" | "slow"; readonly byMs: number; readonly forMs: number }
  | { readonly kind: "clock jump"; readonly byMs: number }
  | { readonly kind: "drop watches" | "lose ledgers" }
  | { readonly kind: "cut" | "drain"; readonly cluster: string; readonly forMs: number }
  | { readonly kind: "delete" | "late" | "recreate" | "strip"; readonly cluster: string }
  /** A user suspends the work. */
  | { readonly kind: "suspend"; readonly forMs: number }
  /** A queue in the member suspends a Job. */
  | { readonly kind: "hold"; readonly cluster: string; readonly forMs: number }
  /** Another writer takes the names of the next so many attempts. */
  | { readonly kind: "take"; readonly cluster: string; readonly names: number }
);

export interface JobScenario {
  readonly seed: number;
  readonly engine: EngineName;
  readonly clusters: readonly string[];
  readonly guarantee: Guarantee;
  readonly shape: JobShape;
  readonly spec: JsonObject;
  readonly traits: Readonly<Record<string, JobTraits>>;
  readonly happenings: readonly JobHappening[];
  readonly standby: boolean;
  readonly calmAtMs: number;
}

const ALLOWANCE_S = 6;
/** Deadlines of a slow clock, and what the controller's clock jumps by, are within the allowance together. */
const SLOW_MS = 2_500;
const JUMP_MS = 2_500;
const GRACE_S = 2;

export function jobScenarioOf(seed: number, engine: EngineName): JobScenario {
  const dice = new Dice(seed).branch("job scenario");
  const clusters = ["member1", "member2", "member3"].slice(0, dice.pick([2, 2, 3]));
  const guarantee = dice.pick<Guarantee>(["Exclusive", "Exclusive", "Exclusive", "Wait", "AtLeastOnce"]);
  const windowSeconds = dice.whole(10, 30);
  const longestMs = dice.pick([15_000, 40_000, 80_000]);
  const queues = drawQueues(new Dice(seed).branch("job queues"), clusters);
  const traits = Object.fromEntries(
    clusters.map((name): [string, JobTraits] => [
      name,
      {
        runMs: [8_000, longestMs],
        failRate: dice.pick([0, 0, 0.2]),
        graceMs: GRACE_S * 1000,
        slowMs: dice.pick([0, SLOW_MS / 2, SLOW_MS]),
        skewMs: dice.pick([0, -3_600_000, 600_000]),
        saysTerminating: dice.chance(0.7),
        lateMs: queues.lateMs,
        keepsTemplate: engine === "karmada",
      },
    ]),
  );
  const calmAtMs = 150_000;
  const strangers = drawStrangers(new Dice(seed).branch("job strangers"), clusters);
  const shape = shapeOf(seed, new Dice(seed).branch("job shape"), clusters.length);
  const pauses = shape.kind === "whole" ? [] : drawSuspension(new Dice(seed).branch("job suspension"));
  const losses = seed < FIRST_FORGETFUL_SEED ? [] : drawLosses(new Dice(seed).branch("job ledgers"));
  const drawn = draw(dice, engine, clusters, calmAtMs);
  // While controllers start again none of them looks: a Job that an old delivery creates then, in a cluster that is lost
  // before they do, is beyond what is promised.
  const isPromised = ({ kind }: JobHappening) => losses.length === 0 || kind !== "late";
  const happenings = [...drawn.filter(isPromised), ...strangers, ...queues.holds, ...pauses, ...losses];
  const onClusterLoss = {
    guarantee,
    afterSeconds: dice.whole(5, 10),
    ...(guarantee === "Exclusive" && { windowSeconds, clockAllowanceSeconds: ALLOWANCE_S }),
  };
  const pods = {
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: GRACE_S,
      containers: [{ name: "main", image: "worker:1" }],
    },
  };
  const fields = shapeFields(shape);
  const spec = {
    ...fields.spec,
    template: { apiVersion: "batch/v1", kind: "Job", spec: { ...fields.job, template: pods } },
    clusters: { names: [...clusters] },
    failover: { onClusterLoss, maxAttempts: 8 },
    memberCleanup: dice.pick(["WhenFinished", "WhenFinished", "AfterTTL"]),
  };
  const standby = dice.chance(0.5);
  return { seed, engine, clusters, guarantee, shape, spec, traits, happenings, standby, calmAtMs };
}

function drawLosses(dice: Dice): JobHappening[] {
  return Array.from({ length: dice.whole(1, 2) }, () => ({ atMs: dice.whole(3_000, 120_000), kind: "lose ledgers" }));
}

/** Job controllers that are late, and queues that suspend what runs: a deadline counts from a Job's last start. */
function drawQueues(dice: Dice, clusters: readonly string[]) {
  const lateMs = dice.pick([0, 0, 0, 0, 5_000, 25_000]);
  const holds = Array.from({ length: dice.pick([0, 0, 0, 1, 2]) }, (): JobHappening => {
    const cluster = dice.chance(0.7) ? (clusters[0] ?? "") : dice.pick(clusters);
    return { atMs: dice.whole(2_000, 40_000), kind: "hold", cluster, forMs: 1000 * dice.whole(1, 30) };
  });
  return { lateMs, holds };
}

function drawSuspension(dice: Dice): JobHappening[] {
  if (!dice.chance(0.3)) return [];
  return [{ atMs: dice.whole(2_000, 60_000), kind: "suspend", forMs: 1000 * dice.whole(5, 60) }];
}

/** Other writers in the members. A branch of their own: what else a seed draws does not depend on them. */
function drawStrangers(dice: Dice, clusters: readonly string[]): JobHappening[] {
  const found: JobHappening[] = [];
  if (dice.chance(0.25)) {
    const isFirst = dice.chance(0.5);
    const atMs = isFirst ? 20 : dice.whole(500, 40_000);
    const names = dice.whole(1, 3);
    const targets = dice.chance(0.3) ? clusters : [isFirst ? (clusters[0] ?? "") : dice.pick(clusters)];
    found.push(...targets.map((cluster): JobHappening => ({ atMs, kind: "take", cluster, names })));
  }
  if (dice.chance(0.15)) {
    found.push({
      atMs: dice.whole(2_000, 40_000),
      kind: "strip",
      cluster: dice.chance(0.7) ? (clusters[0] ?? "") : dice.pick(clusters),
    });
  }
  return found;
}

function draw(dice: Dice, engine: EngineName, clusters: readonly string[], calmAtMs: number): JobHappening[] {
  const at = () => dice.whole(1_000, calmAtMs - 40_000);
  // While the first attempts run.
  const early = () => dice.whole(500, 40_000);
  const span = (low: number, high: number) => 1000 * dice.whole(low, high);
  // The first one is where the work begins.
  const cluster = () => (dice.chance(0.6) ? (clusters[0] ?? "") : dice.pick(clusters));
  const point = () => dice.pick<CrashPoint>(["crash before", "crash after", "crash acknowledged"]);
  const kinds: (() => JobHappening)[] = [
    () => ({ atMs: early(), kind: "crash", write: dice.whole(1, 6), point: point() }),
    () => ({ atMs: early(), kind: "crash", write: dice.whole(1, 3), point: point() }),
    () => ({ atMs: early(), kind: "stall", write: dice.whole(1, 6), forMs: span(5, 50) }),
    () => ({ atMs: at(), kind: "pause", forMs: span(5, 60) }),
    () => ({ atMs: at(), kind: "hub down", forMs: span(3, 45) }),
    () => ({ atMs: at(), kind: "flaky", rate: dice.pick([0.05, 0.2, 0.4]), forMs: span(5, 30) }),
    () => ({ atMs: at(), kind: "stale", byMs: dice.pick([2_000, 9_000]), forMs: span(5, 40) }),
    () => ({ atMs: at(), kind: "slow", byMs: dice.pick([300, 2_000]), forMs: span(5, 30) }),
    () => ({ atMs: at(), kind: "stale lists", forMs: span(5, 30) }),
    () => ({ atMs: at(), kind: "drop watches" }),
    () => ({ atMs: at(), kind: "clock jump", byMs: dice.pick([-JUMP_MS, JUMP_MS]) }),
    // The lean model of OCM writes taints itself.
    () =>
      engine === "ocm"
        ? { atMs: at(), kind: "drop watches" }
        : { atMs: early(), kind: "drain", cluster: cluster(), forMs: span(10, 60) },
    () => ({ atMs: early(), kind: "delete", cluster: cluster() }),
    () => ({ atMs: early(), kind: "recreate", cluster: cluster() }),
  ];
  const found: JobHappening[] = [];
  const cuts = dice.pick([0, 1, 1, 1, 2]);
  for (let each = 0; each < cuts; each++) {
    found.push({ atMs: early(), kind: "cut", cluster: cluster(), forMs: span(4, 110) });
  }
  const more = dice.pick([0, 1, 2, 3, 4]);
  for (let each = 0; each < more; each++) found.push(dice.pick(kinds)());
  // One old version at most: an engine that delivers two is beyond what is promised.
  if (dice.chance(0.35)) {
    const target = cluster();
    const atMs = early();
    if (dice.chance(0.7)) found.push({ atMs, kind: "delete", cluster: target });
    found.push({ atMs: atMs + dice.whole(100, 9_000), kind: "late", cluster: target });
  } else if (dice.chance(0.3)) {
    const target = cluster();
    const atMs = early();
    found.push({ atMs, kind: "delete", cluster: target });
    found.push({ atMs: atMs + dice.whole(100, 9_000), kind: "recreate", cluster: target });
  }
  const isJump = ({ kind }: JobHappening) => kind === "clock jump";
  // A second jump would leave the allowance.
  return found.filter((each, index) => !isJump(each) || found.findIndex(isJump) === index);
}

/**
 * The planner on StatefulSet fleets with every pod listed: one plan with nothing to do, one in the middle of a rollout,
 * and a whole rollout with members that complete at once. If the cost grows linearly, the time per cluster is constant;
 * instances cost almost nothing while their cluster is idle.
 */

import { Bench } from "../src/plan/check/testing/bench.ts";
import { rollingUpdate, testIntent } from "../src/plan/check/testing/intent.ts";
import { plan } from "../src/plan/index.ts";
import type { BenchRow } from "./main.ts";

export const title =
  "one plan and a whole rollout, maxUnavailable 10%, in CPU time; 'x linear': time per cluster against the first row's";

const FLEETS = [
  { clusters: 3, instances: 10 },
  { clusters: 3, instances: 100 },
  { clusters: 30, instances: 100 },
  { clusters: 30, instances: 300 },
  { clusters: 100, instances: 100 },
  { clusters: 100, instances: 300 },
  { clusters: 100, instances: 1000 },
];
/** Long enough for the compiler to settle, and for a mean that is reproducible within a few percent. */
const MEASURE_MS = 700;
const ROUNDS_MAX = 5_000;

export async function run(): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  let first: number | undefined;
  measure(fleet(10, 100));
  for (const { clusters, instances } of FLEETS) {
    const bench = fleet(clusters, instances);
    const restUs = measure(bench);
    const middleUs = measure(middle(bench));
    const whole = rollout(fleet(clusters, instances));
    const each = middleUs / clusters;
    first ??= each;
    rows.push({
      clusters,
      instances,
      "plans/s at rest": Math.round(1e6 / restUs),
      "plans/s in mid-rollout": Math.round(1e6 / middleUs),
      "us per cluster": each.toFixed(2),
      "x linear": (each / first).toFixed(2),
      "rollout plans": whole.plans,
      "rollout steps": whole.steps,
      "rollout ms": Math.round(whole.ms),
      "rollout us per instance": ((whole.ms * 1000) / instances).toFixed(1),
    });
  }
  return rows;
}

/** Deployed, with nothing to do. */
function fleet(clusters: number, instances: number): Bench {
  const sizes: Record<string, number> = {};
  for (let i = 0; i < clusters; i++) {
    sizes[`member${i}`] = Math.floor(instances / clusters) + (i < instances % clusters ? 1 : 0);
  }
  const intent = testIntent(sizes, {
    podManagementPolicy: "Parallel",
    workload: { protocol: "statefulset", hasPartition: true, memberOrdered: true, reportsLeader: true },
    update: rollingUpdate({ maxUnavailable: "10%" }),
  });
  const bench = new Bench(intent);
  for (let round = 0; round < ROUNDS_MAX; round++) {
    bench.plan();
    settle(bench);
    if (bench.last?.steps.length === 0) break;
  }
  bench.member("member0").leader = { kind: "here" };
  return bench;
}

/** Everything that was granted is carried out, and every pod is listed. */
function settle(bench: Bench): void {
  bench.settle();
  for (const member of bench.members.values()) {
    const { live } = member;
    if (!live) continue;
    member.instances = Array.from({ length: live.replicas }, (_, rank) => ({
      name: `xline-${live.start + rank}`,
      uid: `${live.start + rank}`,
      ordinal: live.start + rank,
      updated: rank >= live.partition,
      ready: true,
      terminating: false,
    }));
  }
}

/** Half of the clusters are updated, the next ones hold their turns. */
function middle(bench: Bench): Bench {
  bench.intent.revision = { kind: "ready", id: "B" };
  const clusters = bench.members.size;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    bench.plan();
    const done = Object.values(bench.ledger.clusters).filter((entry) => entry.grant?.revision === "B" && entry.done);
    if (done.length * 2 >= clusters) break;
    settle(bench);
  }
  return bench;
}

/** The process's own time: other load of the machine does not count. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Microseconds for one plan on the bench in its current state. */
function measure(bench: Bench): number {
  const { intent, ledger, nowMs } = bench;
  const observations = bench.observations();
  let plans = 0;
  const startedMs = cpuMs();
  let elapsedMs = 0;
  while (elapsedMs < MEASURE_MS) {
    plan(intent, ledger, observations, nowMs);
    plans++;
    elapsedMs = cpuMs() - startedMs;
  }
  return (elapsedMs * 1000) / plans;
}

/** The planner's own time for a whole rollout, without the members' time. */
function rollout(bench: Bench): { plans: number; steps: number; ms: number } {
  bench.intent.revision = { kind: "ready", id: "B" };
  let plans = 0;
  let steps = 0;
  let ms = 0;
  for (; plans < ROUNDS_MAX; plans++) {
    const observations = bench.observations();
    const startedMs = cpuMs();
    bench.last = plan(bench.intent, bench.ledger, observations, bench.nowMs);
    ms += cpuMs() - startedMs;
    bench.ledger = bench.last.ledger;
    steps += bench.last.steps.length;
    if (bench.last.steps.length === 0 && bench.ledger.currentRevision === "B") return { plans: plans + 1, steps, ms };
    settle(bench);
  }
  throw new Error(
    `the rollout did not end within ${ROUNDS_MAX} plans: ${JSON.stringify(bench.last?.waiting.slice(0, 3))}`,
  );
}

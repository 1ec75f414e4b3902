/**
 * A topology that is too large for annotations: one application of 5,000 instances over 100 clusters is deployed and
 * scaled by one instance, and every cluster gets the new topology. Measures the time, and the size of everything on the
 * hub. LOCKSTEP_BENCH_CLUSTERS and LOCKSTEP_BENCH_REPLICAS change the size.
 */
import { performance } from "node:perf_hooks";
import type { BenchRow } from "./main.ts";
import { LeanFleet } from "./support/lean-fleet.ts";
import { machineLoad, round, setting, until } from "./support/measure.ts";

export const title =
  "5,000 instances over 100 clusters (controller, hub and members in one process; members are done at once)";

const CLUSTERS = setting("LOCKSTEP_BENCH_CLUSTERS", 100);
const REPLICAS = setting("LOCKSTEP_BENCH_REPLICAS", 50);
const NAME = "orders-database";

export async function run(): Promise<BenchRow[]> {
  const fleet = await LeanFleet.start(CLUSTERS);
  const stop = fleet.runController();
  try {
    const rows: BenchRow[] = [];
    const total = CLUSTERS * REPLICAS;
    rows.push(
      await measured(fleet, `${total} instances over ${CLUSTERS} clusters, deployed`, total, () =>
        fleet.deployEverywhere(NAME, REPLICAS),
      ),
    );
    const more = { member1: REPLICAS + 1 };
    rows.push(
      await measured(fleet, "one instance more, sent to every cluster", total + 1, () =>
        fleet.schedule(NAME, REPLICAS, more),
      ),
    );
    rows.push(
      await measured(fleet, "one instance less, sent to every cluster", total, () => fleet.schedule(NAME, REPLICAS)),
    );
    return rows;
  } finally {
    await stop();
    await fleet.stop();
  }
}

async function measured(fleet: LeanFleet, what: string, total: number, begin: () => Promise<void>): Promise<BenchRow> {
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  const grantsBefore = fleet.grants;
  let peakMb = 0;
  const sizes = new Map<string, number>();
  const unsubscribe = fleet.hub.onCommit(({ key, object }) => {
    const bytes = JSON.stringify(object).length;
    sizes.set(key.resource, Math.max(sizes.get(key.resource) ?? 0, bytes));
  });
  await begin();
  await until(
    `${total} instances are settled`,
    () => {
      peakMb = Math.max(peakMb, process.memoryUsage().heapUsed / 1024 / 1024);
      return fleet.settledCount === 1 && fleet.readyCount === total;
    },
    () => [fleet.phases(), fleet.readyCount, fleet.grants],
  );
  const { user, system } = process.cpuUsage(cpuBefore);
  unsubscribe();
  const kb = (resource: string) => round((sizes.get(resource) ?? 0) / 1024, 0);
  return {
    what,
    "took s": round((performance.now() - startedMs) / 1000),
    "CPU s": round((user + system) / 1_000_000),
    grants: fleet.grants - grantsBefore,
    "largest Work KB": kb("work.karmada.io/works"),
    "ledger KB": kb("apps.karmada.io/crossclusterledgers"),
    "status KB": kb("apps.karmada.io/crossclusterstatefulsets"),
    "heap MB, all in one": round(peakMb, 0),
    "machine load": machineLoad(),
  };
}

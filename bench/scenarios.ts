/**
 * What clients see of every scenario of `npm run test:availability`: the suite runs, and its figures are the rows. The
 * scenarios check their own goals; one that fails has its row, too, and the last line says so. `LOCKSTEP_BENCH_ONLY` is a part
 * of the scenarios' names, for a few of them.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scenariosIn } from "../test/availability/figures.ts";
import type { BenchRow } from "./main.ts";
import { round } from "./support/measure.ts";

export const title = "what clients of a five-member etcd see of each scenario (times in ms)";

export async function run(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-scenarios-"));
  const file = join(folder, "lines");
  try {
    writeFileSync(file, "");
    const only = process.env.LOCKSTEP_BENCH_ONLY;
    const args = ["scripts/suite.mjs", "etcd", "--long", "planned", "faults", ...(only ? ["-t", only] : [])];
    const env = { ...process.env, LOCKSTEP_SCENARIOS: file };
    const { status } = spawnSync(process.execPath, args, { stdio: "inherit", env });
    const rows = scenariosIn(file).map(
      ({ scenario, before, figures, verdict }): BenchRow => ({
        scenario,
        seconds: round(figures.seconds),
        requests: figures.requests,
        retried: figures.retried,
        "failed after retry": figures.failed,
        "longest write gap": round(figures.longestWriteGapMs),
        "without quorum": round(figures.withoutQuorumMs),
        "leader changes": figures.leaderChanges,
        "p50 before": round(before.writeP50Ms),
        "p50 during": round(figures.writeP50Ms),
        "p99 before": round(before.writeP99Ms),
        "p99 during": round(figures.writeP99Ms),
        "writes lost": verdict ? `${verdict.missing.length} of ${verdict.acknowledged}` : "not checked",
        linearizable: verdict?.linearizable ?? "not checked",
      }),
    );
    return status === 0 ? rows : [...rows, { scenario: "a scenario FAILED: the output above says which" }];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A rolling restart of a real etcd of five members under real clients (a write or read every few milliseconds, a timeout
 * of one second, one retry a quarter of a second later): coordinated by Lockstep over three clusters with different
 * distances, left to each cluster's operator, and as a StatefulSet in one cluster. All in one run, one after the other,
 * with the same etcd, the same network and the same clients; in one case clients retry at once. Linearizability is
 * checked by porcupine, and every acknowledged write is read back.
 *
 * The timelines are written into docs/pictures.
 */
import { writeFileSync } from "node:fs";
import { COORDINATED, type Seen, SINGLE_CLUSTER, see, UNCOORDINATED, type Way } from "../test/availability/ways.ts";
import type { BenchRow } from "./main.ts";
import { machineLoad } from "./support/measure.ts";
import { timelineSvg } from "./support/timeline.ts";

export const title = "what clients of a five-member etcd see of a rolling restart (times in ms)";

interface Case {
  readonly name: string;
  readonly title: string;
  readonly way: Way;
  /** One way, between two clusters. */
  readonly delayMs: number;
  /** Of clients that retry sooner or later than the others. */
  readonly pauseMs?: number;
  readonly picture?: string;
}

const CASES: readonly Case[] = [
  {
    name: "Lockstep, 1 ms",
    title: "A rolling restart over three clusters, by Lockstep",
    way: COORDINATED,
    delayMs: 1,
    picture: "availability-lockstep",
  },
  {
    name: "uncoordinated, 1 ms",
    title: "The same, each cluster on its own",
    way: UNCOORDINATED,
    delayMs: 1,
    picture: "availability-uncoordinated",
  },
  {
    name: "one cluster, StatefulSet",
    title: "The same, a StatefulSet in one cluster",
    way: SINGLE_CLUSTER,
    delayMs: 0,
    picture: "availability-single",
  },
  { name: "Lockstep, 1 ms, retries at once", title: "", way: COORDINATED, delayMs: 1, pauseMs: 0 },
  { name: "Lockstep, 20 ms", title: "", way: COORDINATED, delayMs: 20 },
  { name: "Lockstep, 80 ms", title: "", way: COORDINATED, delayMs: 80 },
];

export async function run(): Promise<BenchRow[]> {
  const seen: [Case, Seen, load: string][] = [];
  for (const each of CASES) {
    const load = machineLoad();
    seen.push([each, await see(each.way, each.delayMs, each.pauseMs), load]);
  }
  const pictured = seen.filter(([{ picture }]) => picture !== undefined);
  const seconds = Math.max(...pictured.map(([, { before, during }]) => (during.toUs - before.fromUs) / 1e6));
  for (const [{ picture, title: heading }, what] of pictured) {
    writeFileSync(new URL(`../docs/pictures/${picture}.svg`, import.meta.url), timelineSvg(heading, what, seconds));
  }
  return seen.map(
    ([
      { name },
      {
        figures: { before, during },
        verdict,
      },
      load,
    ]) => ({
      way: name,
      seconds: round(during.seconds),
      requests: during.requests,
      retried: during.retried,
      "failed after retry": during.failed,
      "longest write gap": round(during.longestWriteGapMs),
      "gap before": round(before.longestWriteGapMs),
      "without quorum": round(during.withoutQuorumMs),
      "leader changes": during.leaderChanges,
      "p50 before": round(before.writeP50Ms),
      "p50 during": round(during.writeP50Ms),
      "p99 before": round(before.writeP99Ms),
      "p99 during": round(during.writeP99Ms),
      "writes lost": `${verdict.missing.length} of ${verdict.acknowledged}`,
      linearizable: verdict.linearizable,
      load,
    }),
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

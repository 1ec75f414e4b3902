/**
 * From the opening of a gate to the next step, as the servers see it: the member's server stores the status that opens
 * the gate; the hub's server stores the Work with the next cluster's step. A StatefulSet reads no turns, so no Work is
 * written in between (grants/step is 1; a member that reads turns would need 2). Gates open at a fixed rate, regardless
 * of the controller (open loop). The hub shares a process with the load generator. A real hub has no JavaScript garbage
 * collector, so that process has a heap (`npm run bench`) large enough that it is never collected as a whole.
 *
 * LOCKSTEP_BENCH_SECONDS, LOCKSTEP_BENCH_RATE and LOCKSTEP_BENCH_OBJECTS change the size of the run.
 */
import { performance } from "node:perf_hooks";
import { collectGarbage } from "../src/runtime/testing/collect-garbage.ts";
import type { BenchRow } from "./main.ts";
import { type ControllerProcess, ControllerProcesses, type Usage } from "./support/controller-process.ts";
import { type GrantSeen, LeanFleet } from "./support/lean-fleet.ts";
import { machineLoad, percentiles, round, setting, sleep, until } from "./support/measure.ts";
import { machineMs, type Pause, PauseMeter, type PauseReport, pausedMs } from "./support/pauses.ts";

export const title =
  "gate to next step: the member's status stored, to the next grant stored on the hub (controller in its own process, HTTPS; members are lean models that show a Work at once)";

const RATE_PER_SECOND = setting("LOCKSTEP_BENCH_RATE", 50);
const SECONDS = setting("LOCKSTEP_BENCH_SECONDS", 60);
const OBJECTS = setting("LOCKSTEP_BENCH_OBJECTS", 1_000);
/** Each object has this many gates that are followed by a step, so that a minute needs no second rollout. */
const STEPS_BEFORE_LAST = 3;
const CLUSTERS = STEPS_BEFORE_LAST + 1;
/** The statuses and Events of a thousand first steps are written before. */
const QUIET_MS = 6_000;
/** The time limit of a step. */
const GOAL_MS = 25;
/** A step that has not come by then counts as missing. */
const GIVE_UP_MS = 10_000;

interface Opening {
  readonly cluster: string;
  openedMs: number;
  nextMs?: number;
}

export async function run(): Promise<BenchRow[]> {
  const fleet = await LeanFleet.start(CLUSTERS);
  const processes = await ControllerProcesses.prepare(await fleet.context());
  try {
    const controller = await processes.start();
    for (let index = 0; index < OBJECTS; index++) await fleet.deploy(`app-${index}`, CLUSTERS, 1);
    await until(
      "all are deployed",
      () => fleet.settledCount === OBJECTS,
      () => fleet.phases(),
    );
    const rows = await measure(fleet, controller);
    await controller.stop();
    return rows;
  } finally {
    processes.close();
    await fleet.stop();
  }
}

async function measure(fleet: LeanFleet, controller: ControllerProcess): Promise<BenchRow[]> {
  const turns = new Map<string, GrantSeen>();
  const openings = new Map<string, Opening>();
  const finished: Opening[] = [];
  fleet.gates = "held";
  fleet.granted = (grant) => {
    const opening = openings.get(grant.app);
    if (grant.isStep) turns.set(grant.app, grant);
    if (!opening) return;
    if (grant.isStep && grant.cluster !== opening.cluster) {
      opening.nextMs = grant.atMs;
      openings.delete(grant.app);
    }
  };
  for (let index = 0; index < OBJECTS; index++) await fleet.setImage(`app-${index}`, CLUSTERS, 1, "app:2");
  await until(
    "every object waits at its first gate",
    () => turns.size === OBJECTS,
    () => turns.size,
  );
  // The garbage of the deployment in this process belongs to hub and generator, and is not part of the measurement.
  collectGarbage();
  await fleet.quietFor(QUIET_MS);

  const meter = new PauseMeter();
  const before = await controller.usage();
  controller.watchPauses();
  meter.start();
  const writesBefore = new Map(fleet.writes);
  const grantsBefore = fleet.grants;
  const total = Math.min(RATE_PER_SECOND * SECONDS, OBJECTS * STEPS_BEFORE_LAST);
  const startedMs = performance.now();
  let latestMs = 0;
  let missing = 0;
  for (let index = 0; index < total; index++) {
    const dueMs = startedMs + (index * 1_000) / RATE_PER_SECOND;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    latestMs = Math.max(latestMs, performance.now() - dueMs);
    const app = `app-${index % OBJECTS}`;
    const turn = turns.get(app);
    if (!turn || openings.has(app)) {
      missing++;
      continue;
    }
    turns.delete(app);
    const opening: Opening = { cluster: turn.cluster, openedMs: 0 };
    openings.set(app, opening);
    finished.push(opening);
    opening.openedMs = await fleet.open(app, turn.cluster);
  }
  const elapsedMs = performance.now() - startedMs;
  const after = await controller.usage();
  const pauses = { hub: meter.report(), controller: await controller.pauses() };
  await until(
    "the last steps are there",
    () => openings.size === 0,
    () => openings.size,
    GIVE_UP_MS,
  ).catch(() => {});
  const done = finished.filter(({ nextMs }) => nextMs !== undefined);
  return [
    latencies("status to the next cluster's grant on the hub", finished, ({ openedMs, nextMs }) =>
      span(openedMs, nextMs),
    ),
    slowSteps(finished, pauses),
    pauseRow("the hub's and the generator's process", pauses.hub),
    pauseRow("the controller's process", pauses.controller),
    {
      what: "run",
      n: finished.length,
      "steps/s": round((done.length * 1_000) / elapsedMs),
      ...writesPerStep(fleet, writesBefore, grantsBefore, done.length),
      "never came": finished.length - done.length + missing,
      "latest opening ms": round(latestMs),
      ...usage(before, after, elapsedMs),
      "machine load": machineLoad(),
    },
  ];
}

/**
 * The controller's own writes, by purpose, and all writes, including Karmada's reports on Works and the members'
 * writes.
 */
function writesPerStep(
  fleet: LeanFleet,
  before: ReadonlyMap<string, number>,
  grantsBefore: number,
  steps: number,
): BenchRow {
  const perStep = (count: number) => round(count / Math.max(1, steps), 2);
  const of = (resource: string) => perStep((fleet.writes.get(resource) ?? 0) - (before.get(resource) ?? 0));
  const all = fleet.totalWrites - [...before.values()].reduce((sum, count) => sum + count, 0);
  return {
    "ledgers/step": of("apps.karmada.io/crossclusterledgers"),
    "grants/step": perStep(fleet.grants - grantsBefore),
    "statuses/step": of("apps.karmada.io/crossclusterstatefulsets"),
    "Events/step": of("/events"),
    "all hub writes/step": perStep(all),
  };
}

/** What delayed the steps that took too long, according to each process. */
function slowSteps(
  openings: readonly Opening[],
  { hub, controller }: Record<"hub" | "controller", PauseReport>,
): BenchRow {
  const slow = openings.filter(({ openedMs, nextMs }) => (span(openedMs, nextMs) ?? 0) > GOAL_MS);
  const causes: Record<string, readonly Pause[]> = {
    "no processor": [...hub.pauses, ...controller.pauses].filter(({ isOwn }) => !isOwn),
    "hub busy": hub.pauses.filter(({ isOwn }) => isOwn),
    "controller busy": controller.pauses.filter(({ isOwn }) => isOwn),
  };
  const counts: Record<string, number> = Object.fromEntries(Object.keys(causes).map((cause) => [cause, 0]));
  for (const { openedMs, nextMs = openedMs } of slow) {
    const spans = Object.entries(causes).map(
      ([cause, pauses]) => [cause, pausedMs(pauses, machineMs(openedMs), machineMs(nextMs))] as const,
    );
    const [cause, ms] = spans.reduce((most, each) => (each[1] > most[1] ? each : most));
    const name = ms > 0 ? cause : "neither";
    counts[name] = (counts[name] ?? 0) + 1;
  }
  const row: BenchRow = { what: `steps over ${GOAL_MS} ms, by what they waited for most`, n: slow.length };
  for (const [cause, count] of Object.entries(counts)) row[cause] = count;
  return row;
}

function pauseRow(what: string, report: PauseReport): BenchRow {
  const waited = report.cpuWaitMs;
  return {
    what,
    "p99 ms": round(report.loopP99Ms),
    "max ms": round(report.loopMaxMs),
    "GC ms": round(report.gcMs, 0),
    "longest GC ms": round(report.gcMaxMs),
    "full GCs": report.majorGcs,
    "longest full GC ms": round(report.majorGcMaxMs),
    ...(waited !== undefined && { "waited for a processor ms": round(waited, 0) }),
  };
}

function usage(before: Usage, after: Usage, elapsedMs: number): BenchRow {
  return {
    "controller CPU %": round(((after.cpuMs - before.cpuMs) * 100) / elapsedMs),
    "RSS MB": round(after.rssMb, 0),
  };
}

function latencies(what: string, openings: readonly Opening[], of: (opening: Opening) => number | undefined): BenchRow {
  return { what, ...percentiles(openings.flatMap((opening) => of(opening) ?? [])) };
}

function span(fromMs: number, toMs: number | undefined): number | undefined {
  return toMs === undefined ? undefined : toMs - fromMs;
}

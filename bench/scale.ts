/**
 * What many objects cost the controller: a restart, memory, idle CPU, watch streams, writes; and how these grow.
 * LOCKSTEP_BENCH_OBJECTS and LOCKSTEP_BENCH_CLUSTERS change the largest size; LOCKSTEP_BENCH_SIZES=1 leaves the smaller
 * ones out. LOCKSTEP_BENCH_BASE is the folder of another checkout: its controller is restarted on the same hub, in turns
 * with this one's.
 */
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import type { BenchRow } from "./main.ts";
import { type ControllerProcess, ControllerProcesses } from "./support/controller-process.ts";
import { LeanFleet } from "./support/lean-fleet.ts";
import { machineLoad, round, setting, sleep, until } from "./support/measure.ts";

export const title =
  "many objects: one instance in each of the clusters (controller in its own process, HTTPS; members are lean models that are done at once)";

const CLUSTERS = setting("LOCKSTEP_BENCH_CLUSTERS", 20);
const OBJECTS = setting("LOCKSTEP_BENCH_OBJECTS", 1_000);
const SIZES = [10, OBJECTS / 4, OBJECTS / 2, OBJECTS].map(Math.round).slice(-setting("LOCKSTEP_BENCH_SIZES", 4));
const BASE = process.env.LOCKSTEP_BENCH_BASE;
/** With a base, each of the two is restarted this often. */
const TURNS = setting("LOCKSTEP_BENCH_TURNS", 2);
/** A spec lists at most so many clusters; more of them are scheduled. */
const LISTED_CLUSTERS = 64;
/** Long enough for lease renewals, and for the engine to release the memory of the start. */
const IDLE_WINDOW_MS = setting("LOCKSTEP_BENCH_IDLE_SECONDS", 30) * 1_000;
/** A controller that uses less than this is idle. */
const REST_CPU_PERCENT = 15;
const REST_WINDOW_MS = 500;

/** Hub, members and, for the setup, a controller share one process: sixty thousand Works, twice. */
const HEAP_MB = 12_288;

export async function run(): Promise<BenchRow[]> {
  setFlagsFromString(`--max-old-space-size=${HEAP_MB}`);
  const fleet = await LeanFleet.start(CLUSTERS);
  const versions = await prepareVersions(fleet);
  const rows: BenchRow[] = [];
  let controller: ControllerProcess | undefined;
  let deployed = 0;
  try {
    for (const objects of SIZES) {
      await controller?.stop();
      controller = undefined;
      const setUpSeconds = await setUp(fleet, deployed, objects);
      deployed = objects;
      for (let turn = 0; turn < (BASE ? TURNS : 1); turn++) {
        for (const { version, processes } of versions) {
          await controller?.stop();
          const restarted = await restart(fleet, processes, objects);
          controller = restarted.controller;
          rows.push({
            ...(version && { controller: version }),
            objects,
            "x clusters": CLUSTERS,
            "restart to claimed s": round(restarted.claimedMs / 1000),
            "restart to settled s": round(restarted.settledMs / 1000),
            "restart CPU s": round(restarted.cpuMs / 1000),
            "restart writes/object": round(restarted.writes / objects, 2),
            "watch streams": fleet.memberStreams,
            ...(await rest(controller)),
            "set up in s": round(setUpSeconds),
            "machine load": machineLoad(),
          });
        }
      }
    }
    if (controller) rows.push(await step(fleet, controller));
    await controller?.stop();
    return rows;
  } finally {
    for (const { processes } of versions) processes.close();
    await fleet.stop();
  }
}

/** The base first: the last one that runs is this checkout's. */
async function prepareVersions(fleet: LeanFleet) {
  const entries = BASE
    ? { before: new URL("bench/support/controller-entry.ts", pathToFileURL(`${BASE}/`)), after: undefined }
    : { "": undefined };
  const context = await fleet.context();
  const prepared = Object.entries(entries).map(async ([version, entry]) => {
    return { version, processes: await ControllerProcesses.prepare(context, entry) };
  });
  return Promise.all(prepared);
}

/** Deploys what is missing, with a controller in this process, and returns the seconds that it took. */
async function setUp(fleet: LeanFleet, deployed: number, objects: number): Promise<number> {
  const startedMs = performance.now();
  const stop = fleet.runController();
  for (let index = deployed; index < objects; index++) {
    if (CLUSTERS > LISTED_CLUSTERS) await fleet.deployEverywhere(`app-${index}`, 1, { revisionSettleSeconds: 0 });
    else await fleet.deploy(`app-${index}`, CLUSTERS, 1);
  }
  await until(
    "all are deployed",
    () => fleet.settledCount === objects,
    () => [fleet.phases(), fleet.grants],
  );
  await stop();
  return (performance.now() - startedMs) / 1000;
}

/** From the start of a new process until it leads every object and has nothing left to do. */
async function restart(fleet: LeanFleet, processes: ControllerProcesses, objects: number) {
  const claimed = new Set<string>();
  const stop = fleet.hub.onCommit(({ key }) => {
    if (key.resource === "apps.karmada.io/crossclusterledgers") claimed.add(key.name);
  });
  const writesBefore = fleet.totalWrites;
  const startedMs = performance.now();
  const controller = await processes.start();
  await until(
    "every ledger is claimed",
    () => claimed.size === objects,
    () => claimed.size,
  );
  const claimedMs = performance.now() - startedMs;
  stop();
  let settledMs = claimedMs;
  for (let quiet = 0; quiet < 2; ) {
    const { percent } = await cpuOver(controller, REST_WINDOW_MS);
    if (percent < REST_CPU_PERCENT) quiet++;
    else {
      quiet = 0;
      settledMs = performance.now() - startedMs;
    }
  }
  const { cpuMs } = await controller.usage();
  return { controller, claimedMs, settledMs, cpuMs, writes: fleet.totalWrites - writesBefore };
}

async function rest(controller: ControllerProcess): Promise<BenchRow> {
  const { percent } = await cpuOver(controller, IDLE_WINDOW_MS);
  const { rssMb, peakMb } = await controller.usage();
  // Live memory: the memory in use depends more on when the engine last collected.
  controller.collectGarbage();
  const { heapMb } = await controller.usage();
  return {
    "idle CPU %": round(percent),
    "RSS MB": round(rssMb, 0),
    "peak RSS MB": round(peakMb ?? 0, 0),
    "live heap MB": round(heapMb, 0),
  };
}

/** One object's rolling update over all clusters, while all the others exist: what a step costs the hub. */
async function step(fleet: LeanFleet, controller: ControllerProcess): Promise<BenchRow> {
  const before = new Map(fleet.writes);
  const grantsBefore = fleet.grants;
  const cpuBefore = (await controller.usage()).cpuMs;
  let steps = 0;
  fleet.granted = ({ isStep }) => {
    if (isStep) steps++;
  };
  const settledBefore = fleet.settledCount;
  const startedMs = performance.now();
  await fleet.setImage("app-0", CLUSTERS, 1, "app:2");
  await until(
    "it is updating",
    () => fleet.settledCount < settledBefore,
    () => steps,
  );
  await until(
    "it is updated",
    () => steps === CLUSTERS && fleet.settledCount === settledBefore,
    () => steps,
  );
  const perStep = (resource: string) =>
    round(((fleet.writes.get(resource) ?? 0) - (before.get(resource) ?? 0)) / Math.max(1, steps), 2);
  const cpuMs = (await controller.usage()).cpuMs - cpuBefore;
  return {
    objects: `update of one, ${steps} steps`,
    "ms/step": round((performance.now() - startedMs) / steps),
    "CPU ms/step": round(cpuMs / steps),
    "ledger writes/step": perStep("apps.karmada.io/crossclusterledgers"),
    "grant writes/step": round((fleet.grants - grantsBefore) / Math.max(1, steps), 2),
    "status writes/step": perStep("apps.karmada.io/crossclusterstatefulsets"),
    "Events/step": perStep("/events"),
  };
}

async function cpuOver(controller: ControllerProcess, windowMs: number): Promise<{ percent: number }> {
  const before = await controller.usage();
  const startedMs = performance.now();
  await sleep(windowMs);
  const after = await controller.usage();
  return { percent: ((after.cpuMs - before.cpuMs) * 100) / (performance.now() - startedMs) };
}

/**
 * What watching costs on a hub with very many tenants: streams, memory, and the time until everything is known. First
 * only the watches, as before (one per kind and namespace) and as now (one per kind); then the whole controller; then a
 * tenant who fills the hub. LOCKSTEP_BENCH_NAMESPACES and LOCKSTEP_BENCH_CLUSTERS change the sizes.
 */
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import type { BenchRow } from "./main.ts";
import { type ControllerProcess, ControllerProcesses } from "./support/controller-process.ts";
import { LeanFleet } from "./support/lean-fleet.ts";
import { machineLoad, round, setting, sleep, until } from "./support/measure.ts";

export const title =
  "a hub of many tenants: one application in each namespace, in two of 100 clusters, naming a ConfigMap, a Secret and a ServiceAccount (own process, HTTPS; members are lean models)";

const CLUSTERS = setting("LOCKSTEP_BENCH_CLUSTERS", 100);
const NAMESPACES = setting("LOCKSTEP_BENCH_NAMESPACES", 2_000);
/** Before, even the smaller size used all available streams. */
const COMPARED = [NAMESPACES / 8, NAMESPACES / 4].map(Math.round);
/** What each tenant has in addition to what it names. */
const FILLERS = 10;
const FILLER_CHARACTERS = 2_000;
/** What one of them adds at the end, all at once. */
const FLOOD = 50 * NAMESPACES;
const FLOOD_CHARACTERS = 200;
/** As support/watcher-entry.ts reads them. */
const HUB_KINDS = 4;
const MEMBER_KINDS = 2;
const REST_CPU_PERCENT = 15;
const REST_WINDOW_MS = 500;
const HEAP_MB = 12_288;

export async function run(): Promise<BenchRow[]> {
  setFlagsFromString(`--max-old-space-size=${HEAP_MB}`);
  const fleet = await LeanFleet.start(CLUSTERS);
  const context = await fleet.context();
  const watchers = await ControllerProcesses.prepare(context, new URL("support/watcher-entry.ts", import.meta.url));
  const controllers = await ControllerProcesses.prepare(context);
  const rows: BenchRow[] = [];
  try {
    const deployedSeconds = await deploy(fleet);
    for (const namespaces of COMPARED) {
      const before = await watch(fleet, watchers, "namespace", namespaces);
      const now = await watch(fleet, watchers, "kind", namespaces);
      rows.push(before, now, ratios(before, now));
    }
    rows.push(await watch(fleet, watchers, "kind", NAMESPACES));
    const { controller, row } = await restart(fleet, controllers);
    rows.push({ ...row, "set up in s": round(deployedSeconds) }, await edit(fleet, "tenant-1"));
    rows.push(...(await flood(fleet, controller)));
    await controller.stop();
    return rows;
  } finally {
    watchers.close();
    controllers.close();
    await fleet.stop();
  }
}

/** By a controller in this process, which is not measured. */
async function deploy(fleet: LeanFleet): Promise<number> {
  const startedMs = performance.now();
  const setUp = fleet.runController();
  const names = [...fleet.members.keys()];
  for (let index = 0; index < NAMESPACES; index++) {
    const clusters = [names[index % names.length], names[(index + 1) % names.length]].filter(
      (name) => name !== undefined,
    );
    await fleet.deployTenant(`tenant-${index}`, [...new Set(clusters)]);
    await fleet.fill(`tenant-${index}`, FILLERS, FILLER_CHARACTERS);
  }
  await until(
    "all are deployed",
    () => fleet.settledCount === NAMESPACES,
    () => fleet.phases(),
  );
  await setUp();
  return (performance.now() - startedMs) / 1000;
}

async function watch(
  fleet: LeanFleet,
  watchers: ControllerProcesses,
  by: "namespace" | "kind",
  namespaces: number,
): Promise<BenchRow> {
  const startedMs = performance.now();
  const watcher = await watchers.start(by, String(namespaces), String(CLUSTERS));
  const wanted = HUB_KINDS * (by === "kind" ? 1 : namespaces) + MEMBER_KINDS * CLUSTERS;
  const open = () => fleet.hub.openWatches + fleet.memberStreams;
  await until("its watches are open", () => open() === wanted, open);
  const knownMs = performance.now() - startedMs;
  const row = {
    what: by === "kind" ? "a watch per kind" : "a watch per kind and namespace (before)",
    namespaces,
    "x clusters": CLUSTERS,
    "hub streams": fleet.hub.openWatches,
    "member streams": fleet.memberStreams,
    "to known s": round(knownMs / 1000),
    "CPU s": round((await watcher.usage()).cpuMs / 1000),
    ...(await memory(watcher)),
    "machine load": machineLoad(),
  };
  await watcher.stop();
  await until("its watches are closed", () => open() === 0, open);
  return row;
}

function ratios(before: BenchRow, now: BenchRow): BenchRow {
  const row: BenchRow = { what: "before / now" };
  for (const column of ["namespaces", "x clusters"]) row[column] = before[column] ?? "";
  for (const column of ["hub streams", "to known s", "CPU s", "RSS MB", "live heap MB"]) {
    row[column] = round(Number(before[column]) / Number(now[column]));
  }
  return row;
}

/** The whole controller, from its start until it leads every application and has nothing left to do. */
async function restart(fleet: LeanFleet, processes: ControllerProcesses) {
  const claimed = new Set<string>();
  const stop = fleet.hub.onCommit(({ key }) => {
    if (key.resource === "apps.karmada.io/crossclusterledgers") claimed.add(`${key.namespace}/${key.name}`);
  });
  const startedMs = performance.now();
  const controller = await processes.start();
  await until(
    "every ledger is claimed",
    () => claimed.size === NAMESPACES,
    () => claimed.size,
  );
  stop();
  const settledMs = (await atRest(controller)) - startedMs;
  const { lanes } = await controller.streams();
  const row = {
    what: "the controller, restarted",
    namespaces: NAMESPACES,
    "x clusters": CLUSTERS,
    "hub streams": lanes.own.open + lanes.objects.open,
    "member streams": lanes.members.open,
    waiting: lanes.own.waiting + lanes.objects.waiting + lanes.members.waiting,
    "to settled s": round(settledMs / 1000),
    "CPU s": round((await controller.usage()).cpuMs / 1000),
    ...(await memory(controller)),
    "machine load": machineLoad(),
  };
  return { controller, row };
}

/** A tenant edits the ConfigMap that its application names: from the edit until both clusters run it. */
async function edit(fleet: LeanFleet, tenant: string, meanwhile = ""): Promise<BenchRow> {
  let steps = 0;
  fleet.granted = ({ app, isStep }) => {
    if (isStep && app === tenant) steps++;
  };
  const startedMs = performance.now();
  await fleet.setConfig(tenant, "2");
  await until(
    "it is updated",
    () => steps >= 2 && fleet.settledCount === NAMESPACES,
    () => steps,
  );
  const seconds = (performance.now() - startedMs) / 1000;
  return { what: `a tenant's ConfigMap is edited${meanwhile}`, "to updated s": round(seconds, 2) };
}

/** A tenant creates very many ConfigMaps that no application names, and another one edits its own meanwhile. */
async function flood(fleet: LeanFleet, controller: ControllerProcess): Promise<BenchRow[]> {
  const before = await controller.usage();
  const startedMs = performance.now();
  const filling = fleet.fillNamespace("hostile", FLOOD, FLOOD_CHARACTERS);
  const edited = await edit(fleet, "tenant-2", " meanwhile");
  await filling;
  const seconds = (performance.now() - startedMs) / 1000;
  await atRest(controller);
  const { cpuMs } = await controller.usage();
  const row = {
    what: `a tenant creates ${FLOOD} ConfigMaps in ${round(seconds)} s`,
    "CPU s": round((cpuMs - before.cpuMs) / 1000),
    ...(await memory(controller)),
    "machine load": machineLoad(),
  };
  return [edited, row];
}

async function memory(process: ControllerProcess): Promise<{ "RSS MB": number; "live heap MB": number }> {
  const { rssMb } = await process.usage();
  // Live memory: the memory in use depends more on when the engine last collected.
  process.collectGarbage();
  const { heapMb } = await process.usage();
  return { "RSS MB": round(rssMb, 0), "live heap MB": round(heapMb, 0) };
}

/** Resolves when the process was idle for a second, to the time when it last had work. */
async function atRest(process: ControllerProcess): Promise<number> {
  let lastMs = performance.now();
  for (let quiet = 0; quiet < 2; ) {
    const [before, fromMs] = [await process.usage(), performance.now()];
    await sleep(REST_WINDOW_MS);
    const after = await process.usage();
    const percent = ((after.cpuMs - before.cpuMs) * 100) / (performance.now() - fromMs);
    if (percent < REST_CPU_PERCENT) quiet++;
    else [quiet, lastMs] = [0, performance.now()];
  }
  return lastMs;
}

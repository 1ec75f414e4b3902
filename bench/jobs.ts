/**
 * Jobs: how long work makes no progress when its cluster is lost, over what its guarantee asks for; and what many jobs cost.
 * Hub and members are the embedded fleet with simulated pods, in one process; the controller has its own.
 * LOCKSTEP_BENCH_OBJECTS and LOCKSTEP_BENCH_CLUSTERS change the number of jobs and clusters.
 */
import { performance } from "node:perf_hooks";
import { startSecureFront } from "../src/apiserver/index.ts";
import { EmbeddedFleet } from "../src/embedded/index.ts";
import { type KubeObject, resource } from "../src/kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom, systemClock, valueAt } from "../src/runtime/index.ts";
import { collectGarbage } from "../src/runtime/testing/collect-garbage.ts";
import type { BenchRow } from "./main.ts";
import { type ControllerProcess, ControllerProcesses } from "./support/controller-process.ts";
import { machineLoad, percentiles, round, setting, until } from "./support/measure.ts";

export const title =
  "jobs: from a cluster's loss to work that continues, over the guarantee's own bound; and many jobs at once";

const JOBS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterJob",
  plural: "crossclusterjobs",
  namespaced: true,
});
const COUNT = setting("LOCKSTEP_BENCH_OBJECTS", 1_000);
const CLUSTERS = setting("LOCKSTEP_BENCH_CLUSTERS", 20);
/** So many jobs at a time, as a queue in front would admit them. */
const ABREAST = 200;
/** On a slow machine fewer jobs are created, and the row says how many: the whole benchmark ends within ten minutes. */
const SUBMIT_FOR_MS = 5 * 60_000;
const LOST = 10;
const AFTER_SECONDS = 2;
const WINDOW_SECONDS = 10;
const GRACE_SECONDS = 1;
const POD_START_MS = 20;
const RUN_MS = 100;
const FOREVER_MS = 3_600_000;

interface Ground {
  readonly fleet: EmbeddedFleet;
  readonly controller: ControllerProcess;
  readonly writes: Map<string, number>;
  readonly phases: Map<string, string>;
  /** When each pod was created, by its cluster and its Job's owner. */
  readonly started: { readonly cluster: string; readonly job: string; readonly atMs: number }[];
}

export async function run(): Promise<BenchRow[]> {
  const members = Array.from({ length: CLUSTERS }, (_, at) => `member${at + 1}`);
  const fleet = new EmbeddedFleet({
    clock: systemClock,
    random: seededRandom(1),
    members,
    trackUpdates: false,
    bundled: [],
    timings: { podStartMs: POD_START_MS, podStopMs: POD_START_MS },
  });
  await fleet.start();
  const front = await startSecureFront({ name: "hub", server: fleet.hub, clock: systemClock });
  const processes = await ControllerProcesses.prepare(await front.context());
  const controller = await processes.start();
  const ground: Ground = { fleet, controller, writes: new Map(), phases: new Map(), started: [] };
  observe(ground);
  try {
    const rows: BenchRow[] = [];
    for (const guarantee of ["AtLeastOnce", "Exclusive"]) rows.push(await lose(ground, guarantee));
    rows.push(await many(ground));
    await controller.stop();
    return rows;
  } finally {
    processes.close();
    await front.close();
    await fleet.stop();
  }
}

function observe({ fleet, writes, phases, started }: Ground): void {
  fleet.onChange(({ server, resource, isDeleted, object }) => {
    if (server === "") writes.set(resource, (writes.get(resource) ?? 0) + 1);
    if (resource === "apps.karmada.io/crossclusterjobs" && isJsonObject(object.status)) {
      if (isDeleted) phases.delete(object.metadata.name);
      else phases.set(object.metadata.name, String(object.status.phase));
    }
    const isStart = resource === "/pods" && !isDeleted && valueAt(object, "status", "phase") === "Running";
    if (isStart) started.push({ cluster: server, job: object.metadata.name, atMs: performance.now() });
  });
}

/** Some jobs run in one cluster, which is cut off. */
async function lose(ground: Ground, guarantee: string): Promise<BenchRow> {
  const { fleet, started } = ground;
  const names = Array.from({ length: LOST }, (_, at) => `${guarantee.toLowerCase()}-${at}`);
  const onClusterLoss = {
    guarantee,
    afterSeconds: AFTER_SECONDS,
    windowSeconds: WINDOW_SECONDS,
    clockAllowanceSeconds: 0,
  };
  const runs = (name: string) => started.filter(({ job }) => job.startsWith(`${name}-`));
  for (const name of names)
    await submit(ground, name, ["member1", "member2"], FOREVER_MS, { failover: { onClusterLoss } });
  await until("all run", () => names.every((name) => runs(name).some(({ cluster }) => cluster === "member1")));
  // The deadlines that stand when the cluster is cut off: another cluster may start at these, and not before.
  const cutMs = performance.now();
  fleet.cut("member1");
  await until("the status shows each deadline", () =>
    names.every((name) => boundMs(ground, name, guarantee) !== undefined),
  );
  await until("all continue", () => names.every((name) => runs(name).some(({ cluster }) => cluster === "member2")));
  const over = names.map((name) => {
    const next = runs(name).find(({ cluster }) => cluster === "member2");
    const bound = (boundMs(ground, name, guarantee) ?? 0) - Date.now() + performance.now();
    const dueMs =
      guarantee === "Exclusive" ? Math.max(bound, cutMs + AFTER_SECONDS * 1000) : cutMs + AFTER_SECONDS * 1000;
    return (next?.atMs ?? 0) - dueMs;
  });
  const waited = names.map((name) => (runs(name).find(({ cluster }) => cluster === "member2")?.atMs ?? 0) - cutMs);
  const { "p50 ms": p50, "max ms": max } = percentiles(over);
  fleet.mend("member1");
  for (const name of names) await fleet.client().delete(JOBS, { namespace: "default", name });
  await until("all are gone", () => names.every((name) => !ground.phases.has(name)));
  return {
    what: `${LOST} jobs lose their cluster, ${guarantee}`,
    "without progress s, p50": round((percentiles(waited)["p50 ms"] as number) / 1000),
    "over the bound ms, p50": p50 ?? 0,
    "over the bound ms, max": max ?? 0,
    "machine load": machineLoad(),
  };
}

/** When the guarantee lets another cluster start, by the wall clock. */
function boundMs({ fleet }: Ground, name: string, guarantee: string): number | undefined {
  if (guarantee !== "Exclusive") return 0;
  const attempts = valueAt(
    fleet.hubObject("apps.karmada.io/crossclusterjobs", "default", name) ?? {},
    "status",
    "attempts",
  );
  const first = Array.isArray(attempts) ? attempts.filter(isJsonObject)[0] : undefined;
  const known = BOUNDS.get(name);
  const deadline = typeof first?.deadline === "string" ? Date.parse(first.deadline) + GRACE_SECONDS * 1000 : known;
  if (deadline !== undefined) BOUNDS.set(name, deadline);
  return deadline;
}
/** The last deadline that each job's status showed: it goes with the attempt's end. */
const BOUNDS = new Map<string, number>();

async function many(ground: Ground): Promise<BenchRow> {
  const { controller, phases, writes, fleet } = ground;
  const name = (at: number) => `job-${at}`;
  const done = () => [...phases].filter(([each, phase]) => each.startsWith("job-") && phase === "Complete").length;
  const before = new Map(writes);
  const cpuBefore = (await controller.usage()).cpuMs;
  const startedMs = performance.now();
  let count = 0;
  for (let at = 0; at < COUNT && performance.now() - startedMs < SUBMIT_FOR_MS; at++) {
    count++;
    const first = (at % CLUSTERS) + 1;
    await submit(ground, name(at), [`member${first}`, `member${(first % CLUSTERS) + 1}`], RUN_MS);
    if (at >= ABREAST) await until("some are done", () => done() > at - ABREAST, done);
  }
  await until("all are complete", () => done() === count, done);
  const tookMs = performance.now() - startedMs;
  const { cpuMs, rssMb } = await controller.usage();
  collectGarbage();
  controller.collectGarbage();
  const { heapMb } = await controller.usage();
  await until("their Jobs are removed", () =>
    fleet.memberNames.every((each) => fleet.member(each).api.list("batch/jobs", "default").length === 0),
  );
  const perJob = (resource: string) => round(((writes.get(resource) ?? 0) - (before.get(resource) ?? 0)) / count, 2);
  return {
    what: `${count} jobs over ${CLUSTERS} clusters, ${ABREAST} at a time`,
    "jobs/s": round((count * 1000) / tookMs),
    "controller CPU ms/job": round((cpuMs - cpuBefore) / count),
    "RSS MB": round(rssMb, 0),
    "live heap MB": round(heapMb, 0),
    "ledger writes/job": perJob("apps.karmada.io/crossclusterledgers"),
    "Work writes/job": perJob("work.karmada.io/works"),
    "object and status writes/job": perJob("apps.karmada.io/crossclusterjobs"),
    "Events/job": perJob("/events"),
    "machine load": machineLoad(),
  };
}

async function submit(
  { fleet }: Ground,
  name: string,
  clusters: string[],
  runMs: number,
  spec: JsonObject = {},
): Promise<void> {
  const pods = {
    metadata: { annotations: { "lockstep.test/run-ms": String(runMs) } },
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: GRACE_SECONDS,
      containers: [{ name: "main", image: "work:1" }],
    },
  };
  const object: KubeObject = {
    apiVersion: JOBS.apiVersion,
    kind: JOBS.kind,
    metadata: { name, namespace: "default" },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { backoffLimit: 0, template: pods } },
      clusters: { names: clusters },
      ...spec,
    },
  };
  await fleet.client().create(JOBS, object);
}

/**
 * Whole applications from a chart: renders a second; one application over all clusters, from an edit to the last cluster
 * healthy, beside what the clusters themselves took, and beside the plain helm program cluster by cluster; and many
 * applications at once. Helm is real. Hub and members are the embedded fleet with simulated pods, in one process with the
 * benchmark; the controller has its own. LOCKSTEP_BENCH_OBJECTS is the number of applications, LOCKSTEP_BENCH_REPLICAS
 * the objects of each, LOCKSTEP_BENCH_CLUSTERS the clusters. The one application is in all clusters; of the many, each is
 * in three.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { promisify } from "node:util";
import { type SecureFront, startSecureFront, writeKubeconfig } from "../src/apiserver/index.ts";
import { createRenderer, type RenderRequest } from "../src/charts/index.ts";
import { testTgz } from "../src/charts/testing/tar.ts";
import { EmbeddedFleet } from "../src/embedded/index.ts";
import { type KubeObject, resource } from "../src/kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom, silentLog, systemClock, valueAt } from "../src/runtime/index.ts";
import { ensurePrograms } from "../test/tools/programs.ts";
import type { BenchRow } from "./main.ts";
import { type ControllerProcess, ControllerProcesses } from "./support/controller-process.ts";
import { machineLoad, round, setting, until } from "./support/measure.ts";

export const title = "applications: renders, from an edit to the last cluster healthy, and many at once";

const COUNT = setting("LOCKSTEP_BENCH_OBJECTS", 200);
const CLUSTERS = setting("LOCKSTEP_BENCH_CLUSTERS", 20);
const OBJECTS = setting("LOCKSTEP_BENCH_REPLICAS", 50);
/** Clusters of each of the many applications. */
const SPREAD = Math.min(3, CLUSTERS);
/** So many are created at a time, as a pipeline would. */
const ABREAST = 25;
const RENDERS = 40;
const POD_START_MS = 20;

const run = promisify(execFile);
const kind = (apiVersion: string, name: string, plural: string) =>
  resource({ apiVersion, kind: name, plural, namespaced: true });
const APPLICATIONS = kind("apps.karmada.io/v1alpha1", "DistributedApplication", "distributedapplications");
const CONFIG_MAPS = kind("v1", "ConfigMap", "configmaps");

interface Ground {
  readonly fleet: EmbeddedFleet;
  readonly controller: ControllerProcess;
  readonly helm: string;
  readonly folder: string;
  readonly chart: Buffer;
  readonly writes: Map<string, number>;
  /** Applications that are settled with the generation that they have. */
  readonly settled: Set<string>;
  /** When each member's Deployment of an application changed last, and when its last pod became ready. */
  readonly changedMs: Map<string, number>;
  readonly readyMs: Map<string, number>;
}

async function measure(): Promise<BenchRow[]> {
  const { helm } = await ensurePrograms(["helm"]);
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
  const folder = mkdtempSync(join(tmpdir(), "lockstep-bench-apps-"));
  try {
    const rows: BenchRow[] = [];
    // Each row when it is known: the full size takes minutes.
    const add = (...more: BenchRow[]) => {
      for (const row of more) console.log(JSON.stringify(row));
      rows.push(...more);
    };
    add(await renders(helm, folder));
    const controller = await processes.start(helm);
    const times = { changedMs: new Map<string, number>(), readyMs: new Map<string, number>() };
    const counts = { writes: new Map<string, number>(), settled: new Set<string>() };
    const ground: Ground = { fleet, controller, helm, folder, chart: chartOf(OBJECTS), ...times, ...counts };
    observe(ground);
    const metadata = { name: "chart", namespace: "default" };
    const binaryData = { "chart.tgz": ground.chart.toString("base64") };
    await fleet.client().create(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData });
    add(...(await everywhere(ground)));
    add(await plainHelm(ground));
    add(await many(ground));
    await controller.stop();
    return rows;
  } finally {
    processes.close();
    await front.close();
    await fleet.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export { measure as run };

/** A workload with its Service and account, and settings for the rest. */
function chartOf(objects: number): Buffer {
  const settings = `{{- range $i := until ${objects - 3} }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ $.Release.Name }}-{{ $i }}}
data: {index: "{{ $i }}", text: {{ repeat 20 "setting " | quote }}}
{{- end }}`;
  const workload = `apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: {{ .Release.Name }}}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: 1
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: main, image: "{{ .Values.image }}"}]}`;
  return testTgz([
    { path: "bench/Chart.yaml", text: "apiVersion: v2\nname: bench\nversion: 1.0.0\n" },
    { path: "bench/values.yaml", text: "image: bench:1\n" },
    { path: "bench/templates/settings.yaml", text: settings },
    { path: "bench/templates/workload.yaml", text: workload },
  ]);
}

/** Each is another release, so that nothing is found in the cache; Lockstep renders twice, to see what is random. */
async function renders(helm: string, folder: string): Promise<BenchRow> {
  const options = { helm, searchPath: "", workFolder: folder, clock: systemClock, random: seededRandom(2) };
  const renderer = createRenderer({ ...options, log: silentLog });
  const bytes = chartOf(OBJECTS);
  const request = (at: number): RenderRequest => ({
    source: { kind: "helm", chart: { archive: { bytes } }, releaseName: `release-${at}`, values: [] },
    namespace: "default",
    kubeVersion: "v1.36.4",
    apiVersions: [],
    isUpgrade: false,
    lookups: "Own",
    previousObjects: [],
    tenant: "default",
  });
  const all = async () => {
    const startedMs = performance.now();
    const results = await Promise.all(
      Array.from({ length: RENDERS }, (_, at) => renderer.render(request(at), new AbortController().signal)),
    );
    const refused = results.find(({ kind: is }) => is === "refused");
    if (refused) throw new Error(JSON.stringify(refused));
    return (RENDERS * 1000) / (performance.now() - startedMs);
  };
  const [first, again] = [await all(), await all()];
  return {
    what: `renders of ${OBJECTS} objects, two at a time`,
    "renders/s": round(first),
    "from the cache/s": round(again, 0),
    "machine load": machineLoad(),
  };
}

function observe({ fleet, writes, settled, changedMs, readyMs }: Ground): void {
  const images = new Map<string, string>();
  fleet.onChange(({ server, resource: of, isDeleted, object }) => {
    const { name, generation } = object.metadata;
    if (server === "") writes.set(of, (writes.get(of) ?? 0) + 1);
    if (of === "apps.karmada.io/distributedapplications") {
      const status = isJsonObject(object.status) ? object.status : {};
      const isSettled = !isDeleted && status.phase === "Settled" && status.observedGeneration === generation;
      if (isSettled) settled.add(name);
      else settled.delete(name);
    }
    if (server === "" || isDeleted) return;
    const id = `${server}/${name}`;
    if (of === "apps/deployments") {
      const image = JSON.stringify(valueAt(object, "spec", "template", "spec", "containers"));
      if (images.get(id) !== image) changedMs.set(id, performance.now());
      images.set(id, image);
      const replicas = valueAt(object, "status", "updatedReplicas");
      const isReady = replicas === 1 && valueAt(object, "status", "readyReplicas") === 1;
      if (isReady && valueAt(object, "status", "observedGeneration") === generation) readyMs.set(id, performance.now());
    }
  });
}

function application(name: string, clusters: readonly string[], image: string): KubeObject {
  const spec: JsonObject = {
    source: { helm: { archive: { configMap: "chart" }, values: { image } } },
    clusters: { names: [...clusters] },
    revisionSettleSeconds: 0,
  };
  return {
    apiVersion: APPLICATIONS.apiVersion,
    kind: APPLICATIONS.kind,
    metadata: { name, namespace: "default" },
    spec,
  };
}

const WRITE = { fieldManager: "bench", force: true };

/** One application over all clusters, one cluster after the other: deployed, then edited. */
async function everywhere(ground: Ground): Promise<BenchRow[]> {
  const { fleet, settled, changedMs, readyMs } = ground;
  const rows: BenchRow[] = [];
  for (const [what, image] of [
    ["deployed", "bench:1"],
    ["edited (another image)", "bench:2"],
  ] as const) {
    changedMs.clear();
    readyMs.clear();
    const startedMs = performance.now();
    await fleet.client().apply(APPLICATIONS, application("wide", fleet.memberNames, image), WRITE);
    settled.delete("wide");
    await until(
      "it is settled",
      () => settled.has("wide"),
      () => readyMs.size,
    );
    const tookMs = performance.now() - startedMs;
    const ownMs = fleet.memberNames.reduce((sum, member) => {
      const id = `${member}/wide`;
      return sum + Math.max(0, (readyMs.get(id) ?? 0) - (changedMs.get(id) ?? 0));
    }, 0);
    rows.push({
      what: `one application of ${OBJECTS} objects ${what}, ${CLUSTERS} clusters one after the other`,
      "s to the last cluster healthy": round(tookMs / 1000, 2),
      "of these the clusters' own s": round(ownMs / 1000, 2),
      "Lockstep's ms a cluster": round((tookMs - ownMs) / CLUSTERS, 0),
      "machine load": machineLoad(),
    });
  }
  return rows;
}

/** The same chart and edit by `helm upgrade --install --wait`, one cluster after the other. */
async function plainHelm({ fleet, helm, folder }: Ground): Promise<BenchRow> {
  const fronts: SecureFront[] = [];
  writeFileSync(join(folder, "bench.tgz"), chartOf(OBJECTS));
  for (const name of fleet.memberNames) {
    const front = await startSecureFront({ name, server: fleet.member(name).server, clock: systemClock });
    fronts.push(front);
    await writeKubeconfig(join(folder, name), [await front.context()]);
  }
  const deliver = async (image: string) => {
    const startedMs = performance.now();
    for (const name of fleet.memberNames) {
      const args = ["upgrade", "--install", "plain", join(folder, "bench.tgz"), "-n", "default", "--wait"];
      const env = { HOME: folder, KUBECONFIG: join(folder, name), PATH: "" };
      await run(helm, [...args, "--set", `image=${image}`], { env });
    }
    return performance.now() - startedMs;
  };
  try {
    const [installMs, upgradeMs] = [await deliver("bench:1"), await deliver("bench:2")];
    return {
      what: `the same by plain helm, ${CLUSTERS} clusters one after the other`,
      "s to the last cluster healthy": round(upgradeMs / 1000, 2),
      "s to install": round(installMs / 1000, 2),
      "machine load": machineLoad(),
    };
  } finally {
    for (const front of fronts) await front.close();
  }
}

async function many(ground: Ground): Promise<BenchRow> {
  const { fleet, controller, settled, writes } = ground;
  const names = Array.from({ length: COUNT }, (_, at) => `app-${at}`);
  const clustersOf = (at: number) =>
    Array.from({ length: SPREAD }, (_, each) => fleet.memberNames[(at + each * 7) % CLUSTERS] ?? "");
  const done = () => names.filter((name) => settled.has(name)).length;
  const before = new Map(writes);
  const cpuBefore = (await controller.usage()).cpuMs;
  const startedMs = performance.now();
  for (const [at, name] of names.entries()) {
    await fleet.client().create(APPLICATIONS, application(name, clustersOf(at), "bench:1"));
    if (at >= ABREAST) await until("some are settled", () => done() > at - ABREAST, done);
  }
  await until("all are settled", () => done() === COUNT, done);
  const tookMs = performance.now() - startedMs;
  const { cpuMs, rssMb } = await controller.usage();
  controller.collectGarbage();
  const { heapMb } = await controller.usage();
  const editedMs = performance.now();
  settled.delete("app-0");
  await fleet.client().apply(APPLICATIONS, application("app-0", clustersOf(0), "bench:2"), WRITE);
  await until("the edited one is settled", () => settled.has("app-0"));
  const editMs = performance.now() - editedMs;
  const perObject = (of: string) =>
    round(((writes.get(of) ?? 0) - (before.get(of) ?? 0)) / (COUNT * OBJECTS * SPREAD), 2);
  return {
    what: `${COUNT} applications of ${OBJECTS} objects, each in ${SPREAD} of ${CLUSTERS} clusters`,
    "applications/s": round((COUNT * 1000) / tookMs, 2),
    "objects/s": round((COUNT * OBJECTS * SPREAD * 1000) / tookMs, 0),
    "controller CPU ms/application": round((cpuMs - cpuBefore) / COUNT, 0),
    "RSS MB": round(rssMb, 0),
    "live heap MB": round(heapMb, 0),
    "Work writes/object": perObject("work.karmada.io/works"),
    "edit of one of them, s": round(editMs / 1000, 2),
    "machine load": machineLoad(),
  };
}

/**
 * The dashboard with many applications and clusters, in Chromium: first paint, the cost of an update in server and page,
 * bytes of the live stream, memory. The dashboard's server is a process of its own; the hub is in this one.
 * LOCKSTEP_BENCH_APPS and LOCKSTEP_BENCH_CLUSTERS change the size.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import type { CDPSession, Page } from "playwright-core";
import { bundlePage } from "../scripts/bundle-page.mjs";
import { startSecureFront, writeKubeconfig } from "../src/apiserver/index.ts";
import { EmbeddedFleet } from "../src/embedded/index.ts";
import { type KubeClient, type KubeObject, resource } from "../src/kube/index.ts";
import { type JsonObject, seededRandom, systemClock } from "../src/runtime/index.ts";
import { launch } from "../test/web/browser.ts";
import type { BenchRow } from "./main.ts";
import { round, setting, sleep } from "./support/measure.ts";

export const title = "the dashboard with many applications and clusters";

const APPS = setting("LOCKSTEP_BENCH_APPS", 1_000);
const CLUSTERS = setting("LOCKSTEP_BENCH_CLUSTERS", 100);
const CLUSTERS_EACH = 3;
const CHANGES = 20;
/** Changes a second while many applications move at once. */
const BUSY_RATE = 50;
const BUSY_SECONDS = 10;
const MB = 1024 * 1024;

const APPLICATIONS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  plural: "crossclusterstatefulsets",
  namespaced: true,
});
const KARMADA_CLUSTERS = resource({
  apiVersion: "cluster.karmada.io/v1alpha1",
  kind: "Cluster",
  plural: "clusters",
  namespaced: false,
});

const nameOf = (index: number) => `database-${String(index).padStart(4, "0")}`;

export async function run(): Promise<BenchRow[]> {
  await bundlePage();
  const folder = mkdtempSync(join(tmpdir(), "lockstep-bench-dashboard-"));
  const fleet = new EmbeddedFleet({ clock: systemClock, random: seededRandom(1), members: [] });
  await fleet.start();
  const front = await startSecureFront({ name: "hub", server: fleet.hub, clock: systemClock });
  const kubeconfig = join(folder, "kubeconfig");
  await writeKubeconfig(kubeconfig, [await front.context()], "hub");
  const hub = fleet.client();
  await fill(hub);
  const dashboard = await Dashboard.start(kubeconfig);
  const browser = await launch();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(120_000);
    const seen = await PageMeter.of(page);
    const idle = dashboard.rssMb();
    const rows: BenchRow[] = [];

    const openedMs = performance.now();
    await page.goto(dashboard.link);
    await page.locator("tbody tr").first().waitFor();
    const listMs = performance.now() - openedMs;
    const firstPaint = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0");
    const first = await seen.take();
    rows.push({
      what: "open the list",
      ms: round(listMs),
      "first paint ms": round(Number(firstPaint)),
      "page work ms": round(first.taskMs),
      "stream KB": round(first.bytes / 1024),
      "page heap MB": round(first.heapMb),
      "server RSS MB": dashboard.rssMb(),
    });

    rows.push(await oneByOne(hub, page, seen, dashboard));
    rows.push(await busy(hub, seen, dashboard));

    const typedMs = performance.now();
    await page.getByLabel("Search").fill(nameOf(APPS - 1));
    await page.locator("tbody tr", { hasText: nameOf(APPS - 1) }).waitFor();
    const found = await seen.take();
    rows.push({ what: "search", ms: round(performance.now() - typedMs), "page work ms": round(found.taskMs) });
    await page.getByLabel("Search").fill("");

    const fleetMs = performance.now();
    await page.getByRole("link", { name: "Fleet" }).click();
    await page.getByRole("heading", { name: `member${CLUSTERS - 1}`, exact: true }).waitFor();
    const opened = await seen.take();
    rows.push({
      what: "open the fleet",
      ms: round(performance.now() - fleetMs),
      "page work ms": round(opened.taskMs),
      "page heap MB": round(opened.heapMb),
      "server RSS MB": dashboard.rssMb(),
    });
    rows.push({ what: `server without a viewer`, "server RSS MB": idle });
    return rows;
  } finally {
    await browser.close();
    await dashboard.stop();
    await front.close();
    await fleet.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One change at a time: until it is shown, and what it costs. */
async function oneByOne(hub: KubeClient, page: Page, seen: PageMeter, dashboard: Dashboard): Promise<BenchRow> {
  await seen.take();
  const cpuMs = dashboard.cpuMs();
  const delays: number[] = [];
  for (let change = 0; change < CHANGES; change++) {
    const name = nameOf(change * 3);
    const changedMs = performance.now();
    await patch(hub, name, { phase: "Halted", readyReplicas: 3 });
    await shown(page, name, "Halted");
    delays.push(performance.now() - changedMs);
  }
  const used = await seen.take();
  return {
    what: `${CHANGES} changes, one by one`,
    ms: round(delays.toSorted((a, b) => a - b)[CHANGES / 2] ?? 0),
    "page work ms": round(used.taskMs / CHANGES),
    "server CPU ms": round((dashboard.cpuMs() - cpuMs) / CHANGES),
    "stream KB": round(used.bytes / 1024 / CHANGES, 2),
    "page heap MB": round(used.heapMb),
    "server RSS MB": dashboard.rssMb(),
  };
}

/** By an observer inside the page: asking from outside again and again would be measured, too. */
function shown(page: Page, name: string, word: string): Promise<unknown> {
  return page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const links = [...document.querySelectorAll("tbody th a")];
      const row = links.find((link) => link.textContent === ${JSON.stringify(name)})?.closest("tr");
      if (row?.textContent.includes(${JSON.stringify(word)})) resolve();
      return row?.textContent.includes(${JSON.stringify(word)});
    };
    if (look()) return;
    const observer = new MutationObserver(() => look() && observer.disconnect());
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  })`);
}

/** Many at once: the stream is throttled, and the page must not fall behind. */
async function busy(hub: KubeClient, seen: PageMeter, dashboard: Dashboard): Promise<BenchRow> {
  await seen.take();
  const cpuMs = dashboard.cpuMs();
  const startedMs = performance.now();
  let changes = 0;
  while (performance.now() - startedMs < BUSY_SECONDS * 1000) {
    await patch(hub, nameOf((changes * 7) % APPS), { phase: "Updating", readyReplicas: 4 + (changes % 2) });
    changes += 1;
    const dueMs = startedMs + (changes / BUSY_RATE) * 1000;
    if (dueMs > performance.now()) await sleep(dueMs - performance.now());
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const used = await seen.take();
  return {
    what: `${round(changes / seconds, 0)} changes a second, for one second`,
    "page work ms": round(used.taskMs / seconds),
    "server CPU ms": round((dashboard.cpuMs() - cpuMs) / seconds),
    "stream KB": round(used.bytes / 1024 / seconds, 1),
    "page heap MB": round(used.heapMb),
    "server RSS MB": dashboard.rssMb(),
  };
}

function patch(hub: KubeClient, name: string, status: JsonObject): Promise<unknown> {
  const body = { status: { ...status, since: new Date().toISOString() } };
  const options = { fieldManager: "bench", subresource: "status" } as const;
  return hub.patch(APPLICATIONS, { namespace: "default", name }, { type: "merge", body }, options);
}

async function fill(hub: KubeClient): Promise<void> {
  for (let index = 0; index < CLUSTERS; index++) {
    const created = await hub.create(KARMADA_CLUSTERS, cluster(index));
    await hub.patch(
      KARMADA_CLUSTERS,
      { name: created.metadata.name },
      { type: "merge", body: { status: clusterStatus() } },
      { fieldManager: "bench", subresource: "status" },
    );
  }
  for (let index = 0; index < APPS; index++) {
    await hub.create(APPLICATIONS, application(index));
    const options = { fieldManager: "bench", subresource: "status" } as const;
    const body = { status: applicationStatus(index) };
    await hub.patch(APPLICATIONS, { namespace: "default", name: nameOf(index) }, { type: "merge", body }, options);
  }
}

function cluster(index: number): KubeObject {
  const { apiVersion, kind } = KARMADA_CLUSTERS;
  return {
    apiVersion,
    kind,
    metadata: { name: `member${index}` },
    spec: { syncMode: "Push", region: `zone-${index % 5}` },
  };
}

function clusterStatus(): JsonObject {
  return {
    kubernetesVersion: "v1.34.1",
    conditions: [
      { type: "Ready", status: "True", reason: "Ready", message: "", lastTransitionTime: new Date().toISOString() },
    ],
    nodeSummary: { totalNum: 12, readyNum: 12 },
    resourceSummary: {
      allocatable: { cpu: "96", memory: "384Gi", pods: "1320" },
      allocated: { cpu: "40500m", memory: "210Gi", pods: "400" },
    },
  };
}

function application(index: number): KubeObject {
  const { apiVersion, kind } = APPLICATIONS;
  const name = nameOf(index);
  return {
    apiVersion,
    kind,
    metadata: { name, namespace: "default" },
    spec: { resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name } },
  };
}

/** As large as the controller writes it for five instances over three clusters, with its ledger. */
function applicationStatus(index: number): JsonObject {
  const revision = `${nameOf(index)}-8vwtq86p9f`;
  const clusters = Array.from({ length: CLUSTERS_EACH }, (_, at) => ({
    name: `member${(index * CLUSTERS_EACH + at) % CLUSTERS}`,
    phase: "Settled",
    health: "Healthy",
    gate: "Open",
    granted: { revision, replicas: at === 2 ? 1 : 2, partition: 0, processor: false, topologyVersion: 9, epoch: 11 },
    observed: { revision, ready: at === 2 ? 1 : 2, updated: at === 2 ? 1 : 2, epoch: 11 },
    ordinals: at === 2 ? [4] : [at * 2, at * 2 + 1],
    instances: (at === 2 ? [4] : [at * 2, at * 2 + 1]).map((ordinal) => ({ name: `${nameOf(index)}-${ordinal}` })),
    since: new Date().toISOString(),
  }));
  return {
    phase: "Settled",
    desiredReplicas: 5,
    readyReplicas: 5,
    updatedReplicas: 5,
    currentRevision: revision,
    updateRevision: revision,
    display: { kind: "StatefulSet", ready: "5/5", updated: "5/5" },
    clusters,
    ledger: "H4sI".repeat(400),
  };
}

/** `lockstep dashboard` as users run it. */
class Dashboard {
  readonly #child: ChildProcess;
  readonly link: string;

  private constructor(child: ChildProcess, link: string) {
    this.#child = child;
    this.link = link;
  }

  static async start(kubeconfig: string): Promise<Dashboard> {
    const program = new URL("../bin/lockstep", import.meta.url).pathname;
    const args = [program, "dashboard", "--kubeconfig", kubeconfig, "--no-open"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface({ input: child.stdout })) {
      const link = /^Dashboard: (\S+)$/.exec(line)?.[1];
      if (link !== undefined) {
        child.stdout.resume();
        return new Dashboard(child, link);
      }
    }
    throw new Error("the dashboard has not started");
  }

  rssMb(): number {
    const pages = Number(readFileSync(`/proc/${this.#child.pid}/statm`, "utf8").split(" ")[1]);
    return Math.round((pages * 4096) / MB);
  }

  /** Used so far, by all of its threads. */
  cpuMs(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await ended;
  }
}

interface PageUse {
  /** Processor time of the page's main thread. */
  readonly taskMs: number;
  /** Received by live streams, as they cross the wire. */
  readonly bytes: number;
  readonly heapMb: number;
}

/** What the page used since the last time. */
class PageMeter {
  readonly #session: CDPSession;
  #taskMs = 0;
  #bytes = 0;

  private constructor(session: CDPSession) {
    this.#session = session;
    session.on("Network.dataReceived", ({ dataLength }) => {
      this.#bytes += dataLength;
    });
  }

  static async of(page: Page): Promise<PageMeter> {
    const session = await page.context().newCDPSession(page);
    // Processor time: a busy machine makes tasks longer, not more expensive.
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await session.send("Network.enable");
    return new PageMeter(session);
  }

  async take(): Promise<PageUse> {
    const taskMs = (await this.#metric("TaskDuration")) * 1000 - this.#taskMs;
    const bytes = this.#bytes;
    // Collecting is no work of the page.
    await this.#session.send("HeapProfiler.collectGarbage");
    this.#taskMs = (await this.#metric("TaskDuration")) * 1000;
    this.#bytes = 0;
    return { taskMs, bytes, heapMb: (await this.#metric("JSHeapUsedSize")) / MB };
  }

  async #metric(name: string): Promise<number> {
    const { metrics } = await this.#session.send("Performance.getMetrics");
    return metrics.find((one) => one.name === name)?.value ?? 0;
  }
}

/**
 * CrossClusterJobs on the embedded fleet, in real time, with pods that are real processes: what they write into one file
 * is the proof of what ran.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  admissionPolicies,
  DEFAULT_POLICY_SETTINGS,
  DEFAULT_SYSTEM_NAMESPACE,
  type Workload,
} from "../../src/api/index.ts";
import { runManager } from "../../src/controllers/index.ts";
import { EmbeddedFleet, type PodRuntime } from "../../src/embedded/index.ts";
import { Children, ProcessRuntime } from "../../src/embedded/process/index.ts";
import { KarmadaEngine } from "../../src/engine/index.ts";
import { httpWebhookTransports } from "../../src/interpret/index.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import {
  isJsonObject,
  type JsonObject,
  type Log,
  lineLog,
  seededRandom,
  silentLog,
  systemClock,
} from "../../src/runtime/index.ts";
import { type Run, runsOf } from "./runs.ts";

export const CCJ = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterJob",
  plural: "crossclusterjobs",
  namespaced: true,
});
const LEDGERS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterLedger",
  plural: "crossclusterledgers",
  namespaced: true,
});
const WORKS = resource({
  apiVersion: "work.karmada.io/v1alpha1",
  kind: "Work",
  plural: "works",
  namespaced: true,
});
const PROGRAM = fileURLToPath(new URL("program.mjs", import.meta.url));
const GIVE_UP_MS = 60_000;
const LOOK_MS = 20;
/** The shortest time after which a cluster that is cut off may count as lost here. */
export const LOST_AFTER_SECONDS = 1;

export interface Asked {
  /** Of the Job. */
  readonly job?: JsonObject;
  readonly labels?: Readonly<Record<string, string>>;
  /** Of the CrossClusterJob. */
  readonly spec?: JsonObject;
  /** Clusters in which the program fails. */
  readonly failIn?: readonly string[];
  readonly graceSeconds?: number;
}

export class JobWorld {
  readonly fleet: EmbeddedFleet;
  readonly #folder = mkdtempSync(join(tmpdir(), "lockstep-jobs-"));
  readonly #runs = join(this.#folder, "runs");
  readonly #children = new Children({ file: join(this.#folder, "processes.json"), clock: systemClock });
  readonly #random = seededRandom(1);
  /** Clusters in which no pod finds a place. */
  readonly #full = new Set<string>();
  #others = 0;
  #controller: { readonly stop: AbortController; readonly running: Promise<void> } | undefined;

  /** `workloads`: kinds that may be templates, in addition to Jobs. */
  constructor({ workloads = [] }: { readonly workloads?: readonly Workload[] } = {}) {
    mkdirSync(join(this.#folder, "gates"));
    writeFileSync(this.#runs, "");
    this.fleet = new EmbeddedFleet({
      clock: systemClock,
      random: this.#random,
      trackUpdates: false,
      timings: { healthThresholdMs: 300 },
      installed: admissionPolicies({ ...DEFAULT_POLICY_SETTINGS, workloads }),
      runtime: (member) => this.#runtime(member),
    });
  }

  async start({ withController = true } = {}): Promise<void> {
    await this.fleet.start();
    if (withController) this.startController();
  }

  async stop(): Promise<void> {
    await this.stopController();
    await this.fleet.stop();
    this.#children.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  startController(): void {
    const hub = this.fleet.client();
    const [clock, random] = [systemClock, this.#random];
    const log: Log = process.env.LOCKSTEP_TEST_LOG
      ? lineLog((level, message, fields) => console.error(level, message, JSON.stringify(fields)))
      : silentLog;
    const stop = new AbortController();
    const running = runManager(
      {
        hub,
        clock,
        random,
        log,
        engine: () => new KarmadaEngine({ hub, clock, random, log }),
        webhookTransports: httpWebhookTransports,
        systemNamespace: DEFAULT_SYSTEM_NAMESPACE,
        identity: "test",
      },
      stop.signal,
    );
    this.#controller = { stop, running };
  }

  async stopController(): Promise<void> {
    this.#controller?.stop.abort(new Error("the test stops the controller"));
    await this.#controller?.running;
    this.#controller = undefined;
  }

  /** The cluster is back, and the hub knows it. */
  async mend(cluster: string): Promise<void> {
    this.fleet.mend(cluster);
    await this.until(`${cluster} is Ready`, () => {
      const status = this.fleet.hubObject("cluster.karmada.io/clusters", "", cluster)?.status;
      return JSON.stringify(status ?? {}).includes('"type":"Ready","status":"True"');
    });
  }

  /** Nothing of any attempt is left in any cluster. */
  clean(name: string): Promise<void> {
    return this.until(`nothing is left of ${name}`, () => this.leftovers(name).length === 0, name);
  }

  /** Lets the program end in this cluster, or in all of them. */
  open(gate: string): void {
    writeFileSync(this.#gate(gate), "");
  }

  close(gate: string): void {
    rmSync(this.#gate(gate), { force: true });
  }

  /** Pods that are created from now on in this cluster find no place. */
  fill(cluster: string): void {
    this.#full.add(cluster);
  }

  empty(cluster: string): void {
    this.#full.delete(cluster);
  }

  /** The work is named after the object, so the file tells its runs from those of other stories. */
  async submit(
    name: string,
    { job = {}, labels = {}, spec = {}, failIn = [], graceSeconds = 1 }: Asked = {},
  ): Promise<KubeObject> {
    const env = Object.entries({
      RUNS: this.#runs,
      GATES: join(this.#folder, "gates"),
      WORK: name,
      FAIL_IN: failIn.join(),
    });
    const container = {
      name: "main",
      image: "work",
      command: [process.execPath, PROGRAM],
      env: env.map(([variable, value]) => ({ name: variable, value })),
    };
    const pods = { restartPolicy: "Never", terminationGracePeriodSeconds: graceSeconds, containers: [container] };
    return this.fleet.client().create(CCJ, {
      apiVersion: CCJ.apiVersion,
      kind: CCJ.kind,
      metadata: { name, namespace: "default" },
      spec: {
        template: {
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: { labels },
          spec: { backoffLimit: 0, template: { spec: pods }, ...job },
        },
        clusters: { names: [...this.fleet.memberNames] },
        ...spec,
      },
    });
  }

  /** An object of any kind, on the hub or in a member. */
  async create(object: KubeObject, member?: string): Promise<void> {
    const client = this.fleet.client(member);
    await client.create(resource(await client.discovery.resource(object.apiVersion, object.kind)), object);
  }

  async patch(name: string, spec: JsonObject): Promise<void> {
    await this.fleet.client().patch(CCJ, { namespace: "default", name }, { type: "merge", body: { spec } });
  }

  async delete(name: string): Promise<void> {
    await this.fleet.client().delete(CCJ, { namespace: "default", name });
  }

  /** As after a backup was restored that does not have them. */
  async loseLedgers(): Promise<void> {
    const { items } = await this.fleet.client().listAll(LEDGERS);
    for (const { metadata } of items) await this.fleet.client().delete(LEDGERS, metadata);
  }

  /** As after a backup was restored that has objects without their status. */
  async loseStatus(name: string): Promise<void> {
    const hub = this.fleet.client();
    const found = await hub.find(CCJ, { namespace: "default", name });
    if (found) await hub.update(CCJ, { ...found, status: {} }, { subresource: "status" });
  }

  /** What the hub has of it: its status, its ledger, and what it dispatched. Restoring writes it over what is there. */
  async backup(name: string): Promise<{ restore(): Promise<void> }> {
    const hub = this.fleet.client();
    const isOf = (object: KubeObject) => JSON.stringify(object).includes(`"${name}"`);
    const stored = await Promise.all([LEDGERS, WORKS].map(async (of) => ({ of, ...(await hub.listAll(of)) })));
    const kept = stored.flatMap(({ of, items }) => items.filter(isOf).map((object) => ({ of, object })));
    if (kept.length < 2) throw new Error(`${name} has no ledger, or nothing is dispatched`);
    const status = this.status(name);
    return {
      restore: async () => {
        for (const { of, object } of kept) {
          const { resourceVersion } = (await hub.find(of, object.metadata))?.metadata ?? {};
          if (resourceVersion === undefined) throw new Error(`${object.kind} ${object.metadata.name} is gone`);
          await hub.update(of, { ...object, metadata: { ...object.metadata, resourceVersion } });
        }
        const now = await hub.find(CCJ, { namespace: "default", name });
        if (now) await hub.update(CCJ, { ...now, status }, { subresource: "status" });
      },
    };
  }

  runs(name: string): Run[] {
    return runsOf(this.#runs, name);
  }

  object(name: string): KubeObject | undefined {
    return this.fleet.hubObject("apps.karmada.io/crossclusterjobs", "default", name);
  }

  status(name: string): JsonObject {
    const status = this.object(name)?.status;
    return isJsonObject(status) ? status : {};
  }

  attempts(name: string): JsonObject[] {
    const { attempts } = this.status(name);
    return Array.isArray(attempts) ? attempts.filter(isJsonObject) : [];
  }

  /** Each attempt as its cluster and state. */
  courses(name: string): string[] {
    return this.attempts(name).map(({ cluster, state }) => `${cluster} ${state}`);
  }

  reasons(name: string): string[] {
    const { waiting } = this.status(name);
    return Array.isArray(waiting) ? waiting.filter(isJsonObject).map(({ reason }) => String(reason)) : [];
  }

  /** What is left of its attempts: Jobs and pods in members. */
  leftovers(name: string): string[] {
    const isOf = ({ metadata }: KubeObject) => metadata.name.includes(`${name}-`);
    const inMembers = this.fleet.memberNames.flatMap((member) =>
      ["batch/jobs", "/pods"].flatMap((kind) =>
        this.fleet
          .member(member)
          .api.list(kind, "default")
          .filter(isOf)
          .map(({ metadata }) => `${member} ${kind} ${metadata.name}`),
      ),
    );
    return inMembers;
  }

  phase(name: string, phase: string): Promise<void> {
    return this.until(`${name} is ${phase}`, () => this.status(name).phase === phase, name);
  }

  async until(what: string, condition: () => boolean, name?: string): Promise<void> {
    const endMs = performance.now() + GIVE_UP_MS;
    while (!condition()) {
      if (performance.now() > endMs) {
        throw new Error(`still not: ${what}${name === undefined ? "" : `; ${this.told(name)}`}`);
      }
      await sleep(LOOK_MS);
    }
  }

  /** Other work ran from its start to its end: whatever the controller wanted to do before has happened by then. */
  async roundTrip(): Promise<void> {
    const name = `other${++this.#others}`;
    this.open("all");
    await this.submit(name);
    await this.phase(name, "Complete");
    await this.clean(name);
  }

  /** Everything about it, for the message of a failure. */
  told(name: string): string {
    const runs = this.runs(name).map(
      ({ index, cluster, pod, end }) => `${index} ${cluster} ${pod} ${end?.how ?? "runs"}`,
    );
    const { workload: _not, conditions: _neither, ...status } = this.status(name);
    return `${JSON.stringify(status, null, 1)}\n${runs.join("\n")}\n${this.leftovers(name).join("\n")}`;
  }

  #gate(name: string): string {
    return join(this.#folder, "gates", name);
  }

  #runtime(member: string): PodRuntime {
    const processes = new ProcessRuntime({
      folder: join(this.#folder, member),
      clock: systemClock,
      log: silentLog,
      env: { PATH: process.env.PATH ?? "", CLUSTER: member },
      configMap: () => undefined,
      children: this.#children,
    });
    return {
      run: (pod, report) => {
        if (!this.#full.has(member)) return processes.run(pod, report);
        report({ ready: false, restarts: 0, waiting: "ContainerCreating", message: "no node has room" });
      },
      end: (pod) => processes.end(pod),
      stop: () => processes.stop(),
      log: (pod) => processes.log(pod),
    };
  }
}

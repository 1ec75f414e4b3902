/**
 * A real etcd of several instances over embedded clusters, with Lockstep's controller, and a client that writes to it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runManager } from "../../src/controllers/index.ts";
import { type Database, ETCD, startDatabase } from "../../src/embedded/database/index.ts";
import { EmbeddedFleet } from "../../src/embedded/index.ts";
import { EtcdApplication, etcdContainer, ProcessRuntime } from "../../src/embedded/process/index.ts";
import { PodRecorder } from "../../src/embedded/testing/world.ts";
import { KarmadaEngine } from "../../src/engine/index.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { type JsonObject, silentLog as log, seededRandom, systemClock } from "../../src/runtime/index.ts";
import { ensurePrograms } from "../tools/programs.ts";

const CCS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  plural: "crossclusterstatefulsets",
  namespaced: true,
});
const TEMPLATES = resource({ ...ETCD, namespaced: true });
const NAME = { namespace: "default", name: "etcd" };
const WRITE = { fieldManager: "test", force: true };
export const GIVE_UP_MS = 90_000;

export class EtcdWorld {
  readonly fleet: EmbeddedFleet;
  readonly pods: PodRecorder;
  readonly #folder = mkdtempSync(join(tmpdir(), "lockstep-etcd-"));
  /** A second byte of 127.0.0.0/8 of its own, so that two runs on one machine do not meet. */
  readonly #network = 16 + (process.pid % 200);
  readonly #runtimes = new Map<string, ProcessRuntime>();
  readonly #random = seededRandom(1);
  #database: Database<EtcdApplication> | undefined;
  #controller: { stop: AbortController; running: Promise<void> } | undefined;

  constructor(members: readonly string[]) {
    this.fleet = new EmbeddedFleet({
      clock: systemClock,
      random: this.#random,
      members,
      trackUpdates: false,
      runtime: (member) => this.#runtime(member),
    });
    this.pods = new PodRecorder(this.fleet);
  }

  async start(): Promise<void> {
    const { etcd: program } = await ensurePrograms(["etcd"]);
    await this.fleet.start();
    const { fleet } = this;
    this.#database = await startDatabase({
      fleet,
      clock: systemClock,
      random: this.#random,
      log,
      kind: ETCD,
      application: () => new EtcdApplication({ clock: systemClock, log, address: (name) => this.address(name) }),
      container: (start) => etcdContainer(program, start),
    });
    this.startController();
  }

  get application(): EtcdApplication {
    if (!this.#database) throw new Error("not started");
    return this.#database.application("default/etcd");
  }

  address(instance: string): string {
    return `127.${this.#network}.${/\d+$/.exec(instance)?.[0]}.1`;
  }

  startController(): void {
    const hub = this.fleet.client();
    const [clock, random] = [systemClock, this.#random];
    const stop = new AbortController();
    const running = runManager(
      {
        hub,
        clock,
        random,
        log,
        engine: () => new KarmadaEngine({ hub, clock, random, log }),
        webhookTransports: () => {
          throw new Error("no webhook is configured here");
        },
        systemNamespace: "lockstep-system",
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

  async stop(): Promise<void> {
    await this.stopController();
    await this.#database?.stop();
    await this.fleet.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Every etcd of the cluster is killed, and its API server goes down. */
  async lose(member: string): Promise<void> {
    this.fleet.kill(member);
    await this.#runtimes.get(member)?.stop();
  }

  async scale(sizes: Readonly<Record<string, number>>, spec: JsonObject = {}): Promise<void> {
    await this.fleet.client().apply(
      CCS,
      {
        apiVersion: CCS.apiVersion,
        kind: CCS.kind,
        metadata: NAME,
        spec: {
          resourceSelector: { apiVersion: ETCD.apiVersion, kind: ETCD.kind, ...NAME },
          completion: { protocol: "Contract" },
          identity: { addressTemplate: `127.${this.#network}.{ordinal}.1` },
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { leaderTransfer: { timeoutSeconds: 30 } } },
          failover: { policy: "Wait", afterSeconds: 10 },
          topology: { clusters: Object.entries(sizes).map(([name, replicas]) => ({ name, replicas })) },
          ...spec,
        },
      },
      WRITE,
    );
  }

  async template(args: readonly string[]): Promise<void> {
    const object: KubeObject = {
      apiVersion: ETCD.apiVersion,
      kind: ETCD.kind,
      metadata: NAME,
      spec: { replicas: 1, image: "etcd", args: [...args] },
    };
    await this.fleet.client().apply(TEMPLATES, object, WRITE);
  }

  status(): JsonObject {
    const object = this.fleet.hubObject("apps.karmada.io/crossclusterstatefulsets", NAME.namespace, NAME.name);
    return { generation: object?.metadata.generation ?? 0, ...(object?.status as JsonObject | undefined) };
  }

  settled(replicas: number): Promise<void> {
    return this.until(`${replicas} instances are settled`, () => {
      const { phase, readyReplicas, observedGeneration, generation } = this.status();
      return phase === "Settled" && readyReplicas === replicas && observedGeneration === generation;
    });
  }

  async until(what: string, condition: () => boolean): Promise<void> {
    const endMs = performance.now() + GIVE_UP_MS;
    while (!condition()) {
      if (performance.now() > endMs) {
        throw new Error(`still not: ${what}; status ${JSON.stringify(this.status(), null, 1)}`);
      }
      await sleep(20);
    }
  }

  #runtime(member: string): ProcessRuntime {
    const runtime = new ProcessRuntime({
      folder: join(this.#folder, member),
      clock: systemClock,
      log,
      env: { PATH: process.env.PATH ?? "" },
      configMap: () => undefined,
    });
    this.#runtimes.set(member, runtime);
    return runtime;
  }
}

/** Writes one key after the other, and knows which writes were acknowledged. */
export class Writer {
  readonly acknowledged: number[] = [];
  /** The longest time in which no write was acknowledged. */
  longestGapMs = 0;
  readonly #urls: () => string[];
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(urls: () => string[]) {
    this.#urls = urls;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    let lastMs = performance.now();
    for (let at = 0; !this.#stop.signal.aborted; at++) {
      while (!(await this.#put(at)) && !this.#stop.signal.aborted) await sleep(10);
      if (this.#stop.signal.aborted) return;
      this.acknowledged.push(at);
      this.longestGapMs = Math.max(this.longestGapMs, performance.now() - lastMs);
      lastMs = performance.now();
      await sleep(5);
    }
  }

  async #put(at: number): Promise<boolean> {
    const body = JSON.stringify({ key: base64(keyOf(at)), value: base64(String(at)) });
    for (const url of this.#urls()) {
      try {
        const signal = AbortSignal.timeout(1_000);
        const response = await fetch(`${url}/v3/kv/put`, { method: "POST", body, signal });
        await response.text();
        if (response.ok) return true;
      } catch {
        // The next one; the same key and value may be written twice, which changes nothing.
      }
    }
    return false;
  }

  /** Every acknowledged write that this instance does not have. */
  async missing(url: string): Promise<number[]> {
    const body = JSON.stringify({ key: base64("write/"), range_end: base64("write0"), keys_only: true });
    const response = await fetch(`${url}/v3/kv/range`, { method: "POST", body, signal: AbortSignal.timeout(10_000) });
    const answer = (await response.json()) as { kvs?: { key: string }[] };
    const found = new Set((answer.kvs ?? []).map(({ key }) => Buffer.from(key, "base64").toString()));
    return this.acknowledged.filter((at) => !found.has(keyOf(at)));
  }
}

function keyOf(at: number): string {
  return `write/${String(at).padStart(9, "0")}`;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

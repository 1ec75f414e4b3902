import { readdirSync } from "node:fs";
import { runManager } from "../../src/controllers/index.ts";
import { KarmadaEngine } from "../../src/engine/index.ts";
import { STATEFULSETS, WORKS } from "../../src/engine/testing/contract.ts";
import { Observer } from "../../src/engine/testing/observer.ts";
import { type KubeClient, type KubeObject, type Resource, resource } from "../../src/kube/index.ts";
import { type Log, lineLog, seededRandom, silentLog, systemClock, systemRandom } from "../../src/runtime/index.ts";
import { type KarmadaFleet, startKarmadaFleet } from "./fleet.ts";
import { objectsOf } from "./stack/api.ts";

export const CCS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  plural: "crossclusterstatefulsets",
  namespaced: true,
});

export const POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "PropagationPolicy",
  plural: "propagationpolicies",
  namespaced: true,
});
export const MANAGER = { fieldManager: "test", force: true };

export function crossCluster(name: string, spec: object = {}): KubeObject {
  return {
    apiVersion: CCS.apiVersion,
    kind: CCS.kind,
    metadata: { name, namespace: "default" },
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name, namespace: "default" },
      updateStrategy: { type: "RollingUpdate" },
      ...spec,
    },
  };
}

interface PodList {
  items: { metadata: { name: string; uid: string }; spec: { containers: { image: string }[] } }[];
}

async function podsOf(world: World, app: string): Promise<[string, PodList["items"]][]> {
  const path = `/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`;
  const found: [string, PodList["items"]][] = [];
  for (const [cluster, api] of world.stack.members) found.push([cluster, (await api.get<PodList>(path))?.items ?? []]);
  return found;
}

/** Every pod's uid, by cluster and name: what must not change when nothing may move. */
export async function podUids(world: World, app: string): Promise<Record<string, string>> {
  const pods = (await podsOf(world, app)).flatMap(([cluster, items]) =>
    items.map(({ metadata }) => [`${cluster}/${metadata.name}`, metadata.uid]),
  );
  return Object.fromEntries(pods);
}

/** What each cluster's pods run, such as `web-0 web:1`. */
export async function podImages(world: World, app: string): Promise<Record<string, string[]>> {
  const pods = (await podsOf(world, app)).map(([cluster, items]) => [
    cluster,
    items.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`).sort(),
  ]);
  return Object.fromEntries(pods);
}

/** A real Karmada with Lockstep's CRDs and its controller on it, and an observer over all of it. */
export interface World extends KarmadaFleet {
  member(name: string): KubeClient;
  watch(workload: Resource): Promise<Observer>;
  /** Stops the controller as a crash would, and starts another. */
  restartController(): Promise<void>;
  status(name: string): Promise<Record<string, unknown>>;
}

export async function startWorld(): Promise<World> {
  const fleet = await startKarmadaFleet();
  const folder = new URL("../../deploy/crds/", import.meta.url).pathname;
  for (const file of readdirSync(folder)) {
    for (const object of objectsOf(folder + file)) await fleet.stack.hub.apply(object);
  }
  await fleet.until("the CRDs are served", () =>
    fleet.stack.hub.ok("/apis/apps.karmada.io/v1alpha1/crossclusterstatefulsets"),
  );

  let controller = startController(fleet.hub);
  const observers: Observer[] = [];
  return {
    ...fleet,
    member(name) {
      const client = fleet.members.get(name);
      if (!client) throw new Error(`no member ${name}`);
      return client;
    },
    async watch(workload) {
      const observer = new Observer({ ...fleet, random: seededRandom(1), workload, works: WORKS });
      observers.push(observer);
      await observer.start();
      return observer;
    },
    async restartController() {
      await controller.stop();
      controller = startController(fleet.hub);
    },
    async status(name) {
      const object = await fleet.hub.find(CCS, { namespace: "default", name });
      return (object?.status ?? {}) as Record<string, unknown>;
    },
    async stop() {
      await controller.stop();
      await Promise.all(observers.map((observer) => observer.stop()));
      await fleet.stop();
    },
  };
}

function startController(hub: KubeClient) {
  const stop = new AbortController();
  const log: Log = process.env.LOCKSTEP_TEST_LOG
    ? lineLog((level, message, fields) => console.error(level, message, JSON.stringify(fields)))
    : silentLog;
  const running = runManager(
    {
      hub,
      clock: systemClock,
      random: systemRandom,
      log,
      engine: () => new KarmadaEngine({ hub, clock: systemClock, random: systemRandom, log }),
      webhookTransports: () => {
        throw new Error("no webhook is configured in this suite");
      },
      leaseNamespace: "karmada-system",
      identity: "test",
    },
    stop.signal,
  );
  return {
    async stop() {
      stop.abort(new Error("the test stops the controller"));
      await running;
    },
  };
}

/** Follows pods on every member, and remembers the worst moment: how many of those expected were not ready at once. */
export class PodRecorder {
  readonly #ready = new Map<string, boolean>();
  readonly order: string[] = [];
  /** Every change, for the message when something went wrong. */
  readonly timeline: string[] = [];
  worst = 0;
  #expected = 0;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];

  /** `expected`: from when on a missing one counts. */
  expect(count: number): void {
    this.#expected = count;
    this.worst = 0;
  }

  follow(cluster: string, api: World["stack"]["hub"], app: string): void {
    this.#running.push(this.#follow(cluster, api, app));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#running);
  }

  async #follow(cluster: string, api: World["stack"]["hub"], app: string): Promise<void> {
    const path = `/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`;
    for await (const { type, object } of api.watch(path, this.#stop.signal)) {
      const key = `${cluster}/${object.metadata.name}`;
      if (type === "DELETED") this.#ready.delete(key);
      else this.#note(key, isReady(object as unknown as KubeObject));
      const ready = [...this.#ready.values()].filter(Boolean).length;
      this.timeline.push(
        `${(performance.now() / 1000).toFixed(2)} ${type} ${key} ready=${this.#ready.get(key)} total=${ready}`,
      );
      this.worst = Math.max(this.worst, this.#expected - ready);
    }
  }

  #note(key: string, ready: boolean): void {
    if (ready && this.#ready.get(key) !== true) this.order.push(key);
    this.#ready.set(key, ready);
  }
}

function isReady(pod: KubeObject): boolean {
  const status = pod.status as { conditions?: { type: string; status: string }[] } | undefined;
  const ready = status?.conditions?.some(({ type, status: holds }) => type === "Ready" && holds === "True");
  return ready === true && pod.metadata.deletionTimestamp === undefined;
}

export { STATEFULSETS };

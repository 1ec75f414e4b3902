import { admissionPolicies, DEFAULT_POLICY_SETTINGS, DEFAULT_SYSTEM_NAMESPACE } from "../../api/index.ts";
import type { User } from "../../apiserver/index.ts";
import { type ManagerOptions, runManager } from "../../controllers/index.ts";
import { type AccessPoint, KarmadaEngine, MEMBER_ACCESS_LABEL, type MemberConnection } from "../../engine/index.ts";
import { type KubeClient, type KubeObject, resource } from "../../kube/index.ts";
import { isJsonObject, type JsonObject, type Log, seededRandom, silentLog } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { EmbeddedFleet, type EmbeddedFleetOptions } from "../index.ts";

export const CROSS_CLUSTER_STATEFULSETS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  plural: "crossclusterstatefulsets",
  namespaced: true,
});

/** Kinds that tests use as templates, in addition to StatefulSets. */
const WORKLOADS = [
  { plural: "xlineclusters", group: "apps.my.io" },
  { plural: "etcdclusters", group: "example.io" },
  { plural: "stores", group: "example.io" },
];
const EVENTS = resource({ apiVersion: "v1", kind: "Event", plural: "events", namespaced: true });

/** Virtual time is free, and only something that never happens takes this long. */
const GIVE_UP_MS = 3_600_000;

/** How the controller differs from an installed one. */
export type ControllerSettings = Partial<
  Pick<ManagerOptions, "topologyInlineBytes" | "webhookTransports" | "renderer">
>;

/** A fleet with Lockstep's controller on it, on virtual time from one seed. */
export class World {
  readonly clock: VirtualClock;
  readonly fleet: EmbeddedFleet;
  readonly hub: KubeClient;
  readonly #random;
  readonly #log: Log;
  readonly #settings: ControllerSettings;
  /** Programs that render run in real time: virtual time waits for them. */
  readonly #renders = new Set<Promise<unknown>>();
  #manager: { stop: AbortController; running: Promise<void> } | undefined;

  constructor(seed: number, options: Partial<EmbeddedFleetOptions> = {}, settings: ControllerSettings = {}) {
    this.#settings = settings;
    this.#random = seededRandom(seed);
    this.clock = new VirtualClock({ random: this.#random });
    this.#log = options.log ?? silentLog;
    this.fleet = new EmbeddedFleet({
      clock: this.clock,
      random: this.#random,
      trackUpdates: false,
      bundled: [],
      installed: admissionPolicies({ ...DEFAULT_POLICY_SETTINGS, workloads: WORKLOADS }),
      ...options,
    });
    this.hub = this.fleet.client();
  }

  async start(): Promise<void> {
    await this.clock.run(this.fleet.start());
    this.startController();
  }

  /** As an administrator of the fleet, unless a user or another connection is given. */
  startController(user?: User, hub = this.fleet.client(undefined, user)): void {
    const { clock } = this;
    const [random, log] = [this.#random, this.#log];
    const stop = new AbortController();
    const running = runManager(
      {
        hub,
        clock,
        random,
        log,
        engine: () => new KarmadaEngine({ hub, clock, random, log, openMember: (point) => this.#openMember(point) }),
        webhookTransports: () => {
          throw new Error("no webhook is configured here");
        },
        systemNamespace: DEFAULT_SYSTEM_NAMESPACE,
        identity: "test",
        allowedClusters: { required: false },
        ...this.#settings,
        ...this.#renderer(),
      },
      stop.signal,
    );
    this.#manager = { stop, running };
  }

  /** Direct access to a member, as a Secret with the server https://MEMBER.fleet in its namespace gives it. */
  async #openMember({ server }: AccessPoint): Promise<MemberConnection> {
    const [name = ""] = new URL(server).hostname.split(".");
    return { transport: this.fleet.member(name).entrance.transport(), close: async () => {} };
  }

  async giveAccess(member: string): Promise<void> {
    const encoded = (text: string) => Buffer.from(text).toString("base64");
    const labels = { [MEMBER_ACCESS_LABEL]: "true" };
    await this.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "lockstep", namespace: `karmada-es-${member}`, labels },
      data: { server: encoded(`https://${member}.fleet`), token: encoded("any") },
    });
  }

  async stopController(): Promise<void> {
    const manager = this.#manager;
    this.#manager = undefined;
    manager?.stop.abort(new Error("the test stops the controller"));
    if (manager) await this.clock.run(manager.running);
  }

  async stop(): Promise<void> {
    await this.stopController();
    await this.clock.run(this.fleet.stop());
  }

  /** Lets time pass until the condition holds. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const endMs = this.clock.monotonicMs() + GIVE_UP_MS;
    await this.clock.settle();
    while (!condition()) {
      await this.#rendered();
      if (this.clock.monotonicMs() > endMs || !(await this.clock.step())) {
        throw new Error(`by ${this.clock.monotonicMs()} ms of virtual time still not: ${what}`);
      }
    }
  }

  #renderer(): Pick<ManagerOptions, "renderer"> {
    const { renderer } = this.#settings;
    if (!renderer) return {};
    const render: typeof renderer.render = (request, signal) => {
      const running = renderer.render(request, signal);
      this.#renders.add(running);
      const ended = () => void this.#renders.delete(running);
      running.then(ended, ended);
      return running;
    };
    return { renderer: { render } };
  }

  async #rendered(): Promise<void> {
    while (this.#renders.size > 0) {
      await Promise.allSettled(this.#renders);
      await this.clock.settle();
    }
  }

  /** One request of a user, with time passing until it is answered. */
  ask<Value>(request: Promise<Value>): Promise<Value> {
    return this.clock.run(request);
  }

  apply(object: KubeObject): Promise<KubeObject> {
    const { apiVersion, kind } = object;
    const options = { fieldManager: "test", force: true };
    const write = this.hub.discovery
      .resource(apiVersion, kind)
      .then((found) => this.hub.apply(resource(found), object, options));
    return this.ask(write);
  }

  /** The CrossClusterStatefulset on the hub, read without a client. */
  statefulset(name: string): KubeObject | undefined {
    return this.fleet.hubObject("apps.karmada.io/crossclusterstatefulsets", "default", name);
  }

  status(name: string): JsonObject {
    const status = this.statefulset(name)?.status;
    return isJsonObject(status) ? status : {};
  }

  /** The Events about an object of the default namespace, each as its reason and its message. */
  async events(name: string): Promise<string[]> {
    const { items } = await this.ask(this.hub.listAll(EVENTS, { namespace: "default" }));
    return items
      .filter(({ involvedObject }) => isJsonObject(involvedObject) && involvedObject.name === name)
      .map(({ reason, message }) => `${reason} ${message}`);
  }

  isSettled(name: string, replicas: number): boolean {
    const { phase, readyReplicas, observedGeneration } = this.status(name);
    const generation = this.statefulset(name)?.metadata.generation;
    return phase === "Settled" && readyReplicas === replicas && observedGeneration === generation;
  }
}

/** Follows the pods of every member and records the worst moment, and the order in which they became ready and went. */
export class PodRecorder {
  readonly order: string[] = [];
  /** Those that were deleted, in the order in which they went. */
  readonly gone: string[] = [];
  worst = 0;
  readonly #ready = new Set<string>();
  readonly #images = new Map<string, string>();
  #expected = 0;

  constructor(fleet: EmbeddedFleet) {
    for (const name of fleet.memberNames) {
      fleet
        .member(name)
        .api.on("/pods", ({ type, object }) => this.#note(`${name}/${object.metadata.name}`, type, object));
    }
  }

  /** From now on, a missing one counts. */
  expect(count: number): void {
    this.#expected = count;
    this.worst = 0;
    this.order.length = 0;
  }

  /** What runs where, by cluster and name. */
  images(): Record<string, string> {
    return Object.fromEntries([...this.#images].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  #note(key: string, type: string, pod: KubeObject): void {
    const isReady = type !== "DELETED" && pod.metadata.deletionTimestamp === undefined && hasReadyCondition(pod);
    if (isReady && !this.#ready.has(key)) this.order.push(key);
    if (isReady) this.#ready.add(key);
    else this.#ready.delete(key);
    if (type === "DELETED") {
      this.#images.delete(key);
      this.gone.push(key);
    } else this.#images.set(key, /"image":"([^"]+)"/.exec(JSON.stringify(pod.spec))?.[1] ?? "");
    this.worst = Math.max(this.worst, this.#expected - this.#ready.size);
  }
}

function hasReadyCondition(pod: KubeObject): boolean {
  return JSON.stringify(pod.status ?? {}).includes('{"type":"Ready","status":"True"');
}

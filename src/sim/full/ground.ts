import type { Commit, KubeObject, SchemaCache, ServerSnapshot } from "../../apiserver/index.ts";
import { ANNOTATIONS } from "../../contract/index.ts";
import { EmbeddedFleet } from "../../embedded/index.ts";
import {
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  isJsonObject,
  type JsonObject,
} from "../../runtime/index.ts";
import type { Dice } from "../dice.ts";
import type { Ground, GroundMember, HubDoor } from "../ground.ts";
import { write } from "../lean/hub.ts";
import type { SimProcess } from "../process.ts";
import type { Scenario } from "../scenario.ts";
import type { DownCause, Instance, TrueMember, Witness } from "../truth.ts";
import type { World } from "../world.ts";

/** What the hub's properties look at, as `group/plural` and where it is served. */
const WATCHED: readonly (readonly [string, string])[] = [
  ["work.karmada.io/works", "/apis/work.karmada.io/v1alpha1/works"],
  ["apps.karmada.io/crossclusterledgers", "/apis/apps.karmada.io/v1alpha1/crossclusterledgers"],
  ["apps.karmada.io/crossclusterstatefulsets", "/apis/apps.karmada.io/v1alpha1/crossclusterstatefulsets"],
  ["cluster.karmada.io/clusters", "/apis/cluster.karmada.io/v1alpha1/clusters"],
  ["policy.karmada.io/overridepolicies", "/apis/policy.karmada.io/v1alpha1/overridepolicies"],
  ["coordination.k8s.io/leases", "/apis/coordination.k8s.io/v1/leases"],
];
const POLICIES = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies";
const TIMINGS = { podStartMs: 1_500, podStopMs: 700, reactionMs: 20, deliveryMs: 300, healthThresholdMs: 5_000 };

/** What a StatefulSet's or a pod's containers run. */
export function imageOf(spec: JsonObject): string {
  return /"image":"([^"]+)"/.exec(JSON.stringify(spec))?.[1] ?? "";
}

/** The embedded fleet: real API servers, StatefulSet controllers and nodes, for hub and members alike. */
export class FullGround implements Ground {
  readonly hub: FleetHub;
  readonly members: ReadonlyMap<string, GroundMember>;
  readonly #fleet: EmbeddedFleet;
  readonly #scenario: Scenario;

  constructor(world: World, scenario: Scenario, process: SimProcess, schemas: SchemaCache, witness: Witness) {
    const { clock, random } = process;
    this.#scenario = scenario;
    this.#fleet = new EmbeddedFleet({
      clock,
      random,
      schemas,
      members: scenario.clusters,
      timings: TIMINGS,
      bundled: [],
      trackUpdates: false,
    });
    this.hub = new FleetHub(this.#fleet);
    const dice = world.dice.branch("members");
    this.members = new Map(
      scenario.clusters.map((name) => [name, new FullMember(this.#fleet, name, scenario, witness, dice, world)]),
    );
  }

  async start(): Promise<void> {
    await this.#fleet.start();
    await this.hub.follow();
    if (!this.#scenario.explicit) await this.#writePolicy("POST", POLICIES, this.#scenario.replicas);
  }

  cut(cluster: string): void {
    this.#fleet.cut(cluster);
  }

  mend(cluster: string): void {
    this.#fleet.mend(cluster);
  }

  place(replicas: ReadonlyMap<string, number>): void {
    if (this.#scenario.explicit) return;
    const { name } = this.#scenario.workload;
    void this.#writePolicy("PATCH", `${POLICIES}/${name}`, Object.fromEntries(replicas));
  }

  async #writePolicy(
    method: "POST" | "PATCH",
    path: string,
    replicas: Readonly<Record<string, number>>,
  ): Promise<void> {
    const { apiVersion, kind, name } = this.#scenario.workload;
    const placed = Object.entries(replicas).filter(([, count]) => count > 0);
    const weights = placed.map(([cluster, weight]) => ({ targetCluster: { clusterNames: [cluster] }, weight }));
    await write(this.hub, method, path, {
      apiVersion: "policy.karmada.io/v1alpha1",
      kind: "PropagationPolicy",
      metadata: { name, namespace: "default" },
      spec: {
        resourceSelectors: [{ apiVersion, kind, name, namespace: "default" }],
        placement: {
          clusterAffinity: { clusterNames: placed.map(([cluster]) => cluster) },
          replicaScheduling: {
            replicaSchedulingType: "Divided",
            replicaDivisionPreference: "Weighted",
            weightPreference: { staticWeightList: weights },
          },
        },
      },
    });
  }
}

/** The fleet's hub, with its commits read from watches of its own: whoever reads them sees every one, in order. */
class FleetHub implements HubDoor {
  readonly #fleet: EmbeddedFleet;
  readonly #listeners: ((commit: Commit) => void)[] = [];
  readonly #known = new Map<string, KubeObject>();

  constructor(fleet: EmbeddedFleet) {
    this.#fleet = fleet;
  }

  handle(request: HttpRequest): Promise<HttpResponse> {
    return this.#fleet.hub.handle(request);
  }

  stream(request: HttpRequest): Promise<HttpStream> {
    return this.#fleet.hub.stream(request);
  }

  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  snapshot(): ServerSnapshot {
    return this.#fleet.snapshot().hub;
  }

  async follow(): Promise<void> {
    for (const [resource, path] of WATCHED) {
      const { chunks } = await this.stream({ method: "GET", path: `${path}?watch=1`, headers: {} });
      void this.#read(resource, chunks);
    }
  }

  async #read(resource: string, chunks: AsyncIterable<string>): Promise<void> {
    for await (const chunk of chunks) {
      for (const line of chunk.split("\n")) {
        if (line === "") continue;
        const { type, object } = JSON.parse(line) as { type: string; object: KubeObject };
        if (type === "ADDED" || type === "MODIFIED" || type === "DELETED") this.#tell(resource, type, object);
      }
    }
  }

  #tell(resource: string, type: Commit["type"], object: KubeObject): void {
    const { namespace = "", name } = object.metadata;
    const id = `${resource} ${namespace}/${name}`;
    const old = this.#known.get(id);
    if (type === "DELETED") this.#known.delete(id);
    else this.#known.set(id, object);
    const resourceVersion = Number(object.metadata.resourceVersion ?? 0);
    const commit: Commit = { type, key: { resource, namespace, name }, object, old, resourceVersion };
    for (const listener of this.#listeners) listener(commit);
  }
}

/** One member of the fleet, as its own API server's commits show it. */
class FullMember implements GroundMember {
  readonly name: string;
  readonly instances = new Map<number, Instance>();
  readonly dishonest = false;
  readonly #fleet: EmbeddedFleet;
  readonly #scenario: Scenario;
  readonly #witness: Witness;
  readonly #dice: Dice;
  readonly #world: World;
  /** Pods that somebody else than the controller deleted. */
  readonly #accidents = new Set<number>();
  readonly #ended = new Map<number, DownCause>();
  #set: KubeObject | undefined;

  constructor(fleet: EmbeddedFleet, name: string, scenario: Scenario, witness: Witness, dice: Dice, world: World) {
    this.name = name;
    this.#fleet = fleet;
    this.#scenario = scenario;
    this.#witness = witness;
    this.#dice = dice.branch(name);
    this.#world = world;
    fleet.member(name).server.onCommit((commit) => this.#committed(commit));
  }

  get reachable(): boolean {
    return this.#fleet.state(this.name).reachable;
  }

  get live(): TrueMember["live"] {
    if (!this.#set) return undefined;
    return { epoch: Number(this.#set.metadata.annotations?.[ANNOTATIONS.epoch] ?? -1), replicas: this.#range.replicas };
  }

  stall(): void {
    // The fleet's controllers stand still with their API server only, which is what `cut` and crashes are for.
  }

  misbehave(): boolean {
    return false;
  }

  behave(): void {}

  tamper(): boolean {
    if (!this.#set) return false;
    const key = this.#dice.pick([ANNOTATIONS.epoch, ANNOTATIONS.revision, ANNOTATIONS.partition]);
    const annotations = { [key]: String(this.#dice.whole(0, 3)) };
    void write(this.#server, "PATCH", this.#path("statefulsets", this.#set), { metadata: { annotations } }).catch(
      () => {},
    );
    return true;
  }

  fail(): boolean {
    const ready = [...this.instances.values()].filter(({ state }) => state === "ready");
    if (ready.length === 0) return false;
    const { ordinal } = this.#dice.pick(ready);
    const name = `${this.#scenario.workload.name}-${ordinal}`;
    this.#accidents.add(ordinal);
    void write(this.#server, "DELETE", `/api/v1/namespaces/default/pods/${name}`).catch(() => {});
    return true;
  }

  hang(): boolean {
    return this.fail();
  }

  hasObject(): boolean {
    return this.#set !== undefined;
  }

  get #server() {
    return this.#fleet.member(this.name).server;
  }

  #path(plural: string, { metadata }: KubeObject): string {
    return `/apis/apps/v1/namespaces/${metadata.namespace}/${plural}/${metadata.name}`;
  }

  get #range(): { start: number; replicas: number } {
    const spec = isJsonObject(this.#set?.spec) ? this.#set.spec : {};
    const start = isJsonObject(spec.ordinals) && typeof spec.ordinals.start === "number" ? spec.ordinals.start : 0;
    return { start, replicas: typeof spec.replicas === "number" ? spec.replicas : 0 };
  }

  #committed({ type, key, object, old }: Commit): void {
    const { workload } = this.#scenario;
    if (key.resource === "apps/statefulsets" && key.name === workload.name) {
      this.#set = type === "DELETED" ? undefined : object;
      if (type === "DELETED") this.#witness.deleted(this, "StatefulSet", key.name);
      else if (object.metadata.generation !== old?.metadata.generation) {
        this.#witness.applied(this, "StatefulSet", key.name, object.spec);
      }
    }
    if (key.resource === "/pods" && key.name.startsWith(`${workload.name}-`)) this.#pod(type, object);
  }

  #pod(type: Commit["type"], pod: KubeObject): void {
    const ordinal = Number(/-(\d+)$/.exec(pod.metadata.name)?.[1] ?? -1);
    const known = this.instances.get(ordinal);
    if (type === "DELETED") {
      if (!known) return;
      this.instances.delete(ordinal);
      this.#witness.gone(this, known);
      return;
    }
    const instance = known ?? this.#start(ordinal, pod);
    const isTerminating = pod.metadata.deletionTimestamp !== undefined;
    const status = isJsonObject(pod.status) ? pod.status : {};
    const conditions = Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
    const isReady = conditions.some((one) => one.type === "Ready" && one.status === "True");
    if (isTerminating && instance.state !== "terminating") {
      const cause = this.#causeOf(ordinal);
      if (cause === "removal") this.#ended.delete(ordinal);
      else this.#ended.set(ordinal, cause);
      if (instance.up) this.#down(instance, cause);
      instance.state = "terminating";
    } else if (!isTerminating && isReady && !instance.up) {
      Object.assign(instance, { up: true, state: "ready", joined: true, downBy: undefined });
      this.#accidents.delete(ordinal);
      this.#ended.delete(ordinal);
      this.#witness.up(this, instance);
    }
  }

  #start(ordinal: number, pod: KubeObject): Instance {
    const spec = isJsonObject(pod.spec) ? pod.spec : {};
    const before = this.#ended.get(ordinal);
    const instance: Instance = {
      ordinal,
      revision: imageOf(spec),
      state: "starting",
      up: false,
      joined: before !== undefined,
      downBy: before,
      downSinceMs: this.#world.nowMs,
    };
    this.instances.set(ordinal, instance);
    this.#witness.starts(this, instance);
    return instance;
  }

  #down(instance: Instance, cause: DownCause): void {
    instance.up = false;
    instance.downBy = cause;
    instance.downSinceMs = this.#world.nowMs;
    this.#witness.goesDown(this, instance, cause);
  }

  #causeOf(ordinal: number): DownCause {
    if (this.#accidents.has(ordinal)) return "accident";
    const { start, replicas } = this.#range;
    if (!this.#set || ordinal < start || ordinal >= start + replicas) return "removal";
    return "update";
  }
}

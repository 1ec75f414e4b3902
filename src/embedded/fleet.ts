import { customResourceDefinitions, DEFAULT_SYSTEM_NAMESPACE } from "../api/index.ts";
import {
  ApiServer,
  type Commit,
  type KubeObject,
  SchemaCache,
  type ServerSnapshot,
  type User,
} from "../apiserver/index.ts";
import { Interpreter } from "../interpret/index.ts";
import { KubeClient } from "../kube/index.ts";
import {
  type Clock,
  includesJson,
  isJsonObject,
  type JsonObject,
  type Log,
  type Random,
  silentLog,
} from "../runtime/index.ts";
import { adminRoute } from "./admin.ts";
import { Agent } from "./hub/agent.ts";
import { BindingController } from "./hub/binding.ts";
import { Detector } from "./hub/detector.ts";
import { clusterProxy, DeletionProtection } from "./hub/front-door.ts";
import { ClusterHealth, type SyncMode } from "./hub/health.ts";
import { executionNamespace, KARMADA_NAMESPACE, karmadaDefinitions, RESOURCES } from "./hub/kinds.ts";
import { Link, type LinkFaults } from "./link.ts";
import { LocalApi } from "./local-api.ts";
import { MemberCluster } from "./member/member.ts";
import type { PodRuntime } from "./member/runtime.ts";

export interface EmbeddedFleetOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  /** By default member1, member2 and member3. */
  readonly members?: readonly string[];
  /** Members whose agent runs inside them: the hub's proxy cannot reach those. */
  readonly pull?: readonly string[];
  /** How many pods fit into a member. */
  readonly capacityPods?: Readonly<Record<string, number>>;
  readonly timings?: Partial<FleetTimings>;
  /** What runs a member's pods; absent: they are simulated, and only become ready and disappear. */
  readonly runtime?: (member: string) => PodRuntime;
  /** Share one between the fleets of a process: compiling the schemas is most of a fleet's start. */
  readonly schemas?: SchemaCache;
  /** Customizations that the agents know from the start; by default Lockstep's own, which take time to compile. */
  readonly bundled?: readonly JsonObject[];
  /** The initial state, from snapshot(). */
  readonly storage?: FleetSnapshot | undefined;
  /** False: plain writes leave no managedFields, which is cheaper. */
  readonly trackUpdates?: boolean;
  /** Absent: every user may do everything. "RBAC": Roles and bindings apply, on the hub and in each member. */
  readonly authorizer?: "RBAC";
  /** Created on the hub at the start unless they exist, in this order, such as admission policies. */
  readonly installed?: readonly JsonObject[];
}

export interface FleetTimings {
  readonly podStartMs: number;
  readonly podStopMs: number;
  /** From a change to a controller's reconcile, on hub and members. */
  readonly reactionMs: number;
  /** From a Work to the member and from the member to the Work. */
  readonly deliveryMs: number;
  /** How long a cluster must be unreachable, or reachable again, before its Ready condition changes. */
  readonly healthThresholdMs: number;
}

/** The whole fleet's state, as JSON. */
export interface FleetSnapshot extends JsonObject {
  readonly format: "lockstep-fleet/1";
  readonly hub: ServerSnapshot;
  readonly members: { [name: string]: ServerSnapshot };
}

/** One stored change of one API server. */
export interface FleetChange {
  /** The member's name; empty: the hub. */
  readonly server: string;
  readonly resource: string;
  readonly isDeleted: boolean;
  /** The current state; for a deleted object, the last state. */
  readonly object: KubeObject;
  readonly resourceVersion: number;
}

const DEFAULT_MEMBERS = ["member1", "member2", "member3"];
const DEFAULT_CAPACITY_PODS = 1_000;
const DEFAULT_TIMINGS: FleetTimings = {
  podStartMs: 1_000,
  podStopMs: 500,
  reactionMs: 5,
  deliveryMs: 20,
  // Karmada's own is 30 s; here users would not wait that long, and the network is a function call.
  healthThresholdMs: 3_000,
};

interface FleetMember {
  readonly cluster: MemberCluster;
  readonly mode: SyncMode;
  /** The connection between the hub and the member. */
  readonly link: Link;
  readonly agent: Agent;
}

/**
 * A hub with Karmada's interfaces and its member clusters, in one process: everything that Lockstep's Karmada adapter
 * reads and writes exists, and behaves as on the real ones.
 */
export class EmbeddedFleet {
  readonly #options: EmbeddedFleetOptions;
  readonly #hubServer: ApiServer;
  readonly #hubApi: LocalApi;
  readonly #members = new Map<string, FleetMember>();
  readonly #interpreter: Interpreter;
  readonly #detector: Detector;
  readonly #bindings: BindingController;
  readonly #health: ClusterHealth;
  /** The hub as every client reaches it. */
  readonly hub: Link;

  constructor(options: EmbeddedFleetOptions) {
    const { clock, random, storage, trackUpdates = true } = options;
    this.#options = options;
    const log = options.log ?? silentLog;
    const schemas = options.schemas ?? new SchemaCache();
    const timings = { ...DEFAULT_TIMINGS, ...options.timings };
    const { reactionMs } = timings;
    this.#hubServer = new ApiServer({
      name: "hub",
      clock,
      random,
      log,
      schemas,
      trackUpdates,
      authorizer: options.authorizer,
      ...(storage && { storage: storage.hub }),
    });
    this.#hubApi = new LocalApi(this.#hubServer);
    this.hub = new Link(new DeletionProtection(this.#hubServer, this.#hubApi), clock, random);
    this.#interpreter = new Interpreter({
      clock,
      random,
      log,
      transports: () => {
        throw new Error("the embedded fleet calls no webhooks");
      },
      ...(options.bundled && { bundled: options.bundled }),
    });
    const api = this.#hubApi;
    const common = {
      api,
      interpreter: this.#interpreter,
      clock,
      random,
      log: log.with({ cluster: "hub" }),
      reactionMs,
    };
    this.#detector = new Detector({ ...common, roomReplicas: (cluster) => this.#room(cluster) });
    this.#bindings = new BindingController(common);
    this.#health = new ClusterHealth({ api, clock, thresholdMs: timings.healthThresholdMs });
    for (const name of options.members ?? DEFAULT_MEMBERS) {
      const cluster = new MemberCluster({
        name,
        clock,
        random,
        log,
        schemas,
        trackUpdates,
        storage: storage?.members[name],
        runtime: options.runtime?.(name),
        authorizer: options.authorizer,
        ...timings,
      });
      this.#members.set(name, this.#connect(cluster, log, timings.deliveryMs));
    }
    this.#hubServer.addRoute(adminRoute(this));
  }

  async start(): Promise<void> {
    const api = this.#hubApi;
    const namespaces = [
      KARMADA_NAMESPACE,
      DEFAULT_SYSTEM_NAMESPACE,
      ...[...this.#members.keys()].map(executionNamespace),
    ];
    for (const crd of [...karmadaDefinitions(), ...customResourceDefinitions()]) {
      if (isKubeObject(crd)) await this.#install(crd);
    }
    for (const name of namespaces) {
      if (api.get(RESOURCES.namespaces, "", name)) continue;
      await api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
    for (const object of this.#options.installed ?? []) {
      if (isKubeObject(object) && !this.#isThere(object)) await api.create(object);
    }
    for (const [name, { cluster, mode }] of this.#members) {
      await cluster.start();
      if (!api.get(RESOURCES.clusters, "", name)) await api.create(clusterObject(name, mode));
      await this.#health.joined(name);
    }
    const learn = () => this.#interpreter.setCustomizations(api.list(RESOURCES.customizations));
    api.on(RESOURCES.customizations, learn);
    learn();
    this.#detector.start();
    this.#bindings.start();
    for (const { agent } of this.#members.values()) agent.start();
  }

  async stop(): Promise<void> {
    this.#health.stop();
    this.#interpreter.stop();
    await Promise.all([
      this.#detector.stop(),
      this.#bindings.stop(),
      ...[...this.#members.values()].flatMap(({ agent, cluster }) => [agent.stop(), cluster.stop()]),
    ]);
    this.#hubServer.closeWatches();
    for (const { cluster } of this.#members.values()) cluster.server.closeWatches();
  }

  get memberNames(): readonly string[] {
    return [...this.#members.keys()];
  }

  /** One member's API server, reached directly and not through the hub. */
  member(name: string): MemberCluster {
    return this.#member(name).cluster;
  }

  /** The current object of the hub, without a client; `resource` is `group/plural`. */
  hubObject(resource: string, namespace: string, name: string): KubeObject | undefined {
    return this.#hubApi.get(resource, namespace, name);
  }

  /** Called for every change, at the moment when the hub stores it. */
  onHubCommit(told: (commit: Commit) => void): void {
    this.#hubServer.onCommit(told);
  }

  /** A client of the hub, or of a member directly; without a user, an administrator's. */
  client(member?: string, user?: User): KubeClient {
    const way = member === undefined ? this.hub : this.#member(member).cluster.entrance;
    const { clock, random } = this.#options;
    return new KubeClient({ transport: way.transport(user), clock, random });
  }

  /** The faults between the hub and a member; for the hub itself, set `hub`. */
  disturb(member: string, faults: Partial<Omit<LinkFaults, "closed">>): void {
    this.#member(member).link.set(faults);
  }

  /** Neither the proxy nor the agent can connect any more; inside, the member keeps running. */
  cut(member: string): void {
    const { link, mode } = this.#member(member);
    link.set({ closed: `dial tcp: connect to ${member}: i/o timeout` });
    this.#health.changed(member, mode, false);
  }

  /** Ends every fault of the connection to a member. */
  mend(member: string): void {
    const { link, mode, agent } = this.#member(member);
    link.mend();
    if (!link.isOpen) return;
    this.#health.changed(member, mode, true);
    agent.syncAll();
  }

  /** Whether the hub can reach it, whether its API server runs, and the faults of the connection. */
  state(member: string): { readonly reachable: boolean; readonly up: boolean } & Omit<LinkFaults, "closed"> {
    const { link, cluster } = this.#member(member);
    const { slowMs, failRate, failNext } = link.faults;
    return { reachable: link.isOpen, up: cluster.entrance.isOpen, slowMs, failRate, failNext };
  }

  dropWatches(member: string): void {
    this.#member(member).link.dropWatches();
  }

  /** The member's API server stops; its state is kept. */
  kill(member: string): void {
    const { cluster, mode } = this.#member(member);
    cluster.kill();
    this.#health.changed(member, mode, false);
  }

  restart(member: string): void {
    const { cluster, link, mode, agent } = this.#member(member);
    cluster.restart();
    if (!link.isOpen) return;
    this.#health.changed(member, mode, true);
    agent.syncAll();
  }

  snapshot(): FleetSnapshot {
    const members = [...this.#members].map(([name, { cluster }]) => [name, cluster.server.snapshot()] as const);
    return { format: "lockstep-fleet/1", hub: this.#hubServer.snapshot(), members: Object.fromEntries(members) };
  }

  /** Called after every stored change of every API server, before the request is answered. */
  onChange(listener: (change: FleetChange) => void): void {
    const servers = [...this.#members].map(([name, { cluster }]) => [name, cluster.server] as const);
    for (const [server, api] of [["", this.#hubServer] as const, ...servers]) {
      api.onCommit(({ type, key, object, resourceVersion }) =>
        listener({ server, resource: key.resource, isDeleted: type === "DELETED", object, resourceVersion }),
      );
    }
  }

  /** Also replaces an older one from a snapshot. */
  async #install(crd: KubeObject): Promise<void> {
    const found = this.#hubApi.get(RESOURCES.definitions, "", crd.metadata.name);
    if (!found) await this.#hubApi.create(crd);
    else if (!includesJson(found.spec, crd.spec)) await this.#hubApi.update({ ...found, spec: crd.spec ?? {} });
  }

  #connect(cluster: MemberCluster, log: Log, deliveryMs: number): FleetMember {
    const { clock, random, pull = [] } = this.#options;
    const mode: SyncMode = pull.includes(cluster.name) ? "Pull" : "Push";
    const link = new Link(cluster.entrance, clock, random);
    const agent = new Agent({
      cluster: cluster.name,
      hub: this.#hubApi,
      member: cluster.api,
      link,
      interpreter: this.#interpreter,
      clock,
      random,
      log,
      deliveryMs,
    });
    this.#hubServer.addRoute(clusterProxy(cluster.name, link, () => mode === "Push"));
    return { cluster, mode, link, agent };
  }

  #isThere({ apiVersion, kind, metadata }: KubeObject): boolean {
    return this.#hubApi.find(apiVersion, kind, metadata.namespace ?? "", metadata.name) !== undefined;
  }

  #member(name: string): FleetMember {
    const member = this.#members.get(name);
    if (!member) throw new Error(`no member ${name}; there are ${this.memberNames.join(", ")}`);
    return member;
  }

  #room(name: string): number {
    const capacity = this.#options.capacityPods?.[name] ?? DEFAULT_CAPACITY_PODS;
    return Math.max(0, capacity - (this.#members.get(name)?.cluster.api.list("/pods").length ?? 0));
  }
}

function clusterObject(name: string, syncMode: SyncMode): KubeObject {
  return {
    apiVersion: "cluster.karmada.io/v1alpha1",
    kind: "Cluster",
    metadata: { name, labels: { "lockstep.karmada.io/embedded": "true" } },
    spec: { syncMode, id: name },
  };
}

function isKubeObject(value: JsonObject): value is KubeObject {
  return typeof value.apiVersion === "string" && typeof value.kind === "string" && isJsonObject(value.metadata);
}

import { performance } from "node:perf_hooks";
import { customResourceDefinitions } from "../../src/api/index.ts";
import {
  ApiServer,
  type Commit,
  type KubeObject,
  type ObjectKey,
  SchemaCache,
  type SecureFront,
  startSecureFront,
} from "../../src/apiserver/index.ts";
import { runManager } from "../../src/controllers/index.ts";
import { clusterProxy } from "../../src/embedded/hub/front-door.ts";
import { executionNamespace, karmadaDefinitions } from "../../src/embedded/hub/kinds.ts";
import { KarmadaEngine } from "../../src/engine/index.ts";
import { KubeClient } from "../../src/kube/index.ts";
import {
  isJsonObject,
  type JsonObject,
  seededRandom,
  silentLog,
  systemClock,
  type Transport,
} from "../../src/runtime/index.ts";
import { sleep, until } from "./measure.ts";

const WORKS = "work.karmada.io/works";
const STATEFULSETS = statefulSets("default");
const BINDINGS = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings";
const EPOCH = "crossclusterstatefulset.karmada.io/epoch";
/** From a member's status to its copy on the Work, as Karmada would write it; it races with the controller's writes. */
const REFLECTION_MS = 10;

/** A new grant for one cluster, at the moment when the hub stored it. */
export interface GrantSeen {
  readonly app: string;
  readonly cluster: string;
  readonly epoch: number;
  /** Whether it asks for other content: a step. Otherwise a turn is taken back, or the topology told. */
  readonly isStep: boolean;
  readonly atMs: number;
}

/**
 * Hub and members as a controller sees them, with almost nothing behind them: API servers, and one function that
 * carries a Work to its member and a status back. There are no workload controllers: pods exist, are ready and have the
 * right revision as soon as their cluster is done. `gates` decides whether a member is done: at once, or when `open` is
 * called.
 */
export class LeanFleet {
  readonly hub: ApiServer;
  readonly members = new Map<string, ApiServer>();
  gates: "open" | "held" = "open";
  /** Called for every grant. */
  granted: (grant: GrantSeen) => void = () => {};
  /** Writes to the hub, by resource; `grants` are those Works that carry a new version of a workload. */
  readonly writes = new Map<string, number>();
  grants = 0;
  readonly #front: SecureFront;
  readonly #settled = new Map<string, string>();
  readonly #ready = new Map<string, number>();
  /** The Work that carries each application's workload, by cluster and application. */
  readonly #works = new Map<string, ObjectKey>();
  readonly #carrying = new Map<string, Promise<void>>();
  readonly #memberNamespaces = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();

  private constructor(hub: ApiServer, front: SecureFront) {
    this.hub = hub;
    this.#front = front;
  }

  static async start(clusters: number): Promise<LeanFleet> {
    const schemas = new SchemaCache();
    const random = seededRandom(1);
    const common = { clock: systemClock, random, schemas };
    // A thousand objects write more than a watch may fall behind by default, all of them during the first deployment.
    const limits = { historyEvents: 20_000, watchQueueEvents: 200_000 };
    // Without managed fields: the benchmark does not measure the server.
    const hub = new ApiServer({ ...common, name: "hub", limits, trackUpdates: false });
    const front = await startSecureFront({ name: "hub", server: hub, clock: systemClock });
    const fleet = new LeanFleet(hub, front);
    for (const crd of [...karmadaDefinitions(), ...customResourceDefinitions()]) {
      await send(hub, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    }
    await fleet.#namespace("karmada-system");
    await fleet.#namespace("lockstep-system");
    for (let index = 1; index <= clusters; index++) {
      const name = `member${index}`;
      const member = new ApiServer({ ...common, name, trackUpdates: false, limits });
      fleet.members.set(name, member);
      hub.addRoute(clusterProxy(name, member, () => true));
      await fleet.#namespace(executionNamespace(name));
      await fleet.#join(name);
    }
    hub.onCommit((commit) => fleet.#committed(commit));
    return fleet;
  }

  /** Runs the controller in this process until it is asked to stop: it is not measured, and this is faster. */
  runController(): () => Promise<void> {
    const clock = systemClock;
    const random = seededRandom(2);
    const hub = new KubeClient({ transport: unhurried(this.hub.transport()), clock, random });
    const stop = new AbortController();
    const running = runManager(
      {
        hub,
        clock,
        random,
        log: silentLog,
        engine: () => new KarmadaEngine({ hub, clock, random }),
        webhookTransports: () => {
          throw new Error("no webhook is configured here");
        },
        systemNamespace: "lockstep-system",
        identity: "setup",
      },
      stop.signal,
    );
    return async () => {
      stop.abort(new Error("the setup is done"));
      await running;
    };
  }

  /** How the controller's process reaches the hub. */
  context() {
    return this.#front.context();
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.hub.closeWatches();
    for (const member of this.members.values()) member.closeWatches();
    await this.#front.close();
  }

  /** One application with this many instances in each of the first clusters. */
  async deploy(name: string, clusters: number, replicas: number, spec: JsonObject = {}): Promise<void> {
    await send(this.hub, "POST", "/apis/apps.karmada.io/v1alpha1/namespaces/default/crossclusterstatefulsets", {
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name, namespace: "default" },
      spec: {
        resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name, namespace: "default" },
        topology: {
          clusters: [...this.members.keys()].slice(0, clusters).map((cluster) => ({ name: cluster, replicas })),
        },
        podManagementPolicy: "Parallel",
        // The benchmark measures steps, not the settling time of a user's edits.
        revisionSettleSeconds: 0,
        ...spec,
      },
    });
    await send(this.hub, "POST", STATEFULSETS, template(name, clusters * replicas, "app:1"));
  }

  /** One application in its own namespace, with a ConfigMap, a Secret and a ServiceAccount that it names. */
  async deployTenant(name: string, clusters: readonly string[]): Promise<void> {
    await this.#namespace(name);
    await this.setConfig(name, "1");
    const metadata = { name, namespace: name };
    const core = `/api/v1/namespaces/${name}`;
    const data = { password: Buffer.from("x".repeat(64)).toString("base64") };
    await send(this.hub, "POST", `${core}/secrets`, { apiVersion: "v1", kind: "Secret", metadata, data });
    await send(this.hub, "POST", `${core}/serviceaccounts`, { apiVersion: "v1", kind: "ServiceAccount", metadata });
    await send(this.hub, "POST", `/apis/apps.karmada.io/v1alpha1/namespaces/${name}/crossclusterstatefulsets`, {
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata,
      spec: {
        resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", ...metadata },
        topology: { clusters: clusters.map((cluster) => ({ name: cluster, replicas: 1 })) },
        podManagementPolicy: "Parallel",
      },
    });
    const envFrom = [{ configMapRef: { name } }, { secretRef: { name } }];
    const workload = template(name, clusters.length, "app:1", name, { serviceAccountName: name, envFrom });
    await send(this.hub, "POST", statefulSets(name), workload);
  }

  /** The ConfigMap that a tenant's application names. */
  async setConfig(namespace: string, value: string): Promise<void> {
    const metadata = { name: namespace, namespace };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { value: value.padEnd(512, "x") } };
    await put(this.hub, configMaps(namespace), namespace, body);
  }

  async fillNamespace(namespace: string, count: number, characters: number): Promise<void> {
    await this.#namespace(namespace);
    await this.fill(namespace, count, characters);
  }

  /** Objects that no application names. Yields in between, because other work would wait for all of it. */
  async fill(namespace: string, count: number, characters: number): Promise<void> {
    const data = { text: "x".repeat(characters) };
    for (let index = 0; index < count; index++) {
      const metadata = { name: `filler-${index}`, namespace };
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
      await send(this.hub, "POST", configMaps(namespace), body);
      if (index % 10 === 0) await sleep(0);
    }
  }

  /** One application over all clusters, by the engine's schedule, because a topology lists at most 64. */
  async deployEverywhere(name: string, replicas: number, spec: JsonObject = {}): Promise<void> {
    await this.schedule(name, replicas);
    await send(this.hub, "POST", "/apis/apps.karmada.io/v1alpha1/namespaces/default/crossclusterstatefulsets", {
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name, namespace: "default" },
      spec: {
        resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name, namespace: "default" },
        podManagementPolicy: "Parallel",
        ...spec,
      },
    });
    await send(this.hub, "POST", STATEFULSETS, template(name, this.members.size * replicas, "app:1"));
  }

  /** What the engine's scheduler would decide: this many in each cluster, and other numbers in some. */
  async schedule(name: string, replicas: number, others: Readonly<Record<string, number>> = {}): Promise<void> {
    const path = `${BINDINGS}/${name}-statefulset`;
    const found = await this.hub.handle({ method: "GET", path, headers: {} });
    const clusters = [...this.members.keys()].map((each) => ({ name: each, replicas: others[each] ?? replicas }));
    const resource = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name };
    const metadata = { name: `${name}-statefulset`, namespace: "default" };
    const kind = { apiVersion: "work.karmada.io/v1alpha2", kind: "ResourceBinding" };
    const written =
      found.status === 200
        ? await send(this.hub, "PUT", path, { ...JSON.parse(found.body), spec: { resource, clusters } })
        : await send(this.hub, "POST", BINDINGS, { ...kind, metadata, spec: { resource, clusters } });
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const scheduled = { type: "Scheduled", status: "True", reason: "Success", message: "", lastTransitionTime };
    const status = { schedulerObservedGeneration: written.metadata.generation ?? 1, conditions: [scheduled] };
    await send(this.hub, "PUT", `${path}/status`, { ...written, status });
  }

  async setImage(name: string, clusters: number, replicas: number, image: string): Promise<void> {
    await send(this.hub, "PUT", `${STATEFULSETS}/${name}`, template(name, clusters * replicas, image));
  }

  /** How many applications report that they are settled. */
  get settledCount(): number {
    return [...this.#settled.values()].filter((phase) => phase === "Settled").length;
  }

  /** Ready instances over all applications, from their status. */
  get readyCount(): number {
    return [...this.#ready.values()].reduce((sum, ready) => sum + ready, 0);
  }

  phases(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const phase of this.#settled.values()) counts[phase] = (counts[phase] ?? 0) + 1;
    return counts;
  }

  /** Waits until there was no write to the hub for this long; lease renewals do not count. */
  async quietFor(ms: number): Promise<void> {
    let [seen, sinceMs] = [-1, performance.now()];
    const isQuiet = () => {
      const now = this.totalWrites - (this.writes.get("coordination.k8s.io/leases") ?? 0);
      if (now !== seen) [seen, sinceMs] = [now, performance.now()];
      return performance.now() - sinceMs >= ms;
    };
    await until("no write to the hub", isQuiet);
  }

  /** All writes to the hub, including the engine's reports on Works. */
  get totalWrites(): number {
    return [...this.writes.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Open watches of all members: the controller's streams. */
  get memberStreams(): number {
    return [...this.members.values()].reduce((sum, member) => sum + member.openWatches, 0);
  }

  /** The member's own controller reports that it is done. Resolves to the time when its server stored that. */
  async open(app: string, cluster: string): Promise<number> {
    await this.#carrying.get(`${cluster}/${app}`);
    const member = this.#member(cluster);
    const { body } = await member.handle({ method: "GET", path: `${STATEFULSETS}/${app}`, headers: {} });
    await runPods(member, JSON.parse(body));
    let atMs = performance.now();
    const stop = member.onCommit(({ key }) => {
      if (key.name === app) atMs = performance.now();
    });
    const status = doneStatus(JSON.parse(body));
    await send(member, "PUT", `${STATEFULSETS}/${app}/status`, { ...JSON.parse(body), status });
    stop();
    const work = this.#works.get(`${cluster}/${app}`);
    // Karmada copies it onto the Work some time later.
    if (work) this.#later(REFLECTION_MS, () => this.#reportOnWork(work, { manifestStatuses: [{ status }] }));
    return atMs;
  }

  #committed({ key, object, old, type }: Commit): void {
    this.writes.set(key.resource, (this.writes.get(key.resource) ?? 0) + 1);
    if (key.resource === "apps.karmada.io/crossclusterstatefulsets" && isJsonObject(object.status)) {
      if (type === "DELETED") this.#settled.delete(key.name);
      else this.#settled.set(key.name, String(object.status.phase));
      this.#ready.set(key.name, type === "DELETED" ? 0 : Number(object.status.readyReplicas ?? 0));
    }
    const isDeletion = object.metadata.deletionTimestamp !== old?.metadata.deletionTimestamp;
    const isNews = isDeletion || object.metadata.generation !== old?.metadata.generation;
    if (key.resource !== WORKS || type === "DELETED" || !isNews) return;
    const manifest = manifestOf(object);
    const cluster = key.namespace.replace("karmada-es-", "");
    // The ConfigMaps that grants refer to must exist; other ConfigMaps and Services are never read.
    if (manifest?.immutable === true) void this.#carryConfigMap(cluster, manifest, object);
    if (manifest?.kind !== "StatefulSet" || isDeletion) return;
    const annotations = manifest.metadata.annotations ?? {};
    this.grants++;
    this.granted({
      app: manifest.metadata.name,
      cluster,
      epoch: Number(annotations[EPOCH]),
      isStep: old === undefined || JSON.stringify(manifestOf(old)?.spec) !== JSON.stringify(manifest.spec),
      atMs: performance.now(),
    });
    const carried = `${cluster}/${manifest.metadata.name}`;
    this.#works.set(carried, key);
    const carrying = (this.#carrying.get(carried) ?? Promise.resolve()).then(() => this.#carry(cluster, manifest, key));
    this.#carrying.set(carried, carrying);
    void carrying.then(() => {
      if (this.#carrying.get(carried) === carrying) this.#carrying.delete(carried);
    });
  }

  async #carry(cluster: string, manifest: KubeObject, work: ObjectKey): Promise<void> {
    const member = this.#member(cluster);
    const { name, namespace = "default" } = manifest.metadata;
    await this.#namespaceIn(cluster, namespace);
    const path = `${statefulSets(namespace)}/${name}`;
    const found = await member.handle({ method: "GET", path, headers: {} });
    const live = found.status === 200 ? (JSON.parse(found.body) as KubeObject) : undefined;
    const written = live
      ? await send(member, "PUT", path, { ...manifest, status: live.status ?? {} })
      : await send(member, "POST", statefulSets(namespace), manifest);
    const changed = written.metadata.generation !== live?.metadata.generation;
    if (this.gates === "open" && changed) {
      await runPods(member, written);
      await send(member, "PUT", `${path}/status`, { ...written, status: doneStatus(written) });
    }
    const conditions = [{ type: "Applied", status: "True", reason: "AppliedSuccessful", message: "applied" }];
    await this.#reportOnWork(work, { conditions });
  }

  async #carryConfigMap(cluster: string, manifest: KubeObject, work: KubeObject): Promise<void> {
    const member = this.#member(cluster);
    const { name, namespace = "default" } = manifest.metadata;
    await this.#namespaceIn(cluster, namespace);
    if (work.metadata.deletionTimestamp === undefined) {
      const headers = { "content-type": "application/json" };
      await member.handle({ method: "POST", path: configMaps(namespace), headers, body: JSON.stringify(manifest) });
      return;
    }
    await member.handle({ method: "DELETE", path: `${configMaps(namespace)}/${name}`, headers: {} });
    const path = `/apis/work.karmada.io/v1alpha1/namespaces/${work.metadata.namespace}/works/${work.metadata.name}`;
    const headers = { "content-type": "application/merge-patch+json" };
    await this.hub.handle({ method: "PATCH", path, headers, body: JSON.stringify({ metadata: { finalizers: null } }) });
  }

  async #reportOnWork({ name, namespace }: ObjectKey, status: JsonObject): Promise<void> {
    const path = `/apis/work.karmada.io/v1alpha1/namespaces/${namespace}/works/${name}/status`;
    const headers = { "content-type": "application/merge-patch+json" };
    await this.hub.handle({ method: "PATCH", path, headers, body: JSON.stringify({ status }) });
  }

  #member(name: string): ApiServer {
    const member = this.members.get(name);
    if (!member) throw new Error(`no member ${name}`);
    return member;
  }

  async #namespace(name: string): Promise<void> {
    await send(this.hub, "POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }

  /** As Karmada creates it, before it is needed. */
  async #namespaceIn(cluster: string, name: string): Promise<void> {
    const key = `${cluster}/${name}`;
    if (name === "default" || this.#memberNamespaces.has(key)) return;
    this.#memberNamespaces.add(key);
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await send(this.#member(cluster), "POST", "/api/v1/namespaces", body);
  }

  async #join(name: string): Promise<void> {
    const path = "/apis/cluster.karmada.io/v1alpha1/clusters";
    const cluster = await send(this.hub, "POST", path, {
      apiVersion: "cluster.karmada.io/v1alpha1",
      kind: "Cluster",
      metadata: { name },
      spec: { syncMode: "Push", id: name },
    });
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const ready = { type: "Ready", status: "True", reason: "ClusterReady", message: "", lastTransitionTime };
    await send(this.hub, "PUT", `${path}/${name}/status`, { ...cluster, status: { conditions: [ready] } });
  }

  #later(ms: number, work: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void work();
    }, ms);
    this.#timers.add(timer);
  }
}

/** Without a socket in between nothing would ever wait, and timers, such as the lease's, would not run for seconds. */
function unhurried(transport: Transport): Transport {
  const pause = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    request: (request) => pause().then(() => transport.request(request)),
    stream: (request) => pause().then(() => transport.stream(request)),
  };
}

function configMaps(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps`;
}

function statefulSets(namespace: string): string {
  return `/apis/apps/v1/namespaces/${namespace}/statefulsets`;
}

/** The other objects that a template names. */
interface Names {
  readonly serviceAccountName: string;
  readonly envFrom: JsonObject[];
}

function template(name: string, replicas: number, image: string, namespace = "default", names?: Names): JsonObject {
  const { envFrom, ...pod } = names ?? {};
  const container = { name: "app", image, ...(envFrom && { envFrom }) };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace },
    spec: {
      replicas,
      serviceName: name,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { ...pod, containers: [container] } },
    },
  };
}

function doneStatus({ metadata, spec }: KubeObject): JsonObject {
  const replicas = isJsonObject(spec) && typeof spec.replicas === "number" ? spec.replicas : 1;
  const revision = revisionOf(metadata);
  return {
    observedGeneration: metadata.generation ?? 1,
    replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    updatedReplicas: replicas,
    currentReplicas: replicas,
    currentRevision: revision,
    updateRevision: revision,
  };
}

function revisionOf({ generation }: KubeObject["metadata"]): string {
  return `generation-${generation}`;
}

/** The set's pods as its controller would leave them: all present, ready, and of its newest revision. */
async function runPods(member: ApiServer, set: KubeObject): Promise<void> {
  const spec = isJsonObject(set.spec) ? set.spec : {};
  const { namespace = "default" } = set.metadata;
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const start = isJsonObject(spec.ordinals) && typeof spec.ordinals.start === "number" ? spec.ordinals.start : 0;
  for (let ordinal = start; ordinal < start + Number(spec.replicas); ordinal++) {
    const name = `${set.metadata.name}-${ordinal}`;
    const labels = {
      app: set.metadata.name,
      "statefulset.kubernetes.io/pod-name": name,
      "controller-revision-hash": revisionOf(set.metadata),
    };
    const found = await member.handle({ method: "GET", path: `${pods}/${name}`, headers: {} });
    if (found.status === 200) {
      const pod = JSON.parse(found.body) as KubeObject;
      await send(member, "PUT", `${pods}/${name}`, { ...pod, metadata: { ...pod.metadata, labels } });
      continue;
    }
    const { uid = "" } = set.metadata;
    const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: set.metadata.name, uid, controller: true };
    const pod = await send(member, "POST", pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, labels, ownerReferences: [owner] },
      spec: { containers: [{ name: "app", image: "app" }] },
    });
    const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
    await send(member, "PUT", `${pods}/${name}/status`, { ...pod, status });
  }
}

function manifestOf({ spec }: KubeObject): KubeObject | undefined {
  const workload = isJsonObject(spec) && isJsonObject(spec.workload) ? spec.workload : {};
  const [manifest] = Array.isArray(workload.manifests) ? workload.manifests : [];
  return manifest as KubeObject | undefined;
}

async function put(server: ApiServer, collection: string, name: string, body: JsonObject): Promise<void> {
  const { status } = await server.handle({ method: "GET", path: `${collection}/${name}`, headers: {} });
  if (status === 404) await send(server, "POST", collection, body);
  else await send(server, "PUT", `${collection}/${name}`, body);
}

async function send(server: ApiServer, method: "POST" | "PUT", path: string, body: JsonObject): Promise<KubeObject> {
  const headers = { "content-type": "application/json" };
  const answer = await server.handle({ method, path, headers, body: JSON.stringify(body) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.body}`);
  return JSON.parse(answer.body) as KubeObject;
}

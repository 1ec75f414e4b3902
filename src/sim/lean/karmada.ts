import type { ApiServer, Commit, KubeObject } from "../../apiserver/index.ts";
import { prunedForWork } from "../../interpret/index.ts";
import { type HttpRequest, isJsonObject, timestamp, valueAt } from "../../runtime/index.ts";
import { asStream, type Backend, status } from "../world/wire.ts";
import type { World } from "../world/world.ts";
import { Chores, type Span } from "./chores.ts";
import { HubRefused, write } from "./hub.ts";
import { EXECUTION_FINALIZER, KarmadaScheduler } from "./scheduler.ts";
import type { StoredObject } from "./store.ts";

/** What Karmada needs of a member: its API server, and functions to apply and remove. */
export interface KarmadaMember {
  readonly name: string;
  reachable: boolean;
  readonly store: Backend & { closeWatches(): void };
  /** False: it refuses to take over an unknown object. */
  apply(manifest: StoredObject): boolean;
  remove(kind: string, name: string): void;
  /** It stays, and no longer belongs to Karmada. */
  release(kind: string, name: string): boolean;
}

export interface KarmadaOptions {
  readonly world: World;
  readonly server: ApiServer;
  readonly members: ReadonlyMap<string, KarmadaMember>;
  /** `group/plural` of everything that may be a template. */
  readonly templates: ReadonlySet<string>;
  /** Everything moves away from a cluster that is not Ready for long, as in Karmada's failover. */
  readonly failsOver?: boolean;
}

const WORKS = "work.karmada.io/works";
const WORKS_API = "/apis/work.karmada.io/v1alpha1";
const CLUSTERS_API = "/apis/cluster.karmada.io/v1alpha1/clusters";
const OWN_APP_LABEL = "lockstep.karmada.io/app";

const EXECUTE_MS: Span = [20, 1_200];
const RETRY_MS: Span = [1_000, 6_000];
/** Karmada's cluster status controller reacts after its failure threshold; here sooner, so that a run stays short. */
const NOTICE_DOWN_MS: Span = [3_000, 12_000];
const NOTICE_UP_MS: Span = [500, 6_000];
/** Karmada's default toleration is five minutes; here it is about as long as Lockstep's own failover. */
const FAIL_OVER_MS: Span = [15_000, 45_000];

/**
 * A small model of Karmada: schedule result, hold, execution of Works with lag and backoff, cluster Ready with delays.
 */
export class KarmadaModel {
  readonly scheduler: KarmadaScheduler;
  readonly #options: KarmadaOptions;
  readonly #chores: Chores;
  readonly #works = new Map<string, KubeObject>();
  readonly #left = new Set<string>();

  constructor(options: KarmadaOptions) {
    const { world, server, templates } = options;
    this.#options = options;
    this.#chores = new Chores(world, world.dice.branch("karmada"));
    this.scheduler = new KarmadaScheduler({ server, chores: this.#chores, templates });
    server.onCommit((commit) => this.#observe(commit));
  }

  async start(): Promise<void> {
    const { server, members } = this.#options;
    for (const [name, member] of members) {
      const object = { apiVersion: "cluster.karmada.io/v1alpha1", kind: "Cluster", metadata: { name }, spec: {} };
      await write(server, "POST", CLUSTERS_API, object);
      await this.#writeReady(name, true);
      this.#serveProxy(name, member);
    }
  }

  /** The hub and the member are disconnected. */
  cut(cluster: string): void {
    const member = this.#options.members.get(cluster);
    if (!member?.reachable) return;
    member.reachable = false;
    member.store.closeWatches();
    this.#notice(NOTICE_DOWN_MS, member, false);
    if (!this.#options.failsOver) return;
    this.#chores.after(FAIL_OVER_MS, `fail over ${cluster}`, () => {
      if (!member.reachable) this.scheduler.evade(cluster);
    });
  }

  mend(cluster: string): void {
    const member = this.#options.members.get(cluster);
    if (!member || member.reachable || this.#left.has(cluster)) return;
    member.reachable = true;
    this.#notice(NOTICE_UP_MS, member, true);
  }

  /**
   * The cluster is unjoined and does not return: its Works are deleted regardless of finalizers, and nothing reaches
   * it.
   */
  async leave(cluster: string): Promise<void> {
    const { server, members, world } = this.#options;
    const member = members.get(cluster);
    if (!member || this.#left.has(cluster)) return;
    this.#left.add(cluster);
    member.reachable = false;
    member.store.closeWatches();
    this.scheduler.evade(cluster);
    world.note("karmada", `${cluster} leaves the fleet`);
    await write(server, "DELETE", `${CLUSTERS_API}/${cluster}`);
    for (const [id, { metadata }] of [...this.#works]) {
      if (!id.startsWith(`karmada-es-${cluster}/`)) continue;
      const path = `${WORKS_API}/namespaces/${metadata.namespace}/works/${metadata.name}`;
      await write(server, "PATCH", path, { metadata: { finalizers: null } });
      await write(server, "DELETE", path).catch(unlessGone);
    }
    await write(server, "DELETE", `/api/v1/namespaces/karmada-es-${cluster}`);
  }

  /** Nothing reaches the hub's API server, not even Karmada's own controllers; later everything does again. */
  hubDown(isDown: boolean): void {
    if (isDown) this.#chores.hold();
    else this.#chores.resume();
  }

  #notice(delay: Span, member: KarmadaMember, ready: boolean): void {
    const { name } = member;
    const notice = () => {
      if (member.reachable !== ready || this.#left.has(name)) return;
      if (ready) this.scheduler.welcome(name);
      this.#chores.write(() => this.#writeReady(name, ready), notice);
    };
    this.#chores.after(delay, `notice ${name}`, notice);
  }

  #serveProxy(name: string, member: KarmadaMember): void {
    const prefix = `${CLUSTERS_API}/${name}/proxy/`;
    const inner = (request: HttpRequest): HttpRequest => ({ ...request, path: request.path.slice(prefix.length - 1) });
    const unreachable = () => status(503, "ServiceUnavailable", `error trying to reach service of ${name}`);
    this.#options.server.addRoute({
      prefix,
      handle: async (request) => (member.reachable ? member.store.handle(inner(request)) : unreachable()),
      stream: async (request) => (member.reachable ? member.store.stream(inner(request)) : asStream(unreachable())),
    });
  }

  #observe({ type, key, object, old }: Commit): void {
    if (key.resource !== WORKS) return;
    const id = `${key.namespace}/${key.name}`;
    if (type === "DELETED") {
      this.#works.delete(id);
      return;
    }
    this.#works.set(id, object);
    const isOwnReport = old !== undefined && old.metadata.generation === object.metadata.generation;
    const isDeleting = object.metadata.deletionTimestamp !== old?.metadata.deletionTimestamp;
    if (!isOwnReport || isDeleting) this.#executeIn(EXECUTE_MS, id);
  }

  #executeIn(delay: Span, id: string): void {
    this.#chores.once(`execute ${id}`, delay, () => this.#execute(id));
  }

  async #execute(id: string): Promise<void> {
    const { server, members, world } = this.#options;
    const work = this.#works.get(id);
    if (!work) return;
    const { namespace = "", name } = work.metadata;
    const cluster = namespace.replace("karmada-es-", "");
    const member = members.get(cluster);
    if (!member || this.#left.has(cluster)) return;
    if (!member.reachable) return this.#executeIn(RETRY_MS, id);
    const spec = isJsonObject(work.spec) ? work.spec : {};
    const manifests = manifestsOf(work);
    const path = `${WORKS_API}/namespaces/${namespace}/works/${name}`;
    if (work.metadata.deletionTimestamp !== undefined) {
      for (const { kind, metadata } of manifests) {
        if (spec.preserveResourcesOnDeletion !== true) member.remove(kind, metadata.name);
        else if (!member.release(kind, metadata.name)) return this.#executeIn(RETRY_MS, id);
      }
      world.note("karmada", `${member.name}: Work ${name} ends`, () =>
        spec.preserveResourcesOnDeletion === true ? "and its object stays" : "with its object",
      );
      const finalizers = (work.metadata.finalizers ?? []).filter((each) => each !== EXECUTION_FINALIZER);
      await write(server, "PUT", path, { ...work, metadata: { ...work.metadata, finalizers } });
      return;
    }
    let applied = true;
    for (const manifest of manifests) if (!member.apply(manifest)) applied = false;
    if (work.metadata.labels?.[OWN_APP_LABEL] === undefined)
      world.note("karmada", `${member.name}: rendered by itself`);
    const known = isJsonObject(work.status) ? JSON.stringify(work.status.conditions ?? "") : "";
    if (known.includes(`"status":"${applied ? "True" : "False"}"`)) return;
    const conditions = [{ type: "Applied", status: applied ? "True" : "False", reason: "Applied", message: "" }];
    await write(server, "PUT", `${path}/status`, { ...work, status: { conditions } });
  }

  async #writeReady(cluster: string, ready: boolean): Promise<void> {
    const { world, server } = this.#options;
    world.note("karmada", `${cluster} is ${ready ? "Ready" : "not Ready"}`);
    const time = timestamp(world.startWallMs + world.nowMs);
    const condition = { type: "Ready", status: ready ? "True" : "False", reason: "Health", lastTransitionTime: time };
    const body = { status: { conditions: [condition] } };
    await write(server, "PATCH", `${CLUSTERS_API}/${cluster}/status`, body);
  }
}

/** What a Work delivers: Karmada's webhook prunes its manifests when it is written. */
export function manifestsOf(work: KubeObject): StoredObject[] {
  return writtenManifestsOf(work).map((manifest) => prunedForWork({ ...manifest }) as unknown as StoredObject);
}

export function writtenManifestsOf(work: KubeObject): StoredObject[] {
  const manifests = valueAt(work, "spec", "workload", "manifests");
  return (Array.isArray(manifests) ? manifests : []) as StoredObject[];
}

function unlessGone(error: unknown): void {
  if (!(error instanceof HubRefused) || error.status !== 404) throw error;
}

import type { ApiServer, Commit, KubeObject } from "../../apiserver/index.ts";
import { type HttpRequest, isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { Dice } from "../dice.ts";
import { asStream, status } from "../wire.ts";
import type { World } from "../world.ts";
import { HubRefused, write } from "./hub.ts";
import type { LeanMember } from "./member.ts";
import type { StoredObject } from "./store.ts";

export interface KarmadaOptions {
  readonly world: World;
  readonly server: ApiServer;
  readonly members: ReadonlyMap<string, LeanMember>;
  readonly template: { readonly resource: string; readonly name: string; readonly namespace: string };
  /** Clusters and weights of the user's PropagationPolicy; empty: nothing selects the template. */
  readonly placement: { cluster: string; weight: number }[];
}

const WORKS = "work.karmada.io/works";
const BINDINGS = "work.karmada.io/resourcebindings";
const OVERRIDES = "policy.karmada.io/overridepolicies";
const WORKS_API = "/apis/work.karmada.io/v1alpha1";
const BINDINGS_API = "/apis/work.karmada.io/v1alpha2";
const CLUSTERS_API = "/apis/cluster.karmada.io/v1alpha1/clusters";
const BINDING_ID = "resourcebinding.karmada.io/permanent-id";
const EXECUTION_FINALIZER = "karmada.io/execution-controller";
const HOLD_PATH = "/lockstep-holds-this";
const OWN_APP_LABEL = "lockstep.karmada.io/app";

const DETECT_MS: readonly [number, number] = [20, 800];
const SCHEDULE_MS: readonly [number, number] = [20, 1_500];
const EXECUTE_MS: readonly [number, number] = [20, 1_200];
const RETRY_MS: readonly [number, number] = [1_000, 6_000];
/** Karmada's cluster status controller notices after its failure threshold; here sooner, so that a run stays short. */
const NOTICE_DOWN_MS: readonly [number, number] = [3_000, 12_000];
const NOTICE_UP_MS: readonly [number, number] = [500, 6_000];

/** Karmada's part, small: schedule result, hold, execution of Works with lag and backoff, cluster Ready with delays. */
export class KarmadaModel {
  readonly #options: KarmadaOptions;
  readonly #dice: Dice;
  readonly #pending = new Set<string>();
  #template: KubeObject | undefined;
  #binding: KubeObject | undefined;
  readonly #works = new Map<string, KubeObject>();
  readonly #holds = new Map<string, KubeObject>();

  constructor(options: KarmadaOptions) {
    this.#options = options;
    this.#dice = options.world.dice.branch("karmada");
    options.server.onCommit((commit) => this.#observe(commit));
  }

  get works(): ReadonlyMap<string, KubeObject> {
    return this.#works;
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

  /** The hub and the member lose each other. */
  cut(cluster: string): void {
    const member = this.#options.members.get(cluster);
    if (!member?.reachable) return;
    member.reachable = false;
    member.store.closeWatches();
    this.#after(NOTICE_DOWN_MS, `notice ${cluster}`, () => {
      if (!member.reachable) this.#write(() => this.#writeReady(cluster, false));
    });
  }

  mend(cluster: string): void {
    const member = this.#options.members.get(cluster);
    if (!member || member.reachable) return;
    member.reachable = true;
    this.#after(NOTICE_UP_MS, `notice ${cluster}`, () => {
      if (member.reachable) this.#write(() => this.#writeReady(cluster, true));
    });
  }

  /** The placement was edited: the scheduler decides anew. */
  reschedule(): void {
    this.#once("detect", DETECT_MS, () => this.#detect());
  }

  #serveProxy(name: string, member: LeanMember): void {
    const prefix = `/apis/cluster.karmada.io/v1alpha1/clusters/${name}/proxy/`;
    const inner = (request: HttpRequest): HttpRequest => ({ ...request, path: request.path.slice(prefix.length - 1) });
    const unreachable = () => status(503, "ServiceUnavailable", `error trying to reach service of ${name}`);
    this.#options.server.addRoute({
      prefix,
      handle: async (request) => (member.reachable ? member.store.handle(inner(request)) : unreachable()),
      stream: async (request) => (member.reachable ? member.store.stream(inner(request)) : asStream(unreachable())),
    });
  }

  #observe({ type, key, object, old }: Commit): void {
    const gone = type === "DELETED";
    const { template } = this.#options;
    if (key.resource === template.resource && key.name === template.name && key.namespace === template.namespace) {
      this.#template = gone ? undefined : object;
      this.#once("detect", DETECT_MS, () => this.#detect());
    } else if (key.resource === BINDINGS) {
      this.#binding = gone ? undefined : object;
      if (!gone) this.#once("schedule", SCHEDULE_MS, () => this.#schedule());
    } else if (key.resource === OVERRIDES) {
      const id = `${key.namespace}/${key.name}`;
      if (gone) this.#holds.delete(id);
      else this.#holds.set(id, object);
      this.#once("render", SCHEDULE_MS, () => this.#render());
    } else if (key.resource === WORKS) {
      const id = `${key.namespace}/${key.name}`;
      if (gone) this.#works.delete(id);
      else this.#works.set(id, object);
      const isOwnReport = old !== undefined && old.metadata.generation === object.metadata.generation;
      const isDeleting = object.metadata.deletionTimestamp !== old?.metadata.deletionTimestamp;
      if (!gone && (!isOwnReport || isDeleting)) this.#once(`execute ${id}`, EXECUTE_MS, () => this.#execute(id));
    }
  }

  async #detect(): Promise<void> {
    const { server, placement } = this.#options;
    const binding = this.#binding;
    const template = this.#template;
    if (!template || placement.length === 0) {
      if (binding) await write(server, "DELETE", this.#bindingPath(binding));
      return;
    }
    const spec = isJsonObject(template.spec) ? template.spec : {};
    const { apiVersion, kind, metadata } = template;
    const { namespace = "", name } = metadata;
    const wanted = {
      resource: { apiVersion, kind, namespace, name },
      replicas: typeof spec.replicas === "number" ? spec.replicas : 1,
      placement: placement.map(({ cluster, weight }) => `${cluster}=${weight}`).join(","),
    };
    if (!binding) {
      const bindingName = `${name}-${kind}`.toLowerCase();
      await write(server, "POST", `${BINDINGS_API}/namespaces/${namespace}/resourcebindings`, {
        apiVersion: "work.karmada.io/v1alpha2",
        kind: "ResourceBinding",
        metadata: { name: bindingName, namespace, labels: { [BINDING_ID]: bindingName } },
        spec: wanted,
      });
      return;
    }
    const before = isJsonObject(binding.spec) ? binding.spec : {};
    if (before.replicas === wanted.replicas && before.placement === wanted.placement) return this.#render();
    await write(server, "PUT", this.#bindingPath(binding), { ...binding, spec: { ...before, ...wanted } });
  }

  /** By weight, the largest remainder first; kept where nothing changed. */
  async #schedule(): Promise<void> {
    const { server, placement } = this.#options;
    const binding = this.#binding;
    if (!binding) return;
    const spec = isJsonObject(binding.spec) ? binding.spec : {};
    const statusNow = isJsonObject(binding.status) ? binding.status : {};
    if (statusNow.schedulerObservedGeneration === binding.metadata.generation) return;
    const total = typeof spec.replicas === "number" ? spec.replicas : 0;
    const clusters = divide(total, placement).map(({ cluster, replicas }) => ({ name: cluster, replicas }));
    const same = JSON.stringify(spec.clusters) === JSON.stringify(clusters);
    const path = this.#bindingPath(binding);
    const written = same ? binding : await write(server, "PUT", path, { ...binding, spec: { ...spec, clusters } });
    const conditions = [{ type: "Scheduled", status: "True", reason: "Success", message: "" }];
    await write(server, "PUT", `${path}/status`, {
      ...written,
      status: { schedulerObservedGeneration: written.metadata.generation ?? 1, conditions },
    });
    await this.#render();
  }

  /** Without a hold Karmada renders the latest template for every cluster at once. */
  async #render(): Promise<void> {
    const { server } = this.#options;
    const binding = this.#binding;
    const template = this.#template;
    if (!binding || !template || this.#isHeld(template)) return;
    const spec = isJsonObject(binding.spec) ? binding.spec : {};
    for (const target of Array.isArray(spec.clusters) ? spec.clusters.filter(isJsonObject) : []) {
      const namespace = `karmada-es-${target.name}`;
      const name = `${binding.metadata.name}-karmada`;
      const manifest: JsonObject = {
        apiVersion: template.apiVersion,
        kind: template.kind,
        metadata: {
          name: template.metadata.name,
          namespace: template.metadata.namespace ?? "",
          labels: { "karmada.io/managed": "true" },
        },
        spec: { ...(isJsonObject(template.spec) ? template.spec : {}), replicas: target.replicas ?? 0 },
      };
      const before = this.#works.get(`${namespace}/${name}`);
      const work: JsonObject = {
        apiVersion: "work.karmada.io/v1alpha1",
        kind: "Work",
        metadata: {
          ...before?.metadata,
          name,
          namespace,
          labels: { [BINDING_ID]: binding.metadata.name },
          finalizers: [EXECUTION_FINALIZER],
        },
        spec: { workload: { manifests: [manifest] } },
      };
      const path = `${WORKS_API}/namespaces/${namespace}/works`;
      if (!before) await write(server, "POST", path, work);
      else if (JSON.stringify(before.spec) !== JSON.stringify(work.spec))
        await write(server, "PUT", `${path}/${name}`, work);
    }
  }

  #isHeld(template: KubeObject): boolean {
    for (const policy of this.#holds.values()) {
      const text = JSON.stringify(policy.spec);
      const selects = text.includes(`"kind":"${template.kind}"`) && text.includes(`"name":"${template.metadata.name}"`);
      if (selects && text.includes(HOLD_PATH)) return true;
    }
    return false;
  }

  async #execute(id: string): Promise<void> {
    const { server, members, world } = this.#options;
    const work = this.#works.get(id);
    if (!work) return;
    const { namespace = "", name } = work.metadata;
    const member = members.get(namespace.replace("karmada-es-", ""));
    if (!member) return;
    if (!member.reachable) {
      this.#once(`execute ${id}`, RETRY_MS, () => this.#execute(id));
      return;
    }
    const spec = isJsonObject(work.spec) ? work.spec : {};
    const workload = isJsonObject(spec.workload) ? spec.workload : {};
    const manifests = (Array.isArray(workload.manifests) ? workload.manifests : []) as StoredObject[];
    const path = `${WORKS_API}/namespaces/${namespace}/works/${name}`;
    if (work.metadata.deletionTimestamp !== undefined) {
      if (spec.preserveResourcesOnDeletion !== true) {
        for (const { kind, metadata } of manifests) member.remove(kind, metadata.name);
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
    const time = `${new Date(world.startWallMs + world.nowMs).toISOString().slice(0, 19)}Z`;
    const condition = { type: "Ready", status: ready ? "True" : "False", reason: "Health", lastTransitionTime: time };
    const body = { status: { conditions: [condition] } };
    await write(server, "PATCH", `${CLUSTERS_API}/${cluster}/status`, body);
  }

  #bindingPath({ metadata }: KubeObject): string {
    return `${BINDINGS_API}/namespaces/${metadata.namespace}/resourcebindings/${metadata.name}`;
  }

  /** Several reasons to do something make it done once. */
  #once(what: string, delay: readonly [number, number], run: () => Promise<void>): void {
    if (this.#pending.has(what)) return;
    this.#pending.add(what);
    this.#after(delay, what, () => {
      this.#pending.delete(what);
      this.#write(run);
    });
  }

  /** A write that lost its race is decided anew: what it raced with has told us already. */
  #write(run: () => Promise<void>): void {
    run().catch((error: unknown) => {
      if (!(error instanceof HubRefused)) throw error;
      if (error.status === 409 || error.status === 404) return this.reschedule();
      throw error;
    });
  }

  #after([low, high]: readonly [number, number], label: string, run: () => void): void {
    this.#options.world.after(this.#dice.whole(low, high), label, run);
  }
}

export function divide(
  total: number,
  weighted: readonly { cluster: string; weight: number }[],
): { cluster: string; replicas: number }[] {
  const sum = weighted.reduce((all, { weight }) => all + weight, 0);
  const shares = weighted.map(({ cluster, weight }, index) => {
    const exact = (total * weight) / sum;
    return { cluster, index, replicas: Math.floor(exact), rest: exact - Math.floor(exact) };
  });
  const left = total - shares.reduce((all, { replicas }) => all + replicas, 0);
  const extra = [...shares].sort((a, b) => b.rest - a.rest || a.index - b.index).slice(0, left);
  return shares.map((share) => ({
    cluster: share.cluster,
    replicas: share.replicas + (extra.includes(share) ? 1 : 0),
  }));
}

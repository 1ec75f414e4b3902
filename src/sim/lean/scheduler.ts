import type { ApiServer, Commit, KubeObject } from "../../apiserver/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { type Share, selects, sharesOf } from "../world/placement.ts";
import type { Chores, Span } from "./chores.ts";
import { write } from "./hub.ts";

const BINDINGS = "work.karmada.io/resourcebindings";
const OVERRIDES = "policy.karmada.io/overridepolicies";
const POLICIES = "policy.karmada.io/propagationpolicies";
const WORKS = "work.karmada.io/works";
const WORKS_API = "/apis/work.karmada.io/v1alpha1";
const BINDINGS_API = "/apis/work.karmada.io/v1alpha2";
const BINDING_ID = "resourcebinding.karmada.io/permanent-id";
export const EXECUTION_FINALIZER = "karmada.io/execution-controller";
const HOLD_PATH = "/lockstep-holds-this";

const DETECT_MS: Span = [20, 800];
const SCHEDULE_MS: Span = [20, 1_500];

export interface SchedulerOptions {
  readonly server: ApiServer;
  readonly chores: Chores;
  /** `group/plural` of everything that may be a template. */
  readonly templates: ReadonlySet<string>;
}

/** Karmada's detector, scheduler and binding controller: from policies and templates to schedule results and Works. */
export class KarmadaScheduler {
  readonly #options: SchedulerOptions;
  readonly #templates = new Map<string, KubeObject>();
  readonly #bindings = new Map<string, KubeObject>();
  readonly #policies = new Map<string, KubeObject>();
  readonly #overrides = new Map<string, KubeObject>();
  readonly #works = new Map<string, KubeObject>();
  /** Clusters on which nothing is placed: they have not been Ready for too long. */
  readonly #evaded = new Set<string>();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    options.server.onCommit((commit) => this.#observe(commit));
  }

  /** What it decided for the template of that name. */
  resultFor(name: string): ReadonlyMap<string, number> | undefined {
    const [binding] = [...this.#bindings.values()].filter(({ spec }) => templateName(spec) === name);
    const spec = isJsonObject(binding?.spec) ? binding.spec : {};
    if (!Array.isArray(spec.clusters)) return undefined;
    return new Map(spec.clusters.filter(isJsonObject).map((one) => [String(one.name), Number(one.replicas ?? 0)]));
  }

  /** Moves everything away from a cluster. */
  evade(cluster: string): void {
    this.#evaded.add(cluster);
    for (const key of this.#bindings.keys()) this.#reschedule(key);
  }

  /** It may be used again. Nothing is moved back because of that, but what had no place is tried again. */
  welcome(cluster: string): void {
    if (!this.#evaded.delete(cluster)) return;
    for (const key of this.#bindings.keys()) this.#reschedule(key, false);
  }

  #observe({ type, key, object }: Commit): void {
    const keep = (kept: Map<string, KubeObject>, id: string) => {
      if (type === "DELETED") kept.delete(id);
      else kept.set(id, object);
    };
    const id = `${key.namespace}/${key.name}`;
    if (this.#options.templates.has(key.resource)) {
      const template = templateKey(object.kind, object.metadata);
      keep(this.#templates, template);
      this.#detectSoon(template);
    } else if (key.resource === POLICIES) {
      keep(this.#policies, id);
      for (const template of this.#templates.keys()) this.#detectSoon(template);
    } else if (key.resource === BINDINGS) {
      const template = bindingKey(object);
      keep(this.#bindings, template);
      if (type !== "DELETED") this.#reschedule(template, false);
    } else if (key.resource === OVERRIDES) {
      keep(this.#overrides, id);
      for (const template of this.#bindings.keys()) this.#renderSoon(template);
    } else if (key.resource === WORKS) keep(this.#works, id);
  }

  #detectSoon(template: string): void {
    this.#options.chores.once(`detect ${template}`, DETECT_MS, () => this.#detect(template));
  }

  #renderSoon(template: string): void {
    this.#options.chores.once(`render ${template}`, SCHEDULE_MS, () => this.#render(template));
  }

  #reschedule(template: string, force = true): void {
    this.#options.chores.once(`schedule ${template}`, SCHEDULE_MS, () => this.#schedule(template, force));
  }

  #sharesFor(template: KubeObject): readonly Share[] {
    const { apiVersion, kind, metadata } = template;
    for (const policy of this.#policies.values()) {
      if (selects(policy, { apiVersion, kind, name: metadata.name })) return sharesOf(policy);
    }
    return [];
  }

  async #detect(key: string): Promise<void> {
    const { server } = this.#options;
    const template = this.#templates.get(key);
    const binding = this.#bindings.get(key);
    const shares = template ? this.#sharesFor(template) : [];
    if (!template || shares.length === 0) {
      if (binding) await write(server, "DELETE", bindingPath(binding));
      return;
    }
    const spec = isJsonObject(template.spec) ? template.spec : {};
    const { apiVersion, kind, metadata } = template;
    const { namespace = "", name } = metadata;
    const wanted = {
      resource: { apiVersion, kind, namespace, name },
      replicas: typeof spec.replicas === "number" ? spec.replicas : 1,
      placement: shares.map(({ cluster, weight }) => `${cluster}=${weight}`).join(","),
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
    if (before.replicas === wanted.replicas && before.placement === wanted.placement) return this.#render(key);
    await write(server, "PUT", bindingPath(binding), { ...binding, spec: { ...before, ...wanted } });
  }

  /** By weight, the largest remainder first; kept if nothing changed. */
  async #schedule(key: string, force: boolean): Promise<void> {
    const { server } = this.#options;
    const template = this.#templates.get(key);
    const binding = this.#bindings.get(key);
    if (!binding || !template) return;
    const spec = isJsonObject(binding.spec) ? binding.spec : {};
    const statusNow = isJsonObject(binding.status) ? binding.status : {};
    if (!force && statusNow.schedulerObservedGeneration === binding.metadata.generation) return;
    const total = typeof spec.replicas === "number" ? spec.replicas : 0;
    const usable = this.#sharesFor(template).filter(({ cluster }) => !this.#evaded.has(cluster));
    if (usable.length === 0) return;
    const clusters = divide(total, usable).map(({ cluster, replicas }) => ({ name: cluster, replicas }));
    const same = JSON.stringify(spec.clusters) === JSON.stringify(clusters);
    const path = bindingPath(binding);
    const written = same ? binding : await write(server, "PUT", path, { ...binding, spec: { ...spec, clusters } });
    const conditions = [{ type: "Scheduled", status: "True", reason: "Success", message: "" }];
    await write(server, "PUT", `${path}/status`, {
      ...written,
      status: { schedulerObservedGeneration: written.metadata.generation ?? 1, conditions },
    });
    await this.#render(key);
  }

  /** Without a hold Karmada renders the latest template for every cluster at once. */
  async #render(key: string): Promise<void> {
    const { server } = this.#options;
    const binding = this.#bindings.get(key);
    const template = this.#templates.get(key);
    if (!binding || !template || this.#isHeld(template)) return;
    const spec = isJsonObject(binding.spec) ? binding.spec : {};
    for (const target of Array.isArray(spec.clusters) ? spec.clusters.filter(isJsonObject) : []) {
      const namespace = `karmada-es-${target.name}`;
      const name = `${binding.metadata.name}-karmada`;
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
        spec: { workload: { manifests: [rendered(template, Number(target.replicas ?? 0))] } },
      };
      const path = `${WORKS_API}/namespaces/${namespace}/works`;
      if (!before) await write(server, "POST", path, work);
      else if (JSON.stringify(before.spec) !== JSON.stringify(work.spec))
        await write(server, "PUT", `${path}/${name}`, work);
    }
  }

  #isHeld(template: KubeObject): boolean {
    for (const policy of this.#overrides.values()) {
      const text = JSON.stringify(policy.spec);
      const isMeant = text.includes(`"kind":"${template.kind}"`) && text.includes(`"name":"${template.metadata.name}"`);
      if (isMeant && text.includes(HOLD_PATH)) return true;
    }
    return false;
  }
}

function rendered({ apiVersion, kind, metadata, spec }: KubeObject, replicas: number): JsonObject {
  const { name, namespace = "" } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, labels: { "karmada.io/managed": "true" } },
    spec: { ...(isJsonObject(spec) ? spec : {}), replicas },
  };
}

function templateKey(kind: string, { namespace = "", name }: KubeObject["metadata"]): string {
  return `${kind} ${namespace}/${name}`;
}

function bindingKey({ spec }: KubeObject): string {
  const resource = isJsonObject(spec) && isJsonObject(spec.resource) ? spec.resource : {};
  return `${resource.kind} ${resource.namespace}/${resource.name}`;
}

function templateName(spec: unknown): string {
  return isJsonObject(spec) && isJsonObject(spec.resource) ? String(spec.resource.name) : "";
}

function bindingPath({ metadata }: KubeObject): string {
  return `${BINDINGS_API}/namespaces/${metadata.namespace}/resourcebindings/${metadata.name}`;
}

function divide(total: number, weighted: readonly Share[]): { cluster: string; replicas: number }[] {
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

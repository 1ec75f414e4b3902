import { type KubeClient, type KubeObject, Reflector, type Resource } from "../../kube/index.ts";
import { type Clock, isJsonObject, type Random, silentLog } from "../../runtime/index.ts";

export interface ObserverOptions {
  readonly members: ReadonlyMap<string, KubeClient>;
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  /** The kind that is being managed. */
  readonly workload: Resource;
  readonly works: Resource;
}

/** One observed state of a member's object, and whether a dispatch object requested it. */
export interface Seen {
  readonly cluster: string;
  readonly name: string;
  readonly spec: string;
}

/**
 * Watches every member and every dispatch object on the hub, independently of the engine. It enforces one rule: no
 * member ever shows a spec that no dispatch object requested. It keeps everything, so that the result covers every
 * moment instead of samples.
 */
export class Observer {
  readonly #granted = new Map<string, Set<string>>();
  readonly #seen: Seen[] = [];
  readonly #reflectors: Reflector<KubeObject>[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];

  constructor(options: ObserverOptions) {
    const { hub, members, workload, works, clock, random } = options;
    const watch = (client: KubeClient, resource: Resource, tell: (object: KubeObject) => void) => {
      const reflector = new Reflector<KubeObject>({ client, resource, clock, random, log: silentLog });
      reflector.cache.subscribe({ added: tell, updated: tell });
      this.#reflectors.push(reflector);
    };
    watch(hub, works, (work) => this.#rememberGrant(work, workload));
    for (const [cluster, client] of members) {
      watch(client, workload, (object) => {
        this.#seen.push({ cluster, name: object.metadata.name, spec: comparable(object.spec) });
      });
    }
  }

  async start(): Promise<void> {
    for (const reflector of this.#reflectors) this.#running.push(reflector.run(this.#stop.signal));
    await Promise.all(this.#reflectors.map(({ cache }) => cache.synced()));
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the observer is stopped"));
    await Promise.all(this.#running);
  }

  get states(): number {
    return this.#seen.length;
  }

  /** What members showed without a request. Defaults that a member's API server adds do not count. */
  violations(): Seen[] {
    return this.#seen.filter(({ cluster, name, spec }) => {
      const granted = this.#granted.get(`${cluster}/${name}`) ?? new Set();
      return ![...granted].some((grant) => isCoveredBy(JSON.parse(grant), JSON.parse(spec)));
    });
  }

  #rememberGrant(work: KubeObject, workload: Resource): void {
    const namespace = work.metadata.namespace ?? "";
    const spec = isJsonObject(work.spec) && isJsonObject(work.spec.workload) ? work.spec.workload : {};
    for (const manifest of Array.isArray(spec.manifests) ? spec.manifests : []) {
      if (!isJsonObject(manifest) || manifest.kind !== workload.kind || !isJsonObject(manifest.metadata)) continue;
      const key = `${namespace.replace("karmada-es-", "")}/${manifest.metadata.name}`;
      const grants = this.#granted.get(key) ?? new Set();
      grants.add(comparable(manifest.spec));
      this.#granted.set(key, grants);
    }
  }
}

function comparable(value: unknown): string {
  return JSON.stringify(value ?? null);
}

/** Whether the member's object has every field of the grant. */
export function isCoveredBy(granted: unknown, shown: unknown): boolean {
  if (Array.isArray(granted)) {
    return (
      Array.isArray(shown) &&
      granted.length === shown.length &&
      granted.every((item, at) => isCoveredBy(item, shown[at]))
    );
  }
  if (isJsonObject(granted)) {
    return isJsonObject(shown) && Object.entries(granted).every(([key, value]) => isCoveredBy(value, shown[key]));
  }
  return granted === shown;
}

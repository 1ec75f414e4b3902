import { type KubeClient, type KubeObject, Reflector, resource } from "../../kube/index.ts";
import { type Clock, type Log, type Random, retryDelayMs } from "../../runtime/index.ts";

export interface HubRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export type Found =
  | { readonly kind: "present"; readonly object: KubeObject }
  | { readonly kind: "absent" }
  /** Not listed yet, or the hub does not serve the kind. */
  | { readonly kind: "unknown"; readonly message: string };

interface Stream {
  reflector: Reflector<KubeObject> | undefined;
  failure: string | undefined;
  /** Which applications asked for which object here. */
  readonly readers: Map<string, Set<string>>;
  /** Which asked for all of them. */
  readonly listers: Set<string>;
}

interface HubObjectsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** An object that this application asked for may have changed. */
  readonly changed: (appKey: string) => void;
}

const KIND_RETRY_BASE_MS = 1_000;
const KIND_RETRY_MAX_MS = 30_000;

/**
 * Templates and what they depend on: any object of any kind on the hub, watched from the first time an application asks
 * for it. One watch per kind and namespace, however many applications there are.
 */
export class HubObjects {
  readonly #options: HubObjectsOptions;
  readonly #streams = new Map<string, Stream>();
  readonly #running = new Set<Promise<void>>();
  readonly #signal: AbortSignal;

  constructor(options: HubObjectsOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  get(appKey: string, ref: HubRef): Found {
    const { entry, stream, unknown } = this.#stream(ref);
    const readers = entry.readers.get(ref.name);
    if (readers) readers.add(appKey);
    else entry.readers.set(ref.name, new Set([appKey]));
    if (unknown) return unknown;
    const object = stream?.cache.get(ref);
    return object ? { kind: "present", object } : { kind: "absent" };
  }

  /** All objects of a kind in a namespace; undefined while that is not known. */
  list(appKey: string, kind: Omit<HubRef, "name">): readonly KubeObject[] | undefined {
    const { entry, stream } = this.#stream(kind);
    entry.listers.add(appKey);
    return stream?.cache.list();
  }

  forget(appKey: string): void {
    for (const { readers, listers } of this.#streams.values()) {
      listers.delete(appKey);
      for (const [name, keys] of readers) {
        keys.delete(appKey);
        if (keys.size === 0) readers.delete(name);
      }
    }
  }

  async stopped(): Promise<void> {
    await Promise.all(this.#running);
  }

  #stream({ apiVersion, kind, namespace }: Omit<HubRef, "name">) {
    const id = `${apiVersion}/${kind}/${namespace}`;
    let entry = this.#streams.get(id);
    if (!entry) {
      entry = { reflector: undefined, failure: undefined, readers: new Map(), listers: new Set() };
      this.#streams.set(id, entry);
      const running = this.#run(apiVersion, kind, namespace, entry).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
    const { reflector } = entry;
    if (reflector?.cache.hasSynced) return { entry, stream: reflector, unknown: undefined };
    const message = entry.failure ?? reflector?.health.failure ?? `${kind} in ${namespace} has not been listed yet`;
    return { entry, stream: undefined, unknown: { kind: "unknown" as const, message } };
  }

  async #run(apiVersion: string, kind: string, namespace: string, stream: Stream): Promise<void> {
    const { client, clock, random, log } = this.#options;
    const signal = this.#signal;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const found = await client.discovery.resource(apiVersion, kind, { signal });
        const selection = found.namespaced ? { namespace } : {};
        const tell = ({ metadata }: KubeObject) => this.#tell(stream, metadata.name);
        const reflector = new Reflector<KubeObject>({
          client,
          resource: resource(found),
          clock,
          random,
          log,
          selection,
          healthChanged: () => this.#tellAll(stream),
        });
        stream.failure = undefined;
        stream.reflector = reflector;
        reflector.cache.subscribe({ added: tell, updated: tell, deleted: tell });
        return await reflector.run(signal);
      } catch (error) {
        if (signal.aborted) return;
        stream.failure = error instanceof Error ? error.message : String(error);
        this.#tellAll(stream);
        await clock.sleep(retryDelayMs(attempt, KIND_RETRY_BASE_MS, KIND_RETRY_MAX_MS, random), signal).catch(() => {});
      }
    }
  }

  /** Only whoever reads this object: a thousand applications share one stream. */
  #tell({ readers, listers }: Stream, name: string): void {
    for (const appKey of readers.get(name) ?? []) this.#options.changed(appKey);
    for (const appKey of listers) this.#options.changed(appKey);
  }

  #tellAll({ readers, listers }: Stream): void {
    for (const appKey of new Set([...listers, ...[...readers.values()].flatMap((keys) => [...keys])])) {
      this.#options.changed(appKey);
    }
  }
}

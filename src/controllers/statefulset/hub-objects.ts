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
  /** Which applications asked for anything here. */
  readonly readers: Set<string>;
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
    const { stream, unknown } = this.#stream(appKey, ref);
    if (unknown) return unknown;
    const object = stream?.cache.get(ref);
    return object ? { kind: "present", object } : { kind: "absent" };
  }

  /** All objects of a kind in a namespace; undefined while that is not known. */
  list(appKey: string, kind: Omit<HubRef, "name">): readonly KubeObject[] | undefined {
    return this.#stream(appKey, kind).stream?.cache.list();
  }

  forget(appKey: string): void {
    for (const stream of this.#streams.values()) stream.readers.delete(appKey);
  }

  async stopped(): Promise<void> {
    await Promise.all(this.#running);
  }

  #stream(appKey: string, { apiVersion, kind, namespace }: Omit<HubRef, "name">) {
    const id = `${apiVersion}/${kind}/${namespace}`;
    const known = this.#streams.get(id);
    const stream = known ?? { reflector: undefined, failure: undefined, readers: new Set<string>() };
    stream.readers.add(appKey);
    if (!known) {
      this.#streams.set(id, stream);
      const running = this.#run(apiVersion, kind, namespace, stream).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
    const { reflector } = stream;
    if (reflector?.cache.hasSynced) return { stream: reflector, unknown: undefined };
    const message = stream.failure ?? reflector?.health.failure ?? `${kind} in ${namespace} has not been listed yet`;
    return { stream: undefined, unknown: { kind: "unknown" as const, message } };
  }

  async #run(apiVersion: string, kind: string, namespace: string, stream: Stream): Promise<void> {
    const { client, clock, random, log } = this.#options;
    const signal = this.#signal;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const found = await client.discovery.resource(apiVersion, kind, { signal });
        const selection = found.namespaced ? { namespace } : {};
        const tell = () => this.#tell(stream);
        const reflector = new Reflector<KubeObject>({
          client,
          resource: resource(found),
          clock,
          random,
          log,
          selection,
          healthChanged: tell,
        });
        stream.failure = undefined;
        stream.reflector = reflector;
        reflector.cache.subscribe({ added: tell, updated: tell, deleted: tell });
        return await reflector.run(signal);
      } catch (error) {
        if (signal.aborted) return;
        stream.failure = error instanceof Error ? error.message : String(error);
        this.#tell(stream);
        await clock.sleep(retryDelayMs(attempt, KIND_RETRY_BASE_MS, KIND_RETRY_MAX_MS, random), signal).catch(() => {});
      }
    }
  }

  #tell(stream: Stream): void {
    for (const appKey of stream.readers) this.#options.changed(appKey);
  }
}

import { type KubeClient, type KubeObject, Reflector, resource } from "../../src/kube/index.ts";
import { silentLog, systemClock, systemRandom } from "../../src/runtime/index.ts";

/** How Lockstep watched the hub before: one watch per kind and namespace, whole objects, all of them cached. */
export class WatchPerNamespace {
  readonly #client: KubeClient;
  readonly #signal: AbortSignal;
  readonly #changed: (namespace: string) => void;
  readonly #reflectors = new Map<string, Reflector<KubeObject> | undefined>();

  constructor(client: KubeClient, changed: (namespace: string) => void, signal: AbortSignal) {
    this.#client = client;
    this.#changed = changed;
    this.#signal = signal;
  }

  isKnown(apiVersion: string, kind: string, namespace: string): boolean {
    const id = `${apiVersion}/${kind}/${namespace}`;
    if (!this.#reflectors.has(id)) {
      this.#reflectors.set(id, undefined);
      void this.#run(id, apiVersion, kind, namespace);
    }
    return this.#reflectors.get(id)?.cache.hasSynced === true;
  }

  async #run(id: string, apiVersion: string, kind: string, namespace: string): Promise<void> {
    const found = await this.#client.discovery.resource(apiVersion, kind);
    const reflector = new Reflector<KubeObject>({
      client: this.#client,
      resource: resource(found),
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      selection: { namespace },
      healthChanged: () => this.#changed(namespace),
    });
    this.#reflectors.set(id, reflector);
    await reflector.run(this.#signal);
  }
}

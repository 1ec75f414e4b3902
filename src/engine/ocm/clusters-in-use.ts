import { CLUSTERS_IN_USE } from "../../api/index.ts";
import { type Cache, ConflictError, type KubeClient, type KubeObject, resource } from "../../kube/index.ts";
import { type Clock, isJsonObject, type Json, type JsonObject, type Log } from "../../runtime/index.ts";
import { MARKS } from "../marks.ts";
import { MANIFEST_WORKS } from "./resources.ts";

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });

/** How often the list is compared with what is dispatched. */
const COMPARE_EVERY_MS = 15_000;

/** A new entry stays for this long without a ManifestWork: the first one is written right after it, or not at all. */
const NEW_MS = 30_000;

export interface ClustersInUseOptions {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** The ManifestWorks with Lockstep's label. */
  readonly works: Cache<KubeObject>;
  readonly isCluster: (namespace: string) => boolean;
  readonly systemNamespace: string;
}

/**
 * The list of clusters that have ManifestWorks of Lockstep's. The admission policy `clusters-in-use` refuses to detach
 * them: once a ManagedCluster is being deleted, OCM deletes all its ManifestWorks, and no cluster can be drained any
 * more. A cluster is listed before its first ManifestWork is written, and leaves the list after the last one is gone.
 *
 * A dispatch may begin while an idle cluster is removed from the list. So every first dispatch writes its entry again,
 * with the time: an entry that is new stays, and a removal is refused if any entry was written since the list was read.
 */
export class ClustersInUse {
  readonly #options: ClustersInUseOptions;
  readonly #name: { readonly namespace: string; readonly name: string };
  /** Those that this process has listed. */
  readonly #listed = new Set<string>();
  /** Only a process that has led an application writes the list. */
  #hasLed = false;
  #hasWarned = false;

  constructor(options: ClustersInUseOptions) {
    this.#options = options;
    this.#name = { namespace: options.systemNamespace, name: CLUSTERS_IN_USE };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(COMPARE_EVERY_MS, signal).catch(() => {});
      if (!signal.aborted && this.#hasLed) await this.compare();
    }
  }

  /** Resolves before the first ManifestWork of a cluster may be written. Rollouts continue if the list cannot be written. */
  async list(cluster: string): Promise<void> {
    this.#hasLed = true;
    const isUsed = this.#used().has(cluster);
    if (isUsed && this.#listed.has(cluster)) return;
    this.#listed.add(cluster);
    const written = this.#write({ [cluster]: this.#entry() }).catch((error) => this.#warn(error));
    // If it is in use, the leader that dispatched there first has listed it before.
    if (!isUsed) await written;
  }

  /** A ManifestWork of a cluster is gone. */
  workEnded(cluster: string): void {
    if (this.#hasLed && !this.#used().has(cluster)) void this.compare();
  }

  /** Lists what is missing, and removes the clusters where nothing is dispatched any more. */
  async compare(): Promise<void> {
    try {
      const found = await this.#options.hub.get(CONFIG_MAPS, this.#name);
      const data = isJsonObject(found.data) ? found.data : {};
      const listed = Object.keys(data);
      const used = this.#used();
      const missing = [...used].filter((cluster) => !listed.includes(cluster));
      if (missing.length > 0) await this.#write(Object.fromEntries(missing.map((each) => [each, this.#entry()])));
      const idle = listed.filter((cluster) => !used.has(cluster) && !this.#isNew(data[cluster]));
      if (idle.length > 0 && missing.length === 0) await this.#remove(idle, found);
    } catch (error) {
      this.#warn(error);
    }
  }

  async #remove(idle: readonly string[], { metadata }: KubeObject): Promise<void> {
    const { hub } = this.#options;
    const lists = await Promise.all(
      idle.map((namespace) => hub.listAll(MANIFEST_WORKS, { namespace, labelSelector: MARKS.app })),
    );
    const removed = idle.filter((_, at) => lists[at]?.items.length === 0);
    if (removed.length === 0) return;
    const { resourceVersion = "" } = metadata;
    try {
      await this.#write(Object.fromEntries(removed.map((cluster) => [cluster, null])), { resourceVersion });
    } catch (error) {
      // Another dispatch has begun: the next comparison looks again.
      if (!(error instanceof ConflictError)) throw error;
    }
  }

  /** Its first ManifestWork may still be on its way. */
  #isNew(entry: Json | undefined): boolean {
    const ageMs = this.#options.clock.now() - Date.parse(String(entry));
    return ageMs >= 0 && ageMs < NEW_MS;
  }

  #used(): Set<string> {
    const { works, isCluster } = this.#options;
    const namespaces = works.list().map(({ metadata }) => metadata.namespace ?? "");
    return new Set(namespaces.filter(isCluster));
  }

  async #write(data: JsonObject, metadata: JsonObject = {}): Promise<void> {
    await this.#options.hub.patch(CONFIG_MAPS, this.#name, { type: "merge", body: { metadata, data } });
  }

  #entry(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }

  #warn(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { namespace, name } = this.#name;
    this.#options.log.warn(
      `ConfigMap ${namespace}/${name} cannot be written, so clusters in use can be detached by mistake. If that lasts, run 'lockstep install --apply' again`,
      { reason: error instanceof Error ? error.message : String(error) },
    );
  }
}

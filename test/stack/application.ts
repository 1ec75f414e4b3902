/** An application on any hub, and what its pods do. */
import { setTimeout as sleep } from "node:timers/promises";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import type { Api } from "./api.ts";

export const CCS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  plural: "crossclusterstatefulsets",
  namespaced: true,
});

export const MANAGER = { fieldManager: "test", force: true };

export function crossCluster(name: string, spec: object = {}): KubeObject {
  return {
    apiVersion: CCS.apiVersion,
    kind: CCS.kind,
    metadata: { name, namespace: "default" },
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name, namespace: "default" },
      updateStrategy: { type: "RollingUpdate" },
      ...spec,
    },
  };
}

/** After a member's API server was gone: how long until the recorder asks again. */
const RECONNECT_MS = 100;

/**
 * Follows pods on every member, and remembers the worst moment: how many of those expected were not ready at once, and
 * for how long fewer than a quorum were. While a member's API server does not answer, its pods count as last seen.
 */
export class PodRecorder {
  readonly #ready = new Map<string, boolean>();
  readonly order: string[] = [];
  /** Those that are gone, in order; one that is replaced under the same name is in it once for each time. */
  readonly gone: string[] = [];
  /** Every change, for the message when something went wrong. */
  readonly timeline: string[] = [];
  worst = 0;
  #expected = 0;
  #quorum = 0;
  #lostMs = 0;
  /** Since when fewer than a quorum are ready. */
  #lostSince: number | undefined;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];

  /** `expected`: from when on a missing one counts. `quorum`: how many must always be ready; a majority, unless said otherwise. */
  expect(count: number, quorum = Math.floor(count / 2) + 1): void {
    this.#expected = count;
    this.#quorum = quorum;
    this.worst = 0;
    this.#lostMs = 0;
    this.#lostSince = undefined;
    this.timeline.length = 0;
  }

  /** Since `expect`. */
  get withoutQuorumMs(): number {
    return this.#lostMs + (this.#lostSince === undefined ? 0 : performance.now() - this.#lostSince);
  }

  follow(cluster: string, api: Api, app: string): void {
    this.#running.push(this.#follow(cluster, api, app));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#running);
  }

  async #follow(cluster: string, api: Api, app: string): Promise<void> {
    const path = `/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#read(cluster, api, path);
      } catch (error) {
        if (!signal.aborted) this.timeline.push(`${seconds()} ${cluster} does not answer: ${error}`);
      }
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => {});
    }
  }

  async #read(cluster: string, api: Api, path: string): Promise<void> {
    const list = await api.get<{ metadata: { resourceVersion: string }; items: KubeObject[] }>(path);
    const items = list?.items ?? [];
    const present = new Set(items.map(({ metadata }) => `${cluster}/${metadata.name}`));
    for (const key of this.#ready.keys()) {
      if (key.startsWith(`${cluster}/`) && !present.has(key)) this.#see("DELETED", key, false);
    }
    for (const pod of items) this.#see("LISTED", `${cluster}/${pod.metadata.name}`, isReady(pod));
    const from = `${path}&resourceVersion=${list?.metadata.resourceVersion}`;
    for await (const { type, object } of api.watch(from, this.#stop.signal)) {
      if (type === "ERROR") return;
      this.#see(type, `${cluster}/${object.metadata.name}`, isReady(object as unknown as KubeObject));
    }
  }

  #see(type: string, key: string, ready: boolean): void {
    if (type === "DELETED") {
      this.#ready.delete(key);
      this.gone.push(key);
    } else this.#note(key, ready);
    const total = [...this.#ready.values()].filter(Boolean).length;
    this.timeline.push(`${seconds()} ${type} ${key} ready=${this.#ready.get(key)} total=${total}`);
    this.worst = Math.max(this.worst, this.#expected - total);
    const now = performance.now();
    if (total < this.#quorum) this.#lostSince ??= now;
    else if (this.#lostSince !== undefined) {
      this.#lostMs += now - this.#lostSince;
      this.#lostSince = undefined;
    }
  }

  #note(key: string, ready: boolean): void {
    if (ready && this.#ready.get(key) !== true) this.order.push(key);
    this.#ready.set(key, ready);
  }
}

function seconds(): string {
  return (performance.now() / 1000).toFixed(2);
}

function isReady(pod: KubeObject): boolean {
  const status = pod.status as { conditions?: { type: string; status: string }[] } | undefined;
  const ready = status?.conditions?.some(({ type, status: holds }) => type === "Ready" && holds === "True");
  return ready === true && pod.metadata.deletionTimestamp === undefined;
}

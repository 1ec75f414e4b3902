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

const RECONNECT_MS = 50;

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

/**
 * Follows pods on every member, and remembers the worst moment: how many of those expected were not ready at once, and
 * how long there was no quorum. While a member's API server is away nothing can change there, and its pods count as they
 * were seen last.
 */
export class PodRecorder {
  readonly #ready = new Map<string, boolean>();
  readonly order: string[] = [];
  /** Those that are gone, in order; one that is replaced under the same name is in it once for each time. */
  readonly gone: string[] = [];
  /** Every change, for the message when something went wrong. */
  readonly timeline: string[] = [];
  worst = 0;
  /** In all, since a number was expected for the first time. */
  withoutQuorumMs = 0;
  #expected = 0;
  #lostSinceMs: number | undefined;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];

  /** `expected`: from when on a missing one counts. */
  expect(count: number): void {
    this.#expected = count;
    this.worst = 0;
  }

  follow(cluster: string, api: Api, app: string): void {
    this.#running.push(this.#follow(cluster, api, app));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#running);
  }

  async #follow(cluster: string, api: Api, app: string): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#watch(cluster, api, app);
      } catch {
        // Its API server is away.
      }
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => {});
    }
  }

  async #watch(cluster: string, api: Api, app: string): Promise<void> {
    const path = `/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`;
    const list = await api.get<{ metadata: { resourceVersion: string }; items: KubeObject[] }>(path);
    const found = new Map((list?.items ?? []).map((pod) => [`${cluster}/${pod.metadata.name}`, pod]));
    for (const key of [...this.#ready.keys()]) {
      if (key.startsWith(`${cluster}/`) && !found.has(key)) this.#see("DELETED", key);
    }
    for (const [key, pod] of found) this.#see("ADDED", key, pod);
    const since = `${path}&resourceVersion=${list?.metadata.resourceVersion ?? ""}`;
    for await (const { type, object } of api.watch(since, this.#stop.signal)) {
      this.#see(type, `${cluster}/${object.metadata.name}`, object as unknown as KubeObject);
    }
  }

  #see(type: string, key: string, pod?: KubeObject): void {
    if (type === "DELETED" || !pod) {
      this.#ready.delete(key);
      this.gone.push(key);
    } else this.#note(key, isReady(pod));
    const ready = [...this.#ready.values()].filter(Boolean).length;
    this.timeline.push(
      `${(performance.now() / 1000).toFixed(2)} ${type} ${key} ready=${this.#ready.get(key)} total=${ready}`,
    );
    this.worst = Math.max(this.worst, this.#expected - ready);
    this.#count(ready);
  }

  #count(ready: number): void {
    const nowMs = performance.now();
    if (this.#lostSinceMs !== undefined) this.withoutQuorumMs += nowMs - this.#lostSinceMs;
    const hasQuorum = ready >= (this.#expected === 0 ? 0 : Math.floor(this.#expected / 2) + 1);
    this.#lostSinceMs = hasQuorum ? undefined : nowMs;
  }

  #note(key: string, ready: boolean): void {
    if (ready && this.#ready.get(key) !== true) this.order.push(key);
    this.#ready.set(key, ready);
  }
}

function isReady(pod: KubeObject): boolean {
  const status = pod.status as { conditions?: { type: string; status: string }[] } | undefined;
  const ready = status?.conditions?.some(({ type, status: holds }) => type === "Ready" && holds === "True");
  return ready === true && pod.metadata.deletionTimestamp === undefined;
}

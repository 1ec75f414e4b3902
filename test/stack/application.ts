/** An application on any hub, and what its pods do. */
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

/** Follows pods on every member, and remembers the worst moment: how many of those expected were not ready at once. */
export class PodRecorder {
  readonly #ready = new Map<string, boolean>();
  readonly order: string[] = [];
  /** Those that are gone, in order; one that is replaced under the same name is in it once for each time. */
  readonly gone: string[] = [];
  /** Every change, for the message when something went wrong. */
  readonly timeline: string[] = [];
  worst = 0;
  #expected = 0;
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
    const path = `/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`;
    for await (const { type, object } of api.watch(path, this.#stop.signal)) {
      const key = `${cluster}/${object.metadata.name}`;
      if (type === "DELETED") this.#forget(key);
      else this.#note(key, isReady(object as unknown as KubeObject));
      const ready = [...this.#ready.values()].filter(Boolean).length;
      this.timeline.push(
        `${(performance.now() / 1000).toFixed(2)} ${type} ${key} ready=${this.#ready.get(key)} total=${ready}`,
      );
      this.worst = Math.max(this.worst, this.#expected - ready);
    }
  }

  #forget(key: string): void {
    this.#ready.delete(key);
    this.gone.push(key);
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

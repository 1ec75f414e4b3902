import type { KubeObject } from "../../apiserver/index.ts";
import { WorkQueue, type WorkResult } from "../../kube/index.ts";
import { type JsonObject, sameJson } from "../../runtime/index.ts";
import { RefusedError } from "../local-api.ts";
import { isDeleting, keyOf, numberAt, objectAt, splitKey } from "../values.ts";
import {
  availableAtMs,
  hasEnded,
  isAvailable,
  isOwnedBy,
  isRunningAndReady,
  ownerReference,
  replicasOf,
} from "./pods.ts";
import type { MemberControllerOptions } from "./statefulset.ts";

const SETS = "apps/replicasets";
const PODS = "/pods";

/** Kubernetes' ReplicaSet controller, in one member: so many pods of one template. */
export class ReplicaSetController {
  readonly #options: MemberControllerOptions;
  readonly #queue: WorkQueue;
  #pods = 0;

  constructor(options: MemberControllerOptions) {
    const { api, clock, random, log } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, log, concurrency: 1, work: (key) => this.#sync(key) });
    api.on(SETS, ({ key }) => this.#add(keyOf(key.namespace, key.name)));
    api.on(PODS, ({ object }) => {
      for (const owner of object.metadata.ownerReferences ?? []) {
        if (owner.kind === "ReplicaSet") this.#add(keyOf(object.metadata.namespace ?? "", owner.name));
      }
    });
  }

  start(): void {
    this.#queue.start();
    this.syncAll();
  }

  /** After the API server returned. */
  syncAll(): void {
    for (const { metadata } of this.#options.api.list(SETS)) this.#add(keyOf(metadata.namespace ?? "", metadata.name));
  }

  stop(): Promise<void> {
    return this.#queue.shutdown();
  }

  #add(key: string): void {
    this.#queue.addAfter(key, this.#options.reactionMs);
  }

  async #sync(key: string): Promise<WorkResult | undefined> {
    const { api, clock, isUp } = this.#options;
    if (!isUp()) return undefined;
    const { namespace, name } = splitKey(key);
    const set = api.get(SETS, namespace, name);
    if (!set || isDeleting(set)) return undefined;
    const alive = () =>
      api
        .list(PODS, namespace)
        .filter((pod) => isOwnedBy(pod, set.metadata.uid ?? "") && !isDeleting(pod) && !hasEnded(pod));
    const pods = alive();
    const missing = replicasOf(set) - pods.length;
    for (let at = 0; at < missing; at++) await api.create(podOf(set, this.#suffix(set)));
    for (const pod of surplus(pods, -missing)) await api.delete(pod);
    const minReadySeconds = numberAt(set, "spec", "minReadySeconds") ?? 0;
    const nowMs = clock.now();
    await this.#report(set, statusOf(set, alive(), minReadySeconds, nowMs));
    const times = alive()
      .flatMap((pod) => availableAtMs(pod, minReadySeconds) ?? [])
      .filter((atMs) => atMs > nowMs);
    return times.length === 0 ? undefined : { requeueAfterMs: Math.min(...times) - nowMs };
  }

  #suffix({ metadata }: KubeObject): string {
    return `${(metadata.uid ?? "").slice(0, 5)}${++this.#pods}`;
  }

  async #report(set: KubeObject, status: JsonObject): Promise<void> {
    if (sameJson(set.status, status)) return;
    const { resourceVersion: _any, ...metadata } = set.metadata;
    try {
      await this.#options.api.updateStatus({ ...set, metadata, status });
    } catch (error) {
      // Deleted in the meantime: there is no object to report to.
      if (!(error instanceof RefusedError && error.status === 404)) throw error;
    }
  }
}

/** Pods that are not ready go first. */
function surplus(pods: readonly KubeObject[], count: number): KubeObject[] {
  const order = [...pods].sort((a, b) => Number(isRunningAndReady(a)) - Number(isRunningAndReady(b)));
  return order.slice(0, Math.max(0, count));
}

function statusOf(set: KubeObject, pods: readonly KubeObject[], minReadySeconds: number, nowMs: number): JsonObject {
  const ready = pods.filter(isRunningAndReady).length;
  const available = pods.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length;
  return {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: pods.length,
    ...(pods.length > 0 && { fullyLabeledReplicas: pods.length }),
    ...(ready > 0 && { readyReplicas: ready }),
    ...(available > 0 && { availableReplicas: available }),
  };
}

function podOf(set: KubeObject, suffix: string): KubeObject {
  const template = objectAt(set, "spec", "template");
  const { labels, annotations } = objectAt(template, "metadata");
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${set.metadata.name}-${suffix}`,
      namespace: set.metadata.namespace ?? "",
      ...(labels !== undefined && { labels: texts(labels) }),
      ...(annotations !== undefined && { annotations: texts(annotations) }),
      ownerReferences: [ownerReference(set)],
    },
    spec: objectAt(template, "spec"),
  };
}

function texts(value: unknown): Record<string, string> {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

import type { KubeObject } from "../../apiserver/index.ts";
import type { WorkResult } from "../../kube/index.ts";
import { type JsonObject, sameJson } from "../../runtime/index.ts";
import { RefusedError } from "../local-api.ts";
import { isDeleting, numberAt, objectAt, splitKey } from "../values.ts";
import { type MemberControllerOptions, OwnerQueue } from "./owner-queue.ts";
import {
  availableAtMs,
  hasEnded,
  isAvailable,
  isOwnedBy,
  isRunningAndReady,
  ownerReference,
  replicasOf,
} from "./pods.ts";

const SETS = "apps/replicasets";
const PODS = "/pods";

/** Kubernetes' ReplicaSet controller, in one member: so many pods of one template. */
export class ReplicaSetController {
  readonly queue: OwnerQueue;
  readonly #options: MemberControllerOptions;
  #pods = 0;

  constructor(options: MemberControllerOptions) {
    this.#options = options;
    this.queue = new OwnerQueue(options, { resource: SETS, kind: "ReplicaSet", owned: PODS }, (key) => this.#sync(key));
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

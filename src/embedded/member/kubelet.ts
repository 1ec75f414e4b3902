import type { KubeObject } from "../../apiserver/index.ts";
import { WorkQueue, type WorkResult } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { isDeleting, keyOf, objectsAt, splitKey, textAt, timestamp } from "../values.ts";
import type { MemberControllerOptions } from "./statefulset.ts";

const PODS = "/pods";
const CLAIMS = "/persistentvolumeclaims";

/** Annotations by which one pod, or a template, sets its own times. */
export const POD_TIMES = {
  startMs: "lockstep.test/start-ms",
  stopMs: "lockstep.test/stop-ms",
} as const;

export interface KubeletOptions extends Omit<MemberControllerOptions, "reactionMs"> {
  readonly node: string;
  /** From a pod's creation to readiness, unless its annotation says otherwise. */
  readonly startMs: number;
  /** From a pod's deletion to its end. */
  readonly stopMs: number;
}

/**
 * A simulated node: it takes every pod, has it running and ready after a set time, and gone a set time after its
 * deletion. A pod whose image contains "broken" runs and never gets ready. Claims are bound at once.
 */
export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #queue: WorkQueue;
  /** When each pod began to start or to stop, by uid: its times count from there. */
  readonly #since = new Map<string, number>();

  constructor(options: KubeletOptions) {
    const { api, clock, random, log } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, log, concurrency: 1, work: (key) => this.#attend(key) });
    api.on(PODS, ({ type, key, object }) => {
      if (type === "DELETED") this.#forget(object);
      else this.#queue.add(keyOf(key.namespace, key.name));
    });
    api.on(CLAIMS, ({ type, object }) => {
      if (type === "ADDED")
        this.#queue.add(`${CLAIM_KEY}${keyOf(object.metadata.namespace ?? "", object.metadata.name)}`);
    });
  }

  start(): void {
    this.#queue.start();
    this.attendAll();
  }

  /** After the API server came back. */
  attendAll(): void {
    for (const { metadata } of this.#options.api.list(PODS)) {
      this.#queue.add(keyOf(metadata.namespace ?? "", metadata.name));
    }
  }

  stop(): Promise<void> {
    return this.#queue.shutdown();
  }

  async #attend(key: string): Promise<WorkResult | undefined> {
    if (!this.#options.isUp()) return undefined;
    if (key.startsWith(CLAIM_KEY)) return this.#bindClaim(key.slice(CLAIM_KEY.length));
    const { api } = this.#options;
    const { namespace, name } = splitKey(key);
    const pod = api.get(PODS, namespace, name);
    if (!pod) return undefined;
    if (isDeleting(pod)) {
      const leftMs = this.#leftMs(pod, "stop");
      if (leftMs > 0) return { requeueAfterMs: leftMs };
      await api.delete(pod, { gracePeriodSeconds: 0 });
      return undefined;
    }
    if (textAt(pod, "spec", "nodeName") === "") {
      await api.update({ ...pod, spec: { ...(pod.spec as JsonObject), nodeName: this.#options.node } });
    }
    if (textAt(pod, "status", "phase") !== "Pending") return undefined;
    const leftMs = this.#leftMs(pod, "start");
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const bound = api.get(PODS, namespace, name);
    if (bound && bound.metadata.uid === pod.metadata.uid) await this.#run(bound);
    return undefined;
  }

  async #run(pod: KubeObject): Promise<void> {
    const { api, clock } = this.#options;
    const containers = objectsAt(pod, "spec", "containers");
    const ready = !containers.some((container) => textAt(container, "image").includes("broken"));
    const now = timestamp(clock.now());
    const condition = (type: string, holds: boolean) => ({
      type,
      status: holds ? "True" : "False",
      lastTransitionTime: now,
    });
    const { resourceVersion: _any, ...metadata } = pod.metadata;
    await api.updateStatus({
      ...pod,
      metadata,
      status: {
        phase: "Running",
        startTime: now,
        conditions: [
          condition("PodScheduled", true),
          condition("Initialized", true),
          condition("ContainersReady", ready),
          condition("Ready", ready),
        ],
        containerStatuses: containers.map((container) => ({
          name: textAt(container, "name"),
          image: textAt(container, "image"),
          imageID: textAt(container, "image"),
          ready,
          started: ready,
          restartCount: 0,
          state: { running: { startedAt: now } },
        })),
      },
    });
  }

  async #bindClaim(key: string): Promise<undefined> {
    const { api } = this.#options;
    const { namespace, name } = splitKey(key);
    const claim = api.get(CLAIMS, namespace, name);
    if (!claim || isDeleting(claim)) return undefined;
    const { resourceVersion: _any, ...metadata } = claim.metadata;
    await api.updateStatus({ ...claim, metadata, status: { phase: "Bound" } });
    return undefined;
  }

  #leftMs(pod: KubeObject, what: "start" | "stop"): number {
    const { clock, startMs, stopMs } = this.#options;
    const own = Number(pod.metadata.annotations?.[what === "start" ? POD_TIMES.startMs : POD_TIMES.stopMs]);
    const takesMs = Number.isFinite(own) ? own : what === "start" ? startMs : stopMs;
    const key = `${pod.metadata.uid}/${what}`;
    const nowMs = clock.monotonicMs();
    const sinceMs = this.#since.get(key) ?? nowMs;
    this.#since.set(key, sinceMs);
    return sinceMs + takesMs - nowMs;
  }

  #forget(pod: KubeObject): void {
    this.#since.delete(`${pod.metadata.uid}/start`);
    this.#since.delete(`${pod.metadata.uid}/stop`);
  }
}

/** No namespace begins with a colon, so that claims and pods can share the queue. */
const CLAIM_KEY = ":claim:";

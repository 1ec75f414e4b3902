import type { KubeObject } from "../../apiserver/index.ts";
import { WorkQueue } from "../../kube/index.ts";
import { type JsonObject, sameJson, timestamp } from "../../runtime/index.ts";
import { isDeleting, keyOf, objectAt, objectsAt, splitKey, textAt, withCondition } from "../values.ts";
import type { MemberControllerOptions } from "./owner-queue.ts";
import { hasEnded } from "./pods.ts";
import type { PodRuntime, PodState } from "./runtime.ts";

const PODS = "/pods";
const CLAIMS = "/persistentvolumeclaims";

export interface KubeletOptions extends Omit<MemberControllerOptions, "reactionMs"> {
  readonly node: string;
  readonly runtime: PodRuntime;
}

/** A node: it takes every pod, lets its runtime run it, and reports to the API server. Claims are bound at once. */
export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #queue: WorkQueue;
  /** The pods that the runtime has, by uid, and its last report. */
  readonly #states = new Map<string, PodState | "starting">();
  readonly #ends = new Map<string, "ending" | "ended">();

  constructor(options: KubeletOptions) {
    const { api, clock, random, log } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, log, concurrency: 1, work: (key) => this.#attend(key) });
    api.on(PODS, ({ type, key, object }) => {
      if (type === "DELETED") this.#forget(object);
      else this.#queue.add(keyOf(key.namespace, key.name));
    });
    api.on(CLAIMS, ({ type, key }) => {
      if (type === "ADDED") this.#queue.add(CLAIM_KEY + keyOf(key.namespace, key.name));
    });
  }

  start(): void {
    this.#queue.start();
    this.attendAll();
  }

  /** After the API server returned: pods kept running, and their changes are reported now. */
  attendAll(): void {
    for (const [resource, mark] of [
      [PODS, ""],
      [CLAIMS, CLAIM_KEY],
    ] as const) {
      for (const { metadata } of this.#options.api.list(resource)) {
        this.#queue.add(mark + keyOf(metadata.namespace ?? "", metadata.name));
      }
    }
  }

  /** Undefined: no such pod. */
  log(namespace: string, name: string): string | undefined {
    const pod = this.#options.api.get(PODS, namespace, name);
    return pod && this.#options.runtime.log(pod);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#queue.shutdown(), this.#options.runtime.stop()]);
  }

  async #attend(key: string): Promise<undefined> {
    const { api, node, isUp } = this.#options;
    if (!isUp()) return undefined;
    if (key.startsWith(CLAIM_KEY)) return this.#bindClaim(key.slice(CLAIM_KEY.length));
    const { namespace, name } = splitKey(key);
    const pod = api.get(PODS, namespace, name);
    if (!pod) return undefined;
    if (isDeleting(pod)) return this.#end(pod, key);
    if (textAt(pod, "spec", "nodeName") === "") {
      await api.update({ ...pod, spec: { ...objectAt(pod, "spec"), nodeName: node } });
      return undefined; // the pod's change triggers it again
    }
    this.#run(pod, key);
    const state = this.#states.get(pod.metadata.uid ?? "");
    if (state !== undefined && state !== "starting") await this.#tell(pod, state);
    return undefined;
  }

  #run(pod: KubeObject, key: string): void {
    const uid = pod.metadata.uid ?? "";
    if (this.#states.has(uid)) return;
    this.#states.set(uid, "starting");
    if (hasEnded(pod)) return;
    const again = textAt(pod, "status", "phase") === "Running";
    const report = (state: PodState) => {
      if (!this.#states.has(uid)) return;
      this.#states.set(uid, state);
      this.#queue.add(key);
    };
    this.#options.runtime.run(pod, report, again);
  }

  async #end(pod: KubeObject, key: string): Promise<undefined> {
    const uid = pod.metadata.uid ?? "";
    if (this.#ends.get(uid) === "ended") {
      await this.#options.api.delete(pod, { gracePeriodSeconds: 0 });
    } else if (!this.#ends.has(uid)) {
      this.#ends.set(uid, "ending");
      this.#options.runtime.end(pod).then(
        () => {
          this.#ends.set(uid, "ended");
          this.#queue.add(key);
        },
        () => {}, // the node shuts down
      );
    }
    return undefined;
  }

  async #tell(pod: KubeObject, { ready, restarts, message, waiting, exitCode, isOver }: PodState): Promise<void> {
    const { api, clock } = this.#options;
    const nowMs = clock.now();
    const before = objectAt(pod, "status");
    const startTime = textAt(before, "startTime") || timestamp(nowMs);
    let conditions: JsonObject[] = objectsAt(before, "conditions");
    for (const type of ["PodScheduled", "Initialized", "ContainersReady", "Ready"]) {
      const isTrue = type === "PodScheduled" || type === "Initialized" || ready;
      const why = { reason: "ContainersNotReady", ...(message !== undefined && { message }) };
      const condition = { type, status: isTrue ? "True" : "False", ...(!isTrue && why) };
      conditions = withCondition(conditions, condition, nowMs);
    }
    const containerStatuses = objectsAt(pod, "spec", "containers").map((container) => ({
      name: textAt(container, "name"),
      image: textAt(container, "image"),
      imageID: textAt(container, "image"),
      ready,
      started: ready,
      restartCount: restarts,
      state: isOver
        ? {
            terminated: {
              exitCode: exitCode ?? 0,
              reason: exitCode === 0 ? "Completed" : "Error",
              startedAt: startTime,
            },
          }
        : waiting === undefined
          ? { running: { startedAt: startTime } }
          : { waiting: { reason: waiting, message } },
      ...(exitCode !== undefined &&
        !isOver && {
          lastState: { terminated: { exitCode, reason: "Error", finishedAt: startTime } },
        }),
    }));
    // A container that has never run leaves its pod Pending.
    const current = waiting !== undefined && exitCode === undefined ? "Pending" : "Running";
    const phase = isOver ? (exitCode === 0 ? "Succeeded" : "Failed") : current;
    const status = { ...before, phase, startTime, conditions, containerStatuses };
    if (sameJson(before, status)) return;
    const { resourceVersion: _any, ...metadata } = pod.metadata;
    await api.updateStatus({ ...pod, metadata, status });
  }

  async #bindClaim(key: string): Promise<undefined> {
    const { api } = this.#options;
    const { namespace, name } = splitKey(key);
    const claim = api.get(CLAIMS, namespace, name);
    if (!claim || isDeleting(claim) || textAt(claim, "status", "phase") === "Bound") return undefined;
    const { resourceVersion: _any, ...metadata } = claim.metadata;
    await api.updateStatus({ ...claim, metadata, status: { phase: "Bound" } });
    return undefined;
  }

  #forget(pod: KubeObject): void {
    const uid = pod.metadata.uid ?? "";
    this.#states.delete(uid);
    // A pod that was removed by force is gone from the server, but is still ended here.
    if (!this.#ends.delete(uid)) this.#options.runtime.end(pod).catch(() => {});
  }
}

/** No namespace starts with a colon, so claims and pods can share the queue. */
const CLAIM_KEY = ":claim:";

import type { KubeObject } from "../../apiserver/index.ts";
import type { Clock } from "../../runtime/index.ts";
import { objectsAt, textAt } from "../values.ts";

/** What a node says about one pod. */
export interface PodState {
  readonly ready: boolean;
  readonly restarts: number;
  /** Why it is not ready, where somebody knows. */
  readonly message?: string;
}

/** Runs pods. The kubelet decides when, and tells the API server what came of it. */
export interface PodRuntime {
  /**
   * Takes a pod, once, and reports whenever its state changes. `again`: it ran before this process did, and the API
   * server already says so.
   */
  run(pod: KubeObject, report: (state: PodState) => void, again: boolean): void;
  /** Ends a pod; resolves when nothing of it runs any more. Also for a pod that it never ran. */
  end(pod: KubeObject): Promise<void>;
  /** Ends everything, as the machine does when it goes down. */
  stop(): Promise<void>;
}

/** Annotations by which one pod, or a template, sets its own times. */
export const POD_TIMES = {
  startMs: "lockstep.test/start-ms",
  stopMs: "lockstep.test/stop-ms",
} as const;

export interface SimulatedRuntimeOptions {
  readonly clock: Clock;
  /** From a pod's arrival to readiness, unless its annotation says otherwise. */
  readonly startMs: number;
  /** From a pod's deletion to its end. */
  readonly stopMs: number;
}

/**
 * Nothing runs; times pass. A pod is ready after a set time, and gone a set time after its deletion. One whose image
 * contains "broken" runs and never gets ready.
 */
export class SimulatedRuntime implements PodRuntime {
  readonly #options: SimulatedRuntimeOptions;
  readonly #stopped = new AbortController();
  /** Pods that are starting, by uid. */
  readonly #starting = new Map<string, AbortController>();

  constructor(options: SimulatedRuntimeOptions) {
    this.#options = options;
  }

  run(pod: KubeObject, report: (state: PodState) => void, again: boolean): void {
    if (again) return;
    const uid = pod.metadata.uid ?? "";
    const abort = new AbortController();
    this.#starting.set(uid, abort);
    const isBroken = objectsAt(pod, "spec", "containers").some((each) => textAt(each, "image").includes("broken"));
    this.#options.clock.sleep(timeOf(pod, POD_TIMES.startMs, this.#options.startMs), abort.signal).then(
      () => {
        this.#starting.delete(uid);
        report({ ready: !isBroken, restarts: 0 });
      },
      () => {}, // ended before it was ready
    );
  }

  async end(pod: KubeObject): Promise<void> {
    this.#starting.get(pod.metadata.uid ?? "")?.abort();
    await this.#options.clock.sleep(timeOf(pod, POD_TIMES.stopMs, this.#options.stopMs), this.#stopped.signal);
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error("the node goes down"));
    for (const abort of this.#starting.values()) abort.abort();
    this.#starting.clear();
  }
}

function timeOf(pod: KubeObject, annotation: string, usualMs: number): number {
  const own = Number(pod.metadata.annotations?.[annotation]);
  return Number.isFinite(own) ? own : usualMs;
}

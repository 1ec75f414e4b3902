import type { KubeObject } from "../../apiserver/index.ts";
import type { Clock } from "../../runtime/index.ts";
import { objectsAt, textAt } from "../values.ts";

/** A node's report on one pod. */
export interface PodState {
  readonly ready: boolean;
  readonly restarts: number;
  /** Why it is not ready, if the runtime knows. */
  readonly message?: string;
  /** Its container does not run, and waits for this: a word for programs. */
  readonly waiting?: string;
  /** How it ended the last time. */
  readonly exitCode?: number;
  /** It has ended for good, with `exitCode`: its restartPolicy does not let it start again. */
  readonly isOver?: boolean;
}

/** Runs pods. The kubelet decides when, and reports the result to the API server. */
export interface PodRuntime {
  /**
   * Takes a pod, once, and reports whenever its state changes. `again`: it ran before this process did, and the API
   * server already shows it.
   */
  run(pod: KubeObject, report: (state: PodState) => void, again: boolean): void;
  /** Ends a pod; resolves when no part of it runs any more. Also for a pod that it never ran. */
  end(pod: KubeObject): Promise<void>;
  /** Ends everything, as when the machine shuts down. */
  stop(): Promise<void>;
  /** What the pod has written, or the end of it. */
  log(pod: KubeObject): string;
}

/** Annotations by which one pod, or a template, sets its own times. */
export const POD_TIMES = {
  startMs: "lockstep.test/start-ms",
  stopMs: "lockstep.test/stop-ms",
  /** From readiness to its end, of a pod that ends. */
  runMs: "lockstep.test/run-ms",
} as const;

export interface SimulatedRuntimeOptions {
  readonly clock: Clock;
  /** From a pod's arrival to readiness, unless its annotation says otherwise. */
  readonly startMs: number;
  /** From a pod's deletion to its end. */
  readonly stopMs: number;
}

/** How long a simulated pod of a Job works, unless its annotation says otherwise. */
const RUN_MS = 1_000;

/** Whether a container that has ended with this code starts again. */
export function restarts(pod: KubeObject, exitCode: number): boolean {
  const policy = textAt(pod, "spec", "restartPolicy");
  return policy === "Never" ? false : policy !== "OnFailure" || exitCode !== 0;
}

/** Images that make a simulated pod fail, like real ones: the word may be anywhere in the name or the tag. */
const FAULTS: readonly { readonly word: string; readonly of: (image: string) => PodState }[] = [
  {
    word: "broken",
    of: () => ({
      ready: false,
      restarts: 1,
      waiting: "CrashLoopBackOff",
      message: "back-off 10s restarting failed container",
      exitCode: 1,
    }),
  },
  {
    word: "missing",
    of: (image) => ({
      ready: false,
      restarts: 0,
      waiting: "ImagePullBackOff",
      message: `Back-off pulling image "${image}": not found`,
    }),
  },
];

/**
 * Nothing runs; only time passes. A pod is ready after a set time, and gone a set time after its deletion. A pod whose
 * image contains "broken" exits again and again; an image that contains "missing" cannot be pulled.
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
    this.#live(pod, report, abort.signal).then(
      () => this.#starting.delete(uid),
      () => {}, // ended from outside
    );
  }

  async #live(pod: KubeObject, report: (state: PodState) => void, signal: AbortSignal): Promise<void> {
    const { clock, startMs } = this.#options;
    await clock.sleep(timeOf(pod, POD_TIMES.startMs, startMs), signal);
    const fault = faultOf(pod);
    if (fault) {
      return report({
        ...fault,
        ...(fault.exitCode !== undefined && !restarts(pod, fault.exitCode) && { isOver: true }),
      });
    }
    report({ ready: true, restarts: 0 });
    if (restarts(pod, 0)) return;
    await clock.sleep(timeOf(pod, POD_TIMES.runMs, RUN_MS), signal);
    report({ ready: false, restarts: 0, exitCode: 0, isOver: true });
  }

  async end(pod: KubeObject): Promise<void> {
    this.#starting.get(pod.metadata.uid ?? "")?.abort();
    await this.#options.clock.sleep(timeOf(pod, POD_TIMES.stopMs, this.#options.stopMs), this.#stopped.signal);
  }

  log(pod: KubeObject): string {
    const images = objectsAt(pod, "spec", "containers").map((each) => textAt(each, "image"));
    const lines = [`simulated: ${pod.metadata.name} would run ${images.join(", ")}`];
    const fault = faultOf(pod);
    if (fault?.exitCode !== undefined)
      lines.push(`simulated: this image fails on purpose, with exit code ${fault.exitCode}`);
    return `${lines.join("\n")}\n`;
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error("the node goes down"));
    for (const abort of this.#starting.values()) abort.abort();
    this.#starting.clear();
  }
}

/** How a pod with such an image fails; undefined: it does not. */
export function faultOf(pod: KubeObject): PodState | undefined {
  for (const container of objectsAt(pod, "spec", "containers")) {
    const image = textAt(container, "image");
    const found = FAULTS.find(({ word }) => image.includes(word));
    if (found) return found.of(image);
  }
  return undefined;
}

function timeOf(pod: KubeObject, annotation: string, usualMs: number): number {
  const own = Number(pod.metadata.annotations?.[annotation]);
  return Number.isFinite(own) ? own : usualMs;
}

/** Follows the pods of Jobs in every member, read from the member itself, also while the hub cannot reach it. */
import type { Api } from "../stack/api.ts";
import type { World } from "./world.ts";

export interface PodRun {
  readonly cluster: string;
  readonly pod: string;
  /** The attempt's Job. */
  readonly job: string;
  /** In the Job's own numbers. */
  readonly index: string | undefined;
  readonly fromMs: number;
  toMs?: number;
  phase: string;
}

interface Pod {
  readonly metadata: { uid: string; name: string; labels?: Record<string, string> };
  readonly status?: { phase?: string };
}

export class JobPods {
  readonly #runs = new Map<string, PodRun>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[];

  constructor(world: World) {
    this.#running = [...world.stack.members].map(([cluster, api]) => this.#follow(cluster, api));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#running);
  }

  /** Every pod that ever ran for this work, in the order of their starts. */
  of(name: string): PodRun[] {
    return [...this.#runs.values()]
      .filter(({ job }) => new RegExp(`^${name}-[0-9a-f]{5}-\\d+$`).test(job))
      .sort((a, b) => a.fromMs - b.fromMs);
  }

  clusters(name: string): string[] {
    return [...new Set(this.of(name).map(({ cluster }) => cluster))];
  }

  async #follow(cluster: string, api: Api): Promise<void> {
    for await (const { type, object } of api.watch("/api/v1/namespaces/default/pods", this.#stop.signal)) {
      const { metadata, status } = object as unknown as Pod;
      const job = metadata.labels?.["batch.kubernetes.io/job-name"];
      const phase = status?.phase ?? "";
      if (job === undefined || phase === "Pending" || phase === "") continue;
      const run = this.#runs.get(metadata.uid) ?? {
        cluster,
        pod: metadata.name,
        job,
        index: metadata.labels?.["batch.kubernetes.io/job-completion-index"],
        fromMs: Date.now(),
        phase,
      };
      run.phase = phase;
      if (type === "DELETED" || phase !== "Running") run.toMs ??= Date.now();
      this.#runs.set(metadata.uid, run);
    }
  }
}

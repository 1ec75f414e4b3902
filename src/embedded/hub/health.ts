import { KUBERNETES_VERSION, type KubeObject } from "../../apiserver/index.ts";
import { type Clock, type JsonObject, sameJson, timestamp } from "../../runtime/index.ts";
import type { LocalApi } from "../local-api.ts";
import { conditionOf, objectAt, objectsAt, withCondition } from "../values.ts";
import { RESOURCES } from "./kinds.ts";

/** Push clusters are probed and found unreachable; a pull cluster's agent stops reporting, so its state is unknown. */
export type SyncMode = "Push" | "Pull";

export interface HealthOptions {
  readonly api: LocalApi;
  readonly clock: Clock;
  /** How long a cluster must be unreachable, or reachable again, before its condition changes. */
  readonly thresholdMs: number;
}

interface Verdict {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

const READY: Verdict = {
  status: "True",
  reason: "ClusterReady",
  message: "cluster is healthy and ready to accept workloads",
};
const NOT_REACHABLE: Verdict = { status: "False", reason: "ClusterNotReachable", message: "cluster is not reachable" };
const SILENT: Verdict = {
  status: "Unknown",
  reason: "ClusterStatusUnknown",
  message: "Cluster status controller stopped posting cluster status.",
};

/** What Karmada also reports of a cluster. Every member has one simulated node. */
const REPORTED = { kubernetesVersion: KUBERNETES_VERSION, nodeSummary: { totalNum: 1, readyNum: 1 } };

const TAINTS: Readonly<Record<Verdict["status"], string | undefined>> = {
  True: undefined,
  False: "cluster.karmada.io/not-ready",
  Unknown: "cluster.karmada.io/unreachable",
};

/**
 * Karmada's cluster health: the Ready condition and the taints that follow from it. Driven by changes, not by polling.
 */
export class ClusterHealth {
  readonly #options: HealthOptions;
  readonly #waiting = new Map<string, AbortController>();

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** A cluster that joins, or that the fleet starts with, is Ready at once. */
  async joined(cluster: string): Promise<void> {
    await this.#write(cluster, READY);
  }

  /** The connection to a cluster has opened or closed. */
  changed(cluster: string, mode: SyncMode, reachable: boolean): void {
    this.#waiting.get(cluster)?.abort();
    const abort = new AbortController();
    this.#waiting.set(cluster, abort);
    const verdict = reachable ? READY : mode === "Push" ? NOT_REACHABLE : SILENT;
    this.#options.clock.sleep(this.#options.thresholdMs, abort.signal).then(
      () => this.#write(cluster, verdict),
      () => {},
    );
  }

  stop(): void {
    for (const abort of this.#waiting.values()) abort.abort();
    this.#waiting.clear();
  }

  async #write(name: string, verdict: Verdict): Promise<void> {
    const { api, clock } = this.#options;
    const found = api.get(RESOURCES.clusters, "", name);
    if (!found) return;
    const tainted = { ...found, spec: { ...objectAt(found, "spec"), taints: taintsFor(found, verdict, clock.now()) } };
    if (!sameJson(tainted.spec, found.spec)) await api.update(tainted);
    const cluster = api.get(RESOURCES.clusters, "", name);
    if (!cluster || conditionOf(cluster, "Ready")?.status === verdict.status) return;
    const conditions = withCondition(
      objectsAt(cluster, "status", "conditions"),
      { type: "Ready", ...verdict },
      clock.now(),
    );
    await api.updateStatus({ ...cluster, status: { ...objectAt(cluster, "status"), ...REPORTED, conditions } });
  }
}

function taintsFor(cluster: KubeObject, { status }: Verdict, nowMs: number): JsonObject[] {
  const derived = new Set(Object.values(TAINTS));
  const others = objectsAt(cluster, "spec", "taints").filter(({ key }) => typeof key !== "string" || !derived.has(key));
  const key = TAINTS[status];
  return key === undefined ? others : [...others, { key, effect: "NoSchedule", timeAdded: timestamp(nowMs) }];
}

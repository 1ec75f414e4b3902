import type { ClusterName, Evidence, ReasonCode, TimeMs, Waiting, Waits } from "../rollout/index.ts";
import type { ClusterEntry, ClusterSeen, Grant, Intent, Ledger, Seen, Stage, WorkloadKey } from "./types.ts";

const NEW_ENTRY: ClusterEntry = {
  grant: null,
  deployed: null,
  done: false,
  healthySinceMs: null,
  progress: null,
  failed: null,
  short: {},
  out: {},
};

/** A plan in the making: the ledger as it will be, and what has been said so far. */
export class Draft implements Waits {
  readonly reasons: Waiting[] = [];
  readonly releases: ClusterName[] = [];
  /** Replicas that clusters run for others, by workload. */
  readonly lent: Record<WorkloadKey, Record<ClusterName, number>> = {};
  requeueAt: TimeMs | undefined;
  ledger: Ledger;
  readonly intent: Intent;
  readonly seen: Seen;
  readonly nowMs: TimeMs;

  constructor(intent: Intent, ledger: Ledger, seen: Seen, nowMs: TimeMs) {
    this.intent = intent;
    this.ledger = ledger;
    this.seen = seen;
    this.nowMs = nowMs;
  }

  wait(
    code: ReasonCode,
    cluster: ClusterName | undefined,
    message: string,
    remedy: string,
    evidence: readonly Evidence[],
  ): void {
    this.reasons.push({ code, ...(cluster !== undefined && { cluster }), message, remedy, evidence });
  }

  wakeAt(atMs: TimeMs | undefined): void {
    if (atMs !== undefined && atMs > this.nowMs && !(this.requeueAt !== undefined && this.requeueAt <= atMs)) {
      this.requeueAt = atMs;
    }
  }

  set(change: Partial<Ledger>): void {
    this.ledger = { ...this.ledger, ...change };
  }

  entry(cluster: ClusterName): ClusterEntry {
    return Object.hasOwn(this.ledger.clusters, cluster) ? (this.ledger.clusters[cluster] ?? NEW_ENTRY) : NEW_ENTRY;
  }

  change(cluster: ClusterName, change: Partial<ClusterEntry>): void {
    const clusters = { ...this.ledger.clusters, [cluster]: { ...this.entry(cluster), ...change } };
    this.set({ clusters });
  }

  forget(cluster: ClusterName): void {
    const { [cluster]: _gone, ...clusters } = this.ledger.clusters;
    this.set({ clusters });
  }

  /** Every change of a grant has an epoch of its own: nothing that a member shows of an earlier one counts for it. */
  grant(cluster: ClusterName, grant: Omit<Grant, "epoch" | "step"> & { readonly step?: number }): void {
    const epoch = this.ledger.epoch + 1;
    this.set({ epoch });
    this.change(cluster, { grant: { ...grant, epoch, step: grant.step ?? epoch } });
  }

  /** Undefined: nothing is known about the cluster now. */
  view(cluster: ClusterName): ClusterSeen | undefined {
    return Object.hasOwn(this.seen.clusters, cluster) ? this.seen.clusters[cluster] : undefined;
  }

  isReady(cluster: ClusterName): boolean {
    return this.fact(cluster)?.state === "Ready" && this.view(cluster) !== undefined;
  }

  fact(cluster: ClusterName) {
    return Object.hasOwn(this.seen.fleet, cluster) ? this.seen.fleet[cluster] : undefined;
  }

  stages({ grant }: ClusterEntry, cluster: ClusterName): readonly Stage[] | undefined {
    return grant ? this.intent.stages(grant.revision, cluster, grant.mode) : undefined;
  }

  get chosen(): readonly ClusterName[] {
    return this.intent.clusters.kind === "known" ? this.intent.clusters.names : Object.keys(this.ledger.clusters);
  }
}

export function isRemoving({ grant }: ClusterEntry): boolean {
  return grant?.mode === "Delete";
}

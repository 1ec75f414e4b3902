import type { Engine } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { TemplateRevision } from "../../../plan/index.ts";
import { type Clock, type Log, type Random, retryDelayMs } from "../../../runtime/index.ts";
import type { Owner } from "../../common/owner.ts";
import type { RevisionStore, StoredRevision } from "../../common/revisions/revision-store.ts";

export interface DryRunOptions {
  readonly engine: Engine;
  readonly store: RevisionStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly changed: (appKey: string) => void;
}

/** After so many failures in a row a member is not asked again: the rollout's first gate will show the result. */
const DRY_RUN_ATTEMPTS = 4;
const DRY_RUN_RETRY_BASE_MS = 1_000;
const DRY_RUN_RETRY_MAX_MS = 10_000;

type DryRunState =
  | { readonly kind: "running" }
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly message: string };

/** [U1] Asks a member's API server in the background whether it would take a revision. */
export class DryRuns {
  readonly #options: DryRunOptions;
  readonly #states = new Map<string, DryRunState>();

  constructor(options: DryRunOptions) {
    this.#options = options;
  }

  of(appKey: string, owner: Owner, stored: StoredRevision, clusters: readonly string[]): TemplateRevision {
    const { id } = stored;
    if (stored.dryRun === "accepted") return { kind: "ready", id };
    const key = `${owner.namespace}/${id}`;
    const state = this.#states.get(key);
    switch (state?.kind) {
      case "accepted":
        return { kind: "ready", id };
      case "refused":
        return { kind: "refused", id, message: state.message };
      case "running":
        break;
      case undefined:
        if (clusters.length === 0) return { kind: "pending", id, message: "no Ready cluster to try the revision on" };
        this.#states.set(key, { kind: "running" });
        void this.#tryOn(appKey, key, owner, stored, clusters);
    }
    return { kind: "pending", id, message: "a member's API server is asked whether it takes the revision" };
  }

  async #tryOn(
    appKey: string,
    key: string,
    owner: Owner,
    stored: StoredRevision,
    clusters: readonly string[],
  ): Promise<void> {
    const { clock, random, store, engine, log, signal } = this.#options;
    for (let attempt = 0; attempt < DRY_RUN_ATTEMPTS && !signal.aborted; attempt++) {
      try {
        const content = await store.content(owner, stored.id);
        const cluster = clusters[attempt % clusters.length];
        if (!content || cluster === undefined) break;
        const outcome = await engine.member(cluster).dryRun(content.template as unknown as KubeObject);
        if (outcome.kind === "refused") return this.#settle(appKey, key, outcome);
        if (outcome.kind === "unsupported") break;
        if (outcome.kind === "accepted") {
          store.markAccepted(owner, stored.id);
          return this.#settle(appKey, key, outcome);
        }
        log.info("a dry run could not be made", { revision: key, cluster, reason: outcome.message });
      } catch (error) {
        log.warn("a dry run failed", { revision: key, reason: error instanceof Error ? error.message : String(error) });
      }
      const pauseMs = retryDelayMs(attempt, DRY_RUN_RETRY_BASE_MS, DRY_RUN_RETRY_MAX_MS, random);
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
    // No member could be asked (rights, reachability): the first cluster's own answer decides, before any second one.
    this.#settle(appKey, key, { kind: "accepted" });
  }

  #settle(appKey: string, key: string, state: DryRunState): void {
    this.#states.set(key, state);
    this.#options.changed(appKey);
  }
}

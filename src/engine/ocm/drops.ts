/** Whether a Placement has removed a cluster, or has only not decided again since the cluster was away. */
import type { KubeClient, KubeObject } from "../../kube/index.ts";
import { type Clock, isJsonObject, type JsonObject, type Log } from "../../runtime/index.ts";
import { conditionsOf } from "../dispatch-objects.ts";
import type { EngineOwner, Kept } from "../port.ts";
import { AVAILABLE, DERIVED_TAINTS, isWell } from "./clusters.ts";
import { readPlacement } from "./placements.ts";
import { MANAGED_CLUSTERS, PLACEMENT_DECISIONS, PLACEMENT_LABEL, PLACEMENTS } from "./resources.ts";

/**
 * OCM first calls a cluster that is back available, then removes its taint, then the Placement decides; each takes less
 * than a second on a hub that works. Two readings this far apart must agree.
 */
export const SETTLING_MS = 30_000;

/** A cluster's agent writes the time of its return with its own clock, which may be wrong by as much. */
const CLOCKS_DIFFER_MS = 5 * 60_000;

/** A Placement that has not decided for so long probably will not: then a user is asked. */
export const STUCK_MS = 5 * 60_000;

/** An application whose Placement left a cluster out, and that has not been planned for so long, needs no more readings. */
const ASKED_MS = 15 * 60_000;

/** A Placement and a cluster that it does not select, as the hub or a cache shows them. */
export interface Dropped {
  readonly cluster: KubeObject | undefined;
  readonly placement: KubeObject | undefined;
  readonly decisions: readonly KubeObject[];
}

type Subject = { readonly namespace: string; readonly placement: string; readonly cluster: string };

interface Trial {
  readonly subject: Subject;
  /** Whom it is news. */
  readonly owners: Map<string, EngineOwner>;
  /** Since when the same has been shown, on the monotonic clock. */
  sinceMs: number;
  askedMs: number;
  /** What the last reading showed, and what speaks against a removal. */
  last: { readonly shown: string; readonly doubt: string | undefined } | undefined;
  /** What two readings in a row showed, that proves the removal. */
  proven: string | undefined;
  wasStuck: boolean;
}

export interface DropsOptions {
  readonly hub: Pick<KubeClient, "find" | "listAll">;
  readonly clock: Clock;
  readonly log: Log;
  readonly changed: (owner: EngineOwner) => void;
}

/**
 * A cluster that holds instances and that its Placement does not select is drained only if two readings of the hub,
 * without caches and SETTLING_MS apart, prove that the Placement decided so for the cluster as it is now. Otherwise the
 * Placement may have dropped it because it was away.
 */
export class Drops {
  readonly #options: DropsOptions;
  readonly #trials = new Map<string, Trial>();
  #signal: AbortSignal | undefined;

  constructor(options: DropsOptions) {
    this.#options = options;
  }

  run(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** Why the cluster stays; undefined: it is proven that the Placement removed it. `cached`: as the caches show it. */
  kept(owner: EngineOwner, cluster: string, cached: Dropped): Kept | undefined {
    const subject = { namespace: owner.namespace, placement: owner.placement ?? "", cluster };
    const what = `Placement ${subject.namespace}/${subject.placement} does not select ${cluster}`;
    const doubt = doubtOf(subject, cached);
    if (doubt !== undefined) return { message: `${what}, but may not have removed it: ${doubt}`, isStuck: false };
    const nowMs = this.#options.clock.monotonicMs();
    const trial = this.#trials.get(keyOf(subject)) ?? this.#begin(subject, nowMs);
    trial.owners.set(`${owner.kind} ${owner.name}`, owner);
    trial.askedMs = nowMs;
    // The proof is about what was read. What the caches show must be just that.
    if (trial.proven !== undefined && trial.proven === shownBy(cached)) return undefined;
    const next = trial.last?.doubt ?? `the hub is read again after ${SETTLING_MS / 1000} s, to be sure of it`;
    return { message: `${what}, but may not have removed it: ${next}`, isStuck: this.#isStuck(trial) };
  }

  #begin(subject: Subject, nowMs: number): Trial {
    const trial: Trial = {
      subject,
      owners: new Map(),
      sinceMs: nowMs,
      askedMs: nowMs,
      last: undefined,
      proven: undefined,
      wasStuck: false,
    };
    const signal = this.#signal;
    // Before anything runs, nothing is read: a preview shows what is known now.
    if (signal && !signal.aborted) {
      this.#trials.set(keyOf(subject), trial);
      void this.#follow(trial, signal);
    }
    return trial;
  }

  async #follow(trial: Trial, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted && clock.monotonicMs() - trial.askedMs <= ASKED_MS) {
      const before = { doubt: trial.last?.doubt, proven: trial.proven };
      const read = await this.#read(trial.subject, signal);
      const isSame = read.doubt === undefined && trial.last?.doubt === undefined && trial.last?.shown === read.shown;
      trial.proven = isSame ? read.shown : undefined;
      if (trial.last?.shown !== read.shown) trial.sinceMs = clock.monotonicMs();
      trial.last = read;
      const isStuck = this.#isStuck(trial);
      const isNews = before.doubt !== read.doubt || before.proven !== trial.proven || isStuck !== trial.wasStuck;
      trial.wasStuck = isStuck;
      if (isNews) for (const owner of trial.owners.values()) this.#options.changed(owner);
      await clock.sleep(SETTLING_MS, signal).catch(() => {});
    }
    this.#trials.delete(keyOf(trial.subject));
  }

  async #read(subject: Subject, signal: AbortSignal): Promise<NonNullable<Trial["last"]>> {
    const { hub, log } = this.#options;
    const { namespace, placement: name } = subject;
    try {
      // The cluster first: a decision that is read later was made for a cluster that is at least as new.
      const cluster = await hub.find(MANAGED_CLUSTERS, { name: subject.cluster }, { signal });
      const placement = await hub.find(PLACEMENTS, { namespace, name }, { signal });
      const labelSelector = `${PLACEMENT_LABEL}=${name}`;
      const { items: decisions } = await hub.listAll(PLACEMENT_DECISIONS, { namespace, labelSelector, signal });
      const read = { cluster, placement, decisions };
      return { shown: shownBy(read), doubt: doubtOf(subject, read) ?? ageDoubt(read) };
    } catch (error) {
      log.debug("a Placement's decision could not be read", { ...subject, reason: String(error) });
      return { shown: "", doubt: `the hub could not be read: ${error instanceof Error ? error.message : error}` };
    }
  }

  #isStuck({ sinceMs }: Trial): boolean {
    return this.#options.clock.monotonicMs() - sinceMs >= STUCK_MS;
  }
}

function keyOf({ namespace, placement, cluster }: Subject): string {
  return `${namespace}/${placement} ${cluster}`;
}

/** One decision, and one stay of the cluster since it was last away. */
function shownBy({ cluster, decisions }: Dropped): string {
  const slices = decisions.map(({ metadata: { uid, resourceVersion } }) => `${uid}@${resourceVersion}`).sort();
  return JSON.stringify([cluster?.metadata.uid, String(availability(cluster)?.lastTransitionTime), slices]);
}

/** What speaks against a removal at this moment. */
function doubtOf({ namespace, placement: name, cluster: of }: Subject, seen: Dropped): string | undefined {
  const schedule = readPlacement({ namespace, placement: name }, seen.placement, seen.decisions);
  if (schedule.kind === "unknown") return schedule.message;
  if (schedule.clusters.some(({ cluster }) => cluster === of)) return "it is about to select it again";
  if (!seen.cluster || !isWell(seen.cluster)) return `${of} is not available, or has just come back`;
  return undefined;
}

/** Whether the decision may be older than the cluster's return. */
function ageDoubt({ cluster, placement, decisions }: Dropped): string | undefined {
  // Then no loss makes the Placement drop a cluster.
  if (placement && toleratesLoss(placement)) return undefined;
  const decidedMs = Math.max(...decisions.flatMap(statusTimes), ...decisions.map(creationMs));
  const reportedMs = Math.max(...(cluster ? statusTimes(cluster) : []));
  // Written after everything that was ever reported of the cluster, by the API server's clock alone.
  if (Number.isFinite(reportedMs) && decidedMs > reportedMs) return undefined;
  const backMs = Date.parse(String(availability(cluster)?.lastTransitionTime));
  if (decidedMs > backMs + CLOCKS_DIFFER_MS) return undefined;
  const { namespace, name } = placement?.metadata ?? {};
  return (
    "it decided before the cluster came back, and not since. " +
    `'kubectl delete placementdecision -n ${namespace} -l ${PLACEMENT_LABEL}=${name}' makes it decide again; ` +
    "with a toleration {operator: Exists} it does not drop clusters that are away"
  );
}

function toleratesLoss({ spec }: KubeObject): boolean {
  const tolerations =
    isJsonObject(spec) && Array.isArray(spec.tolerations) ? spec.tolerations.filter(isJsonObject) : [];
  return [...DERIVED_TAINTS].every((key) => tolerations.some((each) => tolerates(each, key)));
}

/** For good: a toleration with an end tolerates nothing afterwards. */
function tolerates(
  { key = "", operator, value = "", effect = "", tolerationSeconds }: JsonObject,
  taint: string,
): boolean {
  if (tolerationSeconds !== undefined && tolerationSeconds !== null) return false;
  if (effect !== "" && effect !== "NoSelect") return false;
  if (operator === "Exists") return key === "" || key === taint;
  return key === taint && value === "";
}

function availability(cluster: KubeObject | undefined): JsonObject | undefined {
  return cluster && conditionsOf(cluster).find(({ type }) => type === AVAILABLE);
}

/** When the API server accepted the last write of each writer of the status. */
function statusTimes({ metadata }: KubeObject): number[] {
  const { managedFields } = metadata as { managedFields?: unknown };
  const entries = Array.isArray(managedFields) ? managedFields.filter(isJsonObject) : [];
  return entries.flatMap(({ subresource, time }) => {
    const atMs = subresource === "status" ? Date.parse(String(time)) : Number.NaN;
    return Number.isNaN(atMs) ? [] : [atMs];
  });
}

function creationMs({ metadata }: KubeObject): number {
  const atMs = Date.parse(String(metadata.creationTimestamp));
  return Number.isNaN(atMs) ? Number.NEGATIVE_INFINITY : atMs;
}

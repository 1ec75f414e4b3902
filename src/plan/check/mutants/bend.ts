import { Tally } from "../../limits/quorum.ts";
import { plan } from "../../plan.ts";
import type {
  ClusterEntry,
  ClusterName,
  Grant,
  Intent,
  Ledger,
  Observation,
  Observations,
  PlanResult,
  PresentObservation,
  RollingUpdate,
  TimeMs,
} from "../../types/index.ts";
import type { Planner } from "../explore/controller.ts";
import type { Property } from "../explore/properties/property.ts";

/**
 * A planner with one mistake, made by lying to the real one or by bending its answer. It must be caught: a rule that
 * nothing can break is not being watched.
 */
export interface Mutant {
  readonly name: string;
  /** A fresh one for every run. */
  readonly make: () => Planner;
  /** The scenario's name begins so. */
  readonly scenario: string;
  /** Explored from every stage of an undisturbed run, for it shows only far from the beginning. */
  readonly stages?: true;
  /** Watched without the others, one of these must catch it. */
  readonly caughtBy: ReadonlyArray<Pick<Property, "name">>;
  /** The mistake is the controller's: it dispatches before the ledger is written. */
  readonly dispatchFirst?: boolean;
  /** The mistake is the controller's: it does not stop what a former leader has in flight. */
  readonly unfenced?: boolean;
}

export function seeing(change: (seen: PresentObservation, entry: ClusterEntry | undefined) => Observation): Planner {
  return (intent, ledger, observations, nowMs) => {
    const clusters: Record<ClusterName, Observation> = {};
    for (const [cluster, seen] of Object.entries(observations.clusters)) {
      clusters[cluster] = seen.kind === "present" ? change(seen, ledger.clusters[cluster]) : seen;
    }
    return plan(intent, ledger, { ...observations, clusters }, nowMs);
  };
}

export function wanting(change: (intent: Intent, ledger: Ledger) => Intent): Planner {
  return (intent, ledger, observations, nowMs) => plan(change(intent, ledger), ledger, observations, nowMs);
}

export function remembering(change: (ledger: Ledger) => Ledger): Planner {
  return (intent, ledger, observations, nowMs) => plan(intent, change(ledger), observations, nowMs);
}

type Inputs = {
  readonly intent: Intent;
  readonly ledger: Ledger;
  readonly observations: Observations;
  readonly nowMs: TimeMs;
};

export function answering(change: (result: PlanResult, inputs: Inputs) => PlanResult): Planner {
  return (intent, ledger, observations, nowMs) =>
    change(plan(intent, ledger, observations, nowMs), { intent, ledger, observations, nowMs });
}

export function withEntries(
  ledger: Ledger,
  change: (entry: ClusterEntry, cluster: ClusterName) => ClusterEntry,
): Ledger {
  const clusters: Record<ClusterName, ClusterEntry> = {};
  for (const [cluster, entry] of Object.entries(ledger.clusters)) clusters[cluster] = change(entry, cluster);
  return { ...ledger, clusters };
}

/** Ledger and grants changed alike. */
export function withGrants(result: PlanResult, change: (grant: Grant) => Grant): PlanResult {
  const ledger = withEntries(result.ledger, (entry) =>
    entry.grant ? { ...entry, grant: change(entry.grant) } : entry,
  );
  return { ...result, ledger, grants: result.grants.map(change) };
}

export function rolling(intent: Intent, change: Partial<RollingUpdate>): Intent {
  return intent.update.type === "RollingUpdate" ? { ...intent, update: { ...intent.update, ...change } } : intent;
}

/** The planner with one method of its arithmetic replaced for the length of each call. */
export function counting<K extends "pendingElsewhere" | "keepsMajority" | "mayRepair">(
  method: K,
  other: Tally[K],
): Planner {
  return (intent, ledger, observations, nowMs) => {
    const honest = Tally.prototype[method];
    Tally.prototype[method] = other;
    try {
      return plan(intent, ledger, observations, nowMs);
    } finally {
      Tally.prototype[method] = honest;
    }
  };
}

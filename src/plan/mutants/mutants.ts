import type { Planner } from "../explore/controller.ts";
import { accidentsShrinkTheRoom, budgetHolds, lostVotersCount, majorityHolds } from "../explore/properties/down.ts";
import { nothingDeletedUnseen, releaseMovesNothing, teardownInReverse } from "../explore/properties/ends.ts";
import {
  epochsRise,
  gateIsHeld,
  gateNeedsTheWork,
  oneContentPerEpoch,
  turnsAreAcknowledged,
} from "../explore/properties/gates.ts";
import {
  identityIsKept,
  membershipGoesAlone,
  oneMembershipChange,
  onlyWhatWasGranted,
  topologyIsVersioned,
} from "../explore/properties/identity.ts";
import { leaderGoesLast, partitionIsGlobal, pauseHolds, wavesGoInOrder } from "../explore/properties/order.ts";
import type { Property } from "../explore/properties/property.ts";
import { everyWaitIsExplained, planningAgainChangesNothing } from "../explore/properties/purity.ts";
import { LIVENESS, PURITY } from "../explore/watch.ts";
import { plan } from "../plan.ts";
import { Tally } from "../quorum.ts";
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
} from "../types.ts";

/**
 * Planners with one mistake each, made by lying to the real one or by bending its answer. Each must be caught: a rule
 * that nothing can break is not being watched.
 */
export interface Mutant {
  readonly name: string;
  /** A fresh one for every run. */
  readonly make: () => Planner;
  /** The scenario's name begins so. */
  readonly scenario: string;
  /** Each of these alone, watched without the others, or one of them must catch it. */
  readonly caughtBy: ReadonlyArray<Pick<Property, "name">>;
  /** The mistake is the controller's: it dispatches before the ledger is written. */
  readonly dispatchFirst?: boolean;
}

// ---------------------------------------------------------------------------------------------------------------------
// Ways to lie, and to bend.

function seeing(change: (seen: PresentObservation, entry: ClusterEntry | undefined) => Observation): Planner {
  return (intent, ledger, observations, nowMs) => {
    const clusters: Record<ClusterName, Observation> = {};
    for (const [cluster, seen] of Object.entries(observations.clusters)) {
      clusters[cluster] = seen.kind === "present" ? change(seen, ledger.clusters[cluster]) : seen;
    }
    return plan(intent, ledger, { ...observations, clusters }, nowMs);
  };
}

function wanting(change: (intent: Intent, ledger: Ledger) => Intent): Planner {
  return (intent, ledger, observations, nowMs) => plan(change(intent, ledger), ledger, observations, nowMs);
}

function remembering(change: (ledger: Ledger) => Ledger): Planner {
  return (intent, ledger, observations, nowMs) => plan(intent, change(ledger), observations, nowMs);
}

type Inputs = { readonly intent: Intent; readonly ledger: Ledger; readonly observations: Observations };

function answering(change: (result: PlanResult, inputs: Inputs) => PlanResult): Planner {
  return (intent, ledger, observations, nowMs) =>
    change(plan(intent, ledger, observations, nowMs), { intent, ledger, observations });
}

function withEntries(ledger: Ledger, change: (entry: ClusterEntry, cluster: ClusterName) => ClusterEntry): Ledger {
  const clusters: Record<ClusterName, ClusterEntry> = {};
  for (const [cluster, entry] of Object.entries(ledger.clusters)) clusters[cluster] = change(entry, cluster);
  return { ...ledger, clusters };
}

/** Ledger and grants changed alike. */
function withGrants(result: PlanResult, change: (grant: Grant) => Grant): PlanResult {
  const ledger = withEntries(result.ledger, (entry) =>
    entry.grant ? { ...entry, grant: change(entry.grant) } : entry,
  );
  return { ...result, ledger, grants: result.grants.map(change) };
}

function rolling(intent: Intent, change: Partial<RollingUpdate>): Intent {
  return intent.update.type === "RollingUpdate" ? { ...intent, update: { ...intent.update, ...change } } : intent;
}

/** The planner with one method of its arithmetic replaced for the length of each call. */
function reckoning<K extends "pendingElsewhere" | "keepsMajority" | "mayRepair">(method: K, other: Tally[K]): Planner {
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

// ---------------------------------------------------------------------------------------------------------------------

export const MUTANTS: readonly Mutant[] = [
  {
    name: "the gate ignores the epoch of the operator's report",
    make: () =>
      seeing((seen, entry) =>
        seen.report && entry?.grant
          ? { ...seen, report: { ...seen.report, epoch: entry.grant.epoch, revision: entry.grant.revision } }
          : seen,
      ),
    scenario: "contract 1+1+1, cut off",
    caughtBy: [gateNeedsTheWork, turnsAreAcknowledged],
  },
  {
    name: "the gate ignores observedGeneration",
    make: () => seeing((seen) => ({ ...seen, observedGeneration: seen.generation })),
    scenario: "StatefulSets 2+2+1",
    caughtBy: [gateNeedsTheWork],
  },
  {
    name: "the gate reads the hub's counters",
    make: () =>
      seeing((seen, entry) => {
        const wanted = entry?.grant?.replicas ?? 0;
        const counts = { replicas: wanted, ready: wanted, available: wanted, updated: wanted, terminating: 0 };
        const { instances: _, ...rest } = seen;
        return { ...rest, observedGeneration: seen.generation, health: "healthy", counts };
      }),
    scenario: "StatefulSets 2+2+1",
    caughtBy: [gateNeedsTheWork, accidentsShrinkTheRoom],
  },
  {
    name: "terminating pods count as ready",
    make: () =>
      seeing((seen) => {
        const { instances: _, ...rest } = seen;
        return { ...rest, counts: { ...seen.counts, terminating: 0 } };
      }),
    scenario: "StatefulSets 2+1, a pod evicted",
    caughtBy: [accidentsShrinkTheRoom, lostVotersCount],
  },
  {
    name: "what is granted counts as ready",
    make: () =>
      seeing((seen, entry) => {
        const ready = entry?.done ? entry.grant?.replicas : seen.counts.ready;
        return { ...seen, counts: ready === undefined ? seen.counts : { ...seen.counts, ready }, health: "healthy" };
      }),
    scenario: "contract 2+1+1, two accidents",
    caughtBy: [accidentsShrinkTheRoom, lostVotersCount],
  },
  {
    name: "unknown is healthy",
    make: () => seeing((seen) => (seen.health === "unknown" ? { ...seen, health: "healthy" } : seen)),
    scenario: "contract 2+1, health unknown",
    caughtBy: [gateNeedsTheWork],
  },
  {
    name: "the budget ignores turns that are out",
    make: () => reckoning("pendingElsewhere", () => 0),
    scenario: "StatefulSets 2+2+1",
    caughtBy: [accidentsShrinkTheRoom, budgetHolds, majorityHolds],
  },
  {
    name: "the majority is not asked for",
    make: () => reckoning("keepsMajority", () => true),
    scenario: "contract 1+1+1, cut off",
    caughtBy: [lostVotersCount, accidentsShrinkTheRoom],
  },
  {
    name: "lost voters do not vote",
    make: () => (intent, ledger, observations, nowMs) => {
      const given = withEntries(ledger, (entry) =>
        entry.lostAtMs === null ? entry : { ...entry, removedByLoss: true },
      );
      const result = plan(intent, given, observations, nowMs);
      const restore = (entry: ClusterEntry, cluster: ClusterName) => ({
        ...entry,
        removedByLoss: entry.removedByLoss && ledger.clusters[cluster]?.removedByLoss === true,
      });
      return { ...result, ledger: withEntries(result.ledger, restore) };
    },
    scenario: "contract 1+1+1, cut off",
    caughtBy: [lostVotersCount],
  },
  {
    name: "a turn is over when its end is written, not when it is read",
    make: () =>
      remembering((ledger) =>
        withEntries(ledger, (entry) => (entry.turn === "returning" ? { ...entry, turn: "none" } : entry)),
      ),
    scenario: "contract 1+1+1, cut off",
    caughtBy: [turnsAreAcknowledged],
  },
  {
    name: "membership changes go all at once",
    make: () =>
      wanting((intent, { currentRevision }) =>
        currentRevision === null ? intent : { ...intent, quorum: "None", podManagementPolicy: "Parallel" },
      ),
    scenario: "StatefulSets 1+1+1, several",
    caughtBy: [oneMembershipChange, membershipGoesAlone],
  },
  {
    name: "membership changes do not wait for turns",
    make: () => (intent, ledger, observations, nowMs) => {
      const blind = (entry: ClusterEntry) => (entry.done ? { ...entry, turn: "none" as const } : entry);
      return plan(intent, withEntries(ledger, blind), observations, nowMs);
    },
    scenario: "StatefulSets 2+2, scaled in mid-rollout",
    caughtBy: [turnsAreAcknowledged, membershipGoesAlone],
  },
  {
    name: "a cluster that is not Ready is served from what was seen of it before",
    make: () =>
      wanting((intent) => {
        const fleet: Record<ClusterName, Intent["fleet"][string]> = {};
        for (const cluster of Object.keys(intent.fleet)) fleet[cluster] = { state: "Ready" };
        return { ...intent, fleet };
      }),
    scenario: "contract 1+1+1, drained and cut off",
    caughtBy: [nothingDeletedUnseen],
  },
  {
    name: "a cluster that was dropped while it was lost is drained when it is back",
    make: () =>
      remembering((ledger) => withEntries(ledger, (entry) => ({ ...entry, returned: false, lostAtMs: null }))),
    scenario: "contract 1+1+1, dropped by the schedule",
    caughtBy: [nothingDeletedUnseen],
  },
  {
    name: "ordinals are given again while their volumes survive",
    make: () =>
      remembering((ledger) => {
        const held = Object.values(ledger.clusters).flatMap(({ instances }) => instances.map(({ ordinal }) => ordinal));
        let nextOrdinal = 0;
        while (held.includes(nextOrdinal)) nextOrdinal++;
        return { ...ledger, retired: [], nextOrdinal };
      }),
    scenario: "contract 1+1+1 in Dense",
    caughtBy: [identityIsKept],
  },
  {
    name: "ordinals are packed anew when an earlier cluster grows",
    make: () =>
      answering((result) => {
        let next = 0;
        const pack = (entry: ClusterEntry) => ({
          ...entry,
          instances: entry.instances.map(({ state }) => ({ ordinal: next++, state })),
        });
        return { ...result, ledger: withEntries(result.ledger, pack) };
      }),
    scenario: "StatefulSets 1+1+1, several",
    caughtBy: [identityIsKept],
  },
  {
    name: "the partition is every cluster's own",
    make: () => (intent, ledger, observations, nowMs) => {
      const partition = intent.update.type === "RollingUpdate" ? intent.update.partition : 0;
      const result = plan(rolling(intent, { partition: 0 }), ledger, observations, nowMs);
      return withGrants(result, (grant) => {
        const before = ledger.clusters[grant.cluster]?.grant;
        const begun = before && before.revision !== grant.revision;
        return begun ? { ...grant, partition: Math.min(partition, grant.replicas - 1) } : grant;
      });
    },
    scenario: "StatefulSets 3+1, partition",
    caughtBy: [partitionIsGlobal],
  },
  {
    name: "the partition is ignored",
    make: () => wanting((intent) => rolling(intent, { partition: 0 })),
    scenario: "StatefulSets 3+1, partition",
    caughtBy: [partitionIsGlobal],
  },
  {
    name: "the leader's cluster goes first",
    make: () => seeing((seen) => ({ ...seen, leader: { kind: seen.leader.kind === "here" ? "elsewhere" : "here" } })),
    scenario: "contract 2+2+1, maxUnavailable 2, a leader",
    caughtBy: [leaderGoesLast],
  },
  {
    name: "a StatefulSet on two revisions is superseded straight away",
    make: () => (intent, ledger, observations, nowMs) => {
      const { revision } = intent;
      const forget = (entry: ClusterEntry): ClusterEntry =>
        entry.grant && revision.kind === "ready" && entry.grant.revision !== revision.id
          ? { ...entry, baseRevision: entry.grant.revision, done: true, step: null }
          : entry;
      return plan(intent, withEntries(ledger, forget), observations, nowMs);
    },
    scenario: "StatefulSet 3 in batches of one",
    caughtBy: [onlyWhatWasGranted],
  },
  {
    name: "broken pods are deleted whatever became of them since",
    make: () =>
      answering((result) => ({
        ...result,
        actions: result.actions.map((action) => {
          if (action.kind !== "deletePods") return action;
          return { ...action, pods: action.pods.map(({ version: _, ...pod }) => pod) };
        }),
      })),
    scenario: "StatefulSets 1+2 in batches of one, superseded while stuck",
    caughtBy: [budgetHolds, majorityHolds],
  },
  {
    name: "a write keeps the epoch",
    make: () =>
      answering((result, { ledger }) => {
        const keep = (grant: Grant): Grant => ({
          ...grant,
          epoch: ledger.clusters[grant.cluster]?.grant?.epoch ?? grant.epoch,
        });
        const kept = withGrants(result, keep);
        return {
          ...kept,
          ledger: withEntries(kept.ledger, (entry) => ({ ...entry, epoch: entry.grant?.epoch ?? entry.epoch })),
        };
      }),
    scenario: "StatefulSets 2+2+1",
    caughtBy: [epochsRise],
  },
  {
    name: "grants are dispatched before the ledger is written",
    make: () => plan,
    dispatchFirst: true,
    scenario: "contract 2+1+1, crashes",
    caughtBy: [oneContentPerEpoch],
  },
  {
    name: "waves are ignored",
    make: () => wanting((intent) => rolling(intent, { waves: [] })),
    scenario: "contract 1+1+1, waves",
    caughtBy: [wavesGoInOrder],
  },
  {
    name: "nobody is asked to approve",
    make: () =>
      wanting((intent) => {
        if (intent.update.type !== "RollingUpdate") return intent;
        return rolling(intent, { waves: intent.update.waves.map((wave) => ({ ...wave, approval: "Automatic" })) });
      }),
    scenario: "contract 1+1+1, waves",
    caughtBy: [wavesGoInOrder],
  },
  {
    name: "a pause is not heard",
    make: () => wanting((intent) => rolling(intent, { paused: false })),
    scenario: "contract 1+1+1, waves",
    caughtBy: [pauseHolds],
  },
  {
    name: "minReadySeconds is not waited for",
    make: () => wanting((intent) => ({ ...intent, minReadySeconds: 0 })),
    scenario: "contract 1+1+1, waves",
    caughtBy: [gateIsHeld],
  },
  {
    name: "a release tears down",
    make: () => wanting((intent) => (intent.deletion ? { ...intent, deletion: { policy: "Teardown" } } : intent)),
    scenario: "released",
    caughtBy: [releaseMovesNothing],
  },
  {
    name: "a teardown goes everywhere at once",
    make: () => wanting((intent) => (intent.deletion ? { ...intent, podManagementPolicy: "Parallel" } : intent)),
    scenario: "torn down",
    caughtBy: [teardownInReverse],
  },
  {
    name: "a teardown does not say what it cannot reach",
    make: () =>
      answering((result) => ({
        ...result,
        waiting: result.waiting.filter(({ code }) => code !== "TeardownUnreachable"),
      })),
    scenario: "torn down",
    caughtBy: [teardownInReverse],
  },
  {
    name: "nothing is explained",
    make: () => answering(({ requeueAt: _, ...result }) => ({ ...result, waiting: [] })),
    scenario: "contract 1+1+1, leader transfer",
    caughtBy: [everyWaitIsExplained],
  },
  {
    name: "it never asks to be woken",
    make: () => answering(({ requeueAt: _, ...result }) => result),
    scenario: "contract 1+1+1, waves",
    caughtBy: [LIVENESS],
  },
  {
    name: "only the newest topology is kept",
    make: () =>
      answering((result) => {
        const { ledger } = result;
        const newest = String(ledger.topologyVersion);
        const shape = ledger.topologies[newest];
        return { ...result, ledger: { ...ledger, topologies: shape ? { [newest]: shape } : {} } };
      }),
    scenario: "StatefulSets 1+1+1, several",
    caughtBy: [topologyIsVersioned],
  },
  {
    name: "every plan writes again",
    make: () =>
      answering((result) => {
        const again = withGrants(result, (grant) => ({ ...grant, epoch: grant.epoch + 1 }));
        return {
          ...again,
          ledger: withEntries(again.ledger, (entry) => ({ ...entry, epoch: entry.epoch + 1, ackedAtMs: null })),
        };
      }),
    scenario: "contract 1+1+1, cut off",
    caughtBy: [planningAgainChangesNothing],
  },
  {
    name: "the answer depends on how often it was asked",
    make: () => {
      let asked = 0;
      return answering((result) => ({ ...result, figures: { ...result.figures, pending: asked++ % 2 } }));
    },
    scenario: "contract 1+1+1, cut off",
    caughtBy: [planningAgainChangesNothing],
  },
  {
    name: "the ledger is changed in place",
    make: () =>
      answering((result, { ledger }) => {
        Object.assign(ledger, result.ledger);
        return result;
      }),
    scenario: "contract 1+1+1, cut off",
    caughtBy: [PURITY],
  },
];

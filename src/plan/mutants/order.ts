import { onlyWhatWasGranted } from "../explore/properties/identity.ts";
import {
  leaderGoesLast,
  leaderIsAsked,
  partitionIsGlobal,
  pauseHolds,
  stepsRelease,
  wavesGoInOrder,
} from "../explore/properties/order.ts";
import {
  batchesHold,
  haltHolds,
  onDeleteRestartsNothing,
  soakHolds,
  windowHolds,
} from "../explore/properties/settings.ts";
import { plan } from "../plan.ts";
import { rollingUpdate } from "../testing/intent.ts";
import type { ClusterEntry } from "../types.ts";
import { answering, type Mutant, rolling, seeing, wanting, withEntries, withGrants } from "./bend.ts";

/** What goes when, as the settings say. */
export const ORDER: readonly Mutant[] = [
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
    scenario: "StatefulSets 2+1, partition",
    caughtBy: [partitionIsGlobal],
  },
  {
    name: "the partition is ignored",
    make: () => wanting((intent) => rolling(intent, { partition: 0 })),
    scenario: "StatefulSets 2+1, partition",
    caughtBy: [partitionIsGlobal],
  },
  {
    name: "the leader's cluster goes first",
    make: () => seeing((seen) => ({ ...seen, leader: { kind: seen.leader.kind === "here" ? "elsewhere" : "here" } })),
    scenario: "contract 2+2+1, update, a leader that moves",
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
    scenario: "StatefulSet 3 in batches of one, superseded on two revisions, a pod killed",
    stages: true,
    caughtBy: [onlyWhatWasGranted],
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
    name: "a window is always open",
    make: () => wanting((intent) => rolling(intent, { window: { open: true } })),
    scenario: "contract 1+1+1, the window closes and opens",
    caughtBy: [windowHolds],
  },
  {
    name: "batches are ignored",
    make: () => wanting((intent) => rolling(intent, { batches: [] })),
    scenario: "StatefulSet 3 in batches of 1 and 2",
    caughtBy: [batchesHold],
  },
  {
    name: "nothing soaks",
    make: () =>
      wanting((intent) => {
        if (intent.update.type !== "RollingUpdate") return intent;
        return rolling(intent, { waves: intent.update.waves.map((wave) => ({ ...wave, soakSeconds: 0 })) });
      }),
    scenario: "contract 1+1+1, a wave that soaks",
    caughtBy: [soakHolds],
  },
  {
    name: "the leader is never asked to move",
    make: () =>
      wanting((intent) => {
        if (intent.update.type !== "RollingUpdate") return intent;
        const { leaderTransfer: _, ...update } = intent.update;
        return { ...intent, update };
      }),
    scenario: "contract 1+1+1, leader transfer, a leader that moves",
    caughtBy: [leaderIsAsked],
  },
  {
    name: "a cluster begins, and nothing is released to it",
    make: () =>
      answering((result, { ledger }) =>
        withGrants(result, (grant) => {
          const before = ledger.clusters[grant.cluster]?.grant;
          return before && before.revision !== grant.revision ? { ...grant, partition: grant.replicas } : grant;
        }),
      ),
    scenario: "contract 2+2+1, update, an accident",
    caughtBy: [stepsRelease],
  },
  {
    name: "a failure is not heard",
    make: () =>
      seeing((seen) =>
        seen.report?.phase === "Failed" ? { ...seen, report: { ...seen.report, phase: "Working" } } : seen,
      ),
    scenario: "contract 1+1+1, an operator reports Failed",
    caughtBy: [haltHolds],
  },
  {
    name: "OnDelete restarts",
    make: () => wanting((intent) => ({ ...intent, update: rollingUpdate() })),
    scenario: "contract 1+1, OnDelete",
    caughtBy: [onDeleteRestartsNothing],
  },
];

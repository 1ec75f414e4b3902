import { plan } from "../../plan.ts";
import type { ClusterEntry, ClusterName, FleetFact, Intent } from "../../types/index.ts";
import { leaderLeavesMaintenance, leaderRequestIsHeard, maintenanceHolds } from "../explore/properties/acts.ts";
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
  overrideHolds,
  soakHolds,
  windowHolds,
} from "../explore/properties/settings.ts";
import { rollingUpdate } from "../testing/intent.ts";
import { answering, type Mutant, remembering, rolling, seeing, wanting, withEntries, withGrants } from "./bend.ts";

/** What goes when, as the settings say. */
export const ORDER: readonly Mutant[] = [
  {
    name: "an undo is known by the revision's name, not by the template's content",
    make: () =>
      wanting((intent) => {
        if (intent.revision.kind === "missing") return intent;
        const { own: _own, ...revision } = intent.revision;
        return { ...intent, revision };
      }),
    scenario: "contract 1+1+1, undone, then restarted and a dependency edited",
    caughtBy: [overrideHolds],
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
    name: "no approval is required",
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
    name: "a promotion counts for whatever is rolled out",
    make: () =>
      wanting((intent) => {
        const { promotion } = intent.requests;
        if (!promotion || intent.revision.kind !== "ready") return intent;
        return {
          ...intent,
          requests: { ...intent.requests, promotion: { ...promotion, revision: intent.revision.id } },
        };
      }),
    scenario: "contract 1+1+1, a wave that soaks is promoted",
    caughtBy: [soakHolds],
  },
  {
    name: "a promotion past one window opens all of them",
    make: () =>
      wanting((intent) => (intent.requests.promotion?.window ? rolling(intent, { window: { open: true } }) : intent)),
    scenario: "contract 1+1+1, promoted past a closed window",
    caughtBy: [windowHolds],
  },
  {
    name: "a promotion approves its wave too",
    make: () =>
      wanting((intent) => {
        const { promotion, approvals } = intent.requests;
        if (promotion?.wave === undefined) return intent;
        const approved = { revision: promotion.revision, wave: promotion.wave };
        return { ...intent, requests: { ...intent.requests, approvals: [...approvals, approved] } };
      }),
    scenario: "contract 1+1+1, a wave that soaks is promoted",
    caughtBy: [wavesGoInOrder],
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
    name: "maintenance is taken for a mere cordon",
    make: () =>
      wanting((intent) => {
        const fleet: Record<ClusterName, Intent["fleet"][string]> = {};
        for (const [cluster, fact] of Object.entries(intent.fleet))
          fleet[cluster] =
            fact.state === "Ready" && fact.maintenance ? { state: "Ready", cordoned: "maintenance" } : fact;
        return { ...intent, fleet };
      }),
    scenario: "contract 1+1+1, the leader's cluster drained for maintenance in an update",
    caughtBy: [maintenanceHolds],
  },
  {
    name: "the leader stays where a person does maintenance",
    make: () =>
      wanting((intent) => {
        if (intent.update.type !== "RollingUpdate" || !Object.values(intent.fleet).some(isDrained)) return intent;
        const { leaderTransfer: _, ...update } = intent.update;
        return { ...intent, update };
      }),
    scenario: "contract 1+1+1, drained for maintenance, a leader that comes back",
    caughtBy: [leaderLeavesMaintenance],
  },
  {
    name: "a leader that stayed is asked again and again",
    make: () =>
      remembering((ledger) =>
        ledger.leaderEvacuation?.state === "stayed" ? { ...ledger, leaderEvacuation: null } : ledger,
      ),
    scenario: "contract 1+1+1, drained for maintenance, a leader that comes back",
    caughtBy: [leaderLeavesMaintenance],
  },
  {
    name: "a request moves the leader to any other cluster",
    make: () =>
      wanting((intent) => {
        const { transferLeader } = intent.requests;
        return transferLeader
          ? { ...intent, requests: { ...intent.requests, transferLeader: { ...transferLeader, to: "c" } } }
          : intent;
      }),
    scenario: "contract 1+1+1, a person moves the leader in an update",
    caughtBy: [leaderRequestIsHeard],
  },
  {
    name: "a request to move the leader is not heard",
    make: () =>
      wanting((intent) => {
        const { transferLeader: _, ...requests } = intent.requests;
        return { ...intent, requests };
      }),
    scenario: "contract 1+1+1, a person moves the leader in an update",
    caughtBy: [leaderRequestIsHeard],
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

function isDrained(fact: FleetFact): boolean {
  return fact.state === "Ready" && fact.maintenance === true;
}

import { plan } from "../../plan.ts";
import type { ClusterEntry, ClusterName } from "../../types/index.ts";
import { accidentsShrinkTheRoom, budgetHolds, lostVotersCount, majorityHolds } from "../explore/properties/down.ts";
import { figuresAreTrue } from "../explore/properties/settings.ts";
import { answering, counting, type Mutant, rolling, seeing, wanting, withEntries } from "./bend.ts";

/** What may be down. */
export const COUNTING: readonly Mutant[] = [
  {
    name: "what is granted counts as ready",
    make: () =>
      seeing((seen, entry) => {
        const ready = entry?.done ? entry.grant?.replicas : seen.counts.ready;
        return { ...seen, counts: ready === undefined ? seen.counts : { ...seen.counts, ready }, health: "healthy" };
      }),
    scenario: "contract 2+1+1, maxUnavailable 2, two accidents",
    stages: true,
    caughtBy: [accidentsShrinkTheRoom, lostVotersCount],
  },
  {
    name: "the budget ignores turns that are out",
    make: () => counting("pendingElsewhere", () => 0),
    scenario: "StatefulSets 2+2+1",
    caughtBy: [accidentsShrinkTheRoom, budgetHolds, majorityHolds],
  },
  {
    name: "the majority is not asked for",
    make: () => counting("keepsMajority", () => true),
    scenario: "contract 1+1+1, lost and back in an update",
    caughtBy: [lostVotersCount, accidentsShrinkTheRoom],
  },
  {
    name: "lost voters do not vote",
    make: () => (intent, ledger, observations, nowMs) => {
      const given = withEntries(ledger, (entry) =>
        entry.presence.kind !== "lost" ? entry : { ...entry, votes: "givenUp" as const },
      );
      const result = plan(intent, given, observations, nowMs);
      const restore = (entry: ClusterEntry, cluster: ClusterName) => ({
        ...entry,
        votes: (ledger.clusters[cluster]?.votes ?? "counted") === "counted" ? "counted" : entry.votes,
      });
      return { ...result, ledger: withEntries(result.ledger, restore) };
    },
    scenario: "contract 1+1+1, lost and back in an update",
    caughtBy: [lostVotersCount],
  },
  {
    name: "a StatefulSet in Parallel is thought to wait for its own",
    make: () => wanting((intent) => ({ ...intent, workload: { ...intent.workload, memberOrdered: true } })),
    scenario: "StatefulSet 3 in Parallel pod management, an edit",
    caughtBy: [budgetHolds, majorityHolds],
  },
  {
    name: "pods of another time than the status are believed",
    make: () =>
      seeing(({ instances, ...seen }) => ({
        ...seen,
        ...(instances && { instances: instances.map(({ updated: _, ...pod }) => pod) }),
      })),
    scenario: "StatefulSet 3 in Parallel pod management, an edit",
    caughtBy: [budgetHolds, majorityHolds],
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
    name: "nothing is counted, and the application stops serving",
    make: () => wanting((intent) => rolling({ ...intent, quorum: "None" }, { maxUnavailable: 9 })),
    scenario: "contract 2+2+1, update, maxUnavailable 2",
    caughtBy: [majorityHolds],
  },
  {
    name: "nothing is counted, and too many are down",
    make: () => wanting((intent) => rolling({ ...intent, quorum: "None" }, { maxUnavailable: 9 })),
    scenario: "contract 2+2+1, update, maxUnavailable 2",
    caughtBy: [budgetHolds],
  },
  {
    name: "an instance that is down by accident is not counted",
    make: () =>
      seeing((seen) => ({ ...seen, health: "healthy", counts: { ...seen.counts, ready: seen.live.replicas ?? 0 } })),
    scenario: "contract 2+1+1, maxUnavailable 2, two accidents",
    stages: true,
    caughtBy: [accidentsShrinkTheRoom],
  },
  {
    name: "the figures count one voter too many",
    make: () =>
      answering((result) => ({ ...result, figures: { ...result.figures, voters: result.figures.voters + 1 } })),
    scenario: "contract 2+2+1, maxUnavailable 40%, a leader",
    caughtBy: [figuresAreTrue],
  },
  {
    name: "a percentage is of a hundred instances",
    make: () =>
      wanting((intent) => {
        const given = intent.update.type === "RollingUpdate" ? intent.update.maxUnavailable : 1;
        return typeof given === "number" ? intent : rolling(intent, { maxUnavailable: Number.parseInt(given, 10) });
      }),
    scenario: "contract 2+2+1, maxUnavailable 40%, a leader",
    caughtBy: [figuresAreTrue],
  },
];

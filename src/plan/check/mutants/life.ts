import { plan } from "../../plan.ts";
import type { ClusterName, Intent } from "../../types/index.ts";
import { adoptionComesFirst, adoptionMovesNothing } from "../explore/properties/adoption.ts";
import { releaseMovesNothing, teardownInReverse } from "../explore/properties/ends.ts";
import { answering, type Mutant, wanting, withGrants } from "./bend.ts";

/** Adoption, release and teardown. */
export const LIFE: readonly Mutant[] = [
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
    name: "adoption gives the turn",
    make: () => answering((result) => withGrants(result, (grant) => ({ ...grant, processor: true }))),
    scenario: "adopted, ignorant 2+1",
    caughtBy: [adoptionMovesNothing],
  },
  {
    name: "adoption grants the template",
    make: () =>
      answering((result, { intent }) => {
        const { revision } = intent;
        return revision.kind === "ready"
          ? withGrants(result, (grant) => ({ ...grant, revision: revision.id }))
          : result;
      }),
    scenario: "adopted with differences",
    caughtBy: [adoptionMovesNothing],
  },
  {
    name: "an adopted cluster continues before the others are adopted",
    make: () => (intent, ledger, observations, nowMs) => {
      const baselines: Record<ClusterName, Intent["baselines"][string]> = {};
      for (const [cluster, baseline] of Object.entries(intent.baselines))
        if (cluster in observations.clusters) baselines[cluster] = baseline;
      return plan({ ...intent, baselines }, ledger, observations, nowMs);
    },
    scenario: "adopted, ignorant 2+1",
    caughtBy: [adoptionComesFirst],
  },
];

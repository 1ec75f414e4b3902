import { plan } from "../../plan.ts";
import type { ClusterEntry, ClusterName, Grant } from "../../types/index.ts";
import { accidentsShrinkTheRoom, lostVotersCount } from "../explore/properties/down.ts";
import {
  epochsRise,
  gateIsHeld,
  gateNeedsTheWork,
  nothingGoesBack,
  oneContentPerEpoch,
  turnsAreAcknowledged,
} from "../explore/properties/gates.ts";
import { reassertsSparingly } from "../explore/properties/settings.ts";
import { LIVENESS } from "../explore/watch.ts";
import { answering, type Mutant, remembering, seeing, wanting, withEntries, withGrants } from "./bend.ts";

/** Gates, turns, epochs and dispatch. */
export const GATES: readonly Mutant[] = [
  {
    name: "the gate ignores the epoch of the operator's report",
    make: () =>
      seeing((seen, entry) =>
        seen.report && entry?.grant
          ? { ...seen, report: { ...seen.report, epoch: entry.grant.epoch, revision: entry.grant.revision } }
          : seen,
      ),
    scenario: "contract 1+1+1, lost and back in an update",
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
    scenario: "StatefulSets 2+1, update, a pod evicted",
    caughtBy: [accidentsShrinkTheRoom, lostVotersCount],
  },
  {
    name: "unknown is healthy",
    make: () => seeing((seen) => (seen.health === "unknown" ? { ...seen, health: "healthy" } : seen)),
    scenario: "contract 2+1, health unknown",
    caughtBy: [gateNeedsTheWork],
  },
  {
    name: "a turn is over when its end is written, not when it is read",
    make: () =>
      remembering((ledger) =>
        withEntries(ledger, (entry) => (entry.turn === "returning" ? { ...entry, turn: "none" } : entry)),
      ),
    scenario: "contract 1+1+1, lost and back in an update",
    caughtBy: [turnsAreAcknowledged],
  },
  {
    name: "minReadySeconds is not waited for",
    make: () => wanting((intent) => ({ ...intent, minReadySeconds: 0 })),
    scenario: "contract 1+1+1, waves",
    caughtBy: [gateIsHeld],
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
    scenario: "contract 1+1, scaled out and in, crashes",
    caughtBy: [oneContentPerEpoch],
  },
  {
    name: "what a former leader has in flight may land at any time",
    make: () => plan,
    unfenced: true,
    scenario: "contract 1+1+1, deposed in the middle of dispatching",
    caughtBy: [nothingGoesBack],
  },
  {
    name: "an object that another client changed is written again whenever it is seen",
    make: () => (intent, ledger, observations, nowMs) => {
      const hasty = withEntries(ledger, (entry) => ({ ...entry, reassertedAtMs: null }));
      const result = plan(intent, hasty, observations, nowMs);
      const restore = (entry: ClusterEntry, cluster: ClusterName) => ({
        ...entry,
        reassertedAtMs: entry.reassertedAtMs ?? ledger.clusters[cluster]?.reassertedAtMs ?? null,
      });
      return { ...result, ledger: withEntries(result.ledger, restore) };
    },
    scenario: "contract 1+1, drift twice: annotations",
    caughtBy: [reassertsSparingly],
  },
  {
    name: "an object that another client changed is left as it is",
    make: () =>
      seeing((seen, entry) => {
        if (seen.live.epoch !== undefined || !entry?.grant) return seen;
        const { epoch, revision, processor, partition, topologyVersion } = entry.grant;
        return { ...seen, live: { ...seen.live, epoch, revision, processor, partition, topologyVersion } };
      }),
    scenario: "contract 1+1+1, drift in an update: annotations",
    caughtBy: [gateNeedsTheWork, turnsAreAcknowledged, LIVENESS],
  },
];

import { plan } from "../../plan.ts";
import type { ClusterEntry, ClusterName, Intent, Observation, Observations } from "../../types/index.ts";
import { nothingDeletedUnseen, removedEmpty } from "../explore/properties/ends.ts";
import { turnsAreAcknowledged } from "../explore/properties/gates.ts";
import {
  identityIsKept,
  membershipGoesAlone,
  oneMembershipChange,
  topologyIsVersioned,
} from "../explore/properties/identity.ts";
import { leaverIsGone, lossIsProven, replacedOnEvidence } from "../explore/properties/loss.ts";
import { cordonHolds, roomHolds, unknownScalesNothing } from "../explore/properties/settings.ts";
import { answering, type Mutant, remembering, wanting, withEntries } from "./bend.ts";

/** Who is a member, where, and under which name; also while clusters are lost. */
export const MEMBERSHIP: readonly Mutant[] = [
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
    scenario: "contract 2+1+1, scaled out in mid-rollout",
    caughtBy: [turnsAreAcknowledged, membershipGoesAlone],
  },
  {
    name: "ordinals are given again while their volumes survive",
    make: () => (intent, ledger, observations, nowMs) => {
      const held = Object.values(ledger.clusters).flatMap(({ instances }) => instances.map(({ ordinal }) => ordinal));
      let nextOrdinal = 0;
      while (held.includes(nextOrdinal)) nextOrdinal++;
      const forgetful = { ...ledger, retired: [], nextOrdinal };
      return plan(
        intent,
        forgetful,
        withoutVolumes(observations, () => true),
        nowMs,
      );
    },
    scenario: "contract 1+1 in Dense, moved and back",
    caughtBy: [identityIsKept],
  },
  {
    name: "a first deployment does not look for old volumes",
    make: () => (intent, ledger, observations, nowMs) => {
      const isNew = (cluster: ClusterName) => !ledger.clusters[cluster]?.highWater;
      return plan(intent, ledger, withoutVolumes(observations, isNew), nowMs);
    },
    scenario: "contract 1+1 in Dense, deployed beside volumes of an earlier life",
    caughtBy: [identityIsKept],
  },
  {
    name: "ordinals are packed again when an earlier cluster grows",
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
      remembering((ledger) =>
        withEntries(ledger, (entry) => ({ ...entry, returned: false, presence: { kind: "here" } })),
      ),
    scenario: "contract 1+1+1, dropped by the schedule",
    caughtBy: [nothingDeletedUnseen],
  },
  {
    name: "a membership change starts beside a turn",
    make: () => (intent, ledger, observations, nowMs) => {
      const blind = withEntries(ledger, (entry) => ({ ...entry, turn: "none" }));
      const result = plan(intent, blind, observations, nowMs);
      const restore = (entry: ClusterEntry, cluster: ClusterName) => {
        const was = ledger.clusters[cluster];
        return was && was.grant?.epoch === entry.grant?.epoch ? { ...entry, turn: was.turn } : entry;
      };
      return { ...result, ledger: withEntries(result.ledger, restore) };
    },
    scenario: "contract 2+1, a new cluster in mid-rollout",
    caughtBy: [membershipGoesAlone],
  },
  {
    name: "a cordon is not seen",
    make: () =>
      wanting((intent) => {
        const fleet: Record<ClusterName, Intent["fleet"][string]> = {};
        for (const [cluster, fact] of Object.entries(intent.fleet))
          fleet[cluster] = fact.state === "Ready" ? { state: "Ready" } : fact;
        return { ...intent, fleet };
      }),
    scenario: "contract 1+1, a new cluster that is cordoned",
    caughtBy: [cordonHolds],
  },
  {
    name: "free resources are not looked at",
    make: () =>
      wanting((intent) => {
        const fleet: Record<ClusterName, Intent["fleet"][string]> = {};
        for (const [cluster, fact] of Object.entries(intent.fleet)) {
          fleet[cluster] = fact.state === "Ready" && fact.room ? { state: "Ready" } : fact;
        }
        return { ...intent, fleet };
      }),
    scenario: "contract 1+1, a new cluster that is full",
    caughtBy: [roomHolds],
  },
  {
    name: "an unknown schedule is an empty one",
    make: () =>
      wanting((intent) =>
        intent.schedule.kind === "known"
          ? intent
          : { ...intent, schedule: { kind: "known", source: "engine", clusters: [] } },
      ),
    scenario: "contract 2+1, the schedule unknown for a while",
    caughtBy: [unknownScalesNothing],
  },
  {
    name: "a leaver is gone when its instance is",
    make:
      () =>
      (intent, ledger, { clusters }, nowMs) =>
        plan(intent, ledger, { clusters }, nowMs),
    scenario: "contract 1+2, scaled in, the application lists its members",
    caughtBy: [leaverIsGone],
  },
  {
    name: "instances of a lost cluster no longer vote",
    make: () =>
      answering((result) => ({
        ...result,
        ledger: withEntries(result.ledger, (entry) => ({
          ...entry,
          votes: entry.presence.kind === "lost" ? "givenUp" : "counted",
        })),
      })),
    scenario: "contract 1+1+1, a cluster leaves the fleet in an update",
    caughtBy: [lossIsProven],
  },
  {
    name: "what is lost is replaced, whatever the policy",
    make: () => wanting((intent) => ({ ...intent, failover: { ...intent.failover, policy: "Replace" } })),
    scenario: "contract 1+1+1, put out of the application while away",
    caughtBy: [replacedOnEvidence],
  },
  {
    name: "who is away counts as confirmed lost",
    make: () =>
      wanting((intent) => {
        const away = Object.keys(intent.fleet).filter((cluster) => intent.fleet[cluster]?.state !== "Ready");
        return { ...intent, requests: { ...intent.requests, confirmedLost: away } };
      }),
    scenario: "contract 1+1+1, Replace after confirm-lost",
    caughtBy: [lossIsProven],
  },
  {
    name: "a cluster is let go as soon as it is to be empty",
    make: () =>
      answering((result) => {
        const emptied = Object.values(result.ledger.clusters).flatMap(({ grant }) =>
          grant?.replicas === 0 ? [{ kind: "remove", cluster: grant.cluster, volumes: "Retain" } as const] : [],
        );
        return { ...result, actions: emptied };
      }),
    scenario: "contract 2+1, drained and cut off",
    caughtBy: [removedEmpty],
  },
];

function withoutVolumes(observations: Observations, isBlind: (cluster: ClusterName) => boolean): Observations {
  const clusters: Record<ClusterName, Observation> = {};
  for (const [cluster, seen] of Object.entries(observations.clusters)) {
    if (seen.kind === "unreachable" || !isBlind(cluster)) clusters[cluster] = seen;
    else {
      const { volumes: _, ...rest } = seen;
      clusters[cluster] = rest;
    }
  }
  return { ...observations, clusters };
}

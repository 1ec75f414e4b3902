/** Planners with one bug each. Exploration must find every one of them. */
import { plan } from "../plan.ts";
import type { ClusterSeen, Intent, Ledger, ObjectSeen, Seen } from "../types.ts";
import type { Planner } from "./world.ts";

const seeing =
  (change: (object: ObjectSeen) => ObjectSeen): Planner =>
  (intent, ledger, seen, nowMs) =>
    plan(intent, ledger, withObjects(seen, change), nowMs);

function withObjects(seen: Seen, change: (object: ObjectSeen) => ObjectSeen): Seen {
  const clusters = Object.entries(seen.clusters).map(([name, cluster]): [string, ClusterSeen] => [
    name,
    { ...cluster, object: (key) => change(cluster.object(key)) },
  ]);
  return { ...seen, clusters: Object.fromEntries(clusters) };
}

const wanting =
  (change: (intent: Intent) => Intent): Planner =>
  (intent, ledger, seen, nowMs) =>
    plan(change(intent), ledger, seen, nowMs);

export const MUTANTS: Readonly<Record<string, Planner>> = {
  "stale status opens a gate": seeing((object) =>
    object.live.kind === "present" ? { ...object, live: { ...object.live, epoch: object.epoch } } : object,
  ),
  "what is written counts as delivered": seeing((object) =>
    object.dispatched === "wanted"
      ? { ...object, live: { kind: "present", epoch: object.epoch, observed: true, health: "Complete" } }
      : object,
  ),
  "what is delivered counts as healthy": seeing((object) =>
    object.live.kind === "present" ? { ...object, live: { ...object.live, health: "Complete" } } : object,
  ),
  "the old content counts as the new one": seeing((object) =>
    object.dispatched === "other" ? { ...object, dispatched: "wanted" } : object,
  ),
  "any number of clusters at a time": wanting((intent) => ({
    ...intent,
    rollout: { ...intent.rollout, maxUnavailableClusters: 99 },
  })),
  "waves do not count": wanting((intent) => ({ ...intent, rollout: { ...intent.rollout, waves: [] } })),
  "prunes first": wanting((intent) => ({
    ...intent,
    stages: (revision, cluster, mode) => {
      const stages = intent.stages(revision, cluster, mode);
      return stages && [...stages].sort((a, b) => rank(a.kind) - rank(b.kind));
    },
  })),
  "a lost cluster counts as Ready": (intent, ledger, seen, nowMs) => {
    const fleet = Object.fromEntries(Object.keys(seen.fleet).map((name) => [name, { state: "Ready" as const }]));
    const nothing: ClusterSeen = {
      left: [0],
      leftovers: 0,
      object: () => ({ dispatched: "none", epoch: 0, live: { kind: "absent" } }),
    };
    const clusters = Object.fromEntries(Object.keys(fleet).map((name) => [name, seen.clusters[name] ?? nothing]));
    return plan(intent, ledger, { fleet, clusters }, nowMs);
  },
  "a step forgets where it was": (intent, ledger, seen, nowMs) => {
    const result = plan(intent, ledger, seen, nowMs);
    return { ...result, ledger: withStages(result.ledger, ledger) };
  },
  "a lost cluster holds the others up": (intent, ledger, seen, nowMs) =>
    Object.values(seen.fleet).some(({ state }) => state !== "Ready") && !intent.ending
      ? { ...plan(intent, ledger, seen, nowMs), ledger }
      : plan(intent, ledger, seen, nowMs),
  "what is left is not pruned": (intent, ledger, seen, nowMs) => {
    const clusters = Object.entries(seen.clusters).map(([name, cluster]) => [name, { ...cluster, leftovers: 0 }]);
    return plan(intent, ledger, { ...seen, clusters: Object.fromEntries(clusters) }, nowMs);
  },
};

function rank(kind: string): number {
  return kind === "prune" ? 0 : 1;
}

function withStages(after: Ledger, before: Ledger): Ledger {
  const clusters = Object.entries(after.clusters).map(([name, entry]): [string, typeof entry] => {
    const old = before.clusters[name]?.grant;
    const isLate = entry.grant && old && entry.grant.step === old.step && entry.grant.stage > 1 && old.stage === 1;
    return [name, isLate && entry.grant ? { ...entry, grant: { ...entry.grant, stage: 0 } } : entry];
  });
  return { ...after, clusters: Object.fromEntries(clusters) };
}

import { rangeStart } from "../identity/identity.ts";
import type { Draft } from "../ledger/draft.ts";
import type {
  ClusterEntry,
  ClusterName,
  InstanceObservation,
  Intent,
  Observation,
  PresentObservation,
} from "../types/index.ts";

/**
 * `ready`: Ready in the fleet and observed. `away`: neither counted on nor given up. `lost`: away for longer than
 * failover.afterSeconds, gone from the fleet, or confirmed lost by a person.
 */
export type Reach = "ready" | "away" | "lost";

/** One cluster as this pass sees it. Figures are the worst that the evidence allows. */
export interface ClusterView {
  readonly name: ClusterName;
  readonly reach: Reach;
  /** The live object, if the cluster is ready and has one. */
  readonly present: PresentObservation | null;
  /** Instances that count for the majority. */
  readonly voters: number;
  /** Voters seen ready. */
  readonly ready: number;
  /** Voters that may be serving. If health is unknown, a ready instance may serve, and a step may take it down. */
  readonly serving: number;
  /** Members (not joiners) that are not seen ready. */
  readonly down: number;
  /** Of these the ones that the member keeps, and waits for: a leaver never comes up again. */
  readonly awaited: number;
  /** Leavers that may be ready still, and go whatever else the cluster does. */
  readonly leaving: number;
  /** `down`, or 1 if none is down and yet the member does not say that it is healthy. */
  readonly unavailable: number;
  /** Members that an outstanding turn may still take down. */
  readonly pending: number;
  /** Every instance ready, and the member says healthy. */
  readonly healthy: boolean;
}

const NOT_OBSERVED: Observation = { kind: "unreachable", message: "not observed yet" };

export function observationOf(draft: Draft, cluster: ClusterName): Observation {
  return Object.hasOwn(draft.observations.clusters, cluster)
    ? (draft.observations.clusters[cluster] ?? NOT_OBSERVED)
    : NOT_OBSERVED;
}

export function isReadyInFleet(intent: Intent, cluster: ClusterName): boolean {
  return Object.hasOwn(intent.fleet, cluster) && intent.fleet[cluster]?.state === "Ready";
}

export function viewOf(draft: Draft, cluster: ClusterName): ClusterView {
  const entry = draft.entry(cluster);
  const observation = observationOf(draft, cluster);
  const reachable = isReadyInFleet(draft.intent, cluster) && observation.kind !== "unreachable";
  const reach: Reach = reachable ? "ready" : entry.presence.kind === "lost" ? "lost" : "away";
  const present = reachable && observation.kind === "present" ? observation : null;
  const voters = entry.votes !== "counted" ? 0 : entry.instances.length;
  const members = entry.votes !== "counted" ? 0 : countMembers(entry);
  const seen = Math.min(isCounted(present) ? seenReady(present) : readyUncounted(entry, present), voters);
  const down = Math.max(0, members - seen);
  const leavers = entry.votes !== "counted" ? 0 : countLeavers(entry);
  const awaited = Math.max(0, members - leavers - seen);
  // [Q6] A cluster that does not say it is healthy counts at least one instance as unavailable, and not as ready.
  const wellSaid = present !== null && present.health === "healthy";
  const doubted = !mayAct(draft.intent, entry) && !wellSaid && members > 0 && down === 0;
  const ready = doubted ? Math.max(0, seen - 1) : seen;
  const unavailable = doubted ? 1 : down;
  const serving = present?.health === "unknown" ? seen : ready;
  const leaving = Math.min(leavers, seen);
  return {
    name: cluster,
    reach,
    present,
    voters,
    ready,
    serving,
    down,
    awaited,
    leaving,
    unavailable,
    pending: pendingOf(draft.intent, entry, { reach, present, ready, awaited }),
    healthy: reach === "ready" && (voters === 0 || (wellSaid && ready >= voters)),
  };
}

/** Whether the snapshot says how many instances are ready. */
export function isCounted(present: PresentObservation | null): boolean {
  return present?.counts.ready !== undefined || present?.instances !== undefined;
}

/** [Q18] Where nothing counts instances, an open gate has proven them ready, for as long as the member says healthy. */
function readyUncounted({ done, instances }: ClusterEntry, present: PresentObservation | null): number {
  return done && present?.health === "healthy" ? instances.length : 0;
}

/**
 * [Q19] A StatefulSet's readyReplicas counts pods that are terminating already, and pods and status come from two
 * watches: whichever of them knows worse is believed.
 */
export function seenReady(present: PresentObservation | null): number {
  if (!present) return 0;
  const { ready = 0, terminating = 0 } = present.counts;
  if (!present.instances) return Math.max(0, ready - terminating);
  let serving = 0;
  for (const instance of present.instances) if (instance.ready && !instance.terminating) serving++;
  return Math.min(ready, serving);
}

/**
 * [Q5] Joiners are no members yet. But a joiner may already serve before its gate is seen open. If an update restarts
 * it, it counts as unavailable like a member.
 */
function countMembers(entry: ClusterEntry): number {
  const { turn, step } = entry;
  if (turn === "held" && (step?.kind === "update" || step?.kind === "rollback")) return entry.instances.length;
  let members = 0;
  for (const { state } of entry.instances) if (state !== "joining") members++;
  return members;
}

function countLeavers({ instances }: ClusterEntry): number {
  let leavers = 0;
  for (const { state } of instances) if (state === "leaving") leavers++;
  return leavers;
}

/** [Q3] What the cluster may still take down with the turn that it holds, or has not acknowledged as returned. */
function pendingOf(
  intent: Intent,
  entry: ClusterEntry,
  { reach, present, ready, awaited }: Pick<ClusterView, "reach" | "present" | "ready" | "awaited">,
): number {
  // An unreachable cluster's instances all count as unavailable already.
  if (!mayAct(intent, entry) || reach !== "ready") return 0;
  if (standsStill(intent, entry, present)) return 0;
  if (intent.memberConcurrency === "Parallel") {
    if (entry.turn === "returning" || entry.done || !entry.grant) return ready;
    const released = entry.grant.replicas - entry.grant.partition;
    const updated = present?.live.epoch === entry.grant.epoch ? updatedSeen(present) : undefined;
    return Math.min(ready, Math.max(0, released - (updated ?? 0)));
  }
  return Math.min(ready, serialCost(intent, awaited, restarting(present, entry.grant?.epoch)));
}

/** [U14] With OnDelete a StatefulSet takes no pod down by itself; from when its controller has seen that. */
export function standsStill(intent: Intent, { grant }: ClusterEntry, present: PresentObservation | null): boolean {
  if (!grant?.onDelete || intent.workload.protocol !== "statefulset" || !present) return false;
  return present.live.epoch === grant.epoch && isObserved(present);
}

/**
 * [G7] Whether members may read a turn from their grant. Kubernetes' StatefulSet controller does not: it acts on its
 * spec alone, so that giving it a turn and taking it away again would be a write without a reader. Other operators may
 * read turns, even if they report nothing.
 */
export function readsTurns({ workload }: Intent): boolean {
  return workload.protocol !== "statefulset";
}

/**
 * [Q3] Whether the member may take an instance down of its own accord: it holds a turn, or has not acknowledged its
 * end; or it knows no turns, acts on its spec, and has not been seen to be finished with it.
 */
export function mayAct(intent: Intent, { grant, turn, done }: ClusterEntry): boolean {
  if (!grant) return false;
  return turn !== "none" || (!done && intent.workload.protocol !== "contract");
}

/**
 * [Q4] What a Serial member may take down beyond what is down already. One that never takes an instance down while
 * another that it keeps is not ready takes nothing; any other takes one, unless the one that is down is the one it
 * restarts.
 */
export function serialCost(intent: Intent, awaited: number, restarting: number): number {
  if (awaited > 0 && waitsForUnready(intent)) return 0;
  return restarting > 0 ? 0 : 1;
}

/** By contract, and by nature of an OrderedReady StatefulSet. */
export function waitsForUnready(intent: Intent): boolean {
  const { protocol, memberOrdered } = intent.workload;
  return protocol === "contract" || (protocol === "statefulset" && memberOrdered);
}

/**
 * 1 if the member is seen in the middle of a restart that this grant asked for. It goes from the highest ordinal down,
 * so that is the first instance which is not updated and ready; whatever else is down is down by accident.
 */
function restarting(present: PresentObservation | null, epoch: number | undefined): number {
  if (!present?.instances || present.live.epoch !== epoch || !isObserved(present)) return 0;
  let next: InstanceObservation | undefined;
  for (const each of present.instances) {
    const finished = each.updated === true && each.ready && !each.terminating;
    if (!finished && (next === undefined || (each.ordinal ?? 0) > (next.ordinal ?? 0))) next = each;
  }
  return next && (next.terminating || (next.updated === true && !next.ready)) ? 1 : 0;
}

/**
 * [G11] Whether what the snapshot says about updated instances is about the spec that it carries. Before the controller
 * has seen that spec, its status still counts for the one before, and reads as if everything were done.
 */
export function isObserved({ observedGeneration, generation, report, live }: PresentObservation): boolean {
  return observedGeneration === generation || (report !== undefined && report.epoch === live.epoch);
}

/** Instances that run the live spec's revision, if the snapshot can say so. */
export function updatedSeen(present: PresentObservation): number | undefined {
  if (present.report && present.report.epoch === present.live.epoch) return present.report.updated;
  return isObserved(present) ? present.counts.updated : undefined;
}

/**
 * Pods that run the live spec's revision, where every pod says so. Pods and status come by two watches: pods that tell
 * another number than the status are of another time.
 */
export function listedUpdated({ instances }: PresentObservation): number | undefined {
  if (!instances?.every(({ updated }) => updated !== undefined)) return undefined;
  return instances.filter(({ updated, terminating }) => updated === true && !terminating).length;
}

/**
 * [Q2] How many ready instances a step may replace: those from `partition` up to `below` that do not run `revision`
 * yet. Without details of each instance, as many as are ready.
 */
export function readyTargets(
  draft: Draft,
  cluster: ClusterName,
  revision: string,
  partition: number,
  below: number = draft.entry(cluster).instances.length,
): number {
  const view = viewIn(draft, cluster);
  const entry = draft.entry(cluster);
  const upper = Math.min(view.serving, Math.max(0, below - partition));
  const details = view.present?.instances;
  if (!details || upper === 0 || !view.present || !isObserved(view.present)) return upper;
  const byOrdinal = new Map<number, InstanceObservation>();
  for (const each of details) if (each.ordinal !== undefined) byOrdinal.set(each.ordinal, each);
  if (byOrdinal.size < entry.instances.length) return upper;
  if (listedUpdated(view.present) !== view.present.counts.updated) return upper;
  const runs = view.present?.live.revision;
  // Those that do not run the live revision are on the one before; unless the live one is that, and they are to go back
  // to it.
  const base = entry.grant?.revision === runs && entry.baseRevision !== runs ? entry.baseRevision : null;
  let targets = 0;
  for (let i = partition; i < below; i++) {
    const seen = byOrdinal.get(localOrdinal(draft, entry, i));
    if (!seen) return upper;
    const onIt = seen.updated === true ? runs === revision : seen.updated === false && base === revision;
    if (seen.ready && !onIt) targets++;
  }
  return targets;
}

/**
 * [Q16] Whether a Serial member brings one of its own instances back, joiners included, before it takes another down:
 * then whatever it takes, no fewer are ready than now. A StatefulSet whose pods start in parallel replaces from the
 * highest ordinal down, so it does if that one is down.
 */
export function bringsBackFirst(
  draft: Draft,
  cluster: ClusterName,
  revision: string,
  partition: number,
  below: number,
): boolean {
  const { present, voters } = viewIn(draft, cluster);
  const { intent } = draft;
  const kept = voters - countLeavers(draft.entry(cluster));
  if (!present || intent.memberConcurrency !== "Serial" || seenReady(present) >= kept) return false;
  if (waitsForUnready(intent)) return true;
  if (intent.workload.protocol !== "statefulset" || !present.instances || !isObserved(present)) return false;
  const entry = draft.entry(cluster);
  const isOnIt = ({ updated }: InstanceObservation) => updated === true && present.live.revision === revision;
  for (let i = below - 1; i >= partition; i--) {
    const ordinal = localOrdinal(draft, entry, i);
    const seen = present.instances.find((each) => each.ordinal === ordinal);
    if (!seen) return false;
    if (!seen.ready || seen.terminating) return true;
    if (!isOnIt(seen)) return false;
  }
  return false;
}

/** The ordinal in the local name of the i-th instance of a cluster. */
export function localOrdinal(draft: Draft, entry: ClusterEntry, i: number): number {
  const ordinal = entry.instances[i]?.ordinal ?? 0;
  return draft.identity.mode === "PerCluster"
    ? entry.start + ordinal - rangeStart(draft.identity, entry.index)
    : ordinal;
}

export function viewIn(draft: Draft, cluster: ClusterName): ClusterView {
  const found = draft.views.get(cluster);
  if (!found) throw new Error(`cluster ${cluster} has not been looked at in this pass`);
  return found;
}

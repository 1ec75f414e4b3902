import type { ClusterName, MemberReportSeen, RevisionId } from "../../types/index.ts";
import type { Scenario } from "./scenario.ts";
import type { Dispatched, Live, Member, Pod, Status } from "./state.ts";

/** What a member did to its instances in one move; properties look at each. */
export type Deed =
  | {
      readonly kind: "down";
      readonly cluster: ClusterName;
      readonly ordinal: number;
      readonly cause: "update" | "leave";
    }
  | { readonly kind: "created"; readonly cluster: ClusterName; readonly ordinal: number; readonly revision: RevisionId }
  | { readonly kind: "removed"; readonly cluster: ClusterName; readonly pods: number }
  /** A dispatch of a former leader took effect. */
  | { readonly kind: "landed"; readonly cluster: ClusterName; readonly epoch: number };

export interface Act {
  readonly member: Member;
  readonly deeds: readonly Deed[];
  /** The leader was asked to move to an instance of this name, and did. */
  readonly leaderTo?: string;
}

/** All that an operator's act depends on beside its own cluster. */
export interface Around {
  readonly cluster: ClusterName;
  readonly leads: boolean;
  /** It restarts all that it may at once. */
  readonly parallel: boolean;
  /** A StatefulSet's own podManagementPolicy. */
  readonly ordered: boolean;
}

/** One small act of the cluster's operator or StatefulSet controller. Undefined: nothing to do. */
export function act(scenario: Scenario, around: Around, member: Member): Act | undefined {
  return scenario.protocol === "contract"
    ? actOnContract(scenario, around, member)
    : actOnSpec(scenario, around, member);
}

/** The dispatch object is applied: spec and annotations in one write; the generation moves only with the spec. */
export function deliver(scenario: Scenario, member: Member, { grant, ordinals }: Dispatched): Member {
  const { live } = member;
  const sameSpec =
    live !== null &&
    live.revision === grant.revision &&
    live.replicas === grant.replicas &&
    live.partition === grant.partition &&
    live.onDelete === grant.onDelete;
  const { epoch, revision, replicas, partition, onDelete, processor, topologyVersion, transferLeaderTo } = grant;
  return {
    ...member,
    live: {
      epoch,
      revision,
      replicas,
      partition,
      onDelete,
      processor,
      topologyVersion,
      ...(transferLeaderTo === undefined ? {} : { transferLeaderTo }),
      ordinals,
    },
    applied: epoch,
    observed: member.observed && sameSpec,
    givenUp: member.givenUp && scenario.protocol === "contract",
  };
}

/** Whether the engine finds the object other than it applied it. It repairs the spec, but not the annotations. */
export function needsRepair({ live, applied }: Member, given: Dispatched | null): boolean {
  if (!given || applied !== given.grant.epoch) return false;
  return live === null || live.replicas !== given.grant.replicas;
}

export function repaired(scenario: Scenario, member: Member, given: Dispatched): Member {
  if (!member.live) return deliver(scenario, member, given);
  const { foreign: _, ...live } = member.live;
  return { ...member, live: { ...live, replicas: given.grant.replicas }, observed: false };
}

/** The operator on the contract reads what its object carries now. */
export function read(member: Member, given: Dispatched | null): Member {
  const newest = given === null || member.applied === given.grant.epoch;
  // A new epoch is a new attempt.
  const failing = member.failing && member.live?.epoch === member.read?.epoch;
  return { ...member, read: member.live, givenUp: member.givenUp && !newest, failing };
}

/** Only a StatefulSet's pods are listed one by one; only for those it matters whether they changed since. */
function isListed({ protocol }: Scenario): boolean {
  return protocol === "statefulset";
}

export function changed(scenario: Scenario, pod: Pod): Pod {
  return isListed(scenario) && pod.since === "same" ? { ...pod, since: "changed" } : pod;
}

/** The node's part: the first instance on its way moves on. A broken revision never becomes ready. */
export function kubelet(scenario: Scenario, member: Member): Member | undefined {
  const moving = member.pods.find(
    ({ phase, revision }) =>
      phase === "terminating" || (phase === "starting" && !scenario.brokenRevisions.includes(revision)),
  );
  if (!moving) return undefined;
  if (moving.phase === "terminating") return { ...member, pods: member.pods.filter((pod) => pod !== moving) };
  return {
    ...member,
    pods: member.pods.map((pod) => (pod === moving ? { ...changed(scenario, pod), phase: "ready" } : pod)),
    ownDown: without(member.ownDown, moving.ordinal),
  };
}

function without(ownDown: Member["ownDown"], ordinal: number): Member["ownDown"] {
  if (!(ordinal in ownDown)) return ownDown;
  const { [ordinal]: _, ...rest } = ownDown;
  return rest;
}

/** Takes an instance down. One that is not ready is down already, and not by this act. */
export function takeDown(
  cluster: ClusterName,
  member: Member,
  pod: Pod,
  cause: "update" | "leave",
): { readonly member: Member; readonly deeds: readonly Deed[] } {
  const wasReady = pod.phase === "ready";
  const own = wasReady && !member.givenUp && !member.live?.foreign && !member.read?.foreign;
  return {
    member: {
      ...member,
      pods: member.pods.map((each) => (each === pod ? { ...pod, phase: "terminating" } : each)),
      ownDown: own ? { ...member.ownDown, [pod.ordinal]: cause } : member.ownDown,
    },
    deeds: own ? [{ kind: "down", cluster, ordinal: pod.ordinal, cause }] : [],
  };
}

function create(scenario: Scenario, cluster: ClusterName, member: Member, ordinal: number, revision: RevisionId): Act {
  const pod: Pod = { ordinal, revision, phase: "starting", since: isListed(scenario) ? "created" : "same" };
  return {
    member: {
      ...member,
      pods: [...member.pods, pod].sort((a, b) => a.ordinal - b.ordinal),
      volumes: member.volumes.includes(ordinal) ? member.volumes : [...member.volumes, ordinal].sort((a, b) => a - b),
      ran: { ...member.ran, [ordinal]: revision },
    },
    deeds: [{ kind: "created", cluster, ordinal, revision }],
  };
}

// ---------------------------------------------------------------------------------------------------------------------
// A StatefulSet's controller, and operators that know nothing of Lockstep: they follow the live spec.

/** One sync: at most one pod is created or deleted (OrderedReady), and the status says what the sync saw. */
function actOnSpec(scenario: Scenario, around: Around, member: Member): Act | undefined {
  const { live } = member;
  if (!live) return undefined;
  const current = member.status?.currentRevision ?? live.revision;
  const moved = moveOnSpec(scenario, around, member, live, current);
  const after = moved?.member ?? member;
  const status = statusOf(after, live, current);
  if (!moved && member.observed && sameStatus(member.status, status)) return undefined;
  return { member: { ...after, observed: true, status }, deeds: moved?.deeds ?? [] };
}

function moveOnSpec(
  scenario: Scenario,
  { cluster, ordered: isOrdered }: Around,
  member: Member,
  live: Live,
  current: RevisionId,
): Act | undefined {
  const ordered = scenario.protocol === "statefulset" && isOrdered;
  const wanted = wantedOf(live);
  const podOf = (ordinal: number) => member.pods.find((pod) => pod.ordinal === ordinal);
  for (const [rank, ordinal] of wanted.entries()) {
    const pod = podOf(ordinal);
    if (!pod) {
      // apps/v1: below the partition a pod comes back on the last revision that the whole set completed.
      const old = !live.onDelete && scenario.hasPartition && rank < live.partition;
      return create(scenario, cluster, member, ordinal, old ? current : live.revision);
    }
    if (ordered && pod.phase !== "ready") return undefined;
  }
  for (const pod of [...member.pods].reverse()) {
    if (wanted.includes(pod.ordinal)) continue;
    if (pod.phase !== "terminating") return takeDown(cluster, member, pod, "leave");
    if (ordered) return undefined;
  }
  if (live.onDelete) return undefined;
  const lowest = scenario.hasPartition ? live.partition : 0;
  for (let rank = wanted.length - 1; rank >= lowest; rank--) {
    const pod = podOf(wanted[rank] ?? -1);
    if (!pod) return undefined;
    if (pod.revision !== live.revision && pod.phase !== "terminating") return takeDown(cluster, member, pod, "update");
    if (pod.phase !== "ready") return undefined;
  }
  return undefined;
}

/** If another client raised the replicas, the additional ordinals follow the highest one. */
function wantedOf({ ordinals, replicas }: Live): readonly number[] {
  if (ordinals.length === replicas) return ordinals;
  const top = ordinals.at(-1) ?? -1;
  return Array.from({ length: replicas }, (_, rank) => ordinals[rank] ?? top + 1 + rank - ordinals.length);
}

/** Seen on the real one: ready counts pods that are terminating, replicas counts them until they are gone. */
function statusOf({ pods }: Member, live: Live, current: RevisionId): Status {
  const updated = pods.filter(({ revision, phase }) => revision === live.revision && phase !== "terminating").length;
  const ready = pods.filter(({ phase }) => phase !== "starting").length;
  const complete =
    live.partition === 0 &&
    updated === live.replicas &&
    pods.length === live.replicas &&
    pods.every(({ phase }) => phase === "ready");
  return {
    replicas: pods.length,
    ready,
    updated,
    updateRevision: live.revision,
    currentRevision: complete ? live.revision : current,
  };
}

function sameStatus(a: Status | null, b: Status): boolean {
  return (
    a !== null &&
    a.replicas === b.replicas &&
    a.ready === b.ready &&
    a.updated === b.updated &&
    a.updateRevision === b.updateRevision &&
    a.currentRevision === b.currentRevision
  );
}

// ---------------------------------------------------------------------------------------------------------------------
// An operator on the contract: it acts on the grant that it has read, and reports on that epoch.

function actOnContract(scenario: Scenario, around: Around, member: Member): Act | undefined {
  const { read } = member;
  // An object without the contract's annotations is none of its business.
  if (!read || read.epoch === undefined) return undefined;
  if (member.failing) return failed(member, read, read.epoch);
  const moved = moveOnContract(scenario, around, member, read);
  const after = moved?.member ?? member;
  const report = reportOf(after, read, moved === undefined);
  const asked = read.processor ? read.transferLeaderTo : undefined;
  const leaderTo = asked !== undefined && around.leads ? asked : undefined;
  const same = !moved && sameReport(member.report, report);
  if (same && leaderTo === undefined) return undefined;
  return {
    member: same ? member : { ...after, report },
    deeds: moved?.deeds ?? [],
    ...(leaderTo === undefined ? {} : { leaderTo }),
  };
}

function failed(member: Member, read: Live, epoch: number): Act | undefined {
  if (member.report?.epoch === epoch && member.report.phase === "Failed") return undefined;
  const report: MemberReportSeen = { ...reportOf(member, read, false), phase: "Failed" };
  return { member: { ...member, report }, deeds: [] };
}

function moveOnContract(
  scenario: Scenario,
  { cluster, parallel }: Around,
  member: Member,
  read: Live,
): Act | undefined {
  const wanted = wantedOf(read);
  const podOf = (ordinal: number) => member.pods.find((pod) => pod.ordinal === ordinal);
  const missing = wanted.find((ordinal) => !podOf(ordinal));
  const before = missing === undefined ? undefined : member.ran[missing];
  // Recreating a lost instance with the same revision, ordinal and volume is always allowed; continuing a restart is no
  // new action.
  if (missing !== undefined && before !== undefined && !read.processor)
    return create(scenario, cluster, member, missing, before);
  if (!read.processor) return undefined;
  const surplus = member.pods.findLast(({ ordinal }) => !wanted.includes(ordinal));
  if (surplus) return surplus.phase === "terminating" ? undefined : takeDown(cluster, member, surplus, "leave");
  if (missing !== undefined) {
    const old = before !== undefined && (read.onDelete || wanted.indexOf(missing) < read.partition);
    return create(scenario, cluster, member, missing, old && !read.onDelete ? before : read.revision);
  }
  if (!parallel && member.pods.some(({ phase }) => phase !== "ready")) {
    return repairBroken(scenario, cluster, member, read.revision);
  }
  if (read.onDelete) return undefined;
  const stale = wanted
    .slice(read.partition)
    .map(podOf)
    .filter((pod): pod is Pod => pod !== undefined && pod.revision !== read.revision && pod.phase !== "terminating");
  let done: Act = { member, deeds: [] };
  for (const pod of parallel ? stale : stale.slice(-1)) {
    const next = takeDown(cluster, done.member, pod, "update");
    done = { member: next.member, deeds: [...done.deeds, ...next.deeds] };
  }
  return stale.length > 0 ? done : undefined;
}

/** Of the instances that are down, those on a revision that can never come up are replaced. */
function repairBroken(scenario: Scenario, cluster: ClusterName, member: Member, to: RevisionId): Act | undefined {
  const broken = member.pods.find(
    ({ phase, revision }) => phase === "starting" && revision !== to && scenario.brokenRevisions.includes(revision),
  );
  return broken && takeDown(cluster, member, broken, "update");
}

function reportOf(member: Member, read: Live, idle: boolean): MemberReportSeen {
  const { epoch = 0, revision, replicas, partition, onDelete } = read;
  const updated = member.pods.filter((pod) => pod.revision === revision && pod.phase !== "terminating").length;
  const ready = member.pods.filter(({ phase }) => phase === "ready").length;
  const complete =
    idle && ready === replicas && member.pods.length === replicas && (onDelete || updated >= replicas - partition);
  return { epoch, revision, phase: complete ? "Done" : "Working", desired: replicas, updated, ready };
}

function sameReport(a: MemberReportSeen | null, b: MemberReportSeen): boolean {
  return (
    a !== null &&
    a.epoch === b.epoch &&
    a.revision === b.revision &&
    a.phase === b.phase &&
    a.desired === b.desired &&
    a.updated === b.updated &&
    a.ready === b.ready
  );
}

import type { ClusterName, MemberReportSeen, Observation, RevisionId } from "../types.ts";
import { APP, type Scenario } from "./scenario.ts";
import type { Dispatched, Member, Pod, Seen, State, Status } from "./state.ts";
import { memberOf } from "./state.ts";

/** What a member did to its instances in one move; properties look at each. */
export type Deed =
  | {
      readonly kind: "down";
      readonly cluster: ClusterName;
      readonly ordinal: number;
      readonly cause: "update" | "leave";
    }
  | { readonly kind: "created"; readonly cluster: ClusterName; readonly ordinal: number; readonly revision: RevisionId }
  | { readonly kind: "removed"; readonly cluster: ClusterName; readonly pods: number };

export interface Act {
  readonly member: Member;
  readonly deeds: readonly Deed[];
  /** The leader was asked to move to an instance of this name, and did. */
  readonly leaderTo?: string;
}

/** One small act of whoever looks after the instances in a cluster. Undefined: nothing to do. */
export function act(scenario: Scenario, state: State, cluster: ClusterName): Act | undefined {
  const member = memberOf(state, cluster);
  return scenario.protocol === "contract"
    ? actOnContract(scenario, state, cluster, member)
    : actOnSpec(scenario, state, cluster, member);
}

/** The dispatch object is applied: spec and annotations in one write; the generation moves only with the spec. */
export function deliver(member: Member, given: Dispatched): Member {
  const { live, generation } = member;
  const sameSpec =
    live !== null &&
    live.grant.revision === given.grant.revision &&
    live.grant.replicas === given.grant.replicas &&
    live.grant.partition === given.grant.partition &&
    live.grant.onDelete === given.grant.onDelete;
  return { ...member, live: given, generation: sameSpec ? generation : generation + 1 };
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
    pods: member.pods.map((pod) => (pod === moving ? { ...pod, phase: "ready" } : pod)),
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
  return {
    member: {
      ...member,
      pods: member.pods.map((each) => (each === pod ? { ...pod, phase: "terminating" } : each)),
      ownDown: wasReady ? { ...member.ownDown, [pod.ordinal]: cause } : member.ownDown,
    },
    deeds: wasReady ? [{ kind: "down", cluster, ordinal: pod.ordinal, cause }] : [],
  };
}

function create(cluster: ClusterName, member: Member, ordinal: number, revision: RevisionId): Act {
  const pod: Pod = { ordinal, revision, phase: "starting", life: member.lives };
  return {
    member: {
      ...member,
      lives: member.lives + 1,
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
function actOnSpec(scenario: Scenario, state: State, cluster: ClusterName, member: Member): Act | undefined {
  const { live } = member;
  if (!live) return undefined;
  const current = member.status?.currentRevision ?? live.grant.revision;
  const moved = moveOnSpec(scenario, state, cluster, member, live, current);
  const after = moved?.member ?? member;
  const status = statusOf(after, live, current);
  if (!moved && sameStatus(member.status, status)) return undefined;
  return { member: { ...after, status }, deeds: moved?.deeds ?? [] };
}

function moveOnSpec(
  scenario: Scenario,
  state: State,
  cluster: ClusterName,
  member: Member,
  { grant, ordinals }: Dispatched,
  current: RevisionId,
): Act | undefined {
  const ordered = scenario.protocol === "statefulset" && state.intent.workload.memberOrdered;
  const wanted = ordinals.slice(0, grant.replicas);
  const podOf = (ordinal: number) => member.pods.find((pod) => pod.ordinal === ordinal);
  for (const [rank, ordinal] of wanted.entries()) {
    const pod = podOf(ordinal);
    if (!pod) {
      // apps/v1: below the partition a pod comes back on the last revision that the whole set completed.
      const old = !grant.onDelete && scenario.hasPartition && rank < grant.partition;
      return create(cluster, member, ordinal, old ? current : grant.revision);
    }
    if (ordered && pod.phase !== "ready") return undefined;
  }
  for (const pod of [...member.pods].reverse()) {
    if (wanted.includes(pod.ordinal)) continue;
    if (pod.phase !== "terminating") return takeDown(cluster, member, pod, "leave");
    if (ordered) return undefined;
  }
  if (grant.onDelete) return undefined;
  const lowest = scenario.hasPartition ? grant.partition : 0;
  for (let rank = wanted.length - 1; rank >= lowest; rank--) {
    const pod = podOf(wanted[rank] ?? -1);
    if (!pod) return undefined;
    if (pod.revision !== grant.revision && pod.phase !== "terminating") return takeDown(cluster, member, pod, "update");
    if (pod.phase !== "ready") return undefined;
  }
  return undefined;
}

/** Seen on the real one: ready counts pods that are terminating, replicas counts them until they are gone. */
function statusOf(member: Member, { grant }: Dispatched, current: RevisionId): Status {
  const { pods, generation } = member;
  const updated = pods.filter(({ revision, phase }) => revision === grant.revision && phase !== "terminating").length;
  const ready = pods.filter(({ phase }) => phase !== "starting").length;
  const complete =
    grant.partition === 0 &&
    updated === grant.replicas &&
    pods.length === grant.replicas &&
    pods.every(({ phase }) => phase === "ready");
  return {
    observedGeneration: generation,
    replicas: pods.length,
    ready,
    updated,
    updateRevision: grant.revision,
    currentRevision: complete ? grant.revision : current,
  };
}

function sameStatus(a: Status | null, b: Status): boolean {
  return (
    a !== null &&
    a.observedGeneration === b.observedGeneration &&
    a.replicas === b.replicas &&
    a.ready === b.ready &&
    a.updated === b.updated &&
    a.updateRevision === b.updateRevision &&
    a.currentRevision === b.currentRevision
  );
}

// ---------------------------------------------------------------------------------------------------------------------
// An operator on the contract: it acts on the grant that it has read, and reports on that epoch.

function actOnContract(scenario: Scenario, state: State, cluster: ClusterName, member: Member): Act | undefined {
  const { read } = member;
  if (!read) return undefined;
  const moved = moveOnContract(scenario, state, cluster, member, read);
  const after = moved?.member ?? member;
  const report = reportOf(after, read, moved === undefined);
  const asked = read.grant.processor ? read.grant.transferLeaderTo : undefined;
  const leaderTo = asked !== undefined && state.leader === cluster ? asked : undefined;
  if (!moved && leaderTo === undefined && sameReport(member.report, report)) return undefined;
  return { member: { ...after, report }, deeds: moved?.deeds ?? [], ...(leaderTo === undefined ? {} : { leaderTo }) };
}

function moveOnContract(
  scenario: Scenario,
  state: State,
  cluster: ClusterName,
  member: Member,
  { grant, ordinals }: Dispatched,
): Act | undefined {
  const wanted = ordinals.slice(0, grant.replicas);
  const podOf = (ordinal: number) => member.pods.find((pod) => pod.ordinal === ordinal);
  const missing = wanted.find((ordinal) => !podOf(ordinal));
  const before = missing === undefined ? undefined : member.ran[missing];
  // Re-creating a lost instance of the same revision, ordinal and volume is always allowed; going on with a restart is not new.
  if (missing !== undefined && before !== undefined && !grant.processor)
    return create(cluster, member, missing, before);
  if (!grant.processor) return undefined;
  const surplus = member.pods.findLast(({ ordinal }) => !wanted.includes(ordinal));
  if (surplus) return surplus.phase === "terminating" ? undefined : takeDown(cluster, member, surplus, "leave");
  if (missing !== undefined) {
    const old = before !== undefined && (grant.onDelete || wanted.indexOf(missing) < grant.partition);
    return create(cluster, member, missing, old && !grant.onDelete ? before : grant.revision);
  }
  const parallel = state.intent.memberConcurrency === "Parallel";
  if (!parallel && member.pods.some(({ phase }) => phase !== "ready")) {
    return repairBroken(scenario, cluster, member, grant.revision);
  }
  if (grant.onDelete) return undefined;
  const stale = wanted
    .slice(grant.partition)
    .map(podOf)
    .filter((pod): pod is Pod => pod !== undefined && pod.revision !== grant.revision && pod.phase !== "terminating");
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

function reportOf(member: Member, { grant }: Dispatched, idle: boolean): MemberReportSeen {
  const { epoch, revision, replicas, partition, onDelete } = grant;
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

// ---------------------------------------------------------------------------------------------------------------------
// What a look shows.

/** `pods` or `object` alone: the two watches of a StatefulSet deliver at different times. */
export function look(scenario: Scenario, state: State, cluster: ClusterName, what: "both" | "object" | "pods"): Seen {
  const member = memberOf(state, cluster);
  const before = state.seen[cluster];
  if (member.cut) return { observation: { kind: "unreachable", message: "no answer" }, pods: [] };
  const pods = what === "object" ? (before?.pods ?? []) : member.pods;
  const object =
    what === "pods"
      ? (before?.observation ?? { kind: "unreachable", message: "not observed yet" })
      : objectOf(scenario, state, cluster, member);
  const updateRevision = what === "pods" ? before?.updateRevision : member.status?.updateRevision;
  const observation = withPods(scenario, object, pods, updateRevision);
  return updateRevision === undefined ? { observation, pods } : { observation, pods, updateRevision };
}

function objectOf(scenario: Scenario, state: State, cluster: ClusterName, member: Member): Observation {
  const atMs = state.nowMs;
  const volumes = scenario.seesVolumes ? { volumes: member.volumes } : {};
  if (!member.live) return { kind: "absent", atMs, ...volumes };
  const { status, report, generation, live } = member;
  const { epoch, revision, processor, partition, topologyVersion, transferLeaderTo, replicas } = live.grant;
  const contract = scenario.protocol === "contract";
  const ready = (contract ? report?.ready : status?.ready) ?? 0;
  const updated = (contract ? report?.updated : status?.updated) ?? 0;
  return {
    kind: "present",
    atMs,
    generation,
    ...(contract ? {} : { observedGeneration: status?.observedGeneration ?? 0 }),
    live: {
      epoch,
      revision,
      processor,
      partition,
      topologyVersion,
      replicas,
      ...(transferLeaderTo === undefined ? {} : { transferLeaderTo }),
    },
    counts: contract ? { ready, updated } : { replicas: status?.replicas ?? 0, ready, available: ready, updated },
    health: member.mute ? "unknown" : ready >= replicas ? "healthy" : "unhealthy",
    ...(contract && report ? { report } : {}),
    leader: { kind: state.leader === cluster ? "here" : "elsewhere" },
    ...volumes,
  };
}

/** Only a StatefulSet's pods are listed; an operator's own instances are its own business. */
function withPods(
  scenario: Scenario,
  seen: Observation,
  pods: readonly Pod[],
  updateRevision: RevisionId | undefined,
): Observation {
  if (seen.kind !== "present" || scenario.protocol !== "statefulset") return seen;
  return {
    ...seen,
    counts: { ...seen.counts, terminating: pods.filter(({ phase }) => phase === "terminating").length },
    instances: pods.map(({ ordinal, revision, phase, life }) => ({
      name: `${APP}-${ordinal}`,
      uid: `${ordinal}.${life}`,
      ordinal,
      ...(updateRevision === undefined ? {} : { updated: revision === updateRevision }),
      // A pod that terminates still passes its readiness probe for a while.
      ready: phase !== "starting",
      terminating: phase === "terminating",
    })),
  };
}

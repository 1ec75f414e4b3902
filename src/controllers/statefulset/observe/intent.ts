import type { ParsedCrossClusterStatefulset, RolloutApproval } from "../../../api/index.ts";
import { type EngineCluster, type EngineSchedule, isDrainTaint } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type {
  Baseline,
  FleetFact,
  InForce,
  Intent,
  Protocol,
  Requests,
  RevisionIntent,
  Schedule,
  SettingProblem,
  UpdateStrategy,
} from "../../../plan/index.ts";
import type { Room, WindowState } from "../../../rollout/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";
import { promotionOf } from "../report/acts.ts";
import type { TopologyRefusal } from "./allowed-topology.ts";
import type { LeaderSource } from "./observe.ts";
import { lesserRoom, roomIn } from "./room.ts";
import { scoredAround } from "./scored-schedule.ts";

export interface IntentFacts {
  readonly statefulset: ParsedCrossClusterStatefulset;
  /** Undefined: it does not exist. Its last known traits are then not needed: nothing moves. */
  readonly template: KubeObject | undefined;
  /** The template's own count, as the interpreter reads it. */
  readonly templateReplicas: number | undefined;
  /** What one instance requests, as far as the interpreter reads it. */
  readonly instanceRequest?: Readonly<Record<string, string>>;
  /** What the namespace's quotas leave, by cluster, where they were read and limit anything. */
  readonly quotaRooms?: Readonly<Record<string, Room>>;
  readonly revision: RevisionIntent;
  readonly inForce?: InForce | undefined;
  readonly schedule: EngineSchedule;
  /** How many instances each cluster has been granted; scores move none of them. */
  readonly granted?: Readonly<Record<string, number>>;
  /** Set: spec.topology names clusters that the namespace may not use, or that is not known. */
  readonly topologyRefusal?: TopologyRefusal | undefined;
  readonly clusters: readonly EngineCluster[];
  /** Clusters that hold grants but have left the fleet, and since when. */
  readonly goneSinceMs: Readonly<Record<string, number>>;
  readonly approvals: readonly RolloutApproval[];
  readonly baselines: Readonly<Record<string, Baseline | null>>;
  /** The token of an earlier life that is being taken up: running instances may have stored it. */
  readonly formerToken?: string | undefined;
  /** What is wrong with settings that only an interpreter can read. */
  readonly settingProblems?: readonly SettingProblem[];
  /** Of the maintenance windows. */
  readonly window: WindowState;
  readonly nowMs: number;
}

/** Everything the planner needs to know that does not come from the members' own objects. Pure. */
export function intentOf(facts: IntentFacts): Intent {
  const { statefulset, template } = facts;
  const { metadata, spec } = statefulset;
  const protocol = protocolOf(statefulset);
  const templateSpec = isJsonObject(template?.spec) ? template.spec : {};
  const name = template?.metadata.name ?? spec.resourceSelector.name ?? metadata.name;
  const serviceName = typeof templateSpec.serviceName === "string" ? templateSpec.serviceName : name;
  const { identity } = spec;
  return {
    app: {
      name,
      namespace: metadata.namespace,
      service: spec.network.serviceName ?? serviceName,
      clusterToken: facts.formerToken ?? metadata.uid ?? `${metadata.namespace}/${metadata.name}`,
    },
    revision: facts.revision,
    ...(facts.inForce && { inForce: facts.inForce }),
    schedule: scheduleOf(facts),
    workload: {
      protocol,
      hasPartition: protocol !== "ignorant",
      memberOrdered: templateSpec.podManagementPolicy !== "Parallel",
      reportsLeader: spec.leader !== undefined || protocol === "contract",
    },
    identity: {
      mode: identity.mode ?? MODE_OF[protocol],
      blockSize: identity.blockSize,
      clusterIds: identity.clusterIDs ?? {},
      ...(identity.addressTemplate !== undefined && { addressTemplate: identity.addressTemplate }),
      ...(identity.reuseVolumes !== undefined && { reuseVolumes: identity.reuseVolumes }),
    },
    podManagementPolicy: spec.podManagementPolicy,
    quorum: spec.quorum,
    memberConcurrency: spec.memberConcurrency,
    minReadySeconds: spec.minReadySeconds,
    ...(spec.completion.assumeAfterSeconds !== undefined && {
      assumeCompleteAfterSeconds: spec.completion.assumeAfterSeconds,
    }),
    update: updateOf(facts),
    ...(facts.settingProblems && { settingProblems: facts.settingProblems }),
    failover: { policy: spec.failover.policy, afterSeconds: spec.failover.afterSeconds },
    retention: spec.retentionPolicy,
    requests: requestsOf(facts),
    ...(metadata.deletionTimestamp !== undefined && { deletion: { policy: spec.deletionPolicy } }),
    baselines: facts.baselines,
    fleet: fleetOf(facts),
  };
}

const MODE_OF: Record<Protocol, Intent["identity"]["mode"]> = {
  statefulset: "Blocks",
  contract: "Dense",
  ignorant: "PerCluster",
};

export function protocolOf({ spec }: ParsedCrossClusterStatefulset): Protocol {
  const { apiVersion, kind } = spec.resourceSelector;
  switch (spec.completion.protocol) {
    case "StatefulSet":
      return "statefulset";
    case "Contract":
      return "contract";
    case "HeldSpec":
      return "ignorant";
    case "Auto":
      return apiVersion === "apps/v1" && kind === "StatefulSet" ? "statefulset" : "ignorant";
  }
}

export function leaderSourceOf({ spec }: ParsedCrossClusterStatefulset): LeaderSource {
  const { fieldPath, luaScript, podLabel } = spec.leader ?? {};
  if (fieldPath !== undefined) return { fieldPath };
  if (luaScript !== undefined) return { luaScript };
  if (podLabel !== undefined) {
    const equals = podLabel.indexOf("=");
    return { podLabel: { key: podLabel.slice(0, equals), value: podLabel.slice(equals + 1) } };
  }
  return { report: true };
}

function scheduleOf(facts: IntentFacts): Schedule {
  const { statefulset, schedule, templateReplicas, topologyRefusal, granted = {} } = facts;
  const { topology, replicas } = statefulset.spec;
  if (topologyRefusal) return { kind: "unknown", ...topologyRefusal };
  if (topology?.placementRef) {
    const total = replicas ?? templateReplicas;
    return selectedBy(withoutDrained(schedule, statefulset), topology.clusters, total, granted);
  }
  if (topology !== undefined) {
    const total = replicas ?? templateReplicas;
    const explicit = topology.clusters.flatMap(({ name, replicas: own }) =>
      own === undefined ? [] : [{ cluster: name, replicas: own }],
    );
    if (explicit.length > 0) return { kind: "known", source: "explicit", clusters: explicit };
    if (total === undefined) {
      return {
        kind: "unknown",
        message: "spec.topology divides by weight, but neither spec.replicas nor the template says how many instances",
      };
    }
    const weighted = topology.clusters.map(({ name, weight }) => ({ cluster: name, weight: weight ?? 1 }));
    return { kind: "known", source: "explicit", clusters: divide(total, weighted) };
  }
  if (schedule.kind === "unknown") return schedule;
  const scheduled = schedule.clusters.reduce((sum, cluster) => sum + cluster.replicas, 0);
  if (replicas === undefined || replicas === scheduled) {
    return { kind: "known", source: "engine", clusters: schedule.clusters };
  }
  // `kubectl scale` on this object: the engine's answer is kept as the proportion between the clusters.
  const weighted = schedule.clusters.map(({ cluster, replicas: weight }) => ({ cluster, weight }));
  return { kind: "known", source: "engine", clusters: divide(replicas, weighted) };
}

/** The engine selects clusters and divides nothing: listed clusters come first, in their order, then the others by name. */
function selectedBy(
  schedule: EngineSchedule,
  listed: readonly { readonly name: string; readonly weight?: number | undefined }[],
  total: number | undefined,
  granted: Readonly<Record<string, number>>,
): Schedule {
  if (schedule.kind === "unknown") return schedule;
  if (total === undefined) {
    return {
      kind: "unknown",
      message:
        "spec.topology.placementRef selects clusters, but neither spec.replicas nor the template says how many instances",
    };
  }
  const kept = new Map(schedule.clusters.flatMap(({ cluster, kept }) => (kept ? [[cluster, kept] as const] : [])));
  const holds = new Map([...kept.keys()].map((cluster) => [cluster, granted[cluster] ?? 0]));
  const marked = (divided: Schedule): Schedule => {
    if (divided.kind === "unknown" || kept.size === 0) return divided;
    const clusters = divided.clusters.map((each) => {
      const why = kept.get(each.cluster);
      return why ? { ...each, kept: why } : each;
    });
    return { ...divided, clusters };
  };
  if (schedule.isScored) return marked(scoredAround(schedule.clusters, total, granted, holds));
  const selected = new Set(schedule.clusters.map(({ cluster }) => cluster));
  const first = listed.filter(({ name }) => selected.has(name));
  const others = [...selected].filter((name) => !listed.some((each) => each.name === name)).sort();
  const weighted = [
    ...first.map(({ name, weight = 1 }) => ({ cluster: name, weight })),
    ...others.map((cluster) => ({ cluster, weight: 1 })),
  ];
  return marked({ kind: "known", source: "engine", clusters: divideAround(total, weighted, holds) });
}

/** [C6] A user has allowed the drain of clusters that the engine does not select. */
function withoutDrained(schedule: EngineSchedule, { spec }: ParsedCrossClusterStatefulset): EngineSchedule {
  if (schedule.kind === "unknown") return schedule;
  const allowed = spec.failover.confirmedDrain ?? [];
  return {
    ...schedule,
    clusters: schedule.clusters.filter(({ cluster, kept }) => !kept || !allowed.includes(cluster)),
  };
}

/**
 * [S19] `holds`: clusters that keep what they hold. They take part in the division, so that a cluster which is away for
 * a moment changes no share: what it does not hold yet, it gets when it is selected again. If the division would take
 * something from it, the others divide the rest.
 */
function divideAround(
  total: number,
  weighted: readonly { cluster: string; weight: number }[],
  holds: ReadonlyMap<string, number>,
): { cluster: string; replicas: number }[] {
  const heldBy = (cluster: string) => holds.get(cluster) ?? 0;
  const divided = divide(total, weighted);
  const fixed = new Set(divided.flatMap(({ cluster, replicas }) => (heldBy(cluster) > replicas ? [cluster] : [])));
  if (fixed.size === 0) {
    return divided.map((each) =>
      holds.has(each.cluster) ? { ...each, replicas: Math.min(each.replicas, heldBy(each.cluster)) } : each,
    );
  }
  const left = Math.max(0, total - [...fixed].reduce((sum, cluster) => sum + heldBy(cluster), 0));
  const free = weighted.filter(({ cluster }) => !fixed.has(cluster));
  const others = new Map(divideAround(left, free, holds).map(({ cluster, replicas }) => [cluster, replicas]));
  return weighted.map(({ cluster }) => ({ cluster, replicas: others.get(cluster) ?? heldBy(cluster) }));
}

/** By largest remainder; ties go to the cluster that is listed first, so that the same input gives the same answer. */
export function divide(
  total: number,
  weighted: readonly { cluster: string; weight: number }[],
): { cluster: string; replicas: number }[] {
  const sum = weighted.reduce((all, { weight }) => all + weight, 0);
  if (sum === 0) return weighted.map(({ cluster }, index) => ({ cluster, replicas: index === 0 ? total : 0 }));
  const shares = weighted.map(({ cluster, weight }, index) => {
    const exact = total * weight;
    return { cluster, index, replicas: Math.floor(exact / sum), remainder: exact % sum };
  });
  const left = total - shares.reduce((all, { replicas }) => all + replicas, 0);
  const extra = new Set(
    [...shares]
      .sort((a, b) => b.remainder - a.remainder || a.index - b.index)
      .slice(0, left)
      .map(({ index }) => index),
  );
  return shares.map(({ cluster, replicas, index }) => ({ cluster, replicas: replicas + (extra.has(index) ? 1 : 0) }));
}

function updateOf({ statefulset: { spec }, window }: IntentFacts): UpdateStrategy {
  if (spec.updateStrategy.type === "OnDelete") return { type: "OnDelete" };
  const rolling = spec.updateStrategy.rollingUpdate;
  return {
    type: "RollingUpdate",
    partition: rolling.partition,
    maxUnavailable: rolling.maxUnavailable as number | `${number}%`,
    batches: rolling.batches ?? [],
    order: rolling.order,
    ...(rolling.leaderTransfer && { leaderTransfer: rolling.leaderTransfer }),
    waves: rolling.waves ?? [],
    paused: rolling.paused,
    progressDeadlineSeconds: rolling.progressDeadlineSeconds,
    onFailure: rolling.onFailure,
    window,
  };
}

function requestsOf({ statefulset, approvals, clusters }: IntentFacts): Requests {
  const { undo, resumedAt, failover, transferLeader } = statefulset.spec;
  const promotion = promotionOf(statefulset.spec);
  const away = new Map(clusters.filter(({ state }) => state !== "Ready").map(({ name, sinceMs }) => [name, sinceMs]));
  return {
    ...(undo && { undo: { id: undo.at, to: undo.to } }),
    // People count waves from 1, the planner from 0.
    approvals: approvals.map(({ spec }) => ({ revision: spec.revision, wave: spec.wave - 1 })),
    // The confirmation of an earlier loss does not count for a loss that began afterwards.
    confirmedLost: (failover.confirmedLost ?? []).flatMap(({ name, at }) => {
      const known = clusters.some((cluster) => cluster.name === name);
      const sinceMs = away.get(name) ?? Number.POSITIVE_INFINITY;
      return !known || sinceMs <= Date.parse(at) ? [name] : [];
    }),
    confirmedDrain: failover.confirmedDrain ?? [],
    ...(promotion && { promotion }),
    ...(transferLeader && { transferLeader: { id: transferLeader.at, to: transferLeader.to } }),
    ...(resumedAt !== undefined && { resume: resumedAt }),
  };
}

function fleetOf(facts: IntentFacts): Record<string, FleetFact> {
  const { clusters, goneSinceMs, nowMs, instanceRequest = {}, quotaRooms } = facts;
  const fleet: Record<string, FleetFact> = {};
  for (const [name, sinceMs] of Object.entries(goneSinceMs)) fleet[name] = { state: "Gone", sinceMs };
  for (const { name, state, sinceMs, cordoned, capacity } of clusters) {
    if (state === "Ready") {
      const maintenance = isDrainTaint(cordoned) && ({ maintenance: true } as const);
      const room = lesserRoom(roomIn(capacity, instanceRequest), quotaRooms?.[name]);
      fleet[name] = { state, ...(cordoned !== undefined && { cordoned }), ...maintenance, ...(room && { room }) };
    } else if (state === "NotReady") fleet[name] = { state, sinceMs: sinceMs ?? nowMs };
    else fleet[name] = { state, ...(sinceMs !== undefined && { sinceMs }) };
  }
  return fleet;
}

/** One application as the page shows it, from one moment. Pure. */
import {
  type CrossClusterStatefulset,
  type CrossClusterStatefulsetStatus,
  type EngineName,
  parseCrossClusterStatefulset,
} from "../../api/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { majorityOf } from "../../plan/index.ts";
import type { ApplicationView, ClusterView, InstanceView, PlanView, QuorumView, WhyView } from "../../web/index.ts";
import { instanceRevision } from "../commands/status/view.ts";
import { whyOf } from "../commands/why/view.ts";
import { ledgerOf } from "../hub/hub.ts";
import { recordIn } from "../hub/record.ts";
import { seenOf } from "../hub/seen.ts";
import { statusOf } from "../hub/status.ts";
import { actionsOf, type Rights } from "./actions.ts";
import { timelineFrom } from "./record.ts";
import { isStepPhase, rolloutStart, timelineOf, withStatus } from "./timeline.ts";
import { given, historyView, isInHand, meaningOf, waveCount } from "./words.ts";

type Status = CrossClusterStatefulsetStatus;
type Spec = CrossClusterStatefulset["spec"];
type Row = NonNullable<Status["clusters"]>[number];

export interface ApplicationFacts {
  readonly object: KubeObject;
  readonly events: readonly KubeObject[];
  /** Why there are no Events. */
  readonly eventsProblem: string | undefined;
  readonly plan: PlanView;
  /** What changed with each revision, by its name. */
  readonly changes: ReadonlyMap<string, readonly string[]>;
  readonly rights: Rights;
  readonly program: string;
  /** The commands to paste name its kinds. */
  readonly engine: EngineName;
  readonly nowMs: number;
}

/** A page shows no more of one cluster; status has at most a thousand over all. */
const MAX_INSTANCES = 200;

export function applicationView(facts: ApplicationFacts): ApplicationView {
  const { object, events, eventsProblem, plan, rights, program, nowMs } = facts;
  const { name, namespace = "default", resourceVersion = "", generation } = object.metadata;
  const parsed = parseCrossClusterStatefulset(object);
  const spec = parsed.ok ? parsed.value.spec : undefined;
  const status = statusOf(object);
  const paused = spec?.updateStrategy.rollingUpdate.paused === true;
  const { leader, rollout } = status;
  const said = timelineOf(events, rolloutStart(spec, status), nowMs);
  const record = recordIn(status.history, status.updateRevision);
  const timeline = record ? timelineFrom(record, said.notes) : withStatus(said, status, nowMs);
  return {
    atMs: nowMs,
    type: "ccs",
    namespace,
    name,
    resourceVersion,
    seen: seenOf(object),
    kind: kindOf(spec, status),
    isCurrent: status.observedGeneration === generation,
    phase: status.phase ?? "Pending",
    desired: status.desiredReplicas ?? 0,
    updated: Math.min(status.updatedReplicas ?? 0, status.desiredReplicas ?? 0),
    ...given("currentRevision", status.currentRevision),
    ...given("updateRevision", status.updateRevision),
    ...given("rejectedRevision", status.rejectedRevision),
    ...(leader?.cluster !== undefined && {
      leader: { cluster: leader.cluster, ...given("instance", leader.instance) },
    }),
    quorum: quorumOf(spec, status),
    paused,
    ...(rollout && {
      rollout: {
        ...given("from", rollout.from),
        ...given("to", rollout.to),
        ...given("type", rollout.type),
        ...given("since", rollout.since),
        ...given("wave", rollout.wave),
        waves: waveCount(spec?.updateStrategy.rollingUpdate.waves, status.clusters ?? []),
        awaitingApproval: rollout.awaitingApproval === true,
        ...given("soakUntil", rollout.soakUntil),
        windowClosed: rollout.windowClosed === true,
      },
    }),
    why: whyView(facts, spec, status),
    clusters: (status.clusters ?? []).map((row) => clusterView(row, status)),
    timeline: { ...timeline, ...given("problem", eventsProblem) },
    plan,
    history: historyView(
      status.history ?? [],
      { current: status.currentRevision, target: status.updateRevision, rejected: status.rejectedRevision },
      facts.changes,
    ),
    actions: actionsOf({ type: "ccs", namespace, name }, status, paused, rights, { program, seen: seenOf(object) }),
  };
}

export function kindOf(spec: Spec | undefined, status: Status): string {
  return status.display?.kind ?? spec?.resourceSelector?.kind ?? "unknown";
}

function whyView({ object, program, engine }: ApplicationFacts, spec: Spec | undefined, status: Status): WhyView {
  const why = whyOf({ program, engine, object, spec, status, ledger: ledgerOf(object) });
  const { reason, cluster, since, sentence, evidence, remedy, needsPerson, others } = why;
  return {
    sentence,
    evidence,
    remedy,
    needsPerson: needsPerson && !isInHand(reason),
    others,
    ...given("reason", reason),
    ...given("meaning", reason === undefined ? undefined : meaningOf(reason)),
    ...given("cluster", cluster),
    ...given("since", since),
  };
}

function quorumOf(spec: Spec | undefined, status: Status): QuorumView {
  const rows = status.clusters ?? [];
  const voters = rows.reduce((sum, { granted }) => sum + (granted?.replicas ?? 0), 0) || (status.desiredReplicas ?? 0);
  const ready = rows.reduce(
    (sum, { observed, granted, health }) =>
      sum + (health === "Lost" ? 0 : Math.min(observed?.ready ?? 0, granted?.replicas ?? 0)),
    0,
  );
  const needed = spec?.quorum === "None" ? 0 : voters === 0 ? 0 : majorityOf(voters);
  const limit = spec?.updateStrategy.rollingUpdate.maxUnavailable ?? 1;
  const allowed = typeof limit === "number" ? limit : Math.ceil((Number.parseFloat(limit) * voters) / 100);
  const maxUnavailable = Math.max(1, Number.isFinite(allowed) ? allowed : 1);
  return { voters, ready, needed, maxUnavailable, spare: Math.max(0, ready - needed) };
}

function clusterView(row: Row, status: Status): ClusterView {
  const { name, granted, observed, health, ordinals = [], instances = [] } = row;
  const isLost = health === "Lost";
  return {
    name,
    phase: row.phase ?? "Pending",
    health: health ?? "Unknown",
    leader: row.leader === true,
    isBusy: isStepPhase(row.phase),
    ...given("gate", row.gate),
    ...given("turn", row.turn),
    ...given("ready", isLost ? undefined : observed?.ready),
    replicas: granted?.replicas ?? 0,
    ...given("revision", granted?.revision),
    ordinals: ranges(ordinals),
    instances: instances.slice(0, MAX_INSTANCES).map((_, index) => instanceView(row, index, status)),
    ...given("reason", row.reason),
    ...given("message", row.message),
    ...given("since", row.since),
  };
}

function instanceView(row: Row, index: number, { leader }: Status): InstanceView {
  const { instances = [], ordinals = [], observed, granted, health } = row;
  const instance = instances[index] ?? { name: "" };
  const known = health !== "Lost" && observed?.ready !== undefined && observed.ready === granted?.replicas;
  const ready = instance.ready ?? (known ? true : undefined);
  const revision = instanceRevision(instance, index, row);
  return {
    name: instance.name,
    ...given("ordinal", instances.length === ordinals.length ? ordinals[index] : undefined),
    ...given("ready", health === "Lost" ? undefined : ready),
    terminating: instance.terminating === true,
    leader: leader?.cluster === row.name && leader.instance === instance.name,
    ...given("state", instance.state),
    ...given("revision", revision === "" || revision === "revision unknown" ? undefined : revision),
    ...given("reason", instance.reason),
  };
}

/** 0-2, 5. */
export function ranges(numbers: readonly number[]): string {
  const parts: string[] = [];
  const sorted = numbers.toSorted((a, b) => a - b);
  for (let at = 0; at < sorted.length; ) {
    let end = at;
    while (sorted[end + 1] === (sorted[end] ?? 0) + 1) end += 1;
    parts.push(end === at ? `${sorted[at]}` : `${sorted[at]}-${sorted[end]}`);
    at = end + 1;
  }
  return parts.join(", ");
}

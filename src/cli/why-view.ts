/** The present wait, its evidence and its remedy, from the object, its ledger and the hub's word on the cluster. Pure. */
import type { CrossClusterStatefulset, CrossClusterStatefulsetStatus } from "../api/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { type Ledger, majorityOf } from "../plan/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { guideOf, type PasteFacts, type Proof } from "./reasons.ts";
import type { Row } from "./status-view.ts";

export interface WhyFacts {
  readonly program: string;
  readonly object: KubeObject;
  readonly spec: CrossClusterStatefulset["spec"] | undefined;
  readonly status: CrossClusterStatefulsetStatus;
  readonly ledger: Ledger | undefined;
  /** The hub's Cluster objects, by name. */
  readonly clusters: ReadonlyMap<string, KubeObject>;
}

export interface Evidence {
  readonly object: string;
  readonly field: string;
  readonly value: string;
  /** RFC 3339, where it is known. */
  readonly since?: string;
}

export interface Why {
  /** Undefined: it waits for nothing. */
  readonly reason: string | undefined;
  readonly cluster: string | undefined;
  readonly sentence: string;
  readonly evidence: readonly Evidence[];
  readonly remedy: readonly string[];
  readonly needsPerson: boolean;
  /** What else waits: `cluster: reason`. */
  readonly others: readonly string[];
}

interface Wait {
  readonly code: string;
  readonly cluster: string | undefined;
  readonly message: string;
}

export function whyOf(facts: WhyFacts): Why {
  const { object, status } = facts;
  const wait = presentWait(facts);
  if (!wait) {
    const seen = status.observedGeneration === object.metadata.generation;
    return {
      reason: undefined,
      cluster: undefined,
      sentence: seen
        ? `${nameOf(object)} waits for nothing: ${status.readyReplicas ?? 0} of ${status.desiredReplicas ?? 0} instances are ready, on revision ${status.updateRevision ?? "none"}.`
        : `${nameOf(object)} has not been looked at since its last change; if that stays so, no controller is running.`,
      evidence: seen ? [] : [generationEvidence(facts)],
      remedy: seen ? [] : ["lockstep doctor"],
      needsPerson: !seen,
      others: [],
    };
  }
  const guide = guideOf(wait.code);
  const row = status.clusters?.find(({ name }) => name === wait.cluster);
  const where = wait.cluster === undefined ? "" : ` in ${wait.cluster}`;
  return {
    reason: wait.code,
    cluster: wait.cluster,
    sentence: `${nameOf(object)} waits${where}: ${wait.message}`,
    evidence: [
      ...(guide?.proofs ?? []).flatMap((proof) => PROOFS[proof](facts, row)),
      ...(guide === undefined || guide.proofs.length === 0 ? [reasonEvidence(facts, wait)] : []),
    ],
    remedy: guide?.paste(pasteFacts(facts, wait.cluster)) ?? [],
    needsPerson: guide?.needsPerson ?? false,
    others: otherWaits(status, wait),
  };
}

/** A halt first, then what needs a person, then the step in progress, then the rest. */
function presentWait({ status, ledger }: WhyFacts): Wait | undefined {
  const halt = ledger?.halt;
  if (halt) return { code: halt.code, cluster: halt.cluster, message: status.message ?? halt.message };
  const all = waitsOf(status);
  const { step } = status;
  const inStep = all.find(({ cluster, code }) => step?.reason === code && step.cluster === cluster);
  return all.find(({ code }) => guideOf(code)?.needsPerson) ?? inStep ?? all[0];
}

function waitsOf(status: CrossClusterStatefulsetStatus): Wait[] {
  const rows = (status.clusters ?? []).flatMap(({ name, reason, message = "" }) =>
    reason === undefined ? [] : [{ code: reason, cluster: name, message }],
  );
  const { reason, message = "" } = status;
  const waits: Wait[] = [];
  const pause = status.conditions?.find(({ type, status: holds }) => type === "Paused" && holds === "True");
  if (pause && reason !== pause.reason && guideOf(pause.reason)) {
    const said = pause.message || "the rollout is paused by its spec; the step in progress is finished.";
    waits.push({ code: pause.reason, cluster: undefined, message: said });
  }
  const same = rows.some((row) => row.code === reason && row.message === message);
  if (reason !== undefined && !same) waits.push({ code: reason, cluster: undefined, message });
  return [...waits, ...rows];
}

function otherWaits(status: CrossClusterStatefulsetStatus, shown: Wait): string[] {
  return waitsOf(status)
    .filter(({ code, cluster }) => code !== shown.code || cluster !== shown.cluster)
    .map(({ code, cluster }) => (cluster === undefined ? code : `${cluster}: ${code}`));
}

const PROOFS: Record<Proof, (facts: WhyFacts, row: Row | undefined) => Evidence[]> = {
  counts(facts, row) {
    if (!row)
      return [
        whole(facts, "readyReplicas", `${facts.status.readyReplicas ?? 0} of ${facts.status.desiredReplicas ?? 0}`),
      ];
    const { granted, observed, health, since } = row;
    const of = granted?.replicas ?? 0;
    return [
      inRow(facts, row, "observed.ready", `${observed?.ready ?? "unknown"} of ${of} granted`, since),
      inRow(facts, row, "observed.updated", `${observed?.updated ?? "unknown"} of ${of - (granted?.partition ?? 0)}`),
      ...(health === undefined ? [] : [inRow(facts, row, "health", health)]),
    ];
  },
  epochs(facts, row) {
    if (!row) return [];
    return [
      inRow(facts, row, "granted.epoch", String(row.granted?.epoch ?? "none"), row.since),
      inRow(facts, row, "observed.epoch", String(row.observed?.epoch ?? "unknown")),
    ];
  },
  cluster({ clusters }, row) {
    const cluster = row && clusters.get(row.name);
    if (!row) return [];
    if (!cluster)
      return [{ object: `Cluster ${row.name}`, field: "metadata.name", value: "no such object on the hub" }];
    const ready = readyCondition(cluster);
    const since = ready?.lastTransitionTime;
    const spec = isJsonObject(cluster.spec) ? cluster.spec : {};
    const taints = Array.isArray(spec.taints) ? spec.taints.filter(isJsonObject) : [];
    return [
      {
        object: `Cluster ${row.name}`,
        field: "status.conditions[Ready]",
        value: `${ready?.status ?? "missing"}${typeof ready?.message === "string" && ready.message ? ` (${ready.message})` : ""}`,
        ...(typeof since === "string" && { since }),
      },
      ...taints.map(({ key, effect }) => ({
        object: `Cluster ${row.name}`,
        field: "spec.taints",
        value: `${String(key)}:${String(effect)}`,
      })),
    ];
  },
  rollout(facts) {
    const rollout = facts.ledger?.rollout;
    if (!rollout) return [];
    const soak = rollout.soakSinceMs;
    return [
      inLedger(facts, "rollout.to", rollout.to, rollout.sinceMs),
      inLedger(facts, "rollout.wave", String(rollout.wave)),
      ...(soak === null ? [] : [inLedger(facts, "rollout.soakSince", time(soak), soak)]),
    ];
  },
  halt(facts) {
    const halt = facts.ledger?.halt;
    if (!halt) return [];
    return [inLedger(facts, "halt", `${halt.code} in ${halt.cluster} on revision ${halt.revision}`, halt.sinceMs)];
  },
  paused: (facts) => [
    {
      object: described(facts),
      field: "spec.updateStrategy.rollingUpdate.paused",
      value: String(facts.spec?.updateStrategy.rollingUpdate.paused ?? "unknown"),
    },
  ],
  leader(facts) {
    const { leader } = facts.status;
    return [whole(facts, "leader", leader ? (leader.instance ?? leader.cluster ?? "unknown") : "not known")];
  },
  quorum(facts) {
    const voters = Object.values(facts.ledger?.clusters ?? {}).reduce(
      (sum, { instances, removedByLoss }) => sum + (removedByLoss ? 0 : instances.length),
      0,
    );
    const ready = facts.status.readyReplicas ?? 0;
    const maxUnavailable = facts.spec?.updateStrategy.rollingUpdate.maxUnavailable ?? 1;
    return [
      whole(facts, "readyReplicas", `${ready} of ${voters} voters; the majority is ${majorityOf(voters)}`),
      {
        object: described(facts),
        field: "spec.updateStrategy.rollingUpdate.maxUnavailable",
        value: String(maxUnavailable),
      },
    ];
  },
  revisions(facts) {
    const { currentRevision, updateRevision, rejectedRevision } = facts.status;
    return [
      whole(facts, "currentRevision", currentRevision ?? "none"),
      whole(facts, "updateRevision", updateRevision ?? "none"),
      ...(rejectedRevision === undefined ? [] : [whole(facts, "rejectedRevision", rejectedRevision)]),
    ];
  },
  failover(facts) {
    const failover = facts.spec?.failover;
    if (!failover) return [];
    const confirmed = (failover.confirmedLost ?? []).map(({ name, at }) => `${name} at ${at}`).join(", ");
    return [
      {
        object: described(facts),
        field: "spec.failover",
        value: `policy ${failover.policy}, afterSeconds ${failover.afterSeconds}, confirmedLost: ${confirmed || "none"}`,
      },
    ];
  },
};

function reasonEvidence(facts: WhyFacts, { code, cluster }: Wait): Evidence {
  const condition = facts.status.conditions?.find(({ type }) => type === "Progressing");
  const field = cluster === undefined ? "reason" : `clusters[${cluster}].reason`;
  return { ...whole(facts, field, code), ...(condition && { since: condition.lastTransitionTime }) };
}

function generationEvidence(facts: WhyFacts): Evidence {
  const { generation } = facts.object.metadata;
  const seen = facts.status.observedGeneration ?? "none";
  return whole(facts, "observedGeneration", `${seen}, and metadata.generation is ${generation ?? "none"}`);
}

function whole(facts: WhyFacts, field: string, value: string): Evidence {
  return { object: described(facts), field: `status.${field}`, value };
}

function inRow(facts: WhyFacts, { name }: Row, field: string, value: string, since?: string): Evidence {
  return { ...whole(facts, `clusters[${name}].${field}`, value), ...(since !== undefined && { since }) };
}

function inLedger({ object }: WhyFacts, field: string, value: string, sinceMs?: number): Evidence {
  return {
    object: `CrossClusterLedger ${nameOf(object)}`,
    field: `spec.state.${field}`,
    value,
    ...(sinceMs !== undefined && { since: time(sinceMs) }),
  };
}

function pasteFacts({ program, object, spec, status, ledger }: WhyFacts, cluster: string | undefined): PasteFacts {
  return {
    program,
    name: object.metadata.name,
    namespace: object.metadata.namespace ?? "default",
    cluster: cluster ?? status.step?.cluster ?? "CLUSTER",
    kind: spec?.resourceSelector.kind ?? "KIND",
    template: ledger?.identity?.app.name ?? spec?.resourceSelector.name ?? object.metadata.name,
    selector: status.selector ?? "",
  };
}

function readyCondition(cluster: KubeObject): JsonObject | undefined {
  const status = isJsonObject(cluster.status) ? cluster.status : {};
  const conditions = Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
  return conditions.find(({ type }) => type === "Ready");
}

function described({ object }: WhyFacts): string {
  return `CrossClusterStatefulset ${nameOf(object)}`;
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

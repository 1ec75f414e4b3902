import {
  type CrossClusterStatefulsetStatus,
  type FieldError,
  MAX_EVIDENCE,
  MAX_LISTED_INSTANCES,
  type ParsedCrossClusterStatefulset,
} from "../../api/index.ts";
import type { ClusterEntry, Observation, PlanResult, StepKind, Waiting } from "../../plan/index.ts";
import type { JsonObject, Writable } from "../../runtime/index.ts";
import { NEEDS_A_PERSON } from "./attention.ts";
import { instanceRows } from "./instance-rows.ts";
import type { StoredRevision } from "./revision-store.ts";

type Status = CrossClusterStatefulsetStatus;
type ClusterRow = NonNullable<Status["clusters"]>[number];
type Condition = NonNullable<Status["conditions"]>[number];

export interface ReportFacts {
  readonly statefulset: ParsedCrossClusterStatefulset;
  /** The status that it has now. */
  readonly before: Status | undefined;
  readonly plan: PlanResult;
  readonly observations: Readonly<Record<string, Observation>>;
  readonly history: readonly StoredRevision[];
  /** What could not be written to a cluster. */
  readonly failures: readonly { readonly cluster: string; readonly message: string }[];
  /** The workload's own status fields, put together. */
  readonly workload: JsonObject | undefined;
  readonly selector: string | undefined;
  readonly nowMs: number;
}

const PHASES: Record<StepKind, string> = {
  deploy: "Deploying",
  grow: "Scaling",
  shrink: "Scaling",
  update: "Updating",
  rollback: "RollingBack",
  transfer: "TransferringLeader",
  adopt: "Adopting",
};

/** A longer text is cut: the API server would refuse the whole status. */
const MESSAGE_CHARS = 4096;

/** The status as a view of the plan. Pure; times of what did not change are kept from the status before. */
export function statusOf(facts: ReportFacts): Status {
  const { plan, statefulset, before, history, nowMs } = facts;
  const { figures, ledger } = plan;
  const rows = clusterRows(facts);
  const step = stepOf(facts);
  const first = firstReason(plan.waiting) ?? (step ? undefined : notAllReady(plan));
  const settled = step === undefined && first === undefined && figures.ready === figures.desired;
  return {
    observedGeneration: statefulset.metadata.generation ?? 0,
    replicas: sum(rows, (row) => row.observed?.replicas),
    readyReplicas: figures.ready,
    availableReplicas: figures.ready,
    updatedReplicas: figures.updated,
    desiredReplicas: figures.desired,
    ...(figures.currentRevision !== null && { currentRevision: figures.currentRevision }),
    ...(figures.targetRevision !== null && { updateRevision: figures.targetRevision }),
    ...(figures.rejectedRevision !== null && { rejectedRevision: figures.rejectedRevision }),
    ...(facts.selector !== undefined && { selector: facts.selector }),
    phase: phaseOf(facts, step, settled),
    ...(first && { reason: first.code, message: sentence(first), ...evidenceOf(first) }),
    display: {
      ready: `${figures.ready}/${figures.desired}`,
      updated: `${figures.updated}/${figures.desired}`,
    },
    ...(figures.leader !== null && { leader: leaderOf(facts, figures.leader) }),
    topologyVersion: ledger.topologyVersion,
    ...(step && { step }),
    ...(plan.requeueAt !== undefined && { nextCheckTime: time(plan.requeueAt) }),
    clusters: rows,
    history: history.map(({ id, number, createdAt }) => ({ revision: id, number, ...(createdAt && { createdAt }) })),
    ...(facts.workload && { workload: facts.workload }),
    conditions: conditionsOf(facts, settled, first, before?.conditions ?? [], nowMs),
  };
}

/** The status of an object that cannot be acted upon as it stands; what it runs goes on. */
export function invalidStatus(
  generation: number,
  before: Status | undefined,
  reason: string,
  message: string,
  nowMs: number,
): Status {
  const conditions = [
    condition("Progressing", "False", reason, message),
    condition("Degraded", "True", reason, message),
  ];
  // The reason before, and what it rested on, are no longer what stops it.
  const { evidence: _, ...kept } = before ?? {};
  return {
    ...kept,
    observedGeneration: generation,
    phase: "Invalid",
    reason,
    message: cut(message),
    conditions: withTimes(conditions, generation, before?.conditions ?? [], nowMs),
  };
}

export function fieldErrorsText(errors: readonly FieldError[]): string {
  return errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
}

function clusterRows({ plan, observations, failures, before, nowMs }: ReportFacts): ClusterRow[] {
  const rowsBefore = new Map((before?.clusters ?? []).map((row) => [row.name, row]));
  const { identity } = plan.ledger;
  const entries = Object.entries(plan.ledger.clusters).sort(([, a], [, b]) => a.index - b.index);
  const listed = sum(entries, ([, { instances }]) => instances.length) <= MAX_LISTED_INSTANCES;
  return entries.map(([name, entry]) => {
    const waiting = firstReason(plan.waiting.filter(({ cluster }) => cluster === name));
    const failure = failures.find(({ cluster }) => cluster === name);
    const phase = entry.step ? PHASES[entry.step.kind] : restingPhase(entry);
    const reason = failure ? "DispatchFailed" : waiting?.code;
    const message = failure ? cut(failure.message) : waiting && sentence(waiting);
    const previous = rowsBefore.get(name);
    const unchanged = previous?.phase === phase && previous.reason === reason && previous.since !== undefined;
    return {
      name,
      ordinals: entry.instances.map(({ ordinal }) => ordinal),
      ...(identity && listed && { instances: instanceRows(identity, entry, observations[name]) }),
      ...(entry.grant && { granted: grantedOf(entry) }),
      ...observedOf(observations[name], entry, plan.figures.leader === name),
      ...(entry.grant && { gate: gateOf(entry, observations[name]) }),
      ...(entry.turn !== "none" && { turn: entry.turn === "held" ? "Held" : "Returning" }),
      ...(entry.baseRevision !== null && { baseRevision: entry.baseRevision }),
      phase,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
      ...(!failure && waiting && evidenceOf(waiting)),
      since: unchanged ? previous.since : time(nowMs),
    };
  });
}

function grantedOf({ grant }: ClusterEntry): ClusterRow["granted"] {
  if (!grant) return undefined;
  const { revision, replicas, partition, processor, topologyVersion, transferLeaderTo, epoch } = grant;
  return {
    revision,
    replicas,
    partition,
    processor,
    topologyVersion,
    ...(transferLeaderTo !== undefined && { transferLeaderTo }),
    epoch,
  };
}

function observedOf(observation: Observation | undefined, entry: ClusterEntry, leads: boolean): Partial<ClusterRow> {
  if (entry.lostAtMs !== null) return { health: "Lost" };
  if (observation?.kind !== "present") return { health: "Unknown" };
  const { live, counts, health, report } = observation;
  const observed: Writable<NonNullable<ClusterRow["observed"]>> = {};
  const epoch = report?.epoch ?? live.epoch;
  if (live.revision !== undefined) observed.revision = live.revision;
  if (counts.replicas !== undefined) observed.replicas = counts.replicas;
  if (counts.ready !== undefined) observed.ready = counts.ready;
  if (counts.updated !== undefined) observed.updated = counts.updated;
  if (epoch !== undefined) observed.epoch = epoch;
  return {
    observed,
    health: health === "healthy" ? "Healthy" : health === "unhealthy" ? "Unhealthy" : "Unknown",
    leader: leads,
  };
}

function gateOf(entry: ClusterEntry, observation: Observation | undefined): string {
  if (entry.lostAtMs !== null || observation?.kind !== "present") return "Unknown";
  return entry.done ? "Open" : "Closed";
}

function restingPhase(entry: ClusterEntry): string {
  if (entry.lostAtMs !== null) return "Lost";
  if (!entry.grant) return "Pending";
  return entry.done ? "Settled" : "Settling";
}

function stepOf({ plan, statefulset }: ReportFacts): Status["step"] {
  const working = Object.entries(plan.ledger.clusters)
    .flatMap(([name, entry]) => (entry.step ? [{ name, entry, step: entry.step }] : []))
    .sort((a, b) => a.step.sinceMs - b.step.sinceMs || a.entry.index - b.entry.index);
  const [first] = working;
  if (!first) return undefined;
  const waiting = firstReason(plan.waiting.filter(({ cluster }) => cluster === first.name));
  const deadlineMs =
    first.step.progressMs + statefulset.spec.updateStrategy.rollingUpdate.progressDeadlineSeconds * 1000;
  return {
    type: PHASES[first.step.kind],
    cluster: first.name,
    ...(first.entry.grant && { revision: first.entry.grant.revision }),
    ...(plan.ledger.rollout && { wave: plan.ledger.rollout.wave }),
    since: time(first.step.sinceMs),
    deadline: time(deadlineMs),
    ...(waiting && { reason: waiting.code, message: sentence(waiting) }),
  };
}

function phaseOf({ statefulset, plan }: ReportFacts, step: Status["step"], settled: boolean): string {
  if (statefulset.metadata.deletionTimestamp !== undefined) {
    return statefulset.spec.deletionPolicy === "Teardown" ? "TearingDown" : "Releasing";
  }
  if (plan.ledger.halt) return "Halted";
  if (step?.type) return step.type;
  if (settled) return "Settled";
  return plan.ledger.rollout ? "Updating" : "Waiting";
}

function leaderOf({ observations }: ReportFacts, cluster: string): NonNullable<Status["leader"]> {
  const observation = observations[cluster];
  const claim = observation?.kind === "present" ? observation.leader : undefined;
  const instance = claim?.kind === "here" ? claim.instance : undefined;
  return { cluster, ...(instance !== undefined && { instance }) };
}

function conditionsOf(
  { plan, statefulset }: ReportFacts,
  settled: boolean,
  first: Waiting | undefined,
  before: readonly Condition[],
  nowMs: number,
): Condition[] {
  const { figures, ledger } = plan;
  const why = first ? sentence(first) : "";
  const hasQuorum = figures.ready > 0 && (statefulset.spec.quorum === "None" || figures.ready >= figures.majority);
  const lost = Object.entries(ledger.clusters).flatMap(([name, { lostAtMs, grant }]) =>
    lostAtMs === null || !grant ? [] : [name],
  );
  const { halt } = ledger;
  const paused = statefulset.spec.updateStrategy.rollingUpdate.paused || halt !== null;
  const degradedReason = halt?.code ?? (lost.length > 0 ? "ClusterLost" : hasQuorum ? undefined : "NoQuorum");
  const counts = `${figures.ready} of ${figures.desired} instances are ready, ${figures.majority} of ${figures.voters} voters are a majority`;
  return withTimes(
    [
      condition("Available", hasQuorum ? "True" : "False", hasQuorum ? "QuorumReady" : "NoQuorum", counts),
      settled
        ? condition("Progressing", "False", "Complete", `all ${figures.desired} instances are updated and ready`)
        : condition("Progressing", halt ? "False" : "True", first?.code ?? "InProgress", why || counts),
      condition(
        "Degraded",
        degradedReason === undefined ? "False" : "True",
        degradedReason ?? "AsExpected",
        halt?.message ?? (lost.length > 0 ? `lost: ${lost.join(", ")}` : counts),
      ),
      condition(
        "Paused",
        paused ? "True" : "False",
        halt?.code ?? (paused ? "Paused" : "NotPaused"),
        halt?.message ?? "",
      ),
      condition(
        "NotFaultTolerant",
        figures.notFaultTolerant ? "True" : "False",
        figures.notFaultTolerant ? "EveryInstanceNeeded" : "MajoritySurvivesOne",
        figures.notFaultTolerant ? "with so few instances none can be away without losing the majority" : "",
      ),
    ],
    statefulset.metadata.generation ?? 0,
    before,
    nowMs,
  );
}

type BareCondition = Pick<Condition, "type" | "status" | "reason" | "message">;

function condition(type: string, status: Condition["status"], reason: string, message: string): BareCondition {
  return { type, status, reason, message: cut(message) };
}

/** A condition keeps its time for as long as its status stays the same. */
function withTimes(
  conditions: readonly BareCondition[],
  observedGeneration: number,
  before: readonly Condition[],
  nowMs: number,
): Condition[] {
  return conditions.map((now) => {
    const previous = before.find(({ type }) => type === now.type);
    const lastTransitionTime = previous?.status === now.status ? previous.lastTransitionTime : time(nowMs);
    return { observedGeneration, lastTransitionTime, ...now };
  });
}

/** [R1] Nothing is left to be granted, and yet an instance is down by itself: it comes back by itself, or a person looks. */
function notAllReady({ figures: { ready, desired } }: PlanResult): Waiting | undefined {
  if (ready >= desired) return undefined;
  return {
    code: "WaitingForReady",
    message: `${ready} of ${desired} instances are ready, although every cluster has what it was granted.`,
    evidence: [],
    remedy: "Look at the instances that are not ready.",
  };
}

/** What a person should read first: what needs a person, before what needs only time. */
function firstReason(waiting: readonly Waiting[]): Waiting | undefined {
  return waiting.find(({ code }) => NEEDS_A_PERSON.has(code)) ?? waiting[0];
}

export function sentence({ message, remedy }: Waiting): string {
  const end = /[.!?]$/.test(message) ? "" : ".";
  return cut(remedy === "" ? message : `${message}${end} ${remedy}`);
}

/** What the planner says the reason rests on, word for word. */
function evidenceOf({ evidence }: Waiting): Pick<Status, "evidence"> {
  if (evidence.length === 0) return {};
  return {
    evidence: evidence.slice(0, MAX_EVIDENCE).map(({ object, field, value, sinceMs }) => ({
      object: cut(object),
      field: cut(field),
      value: cut(value),
      ...(sinceMs !== undefined && { since: time(sinceMs) }),
    })),
  };
}

function cut(text: string): string {
  return text.length <= MESSAGE_CHARS ? text : `${text.slice(0, MESSAGE_CHARS - 3)}...`;
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function sum<T>(items: readonly T[], of: (item: T) => number | undefined): number {
  return items.reduce((total, item) => total + (of(item) ?? 0), 0);
}

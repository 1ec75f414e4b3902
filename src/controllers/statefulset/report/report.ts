import {
  type ApplicationPhase,
  type ClusterPhase,
  type CrossClusterStatefulsetStatus,
  type FieldError,
  MAX_LISTED_INSTANCES,
  MAX_LISTED_ORDINALS,
  MAX_STATUS_CLUSTERS,
  type ParsedCrossClusterStatefulset,
  type StepPhase,
} from "../../../api/index.ts";
import type { EngineSetting } from "../../../engine/index.ts";
import type { ClusterEntry, Observation, PlanResult, StepKind } from "../../../plan/index.ts";
import { previousRevision, REASONS, type Waiting } from "../../../rollout/index.ts";
import type { JsonObject, Writable } from "../../../runtime/index.ts";
import { endOf } from "../../common/lifetimes.ts";
import type { StoredRevision } from "../../common/revisions/revision-store.ts";
import type { ActFailure } from "../act/act.ts";
import { leaderTransferOf, promotedText } from "./acts.ts";
import { condition, conditionsOf, withTimes } from "./conditions.ts";
import { instanceRows } from "./instance-rows.ts";
import { cut, evidenceOf, firstReason, sentence, time } from "./words.ts";

type Status = CrossClusterStatefulsetStatus;
type HistoryRows = NonNullable<Status["history"]>;
type ClusterRow = NonNullable<Status["clusters"]>[number];

export interface ReportFacts {
  readonly statefulset: ParsedCrossClusterStatefulset;
  /** The status that it has now. */
  readonly before: Status | undefined;
  readonly plan: PlanResult;
  readonly observations: Readonly<Record<string, Observation>>;
  readonly history: readonly StoredRevision[];
  /** [R10] The rows of the history with the accounts of their rollouts. */
  readonly recorded?: (rows: HistoryRows) => HistoryRows;
  /** What could not be written to a cluster. */
  readonly failures: readonly ActFailure[];
  /** The workload's own status fields, put together. */
  readonly workload: JsonObject | undefined;
  readonly selector: string | undefined;
  /** The ledger for those who may not read it where it is kept. */
  readonly ledgerCopy?: string | undefined;
  /** What of the hub the plan rests on. */
  readonly observedTemplate?: Status["observedTemplate"];
  /** What of the engine's settings would work against a rollout. */
  readonly settings?: readonly EngineSetting[];
  readonly nowMs: number;
}

const PHASES: Record<StepKind, StepPhase> = {
  deploy: "Deploying",
  grow: "Scaling",
  shrink: "Scaling",
  update: "Updating",
  rollback: "RollingBack",
  transfer: "TransferringLeader",
  adopt: "Adopting",
};

/** [I19] A longer status is shortened: etcd takes 1.5 MiB, and the API server's account of its fields comes on top. */
const STATUS_MAX_CHARS = 600_000;
/** Each row's message in a status that is too long. */
const SHORT_MESSAGE_CHARS = 300;
/** With fewer clusters than this the status is never too long. */
const FEW_CLUSTERS = 20;

/** The status as a view of the plan. Pure; times of what did not change are kept from the status before. */
export function statusOf(facts: ReportFacts): Status {
  const { plan, statefulset, before, history, recorded = (rows) => rows, nowMs } = facts;
  const { figures, ledger } = plan;
  const endMs = endOf(statefulset);
  const rows = clusterRows(facts);
  const step = stepOf(facts);
  const moved = leaderTransferOf(statefulset.spec, plan);
  const awaited =
    firstReason(plan.waiting.filter(({ code }) => !REASONS[code].atRest)) ?? (step ? undefined : notAllReady(plan));
  const first = firstReason(plan.waiting) ?? awaited;
  const isTemplateWaiting = plan.waiting.some(({ code }) => code === "RevisionPending" || code === "RevisionRefused");
  const previous = previousRevision(ledger, figures.targetRevision, isTemplateWaiting);
  // An undo or a rejection has taken effect: nothing that is wanted is missing.
  const settled = step === undefined && awaited === undefined && isAtRest(plan) && figures.ready === figures.desired;
  const phase = phaseOf(facts, step, settled);
  const unchanged = before?.phase === phase && before.reason === first?.code && before.since !== undefined;
  return fitting({
    observedGeneration: statefulset.metadata.generation ?? 0,
    ...(facts.observedTemplate && { observedTemplate: facts.observedTemplate }),
    ...(endMs !== undefined && { expiresAt: time(endMs) }),
    replicas: sum(rows, (row) => row.observed?.replicas),
    readyReplicas: figures.ready,
    availableReplicas: figures.ready,
    updatedReplicas: figures.updated,
    desiredReplicas: figures.desired,
    ...(figures.currentRevision !== null && { currentRevision: figures.currentRevision }),
    ...(figures.targetRevision !== null && { updateRevision: figures.targetRevision }),
    ...(figures.rejectedRevision !== null && { rejectedRevision: figures.rejectedRevision }),
    ...(previous !== undefined && { previousRevision: previous }),
    ...(facts.selector !== undefined && { selector: facts.selector }),
    phase,
    ...(first && { reason: first.code, message: sentence(first), ...evidenceOf(first) }),
    since: unchanged ? before.since : time(nowMs),
    display: {
      ready: shareText(figures.ready, figures.desired),
      updated: shareText(figures.updated, figures.desired),
      kind: statefulset.spec.resourceSelector.kind,
    },
    ...(figures.leader !== null && { leader: leaderOf(facts, figures.leader) }),
    ...(moved && { leaderTransfer: moved }),
    topologyVersion: ledger.topologyVersion,
    ...rolloutOf(facts),
    ...(step && { step }),
    ...(plan.requeueAt !== undefined && { nextCheckTime: time(plan.requeueAt) }),
    clusters: rows,
    history: recorded(history.map((revision) => historyRow(revision, statefulset))),
    ...(facts.workload && { workload: facts.workload }),
    ...(facts.ledgerCopy !== undefined && { ledger: facts.ledgerCopy }),
    conditions: conditionsOf(facts, settled, first, before?.conditions ?? [], nowMs),
  });
}

/** [I19] Shortens a status that is too large to be written: what users can also read elsewhere goes first. */
function fitting(status: Status): Status {
  const { clusters = [], ledger = "" } = status;
  if (clusters.length < FEW_CLUSTERS && !status.workload && ledger.length < STATUS_MAX_CHARS / 2) return status;
  if (fits(status)) return status;
  const { workload: _workload, ...rest } = status;
  const short = { ...rest, clusters: clusters.map(shortRow) };
  if (fits(short)) return short;
  const unrecorded = { ...short, history: (short.history ?? []).map(({ record: _record, ...row }) => row) };
  if (fits(unrecorded)) return unrecorded;
  const { ledger: _ledger, ...withoutCopy } = unrecorded;
  return withoutCopy;
}

function fits(status: Status): boolean {
  return JSON.stringify(status).length <= STATUS_MAX_CHARS;
}

function shortRow({ instances: _instances, evidence: _evidence, message, ...row }: ClusterRow): ClusterRow {
  return message === undefined ? row : { ...row, message: message.slice(0, SHORT_MESSAGE_CHARS) };
}

/** Of those that there should be; what is about to be removed does not make it more than all. */
function shareText(count: number, desired: number): string {
  return `${Math.min(count, desired)}/${desired}`;
}

/** The status of an object whose spec cannot be acted upon; what it runs is left unchanged. */
export function invalidStatus(
  generation: number,
  before: Status | undefined,
  reason: string,
  message: string,
  nowMs: number,
): Status {
  const conditions = [
    condition("Settled", "False", reason, message),
    condition("Progressing", "False", reason, message),
    condition("Degraded", "True", reason, message),
  ];
  // The previous reason and its evidence no longer apply.
  const { evidence: _, ...kept } = before ?? {};
  return {
    ...kept,
    observedGeneration: generation,
    phase: "Invalid" satisfies ApplicationPhase,
    reason,
    message: cut(message),
    since: before?.reason === reason && before.since !== undefined ? before.since : time(nowMs),
    conditions: withTimes(conditions, generation, before?.conditions ?? [], nowMs),
  };
}

export function fieldErrorsText(errors: readonly FieldError[]): string {
  return errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
}

function clusterRows({ plan, observations, failures, before, nowMs }: ReportFacts): ClusterRow[] {
  const rowsBefore = new Map((before?.clusters ?? []).map((row) => [row.name, row]));
  const { identity } = plan.ledger;
  const entries = Object.entries(plan.ledger.clusters)
    .sort(([, a], [, b]) => a.index - b.index)
    .slice(0, MAX_STATUS_CLUSTERS);
  const listed = sum(entries, ([, { instances }]) => instances.length) <= MAX_LISTED_INSTANCES;
  return entries.map(([name, entry]) => {
    const waiting = firstReason(plan.waiting.filter(({ cluster }) => cluster === name));
    const failure = failures.find(({ cluster }) => cluster === name);
    const phase: ClusterPhase = entry.step ? PHASES[entry.step.kind] : restingPhase(entry);
    const reason = failure?.reason ?? waiting?.code;
    const message = failure ? cut(failure.message) : waiting && sentence(waiting);
    const previous = rowsBefore.get(name);
    const unchanged = previous?.phase === phase && previous.reason === reason && previous.since !== undefined;
    return {
      name,
      ordinals: entry.instances.slice(0, MAX_LISTED_ORDINALS).map(({ ordinal }) => ordinal),
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
  if (entry.presence.kind === "lost") return { health: "Lost" };
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
  if (entry.presence.kind === "lost" || observation?.kind !== "present") return "Unknown";
  return entry.done ? "Open" : "Closed";
}

function restingPhase(entry: ClusterEntry): ClusterPhase {
  if (entry.presence.kind === "lost") return "Lost";
  if (!entry.grant) return "Pending";
  return entry.done ? "Settled" : "Settling";
}

interface Step extends NonNullable<Status["step"]> {
  type: StepPhase;
}

function stepOf({ plan, statefulset }: ReportFacts): Step | undefined {
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
    ...waveOf(plan, statefulset),
    since: time(first.step.sinceMs),
    deadline: time(deadlineMs),
    ...(waiting && { reason: waiting.code, message: sentence(waiting) }),
  };
}

/** As people count: from 1. None where the strategy has no waves, or the rollout has passed them all. */
function waveOf({ ledger }: PlanResult, { spec }: ParsedCrossClusterStatefulset): { wave?: number } {
  const waves = spec.updateStrategy.rollingUpdate.waves?.length ?? 0;
  const wave = ledger.rollout?.wave;
  return waves === 0 || wave === undefined || wave > waves ? {} : { wave: wave + 1 };
}

function historyRow({ id, number, createdAt }: StoredRevision, { spec }: ParsedCrossClusterStatefulset) {
  const promoted = promotedText(spec, id);
  return { revision: id, number, ...(createdAt && { createdAt }), ...(promoted !== undefined && { promoted }) };
}

function rolloutOf({ plan, statefulset, nowMs }: ReportFacts): Pick<Status, "rollout"> {
  const { rollout } = plan.ledger;
  if (!rollout) return {};
  const isWaiting = (wanted: Waiting["code"]) => plan.waiting.some(({ code }) => code === wanted);
  const soakSeconds = statefulset.spec.updateStrategy.rollingUpdate.waves?.[rollout.wave]?.soakSeconds ?? 0;
  const soakUntilMs = (rollout.soakSinceMs ?? 0) + soakSeconds * 1000;
  const promoted = promotedText(statefulset.spec, rollout.to);
  return {
    rollout: {
      to: rollout.to,
      ...(rollout.from !== null && { from: rollout.from }),
      type: rollout.kind === "rollback" ? "RollBack" : "Update",
      since: time(rollout.sinceMs),
      ...waveOf(plan, statefulset),
      ...(isWaiting("AwaitingApproval") && { awaitingApproval: true }),
      ...(isWaiting("Soaking") && soakUntilMs > nowMs && { soakUntil: time(soakUntilMs) }),
      ...(isWaiting("WindowClosed") && { windowClosed: true }),
      ...(promoted !== undefined && { promoted: cut(promoted) }),
    },
  };
}

function phaseOf({ statefulset, plan }: ReportFacts, step: Step | undefined, settled: boolean): ApplicationPhase {
  if (statefulset.metadata.deletionTimestamp !== undefined) {
    return statefulset.spec.deletionPolicy === "Teardown" ? "TearingDown" : "Releasing";
  }
  if (plan.ledger.halt) return "Halted";
  if (step) return step.type;
  if (settled) return "Settled";
  return plan.ledger.rollout ? "Updating" : "Waiting";
}

function leaderOf({ observations }: ReportFacts, cluster: string): NonNullable<Status["leader"]> {
  const observation = observations[cluster];
  const claim = observation?.kind === "present" ? observation.leader : undefined;
  const instance = claim?.kind === "here" ? claim.instance : undefined;
  return { cluster, ...(instance !== undefined && { instance }) };
}

/**
 * [R1] Nothing is left to be granted, and yet an instance is down by itself: it comes back by itself, or a person
 * looks.
 */
function notAllReady({ figures: { ready, desired } }: PlanResult): Waiting | undefined {
  if (ready >= desired) return undefined;
  return {
    code: "WaitingForReady",
    message: `${ready} of ${desired} instances are ready, although every cluster has what it was granted.`,
    evidence: [],
    remedy: "Look at the instances that are not ready.",
  };
}

function isAtRest({ waiting, ledger }: PlanResult): boolean {
  if (waiting.length === 0) return true;
  return ledger.rollout === null && ledger.halt === null && waiting.every(({ code }) => REASONS[code].atRest);
}

function sum<T>(items: readonly T[], of: (item: T) => number | undefined): number {
  return items.reduce((total, item) => total + (of(item) ?? 0), 0);
}

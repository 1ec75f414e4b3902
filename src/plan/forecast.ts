import { instanceKey } from "./identity.ts";
import { plan } from "./plan.ts";
import type { Waiting } from "./reasons.ts";
import type {
  Action,
  ClusterName,
  Figures,
  Grant,
  Intent,
  Ledger,
  Observation,
  Observations,
  PlanResult,
  RollingUpdate,
  Step,
  TimeMs,
} from "./types.ts";

/** A preview that runs longer than this is cut off: 100 clusters of 10 instances, grown one by one, take about 3,000. */
const ROUNDS_MAX = 20_000;

/** What starts at one time, and the arithmetic behind it. */
export interface ForecastRound {
  readonly atMs: TimeMs;
  readonly steps: readonly Step[];
  /** The grants that these steps write. */
  readonly grants: readonly Grant[];
  readonly actions: readonly Action[];
  readonly figures: Figures;
  /** A manual gate that is taken as approved here: from here on a person has to agree. */
  readonly approval?: { readonly revision: string; readonly wave: number };
}

export interface Forecast {
  readonly rounds: readonly ForecastRound[];
  /** What still stands in the way at the end; empty when all is where it was asked to be. */
  readonly waiting: readonly Waiting[];
  /** It came to rest; false: it was cut off. */
  readonly complete: boolean;
  readonly endsAtMs: TimeMs;
}

export interface ForecastOptions {
  /** The maintenance windows at another time; absent: the window stays as the intent has it. */
  readonly windowAt?: (atMs: TimeMs) => RollingUpdate["window"];
  readonly roundsMax?: number;
}

/**
 * Every step that would be taken if every grant succeeded at once and every approval were given: the planner itself, driven
 * forward on what members would say. Clusters that cannot be reached stay so.
 */
export function forecast(
  given: Intent,
  startLedger: Ledger,
  startObservations: Observations,
  startMs: TimeMs,
  options: ForecastOptions = {},
): Forecast {
  const rounds: ForecastRound[] = [];
  const clusters: Record<ClusterName, Observation> = { ...startObservations.clusters };
  let intent = given;
  let ledger = startLedger;
  let nowMs = startMs;
  const limit = options.roundsMax ?? ROUNDS_MAX;
  for (let round = 0; round < limit; round++) {
    const result = plan(intent, ledger, { ...startObservations, clusters }, nowMs);
    ledger = result.ledger;
    const removes = result.actions.some(({ kind }) => kind !== "deletePods");
    const approval = gateToApprove(intent, result);
    if (result.steps.length > 0 || removes || approval) rounds.push(roundOf(result, nowMs, approval));
    if (result.finished) return { rounds, waiting: result.waiting, complete: true, endsAtMs: nowMs };
    if (result.steps.length > 0 || removes) {
      succeed(result, clusters, nowMs);
    } else if (approval) {
      const { requests } = intent;
      intent = { ...intent, requests: { ...requests, approvals: [...requests.approvals, approval] } };
    } else if (result.requeueAt !== undefined) {
      nowMs = result.requeueAt;
      intent = withWindow(intent, options, nowMs);
    } else {
      return { rounds, waiting: result.waiting, complete: true, endsAtMs: nowMs };
    }
  }
  return { rounds, waiting: [], complete: false, endsAtMs: nowMs };
}

function roundOf(result: PlanResult, atMs: TimeMs, approval: ForecastRound["approval"]): ForecastRound {
  const written = new Set(result.steps.map(({ cluster }) => cluster));
  return {
    atMs,
    steps: result.steps,
    grants: result.grants.filter(({ cluster }) => written.has(cluster)),
    actions: result.actions,
    figures: result.figures,
    ...(approval ? { approval } : {}),
  };
}

function gateToApprove(intent: Intent, result: PlanResult): ForecastRound["approval"] {
  const { rollout } = result.ledger;
  if (!rollout || !result.waiting.some(({ code }) => code === "AwaitingApproval")) return undefined;
  const given = intent.requests.approvals.some(
    ({ revision, wave }) => revision === rollout.to && wave === rollout.wave,
  );
  return given ? undefined : { revision: rollout.to, wave: rollout.wave };
}

function withWindow(intent: Intent, { windowAt }: ForecastOptions, nowMs: TimeMs): Intent {
  if (!windowAt || intent.update.type !== "RollingUpdate") return intent;
  return { ...intent, update: { ...intent.update, window: windowAt(nowMs) } };
}

/** What the members would show when all they were told is done. */
function succeed(result: PlanResult, clusters: Record<ClusterName, Observation>, atMs: TimeMs): void {
  const leader = result.grants.map(({ transferLeaderTo }) => transferLeaderTo).find((each) => each !== undefined);
  for (const grant of result.grants) {
    const before = clusters[grant.cluster];
    if (before === undefined || before.kind === "unreachable") continue;
    clusters[grant.cluster] = done(result.ledger, grant, before, leader, atMs);
  }
  for (const action of result.actions) {
    const before = clusters[action.cluster];
    if (action.kind === "remove" && before?.kind === "present") clusters[action.cluster] = { kind: "absent", atMs };
  }
}

function done(
  ledger: Ledger,
  grant: Grant,
  before: Observation,
  leader: string | undefined,
  atMs: TimeMs,
): Observation {
  const { cluster, epoch, revision, replicas, partition, processor, topologyVersion, transferLeaderTo } = grant;
  const generation = before.kind === "present" ? before.generation + 1 : 1;
  const updated = replicas - partition;
  const claim = before.kind === "present" ? before.leader : { kind: "elsewhere" as const };
  return {
    kind: "present",
    atMs,
    generation,
    observedGeneration: generation,
    live: {
      epoch,
      revision,
      processor,
      partition,
      topologyVersion,
      replicas,
      ...(transferLeaderTo === undefined ? {} : { transferLeaderTo }),
    },
    counts: { replicas, ready: replicas, available: replicas, updated, terminating: 0 },
    health: "healthy",
    report: { epoch, revision, phase: "Done", desired: replicas, updated, ready: replicas },
    leader: leader === undefined ? claim : { kind: holds(ledger, cluster, leader) ? "here" : "elsewhere" },
    ...(before.kind !== "unreachable" && before.volumes ? { volumes: before.volumes } : {}),
  };
}

function holds(ledger: Ledger, cluster: ClusterName, instance: string): boolean {
  const entry = ledger.clusters[cluster];
  const { identity } = ledger;
  if (!entry || !identity) return false;
  return entry.instances.some(({ ordinal }) => instanceKey(identity, cluster, entry, ordinal) === instance);
}

/**
 * What would happen: the controller's own planner, driven forward over members of whom every grant succeeds at once,
 * and over time that passes only where the planner waits for it. Pure: it reads nothing and changes nothing.
 */
import {
  type Figures,
  type Grant,
  type Intent,
  type Ledger,
  type Observation,
  type Problem,
  plan,
  preflight,
  type Step,
  type StepKind,
} from "../../plan/index.ts";
import type { FleetFact, ReasonCode, Room, Waiting } from "../../rollout/index.ts";
import { touchedBy } from "./forecast-instances.ts";
import { ModelMembers } from "./forecast-members.ts";

export interface Approval {
  readonly revision: string;
  readonly wave: number;
}

export interface ForecastInput {
  /** What is wanted at that time (windows open and close), with these approvals given. */
  readonly intentAt: (nowMs: number, approvals: readonly Approval[]) => Intent;
  readonly ledger: Ledger;
  /** What each member shows now. A cluster without an entry holds nothing. */
  readonly observations: Readonly<Record<string, Observation>>;
  /** Where the leader is now; undefined: not known. */
  readonly leader: { readonly cluster: string; readonly instance?: string } | undefined;
  readonly nowMs: number;
  /** How long such a step took before, in ms; undefined: not known. */
  readonly durationOf: (step: Pick<Step, "kind" | "cluster">) => number | undefined;
}

export type ForecastEvent =
  | {
      readonly kind: "step";
      readonly number: number;
      readonly cluster: string;
      readonly step: StepKind;
      readonly why: string;
      /** Those that it touches, in the order in which it does. */
      readonly instances: readonly string[];
      readonly from: GrantSummary | null;
      readonly to: GrantSummary;
      readonly figures: Pick<Figures, "ready" | "voters" | "majority" | "unavailable" | "pending" | "maxUnavailable">;
      readonly atMs: number;
      /** Null: unknown. */
      readonly expectedMs: number | null;
    }
  | { readonly kind: "remove"; readonly cluster: string; readonly volumes: "Retain" | "Delete"; readonly atMs: number }
  /** Time passes. */
  | { readonly kind: "wait"; readonly code: ReasonCode; readonly message: string; readonly forMs: number }
  /** A user has to act; the forecast continues as if they had done so at once. */
  | { readonly kind: "person"; readonly code: ReasonCode; readonly message: string; readonly remedy: string };

export type GrantSummary = Pick<Grant, "revision" | "replicas" | "partition">;

export interface Forecast {
  readonly problems: readonly Problem[];
  readonly events: readonly ForecastEvent[];
  /** Grants written in all, with those that only return a turn or tell the topology. */
  readonly writes: number;
  /** What keeps it from its end although every grant succeeds. Empty: it comes to its end. */
  readonly blockedBy: readonly Waiting[];
  /** What stays as it is in the end, on purpose: instances below a partition, a lost cluster that is awaited. */
  readonly remains: readonly Waiting[];
  readonly ledger: Ledger;
  readonly grants: readonly Grant[];
  readonly figures: Figures;
  /** How many more instances fit into each cluster before anything is done, where that is known. */
  readonly rooms: Readonly<Record<string, Room>>;
  /** Waits and steps whose time is known. */
  readonly knownMs: number;
  readonly stepsOfUnknownTime: number;
}

/**
 * Each round writes grants or passes time; a plan over the most clusters and instances there can be stays far below.
 */
const MAX_ROUNDS = 20_000;
/**
 * Time that passes this often in a row without a step leads nowhere: a window that opens and closes over a blocked
 * step.
 */
const MAX_IDLE_JUMPS = 50;
/** A stamp that no user gives. */
const ASSUMED_RESUME = "assumed by a plan";
const BOOKKEEPING: ReadonlySet<Step["kind"]> = new Set(["return-turn", "reassert", "topology"]);
/** Waits that may remain when everything that was requested is done. */
const RESTING: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  "Partitioned",
  "PartitionIndivisible",
  "ClusterLost",
  "RevisionRejected",
  "InMaintenance",
]);
/** What time alone ends, in the order in which a person would name it. */
const TIMED: readonly ReasonCode[] = [
  "Soaking",
  "WindowClosed",
  "MinReadyHold",
  "LeaderTransfer",
  "LeaderUnknown",
  "CannotBeVerified",
  "ClusterNotReady",
  "ClusterUnreachable",
];

export function forecast(input: ForecastInput): Forecast {
  const approvals: Approval[] = [];
  const events: ForecastEvent[] = [];
  let { ledger, nowMs } = input;
  const startMs = nowMs;
  const first = input.intentAt(nowMs, approvals);
  const problems = preflight(first, ledger);
  const members = new ModelMembers(ledger, input.observations, input.leader);
  let writes = 0;
  let number = 0;
  let unknown = 0;
  let idleJumps = 0;
  /** Differences of an adoption that a person has to accept; what follows is shown as if they had. */
  let accepted: Waiting | undefined;
  for (let round = 0; ; round++) {
    const asked = withRoomLeft(input.intentAt(nowMs, approvals), input.ledger, ledger);
    const intent = accepted ? { ...asked, requests: { ...asked.requests, resume: ASSUMED_RESUME } } : asked;
    const result = plan(intent, ledger, { clusters: members.observe(intent) }, nowMs);
    const before = ledger;
    ledger = result.ledger;
    writes += result.steps.length;
    let tookMs = 0;
    for (const { cluster, kind, why, epoch } of result.steps) {
      if (isBookkeeping(kind)) continue;
      const grant = result.grants.find((each) => each.cluster === cluster && each.epoch === epoch);
      if (!grant) continue;
      const expectedMs = input.durationOf({ kind, cluster }) ?? null;
      if (expectedMs === null) unknown++;
      else tookMs = Math.max(tookMs, expectedMs);
      const from = before.clusters[cluster]?.grant ?? null;
      events.push({
        kind: "step",
        number: ++number,
        cluster,
        step: kind,
        why,
        instances: touchedBy(kind, cluster, before, ledger),
        from: from && summary(from),
        to: summary(grant),
        figures: result.figures,
        atMs: nowMs,
        expectedMs,
      });
    }
    for (const action of result.actions) {
      if (action.kind === "remove") events.push({ ...action, kind: "remove", atMs: nowMs });
    }
    const moved = members.deliver(result);
    nowMs += tookMs;
    const end = (blockedBy: readonly Waiting[]): Forecast => ({
      problems,
      events,
      writes,
      blockedBy: accepted ? [accepted, ...blockedBy] : blockedBy,
      remains: result.waiting.filter(({ code }) => RESTING.has(code)),
      ledger,
      grants: result.grants,
      figures: result.figures,
      rooms: roomsOf(first),
      knownMs: nowMs - startMs,
      stepsOfUnknownTime: unknown,
    });
    if (round >= MAX_ROUNDS) return end(result.waiting);
    if (moved || result.steps.length > 0) {
      idleJumps = 0;
      continue;
    }
    const open = result.waiting.filter(({ code }) => !RESTING.has(code));
    if (open.length === 0 || result.finished) return end([]);
    const approval = open.find(({ code }) => code === "AwaitingApproval");
    if (approval && ledger.rollout) {
      const { code, message, remedy } = approval;
      approvals.push({ revision: ledger.rollout.to, wave: ledger.rollout.wave });
      events.push({ kind: "person", code, message, remedy });
      continue;
    }
    const differences = open.find(({ code }) => code === "AdoptedWithDifferences");
    if (differences && !accepted) {
      const { code, message, remedy } = differences;
      accepted = differences;
      events.push({ kind: "person", code, message, remedy });
      continue;
    }
    if (result.requeueAt === undefined || ++idleJumps > MAX_IDLE_JUMPS) return end(open);
    const { code, message } = timed(open) ?? { code: open[0]?.code ?? "WindowClosed", message: open[0]?.message ?? "" };
    events.push({ kind: "wait", code, message, forMs: result.requeueAt - nowMs });
    nowMs = result.requeueAt;
  }
}

function roomsOf({ fleet }: Intent): Record<string, Room> {
  const rooms: Record<string, Room> = {};
  for (const [cluster, fact] of Object.entries(fleet)) {
    if (fact.state === "Ready" && fact.room) rooms[cluster] = fact.room;
  }
  return rooms;
}

/** What has been granted since the beginning takes its room, too. */
function withRoomLeft(intent: Intent, before: Ledger, now: Ledger): Intent {
  const replicas = ({ clusters }: Ledger, cluster: string) => clusters[cluster]?.grant?.replicas ?? 0;
  const fleet: Record<string, FleetFact> = { ...intent.fleet };
  for (const [cluster, { instances, evidence }] of Object.entries(roomsOf(intent))) {
    const left = instances - (replicas(now, cluster) - replicas(before, cluster));
    const fact = fleet[cluster];
    if (fact?.state === "Ready") fleet[cluster] = { ...fact, room: { instances: Math.max(0, left), evidence } };
  }
  return { ...intent, fleet };
}

function isBookkeeping(kind: Step["kind"]): kind is Exclude<Step["kind"], StepKind> {
  return BOOKKEEPING.has(kind);
}

function timed(waiting: readonly Waiting[]): Waiting | undefined {
  for (const code of TIMED) {
    const found = waiting.find((each) => each.code === code);
    if (found) return found;
  }
  return undefined;
}

function summary({ revision, replicas, partition }: Grant): GrantSummary {
  return { revision, replicas, partition };
}

/** Whether invalid settings or a wait without end stop the rollout. */
export function isBlocked({ problems, blockedBy }: Forecast): boolean {
  return blockedBy.length > 0 || problems.some(({ severity }) => severity === "error");
}

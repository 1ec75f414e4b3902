import {
  type DistributedApplicationStatus,
  MAX_LISTED_OBJECTS,
  MAX_LISTED_WORKLOADS,
  type ParsedDistributedApplication,
} from "../../api/index.ts";
import {
  type ClusterEntry,
  type ClusterPhase,
  type Divided,
  type ObjectSeen,
  objectGate,
  type PlanResult,
  type Seen,
} from "../../applications/index.ts";
import { MEMBER_ACCESS_LABEL } from "../../engine/index.ts";
import { type Happening, REASONS, type RolloutMoment, type Waiting } from "../../rollout/index.ts";
import { isJsonObject, type Json, type JsonObject, timestamp } from "../../runtime/index.ts";
import { endOf } from "../common/lifetimes.ts";
import type { StoredRevision } from "../common/revisions/revision-store.ts";
import type { Bundle } from "./content.ts";
import type { NewsItem } from "./news.ts";
import type { Trial } from "./trials.ts";
import type { Way } from "./way.ts";

type Status = DistributedApplicationStatus;
type HistoryRows = NonNullable<Status["history"]>;

export interface ReportFacts {
  readonly app: ParsedDistributedApplication;
  readonly result: PlanResult;
  readonly seen: Seen;
  readonly way: Way;
  readonly divided: readonly Divided[];
  readonly revisions: readonly StoredRevision[];
  /** [R10] The rows of the history with the accounts of their rollouts. */
  readonly recorded?: (rows: HistoryRows) => HistoryRows;
  readonly bundle: Bundle | undefined;
  readonly trial: Trial | undefined;
  /** The objects' own status fields, by object. */
  readonly statuses: ReadonlyMap<string, JsonObject>;
  readonly failures: ReadonlyArray<{ readonly cluster: string; readonly message: string }>;
  readonly nowMs: number;
}

/** The status of one application: a view of its ledger and of what the members show. Pure. */
export function statusOf(facts: ReportFacts, before: Status | undefined): Status {
  const { app, result, nowMs, revisions, bundle, recorded = (rows) => rows } = facts;
  const { figures, ledger, reasons } = result;
  const clusters = Object.keys(figures.phases).map((name) => clusterRow(facts, name, before));
  const objects = objectRows(facts);
  const workloads = workloadRows(facts);
  const main = mainReason(facts);
  const isSettled =
    clusters.length > 0 && clusters.every(({ phase }) => phase === "Settled") && !reasons.some(isUnfinished);
  const phase = phaseOf(facts, isSettled);
  const done = clusters.filter(({ phase: each }) => each === "Settled").length;
  const total = clusters.reduce((sum, { objects: count = 0 }) => sum + count, 0);
  const ready = clusters.reduce((sum, { ready: count = 0 }) => sum + count, 0);
  const { rollout } = ledger;
  const expiresAt = endOf(app);
  return {
    ...(app.metadata.generation !== undefined && { observedGeneration: app.metadata.generation }),
    phase,
    ...(main && { reason: main.code, message: textOf(facts, main) }),
    since: before?.phase === phase && before.reason === main?.code && before.since ? before.since : timestamp(nowMs),
    ...(figures.targetRevision !== null && { revision: figures.targetRevision }),
    ...(figures.currentRevision !== null && { currentRevision: figures.currentRevision }),
    ...(figures.rejectedRevision !== undefined && { rejectedRevision: figures.rejectedRevision }),
    ...(figures.previousRevision !== undefined && { previousRevision: figures.previousRevision }),
    ...(bundle?.sourceDigest !== undefined && { sourceDigest: bundle.sourceDigest }),
    ...(bundle?.chartVersion !== undefined && { chartVersion: bundle.chartVersion.slice(0, 253) }),
    ...(expiresAt !== undefined && { expiresAt: timestamp(expiresAt) }),
    ...(rollout && {
      rollout: {
        to: rollout.to,
        ...(rollout.from !== null && { from: rollout.from }),
        ...(rollout.wave < (app.spec.rollout.waves ?? []).length && { wave: rollout.wave + 1 }),
        since: timestamp(rollout.sinceMs),
      },
    }),
    display: { clusters: `${done}/${clusters.length}`, ready: `${ready}/${total}` },
    clusters,
    ...(objects.length <= MAX_LISTED_OBJECTS && { objects }),
    ...(workloads.length > 0 && { workloads }),
    history: recorded(
      revisions.slice(0, 102).map(({ id, number, createdAt }) => ({ revision: id, number, createdAt })),
    ),
    conditions: conditionsOf(facts, before, isSettled, main),
  };
}

export function refusalStatus(
  app: { readonly metadata: { readonly generation?: number } },
  reason: string,
  message: string,
  nowMs: number,
  before: Status | undefined,
): Status {
  const { generation } = app.metadata;
  const condition = transition(before, "Settled", "False", reason, message, nowMs, generation);
  const others = (before?.conditions ?? []).filter(({ type }) => type !== "Settled");
  return {
    ...before,
    ...(generation !== undefined && { observedGeneration: generation }),
    phase: "Invalid",
    reason,
    message,
    since: before?.phase === "Invalid" && before.reason === reason && before.since ? before.since : timestamp(nowMs),
    conditions: [...others, condition],
  };
}

/** A plan as the account of its rollout sees it; undefined: no revision is wanted. */
export function momentOf(
  { ledger: { rollout }, reasons, figures }: PlanResult,
  news: readonly NewsItem[],
): RolloutMoment | undefined {
  const revision = rollout?.to ?? figures.targetRevision;
  if (revision === null) return undefined;
  const running = Object.entries(figures.phases)
    .filter(([, phase]) => STEPS.has(phase))
    .map(([cluster, code]): Happening => ({ kind: "step", cluster, code, why: "" }));
  const held = reasons
    .filter(isUnfinished)
    .map(({ code, cluster = "", message }): Happening => ({ kind: "hold", cluster, code, why: message }));
  const notes = news.map(({ reason, message }) => ({ code: reason, why: message }));
  return { revision, rollout, happening: [...running, ...held], notes };
}

const STEPS: ReadonlySet<string> = new Set<ClusterPhase>(["Deploying", "Updating", "RollingBack", "Removing"]);

function phaseOf({ app, result }: ReportFacts, isSettled: boolean): string {
  if (app.metadata.deletionTimestamp !== undefined)
    return app.spec.deletionPolicy === "Release" ? "Releasing" : "TearingDown";
  if (Object.values(result.ledger.clusters).some(({ failed }) => failed !== null)) return "Halted";
  if (isSettled) return "Settled";
  const isWorking = Object.values(result.ledger.clusters).some(({ grant, done }) => grant !== null && !done);
  return isWorking ? "Rolling" : "Waiting";
}

function isUnfinished({ code }: Waiting): boolean {
  return !REASONS[code].atRest;
}

/** What needs a person first; otherwise what is said of all clusters, then the first of what is waited for. */
function mainReason({ result: { reasons } }: ReportFacts): Waiting | undefined {
  const asked = reasons.filter(({ code }) => REASONS[code].needsPerson);
  return (
    asked.find(isUnfinished) ??
    reasons.find(({ cluster }) => cluster === undefined) ??
    reasons.find(isUnfinished) ??
    reasons[0]
  );
}

function textOf(
  { app }: Pick<ReportFacts, "app">,
  { cluster, message, remedy }: Omit<Waiting, "code" | "evidence">,
): string {
  const said = `${cluster === undefined ? "" : `${cluster}: `}${message}. ${namedRemedy(remedy, app.metadata.name)}`;
  return said.slice(0, 4096);
}

/** The planners know no object's name, and waves are those of every kind: commands in a remedy get it here. */
export function namedRemedy(remedy: string, name: string): string {
  return remedy
    .replaceAll("dapp/NAME", `dapp/${name}`)
    .replace(/'lockstep (approve|promote|resume|undo|abort)'/g, `'lockstep $1 dapp/${name}'`);
}

function clusterRow(
  facts: ReportFacts,
  name: string,
  before: Status | undefined,
): NonNullable<Status["clusters"]>[number] {
  const { result, way, failures, nowMs } = facts;
  const entry = result.ledger.clusters[name];
  const phase = result.figures.phases[name] ?? "Pending";
  const failure = failures.find(({ cluster }) => cluster === name);
  const waiting = result.reasons.find(({ cluster }) => cluster === name);
  const reason = failure ? "DispatchFailed" : waiting?.code;
  const message = failure
    ? failure.message
    : waiting && textOf(facts, { message: waiting.message, remedy: waiting.remedy });
  const states = entry ? objectStates(facts, name, entry) : [];
  const old = before?.clusters?.find((each) => each.name === name);
  const grant = entry?.grant ?? undefined;
  const stages = grant ? way.stages(grant.revision, name, grant.mode) : undefined;
  const stage = grant && stages?.[grant.stage];
  return {
    name,
    ...(grant && { revision: grant.revision }),
    ...(entry?.deployed != null && { deployed: entry.deployed }),
    phase,
    ...(stage && { stage: `${stage.title} (${(grant?.stage ?? 0) + 1} of ${stages?.length})` }),
    objects: states.length,
    ready: states.filter(({ isReady }) => isReady).length,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message: message.slice(0, 4096) }),
    since: old?.phase === phase && old.reason === reason && old.since ? old.since : timestamp(nowMs),
  };
}

function objectStates({ way, seen }: ReportFacts, cluster: string, { grant }: ClusterEntry) {
  if (!grant || grant.mode === "Delete") return [];
  const parts = (way.parts(grant.revision, cluster) ?? []).filter(({ hook }) => !hook);
  return parts.map((part) => {
    const object = seen.clusters[cluster]?.object(part.key);
    return { part, object, isReady: object !== undefined && objectGate(part.key, object).kind === "open" };
  });
}

const WORST = ["Unhealthy", "Unknown", "Progressing", "Healthy"];

function objectRows(facts: ReportFacts): NonNullable<Status["objects"]> {
  const rows = new Map<string, { row: NonNullable<Status["objects"]>[number]; clusters: number }>();
  for (const [cluster, entry] of Object.entries(facts.result.ledger.clusters)) {
    for (const { part, object, isReady } of objectStates(facts, cluster, entry)) {
      const { apiVersion, kind, metadata } = part.object;
      const known = rows.get(part.key) ?? {
        row: {
          apiVersion,
          kind,
          ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
          name: metadata.name,
          clusters: 0,
          health: "Healthy",
        },
        clusters: 0,
      };
      const health = isReady ? "Healthy" : healthWord(object);
      if (object?.live.kind === "present") known.clusters++;
      if (WORST.indexOf(health) < WORST.indexOf(known.row.health ?? "Healthy")) {
        const gate = object && objectGate("", object);
        known.row = {
          ...known.row,
          health,
          message: `${cluster}${gate && gate.kind !== "open" ? `${gate.message}` : ""}`.slice(0, 1024),
        };
      }
      rows.set(part.key, known);
    }
  }
  return [...rows].map(([key, { row, clusters }]) => {
    const status = facts.statuses.get(key);
    return { ...row, clusters, ...(status && { status }) };
  });
}

function healthWord(object: ObjectSeen | undefined): string {
  if (object?.refused !== undefined) return "Unhealthy";
  if (object === undefined || object.live.kind === "unknown") return "Unknown";
  if (object.live.kind === "absent") return "Progressing";
  const { health } = object.live;
  return health === "Failed" || health === "Unhealthy" ? "Unhealthy" : health === "Unknown" ? "Unknown" : "Progressing";
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

type WorkloadRow = NonNullable<Status["workloads"]>[number];

/** Every workload with a number of replicas: those that are divided first, because a person watches these. */
function workloadRows(facts: ReportFacts): WorkloadRow[] {
  const { divided, result, seen, way } = facts;
  const whole = new Map<string, { object: string; replicas: Map<string, number> }>();
  const grants = Object.entries(result.ledger.clusters).filter(([, { grant }]) => grant && grant.mode !== "Delete");
  for (const [cluster, { grant }] of grants) {
    for (const { key: object, object: rendered, hook } of way.parts(grant?.revision ?? "", cluster) ?? []) {
      const replicas = isJsonObject(rendered.spec) ? rendered.spec.replicas : undefined;
      const key = `${rendered.kind}/${rendered.metadata.name}`;
      // What no API server takes must not keep the hub from taking the status that says so.
      if (hook || !isCount(replicas) || divided.some((each) => each.key === key)) continue;
      const row = whole.get(key) ?? { object, replicas: new Map<string, number>() };
      row.replicas.set(cluster, replicas);
      whole.set(key, row);
    }
  }
  const rowOf = (key: string, object: string, shares: ReadonlyMap<string, number>, total?: number): WorkloadRow => {
    const [kind = "", name = ""] = key.split("/");
    const clusters = [...shares].map(([cluster, replicas]) => {
      const live = seen.clusters[cluster]?.object(object).live;
      const lent = Math.min(result.figures.lent[key]?.[cluster] ?? 0, replicas);
      const ready = live?.kind === "present" ? (live.ready ?? 0) : 0;
      return { name: cluster, replicas, ready, ...(lent > 0 && { lent }) };
    });
    const sum = (count: (each: (typeof clusters)[number]) => number) =>
      clusters.reduce((all, each) => all + count(each), 0);
    return { kind, name, total: total ?? sum(({ replicas }) => replicas), ready: sum(({ ready }) => ready), clusters };
  };
  const shared = divided.map(({ key, object, total }) => {
    // In the order of the spec: the ledger's is the order in which something happened to them.
    const shares = Object.keys(result.figures.phases).flatMap((name) => {
      const entry = result.ledger.clusters[name];
      return entry ? [[name, entry.grant?.replicas[key] ?? 0] as const] : [];
    });
    return rowOf(key, object, new Map(shares), total);
  });
  const others = [...whole].map(([key, { object, replicas }]) => rowOf(key, object, replicas));
  return [...shared, ...others].slice(0, MAX_LISTED_WORKLOADS);
}

function conditionsOf(
  facts: ReportFacts,
  before: Status | undefined,
  isSettled: boolean,
  main: Waiting | undefined,
): NonNullable<Status["conditions"]> {
  const { app, result, nowMs, trial } = facts;
  const { ledger, figures } = result;
  const generation = app.metadata.generation;
  const said = main ? textOf(facts, main) : "every cluster runs the desired revision and is healthy";
  const reason = main?.code ?? "Settled";
  const failed = Object.values(ledger.clusters).some(({ failed: why }) => why !== null);
  const healthy = Object.values(figures.phases).filter((phase) => phase === "Settled").length;
  const paused = app.spec.rollout.paused;
  const say = (type: string, is: boolean, why: string, message: string) =>
    transition(before, type, is ? "True" : "False", why, message, nowMs, generation);
  return [
    say("Available", healthy > 0, healthy > 0 ? "Serving" : "NotYet", `${healthy} clusters are healthy`),
    say("Settled", isSettled, isSettled ? "Settled" : reason, said),
    say("Progressing", !isSettled && !failed, isSettled ? "Settled" : reason, said),
    say("Degraded", failed, failed ? reason : "AsExpected", failed ? said : "no step has failed"),
    ...(trial
      ? [
          say(
            "DryRun",
            trial.untried.length === 0,
            trial.untried.length === 0 ? "Accepted" : "NotTried",
            trialText(trial),
          ),
        ]
      : []),
    say("Paused", paused, paused ? "Paused" : "NotPaused", paused ? "spec.rollout.paused is true" : "not paused"),
  ];
}

function trialText({ accepted, untried }: Trial): string {
  const [first] = untried;
  if (!first) return `every object was accepted by the API servers of ${accepted.join(", ")} before anything moved`;
  const names = untried.map(({ cluster }) => cluster).join(", ");
  return `not tried in ${names} before anything moved (${first.message}); a refusal shows when the first object is written. A Secret labelled ${MEMBER_ACCESS_LABEL} gives access`;
}

function transition(
  before: Status | undefined,
  type: string,
  status: "True" | "False",
  reason: string,
  message: string,
  nowMs: number,
  generation: number | undefined,
): NonNullable<Status["conditions"]>[number] {
  const old = before?.conditions?.find((each) => each.type === type);
  return {
    type,
    status,
    ...(generation !== undefined && { observedGeneration: generation }),
    lastTransitionTime: old?.status === status ? old.lastTransitionTime : timestamp(nowMs),
    reason,
    message: message.slice(0, 4096),
  };
}

/** One DistributedApplication as the page shows it, from one moment. Pure. */
import {
  type DistributedApplicationSpec,
  type DistributedApplicationStatus,
  type EngineName,
  parseDistributedApplication,
} from "../../api/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { DistributionView, ObjectView, PartView, PlanView, WhyView, WorkloadView } from "../../web/index.ts";
import { remedyOf } from "../applications/remedies.ts";
import { recordIn } from "../hub/record.ts";
import { seenOf } from "../hub/seen.ts";
import { type Offer, offered, type Rights } from "./actions.ts";
import { timelineFrom } from "./record.ts";
import { given, happenedView, historyView, meaningOf, needsPerson, waveCount } from "./words.ts";

type Status = DistributedApplicationStatus;

export interface DistributionFacts {
  readonly object: KubeObject;
  readonly events: readonly KubeObject[];
  /** Why there are no Events. */
  readonly eventsProblem: string | undefined;
  readonly rights: Rights;
  readonly program: string;
  /** The commands to paste name its kinds. */
  readonly engine: EngineName;
  readonly nowMs: number;
}

/** What differs in each cluster. */
export type Changes = Pick<PlanView, "diffs" | "hidden" | "diffsProblem">;

export function distributionView(facts: DistributionFacts, changes: Changes = { diffs: [] }): DistributionView {
  const { object, events, eventsProblem, rights, program, nowMs } = facts;
  const { name, namespace = "default", resourceVersion = "", generation } = object.metadata;
  const parsed = parseDistributedApplication(object);
  const spec = parsed.ok ? parsed.value.spec : undefined;
  const status = distributionStatus(object);
  const { rollout } = status;
  const record = recordIn(status.history, rollout?.to ?? status.revision);
  const paused = spec?.rollout.paused === true;
  const at = { type: "dapp", namespace, name } as const;
  return {
    ...at,
    atMs: nowMs,
    resourceVersion,
    seen: seenOf(object),
    source: sourceOf(spec, status),
    isCurrent: status.observedGeneration === generation,
    phase: status.phase ?? "Pending",
    ...given("revision", status.revision),
    ...given("currentRevision", status.currentRevision),
    ...given("rejectedRevision", status.rejectedRevision),
    ...given("expiresAt", status.expiresAt),
    paused,
    ...(rollout && {
      rollout: {
        ...given("from", rollout.from),
        ...given("to", rollout.to),
        ...given("since", rollout.since),
        ...given("wave", rollout.wave),
        waves: waveCount(spec?.rollout.waves, status.clusters ?? []),
      },
    }),
    why: whyView(facts, spec, status),
    clusters: (status.clusters ?? []).map(partView),
    objects: (status.objects ?? []).map(objectView).sort(worstFirst),
    workloads: (status.workloads ?? []).map((row) => workloadView(row, status)),
    plan: { ...aheadOf(spec, status), ...changes },
    timeline: record ? timelineFrom(record) : { fromMs: nowMs, spans: [], holds: [], notes: [] },
    happened: happenedView(events, eventsProblem),
    history: historyView(status.history ?? [], {
      current: status.currentRevision,
      target: status.revision,
      rejected: status.rejectedRevision,
    }),
    actions: offered(at, offers(status, paused), rights, { program, seen: seenOf(object) }),
  };
}

/** As long as this is the same, so are the differences; undefined: there are none. */
export function changesKey(object: KubeObject): string | undefined {
  const { clusters = [], revision, observedGeneration, rejectedRevision } = distributionStatus(object);
  const { generation } = object.metadata;
  const isDone = clusters.every((row) => row.deployed === revision && row.phase === "Settled");
  if (isDone && observedGeneration === generation) return undefined;
  const granted = clusters.map((row) => `${row.name} ${row.revision}`);
  return JSON.stringify([generation, revision, rejectedRevision, granted]);
}

/** A status that the controller writes; what a user wrote there is not trusted to have its form. */
export function distributionStatus(object: KubeObject): Status {
  const parsed = parseDistributedApplication(object);
  if (parsed.ok) return parsed.value.status ?? {};
  const bare = parseDistributedApplication({ ...object, spec: MINIMAL_SPEC });
  return bare.ok ? (bare.value.status ?? {}) : {};
}

/** An invalid spec must not hide the status that says why. */
const MINIMAL_SPEC = {
  source: { manifests: { inline: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "any" } }] } },
  clusters: { names: ["any"] },
};

function sourceOf(spec: DistributedApplicationSpec | undefined, { chartVersion }: Status): string {
  const source = spec?.source;
  if (source?.helm) {
    const name = source.helm.chart ?? source.helm.oci ?? "from an archive";
    return `chart ${name}${chartVersion === undefined ? "" : ` ${chartVersion}`}`;
  }
  if (source?.kustomize) return `kustomization ${source.kustomize.path ?? ""}`.trim();
  return source?.manifests ? "plain objects" : "unknown source";
}

function whyView(
  { object: { metadata }, program, engine }: DistributionFacts,
  spec: DistributedApplicationSpec | undefined,
  status: Status,
): WhyView {
  const { reason, message, since, clusters = [], phase } = status;
  const waiting = clusters.filter((row) => row.reason !== undefined && row.phase !== "Settled");
  const about =
    waiting.find((row) => row.reason === reason) ??
    (phase === "Halted" ? clusters.find((row) => row.phase === "Failed") : undefined);
  if (reason === undefined) {
    const isNew = status.observedGeneration === undefined;
    return {
      sentence: isNew
        ? "The controller has not reported yet. If this persists, check that it runs."
        : `${metadata.name} waits for nothing: ${status.display?.ready ?? "all"} objects are healthy, ${status.display?.clusters ?? "all"} clusters are done.`,
      evidence: [],
      remedy: isNew ? [`${program} doctor`] : [],
      needsPerson: false,
      others: [],
    };
  }
  return {
    reason,
    ...given("meaning", meaningOf(reason)),
    ...given("cluster", about?.name),
    sentence: message ?? reason,
    ...given("since", since),
    evidence: evidenceOf(status, reason),
    remedy: remedyOf(reason, {
      program,
      engine,
      namespace: metadata.namespace ?? "default",
      name: metadata.name,
      serviceAccount: spec?.serviceAccountName ?? "default",
      cluster: about?.name,
    }),
    needsPerson: needsPerson(reason) || phase === "Halted" || phase === "Invalid",
    others: waiting.filter((row) => row !== about).map((row) => `${row.name}: ${row.reason}`),
  };
}

/** The first ones; the page lists all of them below. */
const MAX_EVIDENCE = 5;

/** What the reason is concluded from: the wave, clusters that have begun and are not done, and what is not healthy there. */
function evidenceOf(status: Status, reason: string): WhyView["evidence"] {
  const { rollout, rejectedRevision, clusters = [], objects = [] } = status;
  const isOfWave = reason === "AwaitingApproval" || reason === "Soaking";
  const begun = clusters.filter((row) => row.phase !== "Settled" && (row.objects ?? 0) > 0);
  const wave =
    rollout?.wave === undefined || !isOfWave ? [] : clusters.filter(({ deployed }) => deployed === rollout.to);
  return [
    ...wave.map((row) => ({
      object: row.name,
      field: "status.clusters.ready",
      value: `${row.ready ?? 0} of ${row.objects ?? 0} objects, all of wave ${rollout?.wave}`,
    })),
    ...(rejectedRevision !== undefined && (reason === "OverrideHolds" || reason === "RevisionRejected")
      ? [{ object: "this application", field: "status.rejectedRevision", value: rejectedRevision }]
      : []),
    ...begun.map((row) => ({
      object: row.name,
      field: "status.clusters.ready",
      value: `${row.ready ?? 0} of ${row.objects ?? 0} objects${row.stage === undefined ? "" : `, at ${row.stage}`}`,
      ...given("since", row.since),
    })),
    ...objects
      .filter(({ health }) => health !== "Healthy")
      .map(({ kind, name, health = "Unknown", message }) => ({
        object: `${kind} ${name}`,
        field: "status.objects.health",
        value: message === undefined ? health : `${health}: ${message}`,
      })),
  ].slice(0, MAX_EVIDENCE);
}

function partView(row: NonNullable<Status["clusters"]>[number]): PartView {
  return {
    name: row.name,
    phase: row.phase ?? "Pending",
    ...given("revision", row.revision),
    ...given("deployed", row.deployed),
    ...given("stage", row.phase === "Settled" ? undefined : row.stage),
    objects: row.objects ?? 0,
    ready: row.ready ?? 0,
    ...given("reason", row.phase === "Settled" ? undefined : row.reason),
    ...given("message", row.phase === "Settled" ? undefined : row.message),
    ...given("since", row.since),
  };
}

function objectView(row: NonNullable<Status["objects"]>[number]): ObjectView {
  return {
    kind: row.kind,
    ...given("namespace", row.namespace),
    name: row.name,
    clusters: row.clusters ?? 0,
    health: row.health ?? "Unknown",
    ...given("message", row.message),
  };
}

const ORDER = ["Unhealthy", "Unknown", "Progressing", "Healthy"];

/** Otherwise in the order in which they are dispatched. */
function worstFirst(a: ObjectView, b: ObjectView): number {
  return ORDER.indexOf(a.health) - ORDER.indexOf(b.health);
}

function workloadView(row: NonNullable<Status["workloads"]>[number], { objects = [] }: Status): WorkloadView {
  return {
    kind: row.kind,
    name: row.name,
    ...given("namespace", objects.find(({ kind, name }) => kind === row.kind && name === row.name)?.namespace),
    total: row.total ?? 0,
    ready: row.ready ?? 0,
    clusters: (row.clusters ?? []).map(({ name, replicas = 0, ready = 0, lent = 0 }) => ({
      name,
      replicas,
      ready,
      lent,
    })),
  };
}

/** The same conditions as `promote` and `abort` on the command line. */
function rolloutOffers({ rollout, reason, clusters = [], rejectedRevision }: Status): Offer[] {
  const found: Offer[] = [];
  if (rollout?.to === undefined) return found;
  const { from, to, wave } = rollout;
  const reasons = new Set([reason, ...clusters.map((row) => row.reason)]);
  const past = [
    ...(reasons.has("Soaking") && wave !== undefined ? [`the soak of wave ${wave}`] : []),
    ...(reasons.has("WindowClosed") ? ["the closed maintenance window, for this rollout only"] : []),
  ];
  if (past.length > 0) {
    found.push({ action: "promote", consequence: `The rollout continues now, past ${past.join(" and ")}.` });
  }
  const isReturning = rejectedRevision !== undefined && rejectedRevision !== to;
  if (from !== undefined && from !== to && !isReturning) {
    const back = clusters.filter(({ revision }) => revision === to).map(({ name }) => name);
    const moves =
      back.length === 0 ? "No cluster has started, so nothing moves." : `Back to ${from}: ${back.join(", ")}.`;
    found.push({ action: "abort", consequence: `Ends the rollout to ${to}. ${moves}` });
  }
  return found;
}

/** The clusters that have not begun, in the order of their waves. The controller starts them by the same order. */
function aheadOf(
  spec: DistributedApplicationSpec | undefined,
  { clusters = [], revision }: Status,
): Pick<PlanView, "ahead" | "blockedBy"> {
  const waves = spec?.rollout.waves ?? [];
  const waveOf = (cluster: string) => {
    const found = waves.findIndex((wave) => wave.clusters.includes(cluster));
    return found < 0 ? waves.length : found;
  };
  const due = clusters
    .filter((row) => row.phase !== "Settled" || row.deployed !== revision)
    .toSorted((a, b) => waveOf(a.name) - waveOf(b.name));
  return {
    ahead: due.map((row) => ({
      kind: "step",
      cluster: row.name,
      step: row.revision === revision ? "continues" : "follows",
      why: [
        ...(waves.length > 0 ? [`wave ${waveOf(row.name) + 1}`] : []),
        row.message ?? row.reason ?? (row.objects ? `${row.objects} objects` : "not begun yet"),
      ].join("; "),
      instances: [],
      ready: row.ready ?? 0,
      needed: row.objects ?? 0,
    })),
    blockedBy: [],
  };
}

function offers(status: Status, isPaused: boolean): Offer[] {
  const { rollout, previousRevision, phase, reason } = status;
  const found: Offer[] = [];
  if (reason === "AwaitingApproval" && rollout?.wave !== undefined) {
    found.push({
      action: "approve",
      consequence: `Approves wave ${rollout.wave} for revision ${rollout.to}. The next wave starts at once.`,
    });
  }
  if (isPaused || phase === "Halted") {
    found.push({
      action: "resume",
      consequence: isPaused
        ? "The rollout continues with the next cluster."
        : "The rollout continues where it halted, and tries the failed cluster again.",
    });
  } else {
    found.push({
      action: "pause",
      consequence: "The step in progress completes. No other cluster starts until it is resumed.",
    });
  }
  found.push(...rolloutOffers(status));
  if (previousRevision !== undefined && rollout === undefined) {
    found.push({
      action: "undo",
      toRevision: previousRevision,
      consequence: `Returns to revision ${previousRevision}, cluster by cluster. It stays there until the source changes.`,
    });
  }
  return found;
}

/** What ran where and when, from the controller's Events. Pure. */
import type { CrossClusterStatefulset, CrossClusterStatefulsetStatus } from "../../api/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { NoteView, SpanView, TimelineView } from "../../web/index.ts";

/** The controller's Events by which a step begins. */
const BEGINS: ReadonlySet<string> = new Set([
  "Deploying",
  "ScalingOut",
  "ScalingIn",
  "Updating",
  "RollingBack",
  "TransferringLeader",
  "Adopting",
]);
const ENDS: ReadonlySet<string> = new Set(["StepFinished", "TurnReturned"]);
/** Bookkeeping of the controller. */
const HIDDEN: ReadonlySet<string> = new Set(["Reasserted"]);
const COMBINED = "(combined from similar events): ";
/** Events have whole seconds: one that belongs to the start may carry the second before it. */
const SLACK_MS = 1_000;
const MAX_SPANS = 300;
const MAX_NOTES = 50;

interface Moment {
  readonly atMs: number;
  readonly order: number;
  readonly isWarning: boolean;
  readonly reason: string;
  readonly message: string;
}

/** When the rollout in progress, or else the last one, started. Undefined: there was none that is known. */
export function rolloutStart(
  spec: CrossClusterStatefulset["spec"] | undefined,
  status: CrossClusterStatefulsetStatus,
): number | undefined {
  const running = Date.parse(status.rollout?.since ?? "");
  if (Number.isFinite(running)) return running;
  const { updateRevision, history = [] } = status;
  // Also of a newer revision that was given up: the last rollout went to it, or back from it.
  const isKnown = history.some(({ revision }) => revision === updateRevision);
  const created = isKnown ? history.map(({ createdAt }) => createdAt) : [];
  const undone = spec?.undo?.to === updateRevision ? spec?.undo?.at : undefined;
  const starts = [...created, undone].map((time) => Date.parse(time ?? "")).filter(Number.isFinite);
  return starts.length === 0 ? undefined : Math.max(...starts);
}

export function timelineOf(events: readonly KubeObject[], startMs: number | undefined, nowMs: number): TimelineView {
  const moments = events.flatMap(momentsOf).sort((a, b) => a.atMs - b.atMs || a.order - b.order);
  const since = startMs ?? moments[0]?.atMs ?? nowMs;
  const spans: SpanView[] = [];
  const notes: NoteView[] = [];
  const open = new Map<string, SpanView>();
  const close = (cluster: string, toMs: number) => {
    const span = open.get(cluster);
    if (span) spans.push({ ...span, toMs: Math.max(toMs, span.fromMs) });
    open.delete(cluster);
  };
  for (const { atMs, isWarning, reason, message } of moments) {
    if (atMs < since - SLACK_MS || HIDDEN.has(reason)) continue;
    const cluster = /^([^:\s]+): /.exec(message)?.[1] ?? "";
    const said = cluster === "" ? message : message.slice(cluster.length + 2);
    if (BEGINS.has(reason) && cluster !== "") {
      // The same step goes further: a cluster that is updated instance by instance gets a grant for each.
      const running = open.get(cluster);
      if (running?.what === reason) continue;
      close(cluster, atMs);
      open.set(cluster, { cluster, what: reason, why: said, fromMs: Math.max(atMs, since) });
    } else if (ENDS.has(reason)) close(cluster, atMs);
    else notes.push({ atMs, isWarning, reason, message });
  }
  const all = [...spans, ...open.values()].sort((a, b) => a.fromMs - b.fromMs);
  return { fromMs: since, spans: all.slice(-MAX_SPANS), holds: [], notes: notes.slice(-MAX_NOTES) };
}

/** What a cluster's phase is called while a step runs there. */
const STEP_PHASES: ReadonlySet<string> = new Set([
  "Deploying",
  "Scaling",
  "Updating",
  "RollingBack",
  "TransferringLeader",
  "Adopting",
]);

export function isStepPhase(phase: string | undefined): boolean {
  return phase !== undefined && STEP_PHASES.has(phase);
}

/**
 * The same with what the status shows. Events are written after the status, and the hub's limit on Events may drop some:
 * a step that runs has a bar in any case, and one that has ended has an end.
 */
export function withStatus(timeline: TimelineView, status: CrossClusterStatefulsetStatus, nowMs: number): TimelineView {
  const rows = status.clusters ?? [];
  const spans = timeline.spans.map((span) => {
    const row = rows.find(({ name }) => name === span.cluster);
    if (span.toMs !== undefined || row === undefined || isStepPhase(row.phase)) return span;
    const ended = Date.parse(row.since ?? "");
    return { ...span, toMs: Math.max(span.fromMs, Number.isFinite(ended) ? ended : nowMs) };
  });
  // Events may also be ahead of the status: a step that they have seen end does not run.
  const isKnown = (name: string, sinceMs: number) =>
    spans.some(({ cluster, toMs }) => cluster === name && (toMs === undefined || toMs > sinceMs));
  const missing = rows.flatMap(({ name, phase, since, message = "" }): SpanView[] => {
    const fromMs = Date.parse(since ?? "");
    if (phase === undefined || !isStepPhase(phase) || !Number.isFinite(fromMs) || isKnown(name, fromMs)) return [];
    return [{ cluster: name, what: phase, why: message, fromMs: Math.max(fromMs, timeline.fromMs) }];
  });
  return { ...timeline, spans: [...spans, ...missing] };
}

/** Equal Events are counted in one object, of which the first and the last time are known. */
function momentsOf(event: KubeObject): Moment[] {
  const { reason, message: written, type } = event;
  if (typeof reason !== "string" || typeof written !== "string") return [];
  // Of many that differ only in their message, the last one is written with this before it, and with its own time.
  const isCombined = written.startsWith(COMBINED);
  const message = isCombined ? written.slice(COMBINED.length) : written;
  const fields = isCombined ? [event.lastTimestamp] : [event.firstTimestamp, event.lastTimestamp, event.eventTime];
  const times = fields.map((time) => Date.parse(String(time)));
  const order = BEGINS.has(reason) ? 1 : 0;
  const whole = new Set(times.filter(Number.isFinite));
  return [...whole].map((atMs) => ({ atMs, order, isWarning: type === "Warning", reason, message }));
}

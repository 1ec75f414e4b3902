/** What `status` shows, as lines. Pure: from the object, its ledger and the time. */
import type { CrossClusterStatefulsetStatus } from "../api/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { type ClusterEntry, type Ledger, localName } from "../plan/index.ts";
import { isJsonObject } from "../runtime/index.ts";
import { age, duration, type Style } from "./output.ts";

export type Row = NonNullable<CrossClusterStatefulsetStatus["clusters"]>[number];

export interface StatusView {
  readonly object: KubeObject;
  readonly status: CrossClusterStatefulsetStatus;
  readonly ledger: Ledger | undefined;
}

/** Instances of one cluster beyond this are summed up: a screen has so many lines. */
const MAX_INSTANCES = 12;

export function statusTree({ object, status, ledger }: StatusView, style: Style, nowMs: number): string[] {
  const { metadata } = object;
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const selector = isJsonObject(spec.resourceSelector) ? spec.resourceSelector : {};
  const lines = [
    `${style.bold(`${metadata.namespace}/${metadata.name}`)}  ${String(selector.kind ?? "")}  ${paintPhase(status.phase, style)}`,
    `  ${countsLine(status)}`,
    `  ${revisionLine(status, ledger)}`,
  ];
  if (status.observedGeneration !== metadata.generation) {
    lines.push(style.busy("  the controller has not seen the latest spec yet; is 'lockstep controller' running?"));
  }
  const rows = status.clusters ?? [];
  rows.forEach((row, index) => {
    const last = index === rows.length - 1;
    lines.push(...clusterLines(row, ledger, status, style, nowMs, last));
  });
  if (rows.length === 0) lines.push("  no cluster holds or should hold instances yet");
  if (status.reason !== undefined) {
    lines.push("", `${style.busy(status.reason)}: ${status.message ?? ""}`);
  }
  return lines;
}

function countsLine(status: CrossClusterStatefulsetStatus): string {
  const desired = status.desiredReplicas ?? 0;
  const parts = [`${status.readyReplicas ?? 0}/${desired} ready`, `${status.updatedReplicas ?? 0}/${desired} updated`];
  const { leader } = status;
  if (leader) parts.push(`leader ${leader.instance ?? ""}${leader.instance ? " in " : "in "}${leader.cluster}`);
  return parts.join(", ");
}

function revisionLine(status: CrossClusterStatefulsetStatus, ledger: Ledger | undefined): string {
  const { currentRevision: from, updateRevision: to, rejectedRevision: rejected } = status;
  const wave = ledger?.rollout && ledger.rollout.wave > 0 ? `, wave ${ledger.rollout.wave}` : "";
  const going =
    from !== undefined && to !== undefined && from !== to ? `${from} -> ${to}${wave}` : (to ?? from ?? "none");
  return `revision ${going}${rejected === undefined ? "" : ` (rejected: ${rejected})`}`;
}

function clusterLines(
  row: Row,
  ledger: Ledger | undefined,
  status: CrossClusterStatefulsetStatus,
  style: Style,
  nowMs: number,
  last: boolean,
): string[] {
  const entry = ledger?.clusters[row.name];
  const head = [
    `${last ? "└─" : "├─"} ${style.bold(row.name)}`,
    paintPhase(row.phase, style),
    readyOf(row),
    row.granted?.revision ?? "",
    gateOf(row, entry, style),
    ...(row.leader ? [style.good("leader")] : []),
  ];
  const lines = [head.filter((part) => part !== "").join("  ")];
  const stem = last ? "   " : "│  ";
  const instances = entry?.instances ?? [];
  const shown = instances.slice(0, MAX_INSTANCES);
  const hidden = instances.length - shown.length;
  shown.forEach(({ ordinal, state }, index) => {
    const final = index === shown.length - 1 && hidden === 0;
    const name = ledger?.identity && entry ? localName(ledger.identity, entry, ordinal) : String(ordinal);
    const parts = [name, ...(state === "member" ? [] : [style.busy(state)]), revisionOfInstance(index, row, entry)];
    if (status.leader?.instance === name && status.leader.cluster === row.name) parts.push(style.good("leader"));
    lines.push(`${stem}${final ? "└─" : "├─"} ${parts.filter((part) => part !== "").join("  ")}`);
  });
  if (hidden > 0) lines.push(`${stem}└─ and ${hidden} more`);
  if (row.reason !== undefined) {
    const since = row.since === undefined ? "" : style.dim(` (${age(row.since, nowMs)})`);
    lines.push(`${stem}${style.busy(row.reason)}${since}: ${row.message ?? ""}`);
  }
  return lines;
}

function readyOf({ observed, granted, health }: Row): string {
  if (health === "Lost" || (observed === undefined && granted !== undefined))
    return `?/${granted?.replicas ?? 0} ready`;
  return `${observed?.ready ?? 0}/${granted?.replicas ?? 0} ready`;
}

/** Open: the cluster has proven that it did all it was given. */
function gateOf(row: Row, entry: ClusterEntry | undefined, style: Style): string {
  if (entry === undefined || !entry.grant) return "";
  const turn = entry.turn === "held" ? ", its turn" : entry.turn === "returning" ? ", returns its turn" : "";
  if (entry.done) return style.good("gate open") + turn;
  return style.busy(row.health === "Lost" ? "gate unknown" : "gate closed") + turn;
}

/** Below the cluster's partition the old revision runs; in mid-step nobody has said yet how far each instance is. */
function revisionOfInstance(index: number, row: Row, entry: ClusterEntry | undefined): string {
  const to = row.granted?.revision;
  const base = entry?.baseRevision ?? undefined;
  if (to === undefined) return "";
  if (index < (row.granted?.partition ?? 0)) return base ?? "";
  if (entry?.done || base === undefined || base === to) return to;
  return `${base} -> ${to}`;
}

function paintPhase(phase: string | undefined, style: Style): string {
  switch (phase) {
    case undefined:
      return style.busy("not seen yet");
    case "Settled":
      return style.good(phase);
    case "Invalid":
    case "Halted":
    case "Lost":
      return style.bad(phase);
    default:
      return style.busy(phase);
  }
}

export const LIST_HEADS = ["NAME", "READY", "UPDATED", "PHASE", "STEP", "AGE"];
export const WIDE_HEADS = [...LIST_HEADS, "LEADER", "REVISION", "REASON"];

export function listRow({ object, status }: Omit<StatusView, "ledger">, wide: boolean, nowMs: number): string[] {
  const { name, creationTimestamp } = object.metadata;
  const created = typeof creationTimestamp === "string" ? Date.parse(creationTimestamp) : Number.NaN;
  const row = [
    name,
    status.display?.ready ?? "",
    status.display?.updated ?? "",
    status.phase ?? "",
    status.step?.cluster ?? "",
    Number.isFinite(created) ? duration(nowMs - created) : "",
  ];
  if (wide)
    row.push(status.leader?.instance ?? status.leader?.cluster ?? "", status.updateRevision ?? "", status.reason ?? "");
  return row;
}

/** What `status` shows, as lines. Pure: from the object and the time. */
import { type CrossClusterStatefulsetStatus, selectedWorkload } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { age, duration, type Style } from "../../terminal/output.ts";
import { wrapped } from "../../terminal/wrap.ts";

export type Row = NonNullable<CrossClusterStatefulsetStatus["clusters"]>[number];

type InstanceRow = NonNullable<Row["instances"]>[number];

export interface StatusView {
  readonly object: KubeObject;
  readonly status: CrossClusterStatefulsetStatus;
}

/** More instances of one cluster than this are summed up, because a screen has few lines. */
const MAX_INSTANCES = 12;

/** How much is drawn: every instance, only those of busy clusters, or only busy clusters. */
type Detail = "instances" | "busy-instances" | "busy-clusters";
const DETAILS: readonly Detail[] = ["instances", "busy-instances", "busy-clusters"];

interface TreeOptions {
  readonly detail?: Detail;
  /** Every instance, however many. */
  readonly wide?: boolean;
}

export function statusTree(view: StatusView, style: Style, nowMs: number, options: TreeOptions = {}): string[] {
  const { object, status } = view;
  const { metadata } = object;
  const lines = [
    `${style.bold(`${metadata.namespace}/${metadata.name}`)}  ${selectedWorkload(object)?.kind ?? ""}  ${paintPhase(status.phase, style)}`,
    `  ${countsLine(status)}`,
    `  ${revisionLine(status)}`,
  ];
  if (status.observedGeneration !== metadata.generation) {
    lines.push(style.busy("  the controller has not seen the latest spec yet; is 'lockstep controller' running?"));
  }
  const { leaderTransfer, rollout } = status;
  if (status.expiresAt !== undefined) lines.push(`  ends by itself at ${status.expiresAt}`);
  if (rollout?.promoted !== undefined) lines.push(`  promoted ${rollout.promoted}`);
  if (leaderTransfer && leaderTransfer.state !== "Moved") {
    const { to, state, message } = leaderTransfer;
    lines.push(`  leader requested at ${to}: ${style.busy(state ?? "")}${message === undefined ? "" : `, ${message}`}`);
  }
  const rows = status.clusters ?? [];
  const drawn = options.detail === "busy-clusters" ? rows.filter(isBusy) : rows;
  const hidden = rows.length - drawn.length;
  const tree = new Tree(view, style, nowMs, options);
  drawn.forEach((row, index) => {
    lines.push(...tree.clusterLines(row, hidden === 0 && index === drawn.length - 1));
  });
  if (hidden > 0) lines.push(`└─ and ${hidden} more, idle`);
  if (rows.length === 0) lines.push("  no cluster has or should have instances yet");
  const shownAbove = drawn.some(({ reason, message }) => reason === status.reason && message === status.message);
  if (status.reason !== undefined && !shownAbove) lines.push("", ...reasonLines(status, style));
  return lines;
}

export interface Room {
  readonly rows: number;
  readonly columns: number;
}

/** The lines above the clusters: name, numbers, revision. */
const HEAD_LINES = 3;

/** The tree on a screen of this size: idle clusters are omitted first, the reason never. */
export function fittingTree(view: StatusView, style: Style, nowMs: number, { rows, columns }: Room): string[] {
  const fitted = (lines: readonly string[]) => lines.flatMap((line) => wrapped(line, columns));
  let lines: string[] = [];
  for (const detail of DETAILS) {
    lines = fitted(statusTree(view, style, nowMs, { detail }));
    if (lines.length <= rows) return lines;
  }
  const reason = fitted(reasonLines(view.status, style)).slice(0, Math.max(0, rows - HEAD_LINES - 1));
  return [...lines.slice(0, Math.max(0, rows - reason.length - 1)), "...", ...reason];
}

function reasonLines({ reason, message = "" }: CrossClusterStatefulsetStatus, style: Style): string[] {
  return reason === undefined ? [] : [`${style.busy(reason)}: ${message}`];
}

function countsLine(status: CrossClusterStatefulsetStatus): string {
  const desired = status.desiredReplicas ?? 0;
  // Instances that are about to be removed do not count beyond the total.
  const share = (count: number | undefined) => `${Math.min(count ?? 0, desired)}/${desired}`;
  const parts = [`${share(status.readyReplicas)} ready`, `${share(status.updatedReplicas)} updated`];
  const { leader } = status;
  if (leader) parts.push(`leader ${leader.instance ?? ""}${leader.instance ? " in " : "in "}${leader.cluster}`);
  return parts.join(", ");
}

function revisionLine(status: CrossClusterStatefulsetStatus): string {
  const { currentRevision: from, updateRevision: to, rejectedRevision: rejected, rollout } = status;
  const wave = rollout?.wave === undefined ? "" : `, wave ${rollout.wave}`;
  const going =
    from !== undefined && to !== undefined && from !== to ? `${from} -> ${to}${wave}` : (to ?? from ?? "none");
  return `revision ${going}${rejected === undefined ? "" : ` (rejected: ${rejected})`}`;
}

/** A step is in progress there, or is due and does not start. */
function isBusy({ phase, reason }: Row): boolean {
  return reason !== undefined || (phase !== "Settled" && phase !== "Pending");
}

/** The branches of one tree, in columns that are as wide as its widest cluster needs. */
class Tree {
  readonly #view: StatusView;
  readonly #style: Style;
  readonly #nowMs: number;
  readonly #options: TreeOptions;
  readonly #widths: {
    readonly name: number;
    readonly phase: number;
    readonly ready: number;
    readonly instance: number;
  };

  constructor(view: StatusView, style: Style, nowMs: number, options: TreeOptions) {
    const rows = view.status.clusters ?? [];
    const widest = (of: (row: Row) => string) => Math.max(0, ...rows.map((row) => of(row).length));
    this.#view = view;
    this.#style = style;
    this.#nowMs = nowMs;
    this.#options = options;
    this.#widths = {
      name: widest(({ name }) => name),
      phase: widest(({ phase }) => phase ?? UNSEEN),
      ready: widest(readyOf),
      instance: Math.max(0, ...rows.flatMap((row) => row.instances ?? []).map(({ name }) => name.length)),
    };
  }

  clusterLines(row: Row, last: boolean): string[] {
    const style = this.#style;
    const { name, phase, ready } = this.#widths;
    const head = [
      `${last ? "└─" : "├─"} ${style.bold(row.name.padEnd(name))}`,
      paintPhase(row.phase, style, phase),
      readyOf(row).padEnd(ready),
      row.granted?.revision ?? "",
      gateOf(row, style),
      ...(row.leader ? [style.good("leader")] : []),
    ];
    const lines = [head.filter((part) => part !== "").join("  ")];
    const stem = last ? "   " : "│  ";
    if (row.reason !== undefined) {
      const since = row.since === undefined ? "" : style.dim(` (${age(row.since, this.#nowMs)})`);
      lines.push(`${stem}${style.busy(row.reason)}${since}: ${row.message ?? ""}`);
    }
    if (this.#options.detail === "busy-instances" && !isBusy(row)) return lines;
    const branches = this.#instanceLines(row);
    return [...lines, ...branches.map((text, at) => `${stem}${at === branches.length - 1 ? "└─" : "├─"} ${text}`)];
  }

  #instanceLines(row: Row): string[] {
    const style = this.#style;
    const { status } = this.#view;
    const all = row.instances ?? [];
    const shown = this.#options.wide ? all : all.slice(0, MAX_INSTANCES);
    const lines = shown.map((instance, index) => {
      const { name, state, reason } = instance;
      const leads = status.leader?.instance === name && status.leader.cluster === row.name;
      const parts = [
        name.padEnd(this.#widths.instance),
        readinessOf(instance, row, style),
        instanceRevision(instance, index, row),
        ...(state === undefined ? [] : [style.busy(state.toLowerCase())]),
        ...(reason === undefined ? [] : [style.bad(reason)]),
        ...(leads ? [style.good("leader")] : []),
      ];
      return parts.filter((part) => part !== "").join("  ");
    });
    const hidden = all.slice(shown.length);
    return hidden.length === 0 ? lines : [...lines, `and ${hidden.length} more${summaryOf(hidden)}; -o wide shows all`];
  }
}

function summaryOf(instances: readonly InstanceRow[]): string {
  const known = instances.filter(({ ready }) => ready !== undefined);
  return known.length < instances.length ? "" : `, ${known.filter(({ ready }) => ready).length} of them ready`;
}

const READINESS_CHARS = "terminating".length;

/** If the instances are not listed, the counts still show it if they cover all or none. */
function readinessOf({ ready, terminating }: InstanceRow, { observed, granted, health }: Row, style: Style): string {
  const pad = (text: string) => text.padEnd(READINESS_CHARS);
  if (terminating) return style.busy(pad("terminating"));
  const count = health === "Lost" ? undefined : observed?.ready;
  const known = ready ?? (count === 0 ? false : count !== undefined && count === granted?.replicas ? true : undefined);
  if (known === undefined) return style.dim(pad("unknown"));
  return known ? style.good(pad("ready")) : style.bad(pad("not ready"));
}

/** What it runs. If the instances are not listed: from the counts, if they cover all or none. */
export function instanceRevision({ updated, ready }: InstanceRow, index: number, row: Row): string {
  const { granted, observed, health, baseRevision: base } = row;
  const to = observed?.revision ?? granted?.revision;
  if (to === undefined || (updated === undefined && ready === false && observed?.updated !== 0)) return "";
  if (health === "Lost") return "revision unknown";
  const isNew = updated ?? byCounts(index, row);
  if (isNew === undefined) return "revision unknown";
  if (isNew) return to;
  // During a rollback the old revision is the desired one, and the rest run the failed one.
  return base === undefined || base === to ? `not ${to}` : base;
}

function byCounts(index: number, { granted, observed, gate }: Row): boolean | undefined {
  const { partition = 0, replicas = 0 } = granted ?? {};
  if (gate === "Open") return index >= partition;
  if (observed?.updated === 0) return false;
  return observed?.updated !== undefined && observed.updated >= replicas ? true : undefined;
}

function readyOf({ observed, granted, health }: Row): string {
  if (health === "Lost" || (observed === undefined && granted !== undefined))
    return `?/${granted?.replicas ?? 0} ready`;
  return `${observed?.ready ?? 0}/${granted?.replicas ?? 0} ready`;
}

/** Open: the cluster has proven that it carried out its grant. */
function gateOf({ gate, turn }: Row, style: Style): string {
  if (gate === undefined) return "";
  const its = turn === "Held" ? ", its turn" : turn === "Returning" ? ", returns its turn" : "";
  return (gate === "Open" ? style.good : style.busy)(`gate ${gate.toLowerCase()}`) + its;
}

const UNSEEN = "not seen yet";

export function paintPhase(phase: string | undefined, style: Style, width = 0): string {
  const text = (phase ?? UNSEEN).padEnd(width);
  switch (phase) {
    case "Settled":
      return style.good(text);
    case "Invalid":
    case "Halted":
    case "Lost":
      return style.bad(text);
    default:
      return style.busy(text);
  }
}

export const LIST_HEADS = ["NAME", "READY", "UPDATED", "PHASE", "STEP", "AGE"];
export const WIDE_HEADS = [...LIST_HEADS, "LEADER", "REVISION", "REASON"];

export function listRow({ object, status }: StatusView, wide: boolean, nowMs: number): string[] {
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

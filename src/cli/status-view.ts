/** What `status` shows, as lines. Pure: from the object and the time. */
import type { CrossClusterStatefulsetStatus } from "../api/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { isJsonObject } from "../runtime/index.ts";
import { age, duration, type Style } from "./output.ts";

export type Row = NonNullable<CrossClusterStatefulsetStatus["clusters"]>[number];

type InstanceRow = NonNullable<Row["instances"]>[number];

export interface StatusView {
  readonly object: KubeObject;
  readonly status: CrossClusterStatefulsetStatus;
}

/** Instances of one cluster beyond this are summed up: a screen has so many lines. */
const MAX_INSTANCES = 12;

/** How much is drawn: every instance, those of clusters at work only, or clusters at work only. */
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
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const selector = isJsonObject(spec.resourceSelector) ? spec.resourceSelector : {};
  const lines = [
    `${style.bold(`${metadata.namespace}/${metadata.name}`)}  ${String(selector.kind ?? "")}  ${paintPhase(status.phase, style)}`,
    `  ${countsLine(status)}`,
    `  ${revisionLine(status)}`,
  ];
  if (status.observedGeneration !== metadata.generation) {
    lines.push(style.busy("  the controller has not seen the latest spec yet; is 'lockstep controller' running?"));
  }
  const rows = status.clusters ?? [];
  const drawn = options.detail === "busy-clusters" ? rows.filter(isBusy) : rows;
  const hidden = rows.length - drawn.length;
  const tree = new Tree(view, style, nowMs, options);
  drawn.forEach((row, index) => {
    lines.push(...tree.clusterLines(row, hidden === 0 && index === drawn.length - 1));
  });
  if (hidden > 0) lines.push(`└─ and ${hidden} more, at rest`);
  if (rows.length === 0) lines.push("  no cluster holds or should hold instances yet");
  const shownAbove = drawn.some(({ reason, message }) => reason === status.reason && message === status.message);
  if (status.reason !== undefined && !shownAbove) {
    lines.push("", `${style.busy(status.reason)}: ${status.message ?? ""}`);
  }
  return lines;
}

/** The tree in so many lines: what is at rest is left out first. */
export function fittingTree(view: StatusView, style: Style, nowMs: number, room: number): string[] {
  let lines: string[] = [];
  for (const detail of DETAILS) {
    lines = statusTree(view, style, nowMs, { detail });
    if (lines.length <= room) return lines;
  }
  return [...lines.slice(0, Math.max(0, room - 1)), "..."];
}

function countsLine(status: CrossClusterStatefulsetStatus): string {
  const desired = status.desiredReplicas ?? 0;
  const parts = [`${status.readyReplicas ?? 0}/${desired} ready`, `${status.updatedReplicas ?? 0}/${desired} updated`];
  const { leader } = status;
  if (leader) parts.push(`leader ${leader.instance ?? ""}${leader.instance ? " in " : "in "}${leader.cluster}`);
  return parts.join(", ");
}

function revisionLine(status: CrossClusterStatefulsetStatus): string {
  const { currentRevision: from, updateRevision: to, rejectedRevision: rejected, step } = status;
  const wave = step?.wave !== undefined && step.wave > 0 ? `, wave ${step.wave + 1}` : "";
  const going =
    from !== undefined && to !== undefined && from !== to ? `${from} -> ${to}${wave}` : (to ?? from ?? "none");
  return `revision ${going}${rejected === undefined ? "" : ` (rejected: ${rejected})`}`;
}

/** Something happens there, or should and does not. */
function isBusy({ phase, reason }: Row): boolean {
  return reason !== undefined || (phase !== "Settled" && phase !== "Pending");
}

/** The branches of one picture, in columns that are as wide as its widest cluster needs. */
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
      const { name, state } = instance;
      const leads = status.leader?.instance === name && status.leader.cluster === row.name;
      const parts = [
        name.padEnd(this.#widths.instance),
        readinessOf(instance, row, style),
        revisionOf(instance, index, row),
        ...(state === undefined ? [] : [style.busy(state.toLowerCase())]),
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

/** Where nobody listed the instances, the counts still tell when they speak of all or of none. */
function readinessOf({ ready, terminating }: InstanceRow, { observed, granted, health }: Row, style: Style): string {
  const pad = (text: string) => text.padEnd(READINESS_CHARS);
  if (terminating) return style.busy(pad("terminating"));
  const count = health === "Lost" ? undefined : observed?.ready;
  const known = ready ?? (count === 0 ? false : count !== undefined && count === granted?.replicas ? true : undefined);
  if (known === undefined) return style.dim(pad("unknown"));
  return known ? style.good(pad("ready")) : style.bad(pad("not ready"));
}

/** What it runs. Where nobody listed the instances: by the counts, where they speak of all or of none. */
function revisionOf({ updated, ready }: InstanceRow, index: number, row: Row): string {
  const { granted, observed, health, baseRevision: base } = row;
  const to = observed?.revision ?? granted?.revision;
  if (to === undefined || (updated === undefined && ready === false && observed?.updated !== 0)) return "";
  if (health === "Lost") return "revision unknown";
  const isNew = updated ?? byCounts(index, row);
  if (isNew === undefined) return "revision unknown";
  if (isNew) return to;
  // On the way back the old revision is the wanted one, and what is left is whatever was tried.
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

/** Open: the cluster has proven that it did all it was given. */
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

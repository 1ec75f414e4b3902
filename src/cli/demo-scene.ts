/** What a story sees at one moment, and what has changed since the moment before, in words. Pure. */
import type { CrossClusterStatefulsetStatus } from "../api/index.ts";
import { majorityOf } from "../plan/index.ts";
import type { Row } from "./status-view.ts";

export interface Instance {
  readonly cluster: string;
  readonly name: string;
  readonly uid: string;
  readonly ready: boolean;
  readonly image: string;
}

export interface Scene {
  readonly status: CrossClusterStatefulsetStatus;
  /** What runs inside the clusters, asked there and not through the hub; by `keyOf`. */
  readonly instances: ReadonlyMap<string, Instance>;
  /** The cluster that the story has cut off. */
  readonly cut: string | undefined;
}

/** Those that were there when the story began: they are counted, and they are never renumbered. */
export type Cast = ReadonlySet<string>;

export const keyOf = ({ cluster, name }: Pick<Instance, "cluster" | "name">) => `${cluster}/${name}`;

/** The phases in which a cluster has a step of its own. */
const STEP_PHASES = new Set(["Deploying", "Updating", "Scaling", "RollingBack", "TransferringLeader"]);

export const hasStep = ({ phase }: Row) => phase !== undefined && STEP_PHASES.has(phase);

/** Ready, and not cut off: what the application can count on. */
export function readyWithinReach({ instances, cut }: Scene, cast: Cast): number {
  return [...instances.values()].filter((one) => one.ready && one.cluster !== cut && cast.has(keyOf(one))).length;
}

/** Members of the cast that are not ready, whether or not they can be reached. */
export function downOf({ instances }: Scene, cast: Cast): number {
  return [...cast].filter((key) => !instances.get(key)?.ready).length;
}

/** One line per change, in the order in which it is understood: what ended, what went down or up, what begins. */
export function changesBetween(before: Scene, after: Scene, cast: Cast): string[] {
  const rows = (after.status.clusters ?? []).map((row) => ({
    row,
    previous: before.status.clusters?.find(({ name }) => name === row.name),
  }));
  const begins = rows.filter(({ row, previous }) => hasStep(row) && !(previous && hasStep(previous)));
  return [
    ...rows.flatMap(({ row, previous }) => stateChange(row, previous)),
    ...begins.map(({ row, previous }) => `${row.name}  has its turn: ${whyItsTurn(row, previous, after, cast)}`),
    ...instanceChanges(before, after, cast),
  ];
}

function stateChange(row: Row, previous: Row | undefined): string[] {
  if (!previous) return [];
  const lines: string[] = [];
  const held = plural(row.ordinals?.length ?? 0, "instance");
  if (isOutOfReach(row) && !isOutOfReach(previous)) {
    lines.push(`${row.name}  is out of reach: its ${held} may be down, which uses up the budget; everybody waits`);
  }
  if (row.phase === "Lost" && previous.phase !== "Lost") {
    lines.push(`${row.name}  counts as lost: its ${held} still vote and nothing there is deleted; the rest goes on`);
  }
  if (row.phase !== "Lost" && previous.phase === "Lost") lines.push(`${row.name}  is back`);
  if (hasStep(previous) && row.phase === "Settled") {
    lines.push(
      `${row.name}  is done: ${row.observed?.ready ?? 0} of ${row.granted?.replicas ?? 0} ready, its gate opens`,
    );
  }
  return lines;
}

function isOutOfReach({ health, reason }: Row): boolean {
  return health === "Lost" || reason === "ClusterUnreachable" || reason === "ClusterNotReady";
}

function whyItsTurn(row: Row, previous: Row | undefined, { status, cut }: Scene, cast: Cast): string {
  if (row.phase === "Scaling") {
    const grows = (row.granted?.replicas ?? 0) > (previous?.granted?.replicas ?? 0);
    return grows
      ? "it gets one more instance; joining goes one at a time"
      : "its youngest instance leaves; leaving goes one at a time, the last one in the order first";
  }
  const behind = (status.clusters ?? []).filter(
    (other) =>
      other.name !== row.name &&
      other.name !== cut &&
      (other.ordinals?.length ?? 0) > 0 &&
      other.granted?.revision !== row.granted?.revision,
  );
  const figures = `${majorityOf(cast.size)} of ${cast.size} needed for quorum`;
  return `${orderOf(row, previous, behind)} (${figures})`;
}

function orderOf(row: Row, previous: Row | undefined, behind: readonly Row[]): string {
  if (row.leader) return "the leader's cluster goes last";
  if (behind.length === 0) return "all others are done";
  if (previous?.health === "Unhealthy") return "it is unhealthy, and such clusters go first";
  const highest = Math.max(...(row.ordinals ?? []));
  return behind.every(({ ordinals = [] }) => Math.max(...ordinals) < highest)
    ? "the highest ordinals go first"
    : "budget and quorum allow it";
}

function instanceChanges(before: Scene, after: Scene, cast: Cast): string[] {
  const keys = [...new Set([...before.instances.keys(), ...after.instances.keys()])].sort();
  const figures = `${readyWithinReach(after, cast)} of ${cast.size} ready${after.cut === undefined ? "" : " within reach"}`;
  const [downs, ups]: [string[], string[]] = [[], []];
  for (const key of keys) {
    const [was, is] = [before.instances.get(key), after.instances.get(key)];
    const one = is ?? was;
    if (!one) continue;
    const head = `${one.cluster}  ${one.name}`;
    const known = cast.has(key);
    if (was?.ready && is?.ready && was.uid !== is.uid) ups.push(`${head} was replaced, on ${is.image} (${figures})`);
    else if (was?.ready && !is?.ready) downs.push(known ? `${head} goes down (${figures})` : `${head} leaves`);
    else if (!was?.ready && is?.ready) {
      ups.push(
        known ? `${head} is ready again, on ${is.image} (${figures})` : `${head} has joined under a number of its own`,
      );
    }
  }
  return [...ups, ...downs];
}

/**
 * The worst that was seen. A figure counts when two looks in a row show it: an instance that is really down stays down for
 * much longer than that, while one cluster's news may reach us a moment before another's older ones.
 */
export class Tally {
  readonly #cast: Cast;
  #last: { readonly down: number; readonly ready: number } | undefined;
  mostDown = 0;
  leastReady: number;

  constructor(cast: Cast) {
    this.#cast = cast;
    this.leastReady = cast.size;
  }

  add(scene: Scene): void {
    const down = downOf(scene, this.#cast);
    const ready = readyWithinReach(scene, this.#cast);
    this.mostDown = Math.max(this.mostDown, Math.min(down, this.#last?.down ?? 0));
    this.leastReady = Math.min(this.leastReady, Math.max(ready, this.#last?.ready ?? this.#cast.size));
    this.#last = { down, ready };
  }
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

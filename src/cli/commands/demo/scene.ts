/** What a demo sees at one moment, and what has changed since the previous moment, in words. Pure. */
import type { CrossClusterStatefulsetStatus } from "../../../api/index.ts";
import { type Ledger, majorityOf, type StepKind } from "../../../plan/index.ts";
import { natural } from "../../terminal/natural.ts";

export interface Instance {
  readonly cluster: string;
  readonly name: string;
  readonly uid: string;
  readonly ready: boolean;
  readonly image: string;
}

export interface ClusterView {
  readonly name: string;
  readonly step: StepKind | undefined;
  readonly reach: "here" | "away" | "lost";
  readonly leads: boolean;
  readonly revision: string | undefined;
  readonly replicas: number;
  readonly highestOrdinal: number;
}

export interface Scene {
  readonly status: CrossClusterStatefulsetStatus;
  /** The status refers to the current spec. */
  readonly isCurrent: boolean;
  readonly clusters: readonly ClusterView[];
  /** What runs inside the clusters, read there and not through the hub; by `keyOf`. */
  readonly instances: ReadonlyMap<string, Instance>;
  /** The cluster that the demo has disconnected. */
  readonly cut: string | undefined;
}

/** The instances at the start of the demo: they are counted, and they are never renumbered. */
export type Cast = ReadonlySet<string>;

export const keyOf = ({ cluster, name }: Pick<Instance, "cluster" | "name">) => `${cluster}/${name}`;

/** From the ledger, which is written before a cluster gets anything: a turn is seen before its effects. */
export function clustersOf(ledger: Ledger | undefined, status: CrossClusterStatefulsetStatus): ClusterView[] {
  return Object.entries(ledger?.clusters ?? {})
    .filter(([, { instances }]) => instances.length > 0)
    .sort(([, left], [, right]) => left.index - right.index)
    .map(([name, entry]) => ({
      name,
      step: entry.step?.kind,
      reach: entry.presence.kind,
      leads: status.leader?.cluster === name,
      revision: entry.grant?.revision,
      replicas: entry.grant?.replicas ?? 0,
      highestOrdinal: Math.max(...entry.instances.map(({ ordinal }) => ordinal)),
    }));
}

/** Ready and not disconnected: what the application can use. */
function readyWithinReach(scene: Scene, cast: Cast): number {
  return [...cast].filter((key) => isUpWithinReach(scene, key)).length;
}

function isUpWithinReach({ instances, cut }: Scene, key: string): boolean {
  const one = instances.get(key);
  return one?.ready === true && one.cluster !== cut;
}

/** Instances of the cast that are not ready, whether or not they can be reached. */
function downOf({ instances }: Scene, cast: Cast): number {
  return [...cast].filter((key) => !instances.get(key)?.ready).length;
}

/** Clusters whose step starts. */
export function beginning(before: Scene, after: Scene): ClusterView[] {
  return after.clusters.filter(({ name, step }) => step !== undefined && viewOf(before, name)?.step === undefined);
}

/**
 * One line per change, causes before effects: what came up, what that ends, what starts, and what goes down because of
 * it.
 */
export function changesBetween(before: Scene, after: Scene, cast: Cast): string[] {
  const { ups, downs } = instanceChanges(before, after, cast);
  return [
    ...ups,
    ...after.clusters.flatMap((view) => clusterChanges(view, viewOf(before, view.name), after)),
    ...beginning(before, after).map((view) => `${view.name}  has its turn: ${whyItsTurn(view, before, after, cast)}`),
    ...downs,
  ];
}

const viewOf = ({ clusters }: Scene, name: string) => clusters.find((view) => view.name === name);

function clusterChanges(view: ClusterView, previous: ClusterView | undefined, { instances }: Scene): string[] {
  if (!previous) return [];
  const { name, reach } = view;
  const lines: string[] = [];
  if (previous.step !== undefined && view.step === undefined && reach === "here") {
    const ready = [...instances.values()].filter((one) => one.cluster === name && one.ready).length;
    lines.push(`${name}  is done: ${ready} of ${view.replicas} ready, its gate opens`);
  }
  if (reach === previous.reach) return lines;
  if (reach === "here") lines.push(`${name}  is back`);
  else if (reach === "lost") {
    lines.push(`${name}  counts as lost: nothing there is deleted, its votes still count, and the others continue`);
  } else {
    lines.push(`${name}  is unreachable: its instances count as down, so no other instance is taken down`);
  }
  return lines;
}

function whyItsTurn(view: ClusterView, before: Scene, after: Scene, cast: Cast): string {
  if (view.step === "grow" || view.step === "deploy") return "it gets one more instance; instances join one at a time";
  if (view.step === "shrink") return "its newest instance leaves; instances leave one at a time, in reverse order";
  // As of the moment when the turn was given: instances that came up since the last observation count, those that go
  // down are its effect.
  const ready = [...cast].filter((key) => isUpWithinReach(before, key) || isUpWithinReach(after, key)).length;
  return `${orderOf(view, viewOf(before, view.name), after)} (${ready} of ${cast.size} ready, ${majorityOf(cast.size)} needed)`;
}

function orderOf(view: ClusterView, previous: ClusterView | undefined, { clusters }: Scene): string {
  const behind = clusters.filter(({ name, reach, revision }) => {
    return name !== view.name && reach === "here" && revision !== view.revision;
  });
  if (previous?.reach === "lost") return "it is back, and all others are done";
  if (view.leads) return "the leader's cluster goes last";
  if (behind.some(({ leads }) => leads)) return "followers go before the leader's cluster";
  if (behind.length === 0) return "all others are done";
  const isHighest = behind.every(({ highestOrdinal }) => highestOrdinal < view.highestOrdinal);
  return isHighest ? "the highest ordinals go first" : "budget and quorum allow it";
}

function instanceChanges(before: Scene, after: Scene, cast: Cast): { ups: string[]; downs: string[] } {
  const keys = [...new Set([...before.instances.keys(), ...after.instances.keys()])].sort(natural);
  const where = after.cut === undefined ? "" : " and reachable";
  let ready = readyWithinReach(before, cast);
  const [ups, downs]: [string[], string[]] = [[], []];
  const figures = (change: number, cluster: string) => {
    if (cluster !== after.cut) ready += change;
    return `${ready} of ${cast.size} ready${where}`;
  };
  for (const key of keys) {
    const [was, is] = [before.instances.get(key), after.instances.get(key)];
    if (!is?.ready || (was?.ready && was.uid === is.uid)) continue;
    const head = `${is.cluster}  ${is.name}`;
    if (!cast.has(key)) ups.push(`${head} has joined, with its own number`);
    else ups.push(`${head} is ready again, on ${is.image} (${figures(was?.ready ? 0 : 1, is.cluster)})`);
  }
  for (const key of keys) {
    const [was, is] = [before.instances.get(key), after.instances.get(key)];
    if (!was?.ready || is?.ready) continue;
    const head = `${was.cluster}  ${was.name}`;
    downs.push(cast.has(key) ? `${head} goes down (${figures(-1, was.cluster)})` : `${head} leaves`);
  }
  return { ups, downs };
}

/**
 * The worst observed values. A value counts if two successive observations show it: an instance that is really down
 * stays down for much longer than that, while one cluster's events may arrive a moment before another's older ones.
 */
export class WorstSeen {
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

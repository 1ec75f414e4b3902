/** The list and the fleet in the order in which they are shown. Pure. */
import type { ApplicationName, ApplicationRow, FleetCluster, OverviewChanges, OverviewView } from "../src/web/types.ts";

export function keyOf({ type, namespace, name }: ApplicationName): string {
  return `${type}/${namespace}/${name}`;
}

/** Undefined: they change another overview than this one. */
export function withChanges(view: OverviewView | undefined, changes: OverviewChanges): OverviewView | undefined {
  if (view?.atMs !== changes.baseMs) return undefined;
  const { baseMs: _, goneApplications, goneClusters, applications, clusters, ...rest } = changes;
  return {
    ...rest,
    applications: merged(view.applications, applications, goneApplications.map(keyOf), keyOf),
    clusters: merged(view.clusters, clusters, goneClusters, ({ name }) => name),
  };
}

function merged<T>(
  before: readonly T[],
  changed: readonly T[],
  gone: readonly string[],
  key: (item: T) => string,
): T[] {
  const all = new Map(before.map((item) => [key(item), item]));
  for (const name of gone) all.delete(name);
  for (const item of changed) all.set(key(item), item);
  return [...all.values()];
}

export type Standing = "urgent" | "moving" | "steady";

export function standingOf({ needsPerson, phase }: ApplicationRow): Standing {
  if (needsPerson || phase === "Halted" || phase === "Invalid") return "urgent";
  return phase === "Settled" || phase === "Complete" ? "steady" : "moving";
}

const RANKS: Readonly<Record<Standing, string>> = { urgent: "0", moving: "1", steady: "2" };

/** What needs a user first, then what moves or waits, then the rest by name. */
export function inOrder(rows: readonly ApplicationRow[]): ApplicationRow[] {
  const keys = new Map(rows.map((row) => [row, `${RANKS[standingOf(row)]}/${row.namespace}/${row.name}/${row.type}`]));
  return rows.toSorted((a, b) => compare(keys.get(a) ?? "", keys.get(b) ?? ""));
}

/** Faster than by the rules of a language, which names in Kubernetes do not need. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const BY_NAME = new Intl.Collator("en", { numeric: true });

/** Clusters with trouble first, then by name: member2 before member10. */
export function fleetInOrder(clusters: readonly FleetCluster[]): FleetCluster[] {
  const rank = ({ health, draining }: FleetCluster) => (health === "Ready" ? (draining ? 1 : 2) : 0);
  return clusters.toSorted((a, b) => rank(a) - rank(b) || BY_NAME.compare(a.name, b.name));
}

export interface Runs {
  readonly row: ApplicationRow;
  readonly count: number;
}

/** What runs in each cluster, of what the viewer may list. */
export function runsByCluster(rows: readonly ApplicationRow[]): ReadonlyMap<string, readonly Runs[]> {
  const found = new Map<string, Runs[]>();
  for (const row of rows) {
    for (const { name, count } of row.clusters) {
      const list = found.get(name);
      if (list) list.push({ row, count });
      else found.set(name, [{ row, count }]);
    }
  }
  return found;
}

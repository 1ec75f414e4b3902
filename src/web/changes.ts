/** What differs between two overviews. Pure. */
import type { ApplicationRow, FleetCluster, OverviewChanges, OverviewView } from "./types.ts";

/** Undefined: nothing that a page shows. */
export function changesOf(before: OverviewView, after: OverviewView): OverviewChanges | undefined {
  const applications = different(before.applications, after.applications, keyOf);
  const clusters = different(before.clusters, after.clusters, ({ name }) => name);
  const hasChanged =
    [applications.changed, applications.gone, clusters.changed, clusters.gone].some(({ length }) => length > 0) ||
    before.mayDrain !== after.mayDrain ||
    before.problems.join("\n") !== after.problems.join("\n");
  if (!hasChanged) return undefined;
  return {
    baseMs: before.atMs,
    atMs: after.atMs,
    applications: applications.changed,
    goneApplications: applications.gone.map(({ type, namespace, name }) => ({ type, namespace, name })),
    clusters: clusters.changed,
    goneClusters: clusters.gone.map(({ name }) => name),
    ...(after.mayDrain !== undefined && { mayDrain: after.mayDrain }),
    problems: after.problems,
  };
}

function keyOf({ type, namespace, name }: ApplicationRow): string {
  return `${type}/${namespace}/${name}`;
}

function different<T extends ApplicationRow | FleetCluster>(
  before: readonly T[],
  after: readonly T[],
  key: (item: T) => string,
): { changed: T[]; gone: T[] } {
  const left = new Map(before.map((item) => [key(item), item]));
  const changed: T[] = [];
  for (const item of after) {
    const known = left.get(key(item));
    left.delete(key(item));
    // Most are the same object. A heartbeat makes a new one with nothing new in it.
    if (known === item || (known !== undefined && JSON.stringify(known) === JSON.stringify(item))) continue;
    changed.push(item);
  }
  return { changed, gone: [...left.values()] };
}

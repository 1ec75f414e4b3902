/** The effects of a cluster's maintenance on one application, before it starts. Pure. */
import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";

type Topology = readonly { readonly name: string; readonly replicas: number }[];

/**
 * No line for an application without instances there. `moved`: its topology after a move; undefined: instances stay.
 */
export function drainLines(
  { metadata, spec, status }: ParsedCrossClusterStatefulset,
  cluster: string,
  moved?: Topology,
): string[] {
  const row = status?.clusters?.find(({ name }) => name === cluster);
  const held = row?.ordinals?.length ?? 0;
  if (!row || held === 0) return [];
  const { leader, rollout } = status ?? {};
  const what = moved ? `${counted(held, "moves", "move")}: ${gained(spec, moved)}` : counted(held, "stays", "stay");
  const lines = [`${metadata.namespace}/${metadata.name}: ${what}`];
  if (leader?.cluster === cluster) {
    const { type, rollingUpdate } = spec.updateStrategy;
    const who = leader.instance === undefined ? "the leader" : `the leader ${leader.instance}`;
    lines.push(
      type === "RollingUpdate" && rollingUpdate.leaderTransfer
        ? `  ${who} is asked to move to another cluster`
        : `  ${who} stays: spec.updateStrategy.rollingUpdate.leaderTransfer is not set`,
    );
  }
  if (rollout?.to !== undefined && row.granted?.revision !== rollout.to) {
    lines.push(`  the rollout to ${rollout.to} waits for it until it is undrained`);
  }
  lines.push(`  ${withoutIt(spec, status?.clusters ?? [], cluster)}`);
  return lines;
}

function counted(count: number, one: string, many: string): string {
  return count === 1 ? `1 instance ${one}` : `${count} instances ${many}`;
}

function gained({ topology }: ParsedCrossClusterStatefulset["spec"], moved: Topology): string {
  const before = new Map(topology?.clusters.map(({ name, replicas = 0 }) => [name, replicas]));
  return moved
    .filter(({ name, replicas }) => replicas > (before.get(name) ?? 0))
    .map(({ name, replicas }) => `${name} ${before.get(name) ?? 0} -> ${replicas}`)
    .join(", ");
}

/**
 * The topology without instances in the cluster: each moves to the smallest of the others, one after the other.
 * Undefined: the topology does not set the number of each cluster, or no other cluster can take them.
 */
export function movedTopology(
  { topology }: ParsedCrossClusterStatefulset["spec"],
  cluster: string,
  isDrained: (name: string) => boolean,
): Topology | undefined {
  const sizes = new Map<string, number>();
  for (const { name, replicas } of topology?.clusters ?? []) {
    if (replicas === undefined) return undefined;
    sizes.set(name, replicas);
  }
  const others = [...sizes.keys()].filter((name) => name !== cluster && !isDrained(name));
  if (!sizes.has(cluster) || others.length === 0) return undefined;
  for (let left = sizes.get(cluster) ?? 0; left > 0; left--) {
    const smallest = others.reduce((a, b) => ((sizes.get(b) ?? 0) < (sizes.get(a) ?? 0) ? b : a));
    sizes.set(smallest, (sizes.get(smallest) ?? 0) + 1);
  }
  sizes.set(cluster, 0);
  return [...sizes].map(([name, replicas]) => ({ name, replicas }));
}

type Rows = NonNullable<NonNullable<ParsedCrossClusterStatefulset["status"]>["clusters"]>;

/** If the cluster goes down during its maintenance. */
function withoutIt({ quorum }: ParsedCrossClusterStatefulset["spec"], rows: Rows, cluster: string): string {
  const voters = rows.reduce((sum, { ordinals }) => sum + (ordinals?.length ?? 0), 0);
  const others = rows.filter(({ name }) => name !== cluster);
  const ready = others.reduce((sum, { observed }) => sum + (observed?.ready ?? 0), 0);
  const majority = Math.floor(voters / 2) + 1;
  const left = `if ${cluster} goes down, ${ready} of ${voters} are ready`;
  if (quorum === "None") return left;
  return ready >= majority ? `${left}, ${majority} needed` : `${left}: BELOW the majority of ${majority}`;
}

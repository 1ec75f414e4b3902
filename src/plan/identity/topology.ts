import type { TopologyCluster } from "../../contract/index.ts";
import type {
  ClusterName,
  Grant,
  InstanceRecord,
  InstanceState,
  Ledger,
  TopologyShape,
  TopologyView,
} from "../types/index.ts";
import { addressesOf } from "./address.ts";
import { localName } from "./identity.ts";

const MARKS: Record<InstanceState, string> = { member: "", joining: "+", leaving: "~" };
const PART = /^(\d+)(?:-(\d+))?([+~]?)$/;

/** "0-3 4+": instances of one cluster, runs of the same state folded, by ascending ordinal. */
export function encodeInstances(instances: readonly InstanceRecord[]): string {
  const parts: string[] = [];
  for (let first = 0; first < instances.length; ) {
    const head = instances[first];
    if (!head) break;
    let last = first;
    for (let next = instances[last + 1]; next; next = instances[last + 1]) {
      if (next.state !== head.state || next.ordinal !== head.ordinal + (last + 1 - first)) break;
      last++;
    }
    const run = last === first ? `${head.ordinal}` : `${head.ordinal}-${head.ordinal + (last - first)}`;
    parts.push(run + MARKS[head.state]);
    first = last + 1;
  }
  return parts.join(" ");
}

export function decodeInstances(text: string): InstanceRecord[] {
  const found: InstanceRecord[] = [];
  for (const part of text === "" ? [] : text.split(" ")) {
    const match = PART.exec(part);
    if (!match) throw new TopologyShapeError(part);
    const state: InstanceState = match[3] === "+" ? "joining" : match[3] === "~" ? "leaving" : "member";
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    for (let ordinal = first; ordinal <= last; ordinal++) found.push({ ordinal, state });
  }
  return found;
}

/** Thrown when a stored view holds a part that is not "FIRST[-LAST]" with a state's mark. */
export class TopologyShapeError extends Error {
  override name = "TopologyShapeError";
  readonly part: string;
  constructor(part: string) {
    super(`the ledger's topology holds '${part}'; expected FIRST[-LAST] with '+' for joining or '~' for leaving`);
    this.part = part;
  }
}

/** Clusters in the global order. */
export function clustersByIndex(ledger: Pick<Ledger, "clusters">): ClusterName[] {
  const entries = Object.entries(ledger.clusters);
  entries.sort(([, a], [, b]) => a.index - b.index);
  return entries.map(([name]) => name);
}

/** The topology as it stands: what the next version says if it differs from the newest. */
export function currentShape(ledger: Pick<Ledger, "clusters">, order: readonly ClusterName[]): TopologyShape {
  const shape: Record<ClusterName, string> = {};
  for (const cluster of order) {
    const entry = ledger.clusters[cluster];
    if (entry?.votes !== "counted" || entry.instances.length === 0) continue;
    shape[cluster] = encodeInstances(entry.instances);
  }
  return shape;
}

export function sameShape(a: TopologyShape | undefined, b: TopologyShape): boolean {
  if (!a) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

/** Thrown when a grant names a topology version that the ledger does not hold. */
export class TopologyVersionUnknown extends Error {
  override name = "TopologyVersionUnknown";
  readonly version: number;
  constructor(version: number) {
    super(`the ledger holds no topology of version ${version}; plan again and render the grants of that result`);
    this.version = version;
  }
}

/** [I7] The view that a grant's topology version stands for. */
export function topologyView(ledger: Ledger, version: number): TopologyView {
  const shape = ledger.topologies[String(version)];
  const identity = ledger.identity;
  if (!shape || !identity) throw new TopologyVersionUnknown(version);
  const clusters: TopologyCluster[] = [];
  const addressOf = addressesOf(identity);
  for (const cluster of clustersByIndex(ledger)) {
    const entry = ledger.clusters[cluster];
    const text = shape[cluster];
    if (!entry || text === undefined) continue;
    const part: TopologyCluster = { cluster, replicas: 0, ordinals: [], instances: [], addresses: [], states: [] };
    for (const { ordinal, state } of decodeInstances(text)) {
      const instance = localName(identity, entry, ordinal);
      part.ordinals.push(ordinal);
      part.instances.push(instance);
      part.addresses.push(addressOf({ instance, ordinal, clusterId: entry.clusterId }));
      part.states.push(state);
    }
    part.replicas = part.ordinals.length;
    clusters.push(part);
  }
  return { version, clusters };
}

/**
 * [I8] `name=address` of the instances that a starting instance of this cluster must know. `new`: all that form the
 * application. `existing`: those that are in it, and this cluster's own joiners. In PerCluster, where local names
 * repeat, the member's name carries the cluster's id.
 */
export function initialCluster(
  ledger: Ledger,
  grant: Grant,
  view: TopologyView = topologyView(ledger, grant.topologyVersion),
): string {
  const perCluster = ledger.identity?.mode === "PerCluster";
  const parts: string[] = [];
  for (const { cluster, instances, addresses, states } of view.clusters) {
    const id = ledger.clusters[cluster]?.clusterId ?? cluster;
    instances.forEach((instance, i) => {
      const counts = grant.initialClusterState === "new" || states[i] !== "joining" || cluster === grant.cluster;
      if (counts) parts.push(`${perCluster ? `${instance}.${id}` : instance}=${addresses[i] ?? ""}`);
    });
  }
  return parts.join(",");
}

/** What a new topology tells a member, in words: who joins, who leaves, who moves. Pure. */
import type { TopologyCluster } from "../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";

interface Known {
  readonly cluster: string;
  readonly instance: string;
  readonly address: string;
  readonly state: string;
}

/** Undefined: they are not Lockstep's topology ConfigMap, or cannot be read. */
export function topologyDiff(before: JsonObject, after: JsonObject): string[] | undefined {
  const [old, now] = [topologyOf(before), topologyOf(after)];
  if (!old || !now) return undefined;
  const lines = [...now.instances].flatMap(([key, one]) => changeOf(old.instances.get(key), one));
  for (const [key, one] of old.instances)
    if (!now.instances.has(key)) lines.push(`- ${one.instance} is no longer in ${one.cluster}`);
  const state =
    old.initialState === now.initialState ? [] : [`  initial cluster state ${old.initialState} -> ${now.initialState}`];
  const version = old.version === now.version ? [] : [`  topology version ${old.version} -> ${now.version}`];
  return [...lines, ...state, ...version];
}

function changeOf(old: Known | undefined, { cluster, instance, address, state }: Known): string[] {
  if (!old) return [`+ ${instance} is in ${cluster}, at ${address}${state === "member" ? "" : `, ${state}`}`];
  return [
    ...(old.state === state ? [] : [`  ${instance} in ${cluster}: ${old.state} -> ${state}`]),
    ...(old.address === address ? [] : [`  ${instance} in ${cluster}: address ${old.address} -> ${address}`]),
  ];
}

interface Topology {
  readonly version: string;
  readonly initialState: string;
  readonly instances: ReadonlyMap<string, Known>;
}

function topologyOf({ kind, data }: JsonObject): Topology | undefined {
  const text = kind === "ConfigMap" && isJsonObject(data) ? data["topology.json"] : undefined;
  if (typeof text !== "string" || !isJsonObject(data)) return undefined;
  let clusters: unknown;
  try {
    clusters = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(clusters) || !clusters.every(isCluster)) return undefined;
  const all = clusters.flatMap(({ cluster, instances, addresses, states }) =>
    instances.map((instance, at): [string, Known] => [
      `${cluster}/${instance}`,
      { cluster, instance, address: addresses[at] ?? "", state: states[at] ?? "" },
    ]),
  );
  return {
    version: String(data["topology-version"]),
    initialState: String(data["initial-cluster-state"]),
    instances: new Map(all),
  };
}

function isCluster(value: unknown): value is Pick<TopologyCluster, "cluster" | "instances" | "addresses" | "states"> {
  return (
    isJsonObject(value) &&
    typeof value.cluster === "string" &&
    [value.instances, value.addresses, value.states].every((list) => Array.isArray(list))
  );
}

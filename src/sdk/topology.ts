import { createHash } from "node:crypto";
import {
  ANNOTATIONS,
  type InstanceState,
  parseTopologyRef,
  TOPOLOGY_PART_KEY,
  type TopologyCluster,
} from "../contract/index.ts";
import { isJsonObject, type Json } from "../runtime/index.ts";

export interface ConfigMap {
  readonly data?: Readonly<Record<string, string>>;
}

/** Finds a ConfigMap of the object's own namespace; undefined: it does not exist, or was not read. */
export type ConfigMaps = (name: string) => ConfigMap | undefined;

/** The topology of the whole application, from the annotations or from ConfigMaps. */
export type ToldTopology =
  | { readonly state: "read"; readonly topology: TopologyCluster[]; readonly initialCluster: string }
  | { readonly state: "missing"; readonly configMaps: string[] };

/** Reads either form. Errors are added to `problems`. */
export function readTopology(
  annotations: Readonly<Record<string, string>>,
  configMaps: ConfigMaps,
  problems: string[],
): ToldTopology {
  const ref = annotations[ANNOTATIONS.topologyRef] ?? "";
  if (ref !== "") return readReference(ref, configMaps, problems);
  const text = annotations[ANNOTATIONS.topology];
  if (text === undefined) problems.push(`${ANNOTATIONS.topology} is missing`);
  return {
    state: "read",
    topology: parseTopology(parse(text || "[]"), ANNOTATIONS.topology, problems),
    initialCluster: annotations[ANNOTATIONS.initialCluster] ?? "",
  };
}

function readReference(ref: string, configMaps: ConfigMaps, problems: string[]): ToldTopology {
  const found = parseTopologyRef(ref);
  if (!found) {
    problems.push(`${ANNOTATIONS.topologyRef} is not a reference: {"sha256": "...", "configMaps": ["..."]}`);
    return { state: "read", topology: [], initialCluster: "" };
  }
  const parts = found.configMaps.map((name) => configMaps(name)?.data?.[TOPOLOGY_PART_KEY]);
  if (parts.includes(undefined)) return { state: "missing", configMaps: found.configMaps };
  const text = parts.join("");
  const sha256 = createHash("sha256").update(text).digest("hex");
  if (sha256 !== found.sha256) {
    problems.push(
      `${ANNOTATIONS.topologyRef}: the ConfigMaps ${found.configMaps.join(", ")} have SHA-256 ${sha256}, ` +
        `and ${found.sha256} was granted; delete those that Lockstep did not write`,
    );
    return { state: "read", topology: [], initialCluster: "" };
  }
  const document = parse(text);
  const { topology, initialCluster } = isJsonObject(document) ? document : {};
  return {
    state: "read",
    topology: parseTopology(topology, ANNOTATIONS.topologyRef, problems),
    initialCluster: typeof initialCluster === "string" ? initialCluster : "",
  };
}

/** Null for text that is not JSON, which the contract never allows. */
function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function parseTopology(value: Json | undefined, from: string, problems: string[]): TopologyCluster[] {
  if (Array.isArray(value)) {
    const clusters = value.map(parseCluster);
    const uneven = clusters.find((each) => each && !hasEvenLists(each));
    if (uneven) {
      problems.push(`${from} has lists of different lengths for ${uneven.cluster}`);
      return [];
    }
    if (clusters.every((cluster) => cluster !== undefined)) return clusters;
  }
  problems.push(`${from} is not a list of clusters with their instances`);
  return [];
}

function parseCluster(value: Json): TopologyCluster | undefined {
  if (!isJsonObject(value)) return undefined;
  const { cluster, replicas, ordinals, instances, addresses, states } = value;
  if (typeof cluster !== "string" || !isCount(replicas)) return undefined;
  if (!isListOf(ordinals, isCount) || !isListOf(instances, isText) || !isListOf(addresses, isText)) return undefined;
  if (!isListOf(states, isInstanceState)) return undefined;
  return { cluster, replicas, ordinals, instances, addresses, states };
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(is);
}

/** What one instance has is at one place of all four. */
function hasEvenLists({ ordinals, instances, addresses, states }: TopologyCluster): boolean {
  return [instances, addresses, states].every(({ length }) => length === ordinals.length);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isInstanceState(value: unknown): value is InstanceState {
  return value === "member" || value === "joining" || value === "leaving";
}

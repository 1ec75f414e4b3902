import { ANNOTATIONS, type InstanceState, type TopologyCluster } from "../contract/index.ts";
import { isJsonObject, type Json } from "../runtime/index.ts";

/** What this cluster has been given to do, as the annotations of its copy of the object say. */
export interface Grant {
  cluster: string;
  /** Rises with every write to this cluster. Read it once, at the start of a reconcile, and report exactly it. */
  epoch: number;
  revision: string;
  /** false: no new instance, membership change, update or voluntary restart; re-creating a lost instance is allowed. */
  processor: boolean;
  topology: TopologyCluster[];
  topologyVersion: number;
  /** How many of this cluster's instances, the lowest ordinals first, stay on the old revision. */
  partition: number;
  transferLeaderTo?: string;
  initialCluster?: string;
  initialClusterState?: "new" | "existing";
  clusterToken?: string;
}

export type GrantReading =
  | { state: "granted"; grant: Grant }
  /** The object is not managed by Lockstep. */
  | { state: "none" }
  /** Lockstep wrote it, but not as this SDK knows it: change nothing, and say so. */
  | { state: "malformed"; problems: string[] };

/** Reads the grant from an object as the API server returns it, or from its annotations. */
export function readGrant(object: { metadata?: { annotations?: Readonly<Record<string, string>> } }): GrantReading {
  const annotations = object.metadata?.annotations ?? {};
  if (annotations[ANNOTATIONS.epoch] === undefined && annotations[ANNOTATIONS.cluster] === undefined) {
    return { state: "none" };
  }
  const problems: string[] = [];
  const text = (key: keyof typeof ANNOTATIONS) => {
    const value = annotations[ANNOTATIONS[key]];
    if (value === undefined) problems.push(`${ANNOTATIONS[key]} is missing`);
    return value ?? "";
  };
  const count = (key: keyof typeof ANNOTATIONS, fallback?: number) => {
    const value = annotations[ANNOTATIONS[key]];
    if (value === undefined && fallback !== undefined) return fallback;
    if (value !== undefined && /^\d{1,15}$/.test(value)) return Number(value);
    problems.push(`${ANNOTATIONS[key]} must be a whole number, found ${JSON.stringify(value ?? null)}`);
    return 0;
  };
  const processor = text("processor");
  if (processor !== "true" && processor !== "false") problems.push(`${ANNOTATIONS.processor} must be true or false`);
  const state = annotations[ANNOTATIONS.initialClusterState];
  if (state !== undefined && state !== "new" && state !== "existing") {
    problems.push(`${ANNOTATIONS.initialClusterState} must be new or existing`);
  }
  const optional = (key: "transferLeaderTo" | "initialCluster" | "clusterToken") => {
    const value = annotations[ANNOTATIONS[key]];
    return value ? { [key]: value } : {};
  };
  const grant: Grant = {
    cluster: text("cluster"),
    epoch: count("epoch"),
    revision: text("revision"),
    processor: processor === "true",
    topology: parseTopology(text("topology"), problems),
    topologyVersion: count("topologyVersion"),
    partition: count("partition", 0),
    ...optional("transferLeaderTo"),
    ...optional("initialCluster"),
    ...((state === "new" || state === "existing") && { initialClusterState: state }),
    ...optional("clusterToken"),
  };
  return problems.length === 0 ? { state: "granted", grant } : { state: "malformed", problems };
}

function parseTopology(text: string, problems: string[]): TopologyCluster[] {
  let value: Json;
  try {
    value = JSON.parse(text === "" ? "[]" : text);
  } catch {
    value = null;
  }
  if (Array.isArray(value)) {
    const clusters = value.map(parseCluster);
    if (clusters.every((cluster) => cluster !== undefined)) return clusters;
  }
  problems.push(`${ANNOTATIONS.topology} is not a list of clusters with their instances`);
  return [];
}

function parseCluster(value: Json): TopologyCluster | undefined {
  if (!isJsonObject(value)) return undefined;
  const { cluster, replicas, ordinals, instances, addresses, states } = value;
  if (typeof cluster !== "string" || typeof replicas !== "number") return undefined;
  if (!isListOf(ordinals, isNumber) || !isListOf(instances, isText) || !isListOf(addresses, isText)) return undefined;
  if (!isListOf(states, isInstanceState)) return undefined;
  return { cluster, replicas, ordinals, instances, addresses, states };
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(is);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isInstanceState(value: unknown): value is InstanceState {
  return value === "member" || value === "joining" || value === "leaving";
}

import { ANNOTATIONS, type TopologyCluster } from "../contract/index.ts";
import { type ConfigMap, type ConfigMaps, readTopology } from "./topology.ts";

/** The grant of this cluster, from the annotations of its copy of the object. */
export interface Grant {
  readonly cluster: string;
  /**
   * Increases with every write to this cluster. Read it once, at the start of a reconcile, and report exactly this
   * value.
   */
  readonly epoch: number;
  readonly revision: string;
  /** false: no new instance, membership change, update or voluntary restart; recreating a lost instance is allowed. */
  readonly processor: boolean;
  readonly topology: TopologyCluster[];
  readonly topologyVersion: number;
  /** How many of this cluster's instances, the lowest ordinals first, stay on the old revision. */
  readonly partition: number;
  readonly transferLeaderTo?: string;
  readonly initialCluster?: string;
  readonly initialClusterState?: "new" | "existing";
  readonly clusterToken?: string;
}

export type GrantReading =
  | { state: "granted"; grant: Grant }
  /** Lockstep does not manage the object. */
  | { state: "none" }
  /**
   * The topology is in these ConfigMaps of the object's namespace, and some of them were not supplied. Change nothing,
   * read them, and read the grant again.
   */
  | { state: "referenced"; configMaps: string[] }
  /** Lockstep wrote it, but in a form that this SDK does not know. Change nothing, and report it. */
  | { state: "malformed"; problems: string[] };

export interface GrantedObject {
  readonly metadata?: { annotations?: Readonly<Record<string, string>> };
}

/**
 * Reads the grant from an object as the API server returns it, or from its annotations. `configMaps` finds a ConfigMap
 * of the object's own namespace, for a topology that is too large for annotations; its content is verified.
 */
export function readGrant(object: GrantedObject, configMaps: ConfigMaps = () => undefined): GrantReading {
  const annotations = object.metadata?.annotations ?? {};
  if (annotations[ANNOTATIONS.epoch] === undefined && annotations[ANNOTATIONS.cluster] === undefined) {
    return { state: "none" };
  }
  const problems: string[] = [];
  const text = (key: keyof typeof ANNOTATIONS) => {
    const value = annotations[ANNOTATIONS[key]];
    if (value === undefined || value === "") {
      problems.push(`${ANNOTATIONS[key]} is ${value === undefined ? "missing" : "empty"}`);
    }
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
  const optional = (key: "transferLeaderTo" | "clusterToken") => {
    const value = annotations[ANNOTATIONS[key]];
    return value ? { [key]: value } : {};
  };
  const [cluster, epoch, revision] = [text("cluster"), count("epoch"), text("revision")];
  const told = readTopology(annotations, configMaps, problems);
  if (told.state === "missing") return { state: "referenced", configMaps: told.configMaps };
  const { topology, initialCluster } = told;
  const grant: Grant = {
    cluster,
    epoch,
    revision,
    processor: processor === "true",
    topology,
    topologyVersion: count("topologyVersion"),
    partition: count("partition", 0),
    ...optional("transferLeaderTo"),
    ...(initialCluster !== "" && { initialCluster }),
    ...((state === "new" || state === "existing") && { initialClusterState: state }),
    ...optional("clusterToken"),
  };
  return problems.length === 0 ? { state: "granted", grant } : { state: "malformed", problems };
}

/**
 * Reads the grant and, with `read`, the ConfigMaps that it refers to. `referenced`: one of them does not exist. Either
 * it will arrive, or the object that names it has been replaced.
 */
export async function readWholeGrant(
  object: GrantedObject,
  read: (name: string) => Promise<ConfigMap | undefined>,
): Promise<GrantReading> {
  const first = readGrant(object);
  if (first.state !== "referenced") return first;
  const found = new Map<string, ConfigMap | undefined>();
  for (const name of first.configMaps) found.set(name, await read(name));
  return readGrant(object, (name) => found.get(name));
}

import type { TopologyCluster } from "./topology.ts";

/**
 * The maximum size of the annotations `topology` and `initial-cluster`, each. Kubernetes allows 256 KiB of annotations
 * in one object, and the two must leave room for the user's own.
 */
export const TOPOLOGY_INLINE_MAX_BYTES = 64 * 1024;

/**
 * The maximum size of one ConfigMap of a reference. Kubernetes allows 1 MiB; as JSON inside a dispatch object the text
 * grows by its quotes.
 */
export const TOPOLOGY_PART_MAX_BYTES = 400 * 1024;

/** The key in each ConfigMap's `data`. */
export const TOPOLOGY_PART_KEY = "part";

/**
 * The value of `topology` and `initial-cluster` while `topology-ref` is used. It is neither JSON nor a list of members,
 * so an operator that does not know references stops. An empty text would mean that there are no instances.
 */
export const TOPOLOGY_ELSEWHERE = "see topology-ref";

/**
 * The annotation `topology-ref`, as JSON. The parts in these ConfigMaps, of the object's own namespace and in this
 * order, form one text with this SHA-256, in hexadecimal digits. The text is the JSON of a TopologyDocument.
 */
export interface TopologyRef {
  readonly sha256: string;
  readonly configMaps: string[];
}

/** Everything that grows with the number of instances. */
export interface TopologyDocument {
  readonly topology: TopologyCluster[];
  /** The same text as the annotation `initial-cluster`. */
  readonly initialCluster: string;
}

/** More than the largest application needs; a longer list is not a valid reference. */
const MAX_PARTS = 100;
const SHA256 = /^[0-9a-f]{64}$/;

/** Reads the annotation's text; undefined when it is not a reference. */
export function parseTopologyRef(text: string): TopologyRef | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { sha256, configMaps } = value as Record<string, unknown>;
  if (typeof sha256 !== "string" || !SHA256.test(sha256) || !Array.isArray(configMaps)) return undefined;
  if (configMaps.length === 0 || configMaps.length > MAX_PARTS) return undefined;
  return configMaps.every((name) => typeof name === "string" && name !== "") ? { sha256, configMaps } : undefined;
}

import { ANNOTATIONS, parseTopologyRef, TOPOLOGY_PART_KEY } from "../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";

/** The parts of topologies in a member, by the names of their ConfigMaps. */
export type Parts = ReadonlyMap<string, string>;

/** Those among a member's ConfigMaps. */
export function partsAmong(configMaps: readonly JsonObject[]): Parts {
  const parts = new Map<string, string>();
  for (const { metadata, data } of configMaps) {
    const part = isJsonObject(data) ? data[TOPOLOGY_PART_KEY] : undefined;
    if (isJsonObject(metadata) && typeof part === "string") parts.set(String(metadata.name), part);
  }
  return parts;
}

type Annotations = Readonly<Record<string, string>>;

/** The ConfigMaps that an object refers to. */
export function refersTo(annotations: Annotations): readonly string[] {
  return parseTopologyRef(annotations[ANNOTATIONS.topologyRef] ?? "")?.configMaps ?? [];
}

/** The topology's JSON, from wherever it is stored; undefined: the object has none, or a part is missing. */
export function topologyTold(annotations: Annotations, parts: Parts): string | undefined {
  const names = refersTo(annotations);
  if (names.length === 0) return annotations[ANNOTATIONS.topology];
  const texts = names.map((name) => parts.get(name));
  if (texts.includes(undefined)) return undefined;
  const document: unknown = JSON.parse(texts.join(""));
  return isJsonObject(document) ? JSON.stringify(document.topology) : undefined;
}

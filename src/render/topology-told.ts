import { createHash } from "node:crypto";
import {
  TOPOLOGY_ELSEWHERE,
  TOPOLOGY_INLINE_MAX_BYTES,
  TOPOLOGY_PART_KEY,
  TOPOLOGY_PART_MAX_BYTES,
  type TopologyRef,
} from "../contract/index.ts";
import type { AppIdentity, TopologyView } from "../plan/index.ts";
import type { JsonObject } from "../runtime/index.ts";
import { MANAGED_BY, topologyText } from "./topology-files.ts";

/** The topology of the whole application for one member: in annotations, or by a reference to ConfigMaps. */
export interface ToldTopology {
  /** The three annotations' values. */
  readonly topology: string;
  readonly initialCluster: string;
  /** Empty: the two above are complete. */
  readonly ref: string;
  /** The ConfigMaps that the reference names. */
  readonly parts: readonly JsonObject[];
}

export interface ToldRoom {
  /** The room that the object's other annotations leave for these. */
  readonly annotationsBytes: number;
  /** The maximum size of either text as an annotation. */
  readonly inlineMaxBytes?: number;
}

/** [I11] As annotations if both texts are short and there is room for them, otherwise by reference. */
export function tellTopology(
  app: AppIdentity,
  view: TopologyView,
  initialCluster: string,
  { annotationsBytes, inlineMaxBytes = TOPOLOGY_INLINE_MAX_BYTES }: ToldRoom,
): ToldTopology {
  const topology = topologyText(view);
  const [ownBytes, initialBytes] = [Buffer.byteLength(topology), Buffer.byteLength(initialCluster)];
  const isShort = ownBytes <= inlineMaxBytes && initialBytes <= inlineMaxBytes;
  if (isShort && ownBytes + initialBytes <= annotationsBytes) return { topology, initialCluster, ref: "", parts: [] };
  // Concatenated, because the topology is already JSON.
  const document = `{"topology":${topology},"initialCluster":${JSON.stringify(initialCluster)}}`;
  const parts = split(document, TOPOLOGY_PART_MAX_BYTES).map((part) => partConfigMap(app, part));
  const ref: TopologyRef = { sha256: sha256(document), configMaps: parts.map(({ metadata }) => metadata.name) };
  return { topology: TOPOLOGY_ELSEWHERE, initialCluster: TOPOLOGY_ELSEWHERE, ref: JSON.stringify(ref), parts };
}

/** A part of the document, with a name derived from its content: equal texts are the same object. */
function partConfigMap({ name, namespace }: AppIdentity, part: string) {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: partName(name, part), namespace, labels: { ...MANAGED_BY } },
    immutable: true,
    data: { [TOPOLOGY_PART_KEY]: part },
  };
}

const NAME_MAX_CHARS = 253;
/**
 * 128 bits: a second text with the same name cannot be found, and the reference also has the hash of the whole
 * document.
 */
const HASH_CHARS = 32;

function partName(workload: string, part: string): string {
  const suffix = `-topology-${sha256(part).slice(0, HASH_CHARS)}`;
  return workload.slice(0, NAME_MAX_CHARS - suffix.length).replace(/[^a-z0-9]+$/, "") + suffix;
}

/** Pieces of at most this many bytes, none of which ends inside a character. */
function split(text: string, maxBytes: number): string[] {
  const bytes = Buffer.from(text);
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length; ) {
    let end = Math.min(start + maxBytes, bytes.length);
    while (end < bytes.length && isContinuation(bytes[end])) end--;
    pieces.push(bytes.toString("utf8", start, end));
    start = end;
  }
  return pieces;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

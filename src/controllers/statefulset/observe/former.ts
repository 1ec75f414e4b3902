/** What a member's object shows of a grant that an earlier life of the application gave. Pure; all of it is a hint. */
import { ANNOTATIONS } from "../../../contract/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { FormerGrant } from "../../../plan/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";
import { ordinalsStart } from "./template.ts";

export interface FormerLife {
  readonly grant: FormerGrant;
  /** The application's token, which running instances may have stored. */
  readonly token: string;
  /** The clusters that its topology names: they may run instances of the same application. */
  readonly clusters: readonly string[];
}

/** No epoch or version can get higher than this by counting. */
const COUNTER_MAX = 1e12;
/** A token is a uid. */
const TOKEN_CHARS = 64;

/** Undefined: no grant of ours is shown, or it is another cluster's. */
export function formerLifeOf(object: KubeObject, cluster: string, replicas: number): FormerLife | undefined {
  const annotations = object.metadata.annotations ?? {};
  const epoch = counter(annotations[ANNOTATIONS.epoch]);
  const token = annotations[ANNOTATIONS.clusterToken];
  if (annotations[ANNOTATIONS.cluster] !== cluster || epoch === undefined || epoch < 1) return undefined;
  if (token === undefined || token === "" || token.length > TOKEN_CHARS) return undefined;
  const topology = topologyOf(annotations[ANNOTATIONS.topology]);
  const ordinals = isNumberedByItself(object) ? numbered(object, replicas) : ordinalsIn(topology, cluster, replicas);
  return {
    grant: {
      epoch,
      topologyVersion: counter(annotations[ANNOTATIONS.topologyVersion]) ?? 0,
      ...(ordinals && { ordinals }),
    },
    token,
    clusters: topology.flatMap(({ cluster: name }) => (typeof name === "string" ? [name] : [])),
  };
}

/** The one token that all of them show; undefined where they show several. */
export function commonToken(lives: readonly FormerLife[]): string | undefined {
  const tokens = new Set(lives.map(({ token }) => token));
  return tokens.size === 1 ? [...tokens][0] : undefined;
}

/** A StatefulSet with a first ordinal of its own shows what it runs; no mark is needed for that. */
function isNumberedByItself(object: KubeObject): boolean {
  return isJsonObject(object.spec) && isJsonObject(object.spec.ordinals);
}

function numbered(object: KubeObject, replicas: number): number[] {
  const start = ordinalsStart(object);
  return Array.from({ length: replicas }, (_, at) => start + at);
}

function ordinalsIn(topology: readonly JsonObject[], cluster: string, replicas: number): number[] | undefined {
  const own = topology.find((part) => part.cluster === cluster);
  const ordinals = Array.isArray(own?.ordinals) ? own.ordinals : [];
  const states = Array.isArray(own?.states) ? own.states : [];
  const staying = ordinals.filter((_, at) => states[at] !== "leaving");
  const counted = staying.filter((each) => typeof each === "number" && Number.isSafeInteger(each) && each >= 0);
  const isWhole = counted.length === staying.length && counted.length === replicas;
  return isWhole ? [...counted].map(Number).sort((a, b) => a - b) : undefined;
}

function topologyOf(text: string | undefined): JsonObject[] {
  if (text === undefined) return [];
  try {
    const value: Json = JSON.parse(text);
    return Array.isArray(value) ? value.filter(isJsonObject) : [];
  } catch {
    return [];
  }
}

function counter(text: string | undefined): number | undefined {
  const value = text !== undefined && /^\d{1,13}$/.test(text) ? Number(text) : undefined;
  return value !== undefined && value <= COUNTER_MAX ? value : undefined;
}

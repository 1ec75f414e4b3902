/** The tiny scheduler: which clusters a placement chooses, and how many replicas each gets. Pure. */
import type { KubeObject } from "../../apiserver/index.ts";
import { labelSelectorMatches } from "../../render/index.ts";
import { isJsonObject, type Json, type JsonObject, valueAt } from "../../runtime/index.ts";
import { objectAt, objectsAt, textAt, textsAt } from "../values.ts";

export interface ClusterView {
  readonly object: KubeObject;
  /** How many more replicas fit. */
  readonly roomReplicas: number;
}

export interface Target {
  readonly name: string;
  readonly replicas: number;
}

export type Schedule =
  | { readonly kind: "scheduled"; readonly targets: readonly Target[] }
  | { readonly kind: "unschedulable"; readonly message: string };

export interface ScheduleInput {
  readonly placement: JsonObject;
  readonly clusters: readonly ClusterView[];
  readonly replicas: number;
  /** The previous decision: a taint does not remove replicas from a cluster that already has some. */
  readonly previous: readonly Target[];
}

/** In natural order: member2 before member10. The first cluster with instances has the lowest ordinals. */
const byName = new Intl.Collator("en", { numeric: true }).compare;

export function schedule(input: ScheduleInput): Schedule {
  const { placement, clusters, replicas, previous } = input;
  const had = new Map(previous.map(({ name, replicas: count }) => [name, count]));
  const eligible = clusters
    .filter(
      ({ object }) => isWanted(placement, object) && (had.has(object.metadata.name) || isTolerated(placement, object)),
    )
    .sort((left, right) => byName(left.object.metadata.name, right.object.metadata.name));
  if (eligible.length === 0) {
    return {
      kind: "unschedulable",
      message: `0/${clusters.length} clusters are available: no cluster fits the placement`,
    };
  }
  const scheduling = objectAt(placement, "replicaScheduling");
  if (textAt(scheduling, "replicaSchedulingType") !== "Divided") {
    return { kind: "scheduled", targets: eligible.map(({ object }) => ({ name: object.metadata.name, replicas })) };
  }
  const weights = staticWeights(scheduling, eligible);
  if (weights) return { kind: "scheduled", targets: placed(divide(replicas, weights)) };
  return scheduleByRoom(eligible, replicas, had, textAt(scheduling, "replicaDivisionPreference") === "Aggregated");
}

/** By free capacity: placed replicas stay, growth goes where there is most room. */
function scheduleByRoom(
  eligible: readonly ClusterView[],
  replicas: number,
  had: ReadonlyMap<string, number>,
  aggregated: boolean,
): Schedule {
  const names = eligible.map(({ object }) => object.metadata.name);
  const kept = names.map((name) => ({ name, weight: had.get(name) ?? 0 }));
  const placedBefore = kept.reduce((sum, { weight }) => sum + weight, 0);
  if (replicas <= placedBefore) return { kind: "scheduled", targets: placed(divide(replicas, kept)) };
  let missing = replicas - placedBefore;
  const room = eligible.map(({ object, roomReplicas }) => ({ name: object.metadata.name, weight: roomReplicas }));
  const total = room.reduce((sum, { weight }) => sum + weight, 0);
  if (total < missing) {
    const message = `Clusters available replicas are not enough: ${total} of ${missing} fit`;
    return { kind: "unschedulable", message };
  }
  const grown = new Map(kept.map(({ name, weight }) => [name, weight]));
  if (aggregated) {
    // As few clusters as possible: those that already have replicas, then those with the most room.
    const order = [...room].sort((left, right) => {
      const held = Number((had.get(right.name) ?? 0) > 0) - Number((had.get(left.name) ?? 0) > 0);
      return held || right.weight - left.weight;
    });
    for (const { name, weight } of order) {
      const taken = Math.min(missing, weight);
      missing -= taken;
      grown.set(name, (grown.get(name) ?? 0) + taken);
    }
  } else {
    for (const { name, replicas: count } of divide(missing, room)) grown.set(name, (grown.get(name) ?? 0) + count);
  }
  return { kind: "scheduled", targets: placed([...grown].map(([name, count]) => ({ name, replicas: count }))) };
}

interface Weighted {
  readonly name: string;
  readonly weight: number;
}

/** Whole shares by weight; the rest goes to the heaviest, one each. */
export function divide(replicas: number, weights: readonly Weighted[]): Target[] {
  const sum = weights.reduce((total, { weight }) => total + weight, 0);
  if (sum === 0) return weights.map(({ name }) => ({ name, replicas: 0 }));
  const shares = new Map(weights.map(({ name, weight }) => [name, Math.floor((replicas * weight) / sum)]));
  let left = replicas - [...shares.values()].reduce((total, share) => total + share, 0);
  const heaviest = [...weights].sort((a, b) => b.weight - a.weight).filter(({ weight }) => weight > 0);
  for (let turn = 0; left > 0 && heaviest.length > 0; turn = (turn + 1) % heaviest.length, left--) {
    const name = heaviest[turn]?.name ?? "";
    shares.set(name, (shares.get(name) ?? 0) + 1);
  }
  return weights.map(({ name }) => ({ name, replicas: shares.get(name) ?? 0 }));
}

function placed(targets: readonly Target[]): Target[] {
  return targets.filter(({ replicas }) => replicas > 0);
}

/** The weight of each cluster; those that no rule names get nothing. Undefined: the placement has no weights. */
function staticWeights(scheduling: JsonObject, clusters: readonly ClusterView[]): Weighted[] | undefined {
  const preference = valueAt(scheduling, "weightPreference");
  const rules = objectsAt(preference, "staticWeightList");
  if (textAt(scheduling, "replicaDivisionPreference") !== "Weighted") return undefined;
  if (textAt(preference, "dynamicWeight") !== "") return undefined;
  return clusters.map(({ object }) => {
    const rule = rules.find(({ targetCluster }) => matchesCluster(targetCluster, object));
    // Weighted without any weights: Karmada gives every cluster the same.
    const weight = rules.length === 0 ? 1 : typeof rule?.weight === "number" ? rule.weight : 0;
    return { name: object.metadata.name, weight };
  });
}

function isWanted(placement: JsonObject, cluster: KubeObject): boolean {
  const affinities = objectsAt(placement, "clusterAffinities");
  return matchesCluster(affinities[0] ?? valueAt(placement, "clusterAffinity"), cluster);
}

export function matchesCluster(affinity: Json | undefined, { metadata }: KubeObject): boolean {
  if (!isJsonObject(affinity)) return true;
  if (textsAt(affinity, "exclude").includes(metadata.name)) return false;
  const names = textsAt(affinity, "clusterNames");
  if (names.length > 0 && !names.includes(metadata.name)) return false;
  const { labelSelector } = affinity;
  return !isJsonObject(labelSelector) || labelSelectorMatches(labelSelector, metadata.labels ?? {});
}

function isTolerated(placement: JsonObject, cluster: KubeObject): boolean {
  const tolerations = objectsAt(placement, "clusterTolerations");
  return objectsAt(cluster, "spec", "taints")
    .filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute")
    .every((taint) => tolerations.some((toleration) => tolerates(toleration, taint)));
}

function tolerates(toleration: JsonObject, taint: JsonObject): boolean {
  const { key, operator, value, effect } = toleration;
  if (effect !== undefined && effect !== "" && effect !== taint.effect) return false;
  if (key === undefined || key === "") return operator === "Exists";
  return key === taint.key && (operator === "Exists" || (value ?? "") === (taint.value ?? ""));
}

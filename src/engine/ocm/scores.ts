/** What add-ons say of clusters: AddOnPlacementScores, one object for each cluster and add-on, in its namespace. */
import type { Cache, KubeObject } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import type { EngineSchedule, PlacementScore } from "../port.ts";

/** OCM's range is -100 to 100; a weight is never negative. */
const LOWEST_SCORE = -100;
const HIGHEST_SCORE = 100;

/** A cluster without a valid score has no weight: it keeps what it has, and gets nothing new. */
export function withWeights(
  schedule: EngineSchedule,
  score: PlacementScore | undefined,
  scores: Pick<Cache<KubeObject>, "get">,
  nowMs: number,
): EngineSchedule {
  if (schedule.kind === "unknown" || score === undefined) return schedule;
  const clusters = schedule.clusters.map((each) => {
    const found = scores.get({ namespace: each.cluster, name: score.resourceName });
    // What is not selected gets nothing new.
    const weight = found && !each.kept ? weightIn(found, score.scoreName, nowMs) : undefined;
    return { ...each, ...(weight !== undefined && { weight }) };
  });
  return { ...schedule, clusters, isScored: true };
}

/** Undefined: the add-on has not reported it, reports nonsense, or what it reported has expired. */
function weightIn({ status }: KubeObject, name: string, nowMs: number): number | undefined {
  const { scores, validUntil } = isJsonObject(status) ? status : {};
  if (typeof validUntil === "string" && !(Date.parse(validUntil) > nowMs)) return undefined;
  const all = Array.isArray(scores) ? scores.filter(isJsonObject) : [];
  const value = all.find((score) => score.name === name)?.value;
  if (typeof value !== "number" || !Number.isInteger(value)) return undefined;
  return value < LOWEST_SCORE || value > HIGHEST_SCORE ? undefined : value - LOWEST_SCORE;
}

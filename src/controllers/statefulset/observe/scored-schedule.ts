import type { Schedule } from "../../../plan/index.ts";

/** `weight` is absent while the cluster has no valid score. */
export interface ScoredCluster {
  readonly cluster: string;
  readonly weight?: number;
}

/**
 * Divides by scores, which change all the time: from what has been granted, each further instance goes to the cluster
 * with the most score for each instance, and each that is too many leaves the cluster with the least. So no change of a
 * score moves an instance. The sequence is that of D'Hondt's method; ties go by name.
 */
export function scoredSchedule(
  selected: readonly ScoredCluster[],
  total: number,
  granted: Readonly<Record<string, number>>,
): Schedule {
  const shares = [...selected]
    .sort((a, b) => (a.cluster < b.cluster ? -1 : 1))
    .map(({ cluster, weight }) => ({ cluster, weight, replicas: granted[cluster] ?? 0 }));
  let sum = shares.reduce((all, { replicas }) => all + replicas, 0);
  for (; sum < total; sum++) {
    const best = pick(shares.filter(canGrow(shares)), ({ weight = 0, replicas }) => weight / (replicas + 1));
    if (!best) return { kind: "unknown", message: NO_SCORE };
    best.replicas++;
  }
  for (; sum > total; sum--) {
    const worst = pick(
      shares.filter(({ replicas }) => replicas > 0),
      ({ weight = 0, replicas }) => -weight / replicas,
    );
    if (!worst) break;
    worst.replicas--;
  }
  return { kind: "known", source: "engine", clusters: shares.map(({ cluster, replicas }) => ({ cluster, replicas })) };
}

/** [S19] The same around clusters that keep what they hold. */
export function scoredAround(
  selected: readonly ScoredCluster[],
  total: number,
  granted: Readonly<Record<string, number>>,
  holds: ReadonlyMap<string, number>,
): Schedule {
  const kept = [...holds].map(([cluster, replicas]) => ({ cluster, replicas }));
  const left = Math.max(0, total - kept.reduce((sum, { replicas }) => sum + replicas, 0));
  const others = selected.filter(({ cluster }) => !holds.has(cluster));
  const schedule = scoredSchedule(others, left, granted);
  return schedule.kind === "unknown" ? schedule : { ...schedule, clusters: [...schedule.clusters, ...kept] };
}

const NO_SCORE =
  "no cluster that the Placement selects has a valid score (spec.topology.placementRef.score): check the add-on that reports it, or remove the score";

interface Share {
  readonly cluster: string;
  readonly weight: number | undefined;
  replicas: number;
}

/** The lowest score is no room at all, unless every cluster has it. */
function canGrow(shares: readonly Share[]): (share: Share) => boolean {
  const hasRoom = shares.some(({ weight = 0 }) => weight > 0);
  return ({ weight }) => weight !== undefined && (weight > 0 || !hasRoom);
}

function pick(shares: readonly Share[], worth: (share: Share) => number): Share | undefined {
  return shares.reduce<Share | undefined>(
    (best, share) => (best === undefined || worth(share) > worth(best) ? share : best),
    undefined,
  );
}

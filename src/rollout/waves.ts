import type { Waits } from "./reasons.ts";
import type { Approval, ClusterName, Promotion, RevisionId, TimeMs, Wave } from "./types.ts";

const SECOND_MS = 1000;

/**
 * `kept`: the partition keeps it on the old revision. `working`: its step is under way. `complete`: its share is done.
 * `due`: something is left to release.
 */
export type UpdateState = "kept" | "working" | "complete" | "due";

/** What one cluster still has to do for a rollout. */
export interface WavePart {
  readonly cluster: ClusterName;
  readonly state: UpdateState;
  /** Instances released to the rollout's revision so far. */
  readonly released: number;
}

export interface WaveProgress {
  /** The first wave that is not finished, soaked and approved. Only rises. */
  readonly wave: number;
  /** Since when every cluster of that wave has been complete and healthy. */
  readonly soakSinceMs: TimeMs | null;
}

interface Waves {
  readonly waves: readonly Wave[];
}

/** What decides whether the next wave opens, in addition to the clusters' own progress. */
interface WaveRules extends Waves {
  /** The revision that is rolled out. */
  readonly to: RevisionId;
  readonly requests: { readonly approvals: readonly Approval[]; readonly promotion?: Promotion };
  readonly isHealthy: (cluster: ClusterName) => boolean;
}

/** [W1] Which wave each cluster belongs to; clusters that no wave names form the last one. */
export function waveIndex({ waves }: Waves): (cluster: ClusterName) => number {
  const found = new Map<ClusterName, number>();
  waves.forEach(({ clusters }, index) => {
    for (const cluster of clusters) if (!found.has(cluster)) found.set(cluster, index);
  });
  return (cluster) => found.get(cluster) ?? waves.length;
}

/** [W2] The number of waves, including the last one for clusters that no wave lists. */
export function allWaves({ waves }: Waves): number {
  return waves.length + 1;
}

/**
 * [W3] Opens the next wave when the current one is complete, has soaked and is approved. An earlier wave never closes
 * again; its clusters that are late are updated as soon as the budget allows.
 */
export function advanceWaves(
  waits: Waits,
  rules: WaveRules,
  progress: WaveProgress,
  parts: readonly WavePart[],
): WaveProgress {
  const waveOf = waveIndex(rules);
  const byWave = new Map<number, WavePart[]>();
  for (const part of parts) {
    const wave = waveOf(part.cluster);
    const list = byWave.get(wave);
    if (list) list.push(part);
    else byWave.set(wave, [part]);
  }
  let { wave, soakSinceMs } = progress;
  for (; wave < allWaves(rules); wave++) {
    const members = byWave.get(wave) ?? [];
    if (members.some(({ state }) => state === "due" || state === "working")) {
      soakSinceMs = null;
      break;
    }
    const settings = rules.waves[wave];
    if (settings) {
      const promoted = isPromoted(rules, wave);
      soakSinceMs = soak(waits, rules, settings.soakSeconds, wave, members, soakSinceMs, promoted);
      if (soakSinceMs === null) break;
      if (!promoted && waits.nowMs < soakSinceMs + settings.soakSeconds * SECOND_MS) break;
      const later = parts.some((part) => waveOf(part.cluster) > wave);
      if (settings.approval === "Manual" && later && !isApproved(rules, wave)) {
        waits.wait(
          "AwaitingApproval",
          undefined,
          `wave ${wave + 1} is complete on revision ${rules.to}; the next one waits for approval`,
          "Run 'lockstep approve', or create a RolloutApproval for this revision and wave.",
          [{ object: `wave ${wave + 1}`, field: "complete", value: "yes", sinceMs: soakSinceMs }],
        );
        break;
      }
    }
    soakSinceMs = null;
  }
  return { wave, soakSinceMs };
}

/** [W4] The soak runs only while every cluster of the wave is healthy; if one is not, the soak restarts. */
function soak(
  waits: Waits,
  { isHealthy }: WaveRules,
  seconds: number,
  wave: number,
  members: readonly WavePart[],
  since: number | null,
  promoted: boolean,
): number | null {
  const ill = members.find(({ cluster }) => !isHealthy(cluster));
  if (ill && seconds > 0) {
    waits.wait(
      "Soaking",
      ill.cluster,
      `wave ${wave + 1} soaks from the moment that all of it is healthy`,
      "Look at this cluster.",
      [{ object: ill.cluster, field: "healthy", value: "no" }],
    );
    return null;
  }
  const sinceMs = since ?? waits.nowMs;
  const endsAtMs = sinceMs + seconds * SECOND_MS;
  if (waits.nowMs < endsAtMs && !promoted) {
    waits.wakeAt(endsAtMs);
    waits.wait(
      "Soaking",
      undefined,
      `wave ${wave + 1} soaks until ${new Date(endsAtMs).toISOString()}`,
      "Wait, or run 'lockstep promote' to end the soak now.",
      [{ object: `wave ${wave + 1}`, field: "healthy", value: "yes", sinceMs }],
    );
  }
  return sinceMs;
}

/** [W7] A promotion ends the soak of the wave that it names, for the revision that it names. */
function isPromoted({ to, requests: { promotion } }: WaveRules, wave: number): boolean {
  return promotion?.revision === to && promotion.wave === wave;
}

/** [W5] An approval is for one revision and one wave, and counts once that wave is complete and has soaked. */
function isApproved({ to, requests: { approvals } }: WaveRules, wave: number): boolean {
  return approvals.some((each) => each.revision === to && each.wave === wave);
}

/** [U7] How many more instances may be released before the current batch is complete. */
export function batchAllowance(batches: readonly number[], parts: readonly WavePart[]): number {
  if (batches.length === 0) return Number.POSITIVE_INFINITY;
  let released = 0;
  let completed = 0;
  for (const part of parts) {
    released += part.released;
    if (part.state !== "working") completed += part.released;
  }
  let ceiling = 0;
  for (let i = 0; ceiling <= completed; i++) {
    const size = batches[Math.min(i, batches.length - 1)] ?? 1;
    if (i >= batches.length) {
      // The last number repeats: jump to the first multiple beyond what is complete.
      ceiling += Math.max(1, size) * (Math.floor((completed - ceiling) / Math.max(1, size)) + 1);
      break;
    }
    ceiling += Math.max(1, size);
  }
  return Math.max(0, ceiling - released);
}

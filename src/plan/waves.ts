import type { Draft } from "./draft.ts";
import type { Part } from "./share.ts";
import type { ClusterName, RollingUpdate, Rollout } from "./types.ts";
import { viewIn } from "./view.ts";

const SECOND_MS = 1000;

/** [W1] Which wave each cluster belongs to; clusters that no wave names form the last one. */
export function waveIndex(update: RollingUpdate): (cluster: ClusterName) => number {
  const found = new Map<ClusterName, number>();
  update.waves.forEach(({ clusters }, index) => {
    for (const cluster of clusters) if (!found.has(cluster)) found.set(cluster, index);
  });
  return (cluster) => found.get(cluster) ?? update.waves.length;
}

/** [W2] Past every wave, the unlisted one included. */
export function allWaves(update: RollingUpdate): number {
  return update.waves.length + 1;
}

/**
 * [W3] Opens the next wave while the present one is complete, has soaked and is approved. A wave that has been left behind
 * never closes again; clusters of it that are late are updated as soon as the budget allows.
 */
export function advanceWaves(draft: Draft, update: RollingUpdate, rollout: Rollout, parts: readonly Part[]): Rollout {
  const waveOf = waveIndex(update);
  const byWave = new Map<number, Part[]>();
  for (const part of parts) {
    const wave = waveOf(part.cluster);
    const list = byWave.get(wave);
    if (list) list.push(part);
    else byWave.set(wave, [part]);
  }
  let { wave, soakSinceMs } = rollout;
  for (; wave < allWaves(update); wave++) {
    const members = byWave.get(wave) ?? [];
    if (members.some(({ state }) => state === "due" || state === "working")) {
      soakSinceMs = null;
      break;
    }
    const settings = update.waves[wave];
    if (settings) {
      soakSinceMs = soak(draft, settings.soakSeconds, wave, members, soakSinceMs);
      if (soakSinceMs === null || draft.nowMs < soakSinceMs + settings.soakSeconds * SECOND_MS) break;
      const later = parts.some((part) => waveOf(part.cluster) > wave);
      if (settings.approval === "Manual" && later && !isApproved(draft, rollout.to, wave)) {
        draft.wait(
          "AwaitingApproval",
          undefined,
          `wave ${wave + 1} is complete on revision ${rollout.to}; the next one waits for approval`,
          "Run 'lockstep approve', or create a RolloutApproval for this revision and wave.",
          [{ object: `wave ${wave + 1}`, field: "complete", value: "yes", sinceMs: soakSinceMs }],
        );
        break;
      }
    }
    soakSinceMs = null;
  }
  const next =
    wave === rollout.wave && soakSinceMs === rollout.soakSinceMs ? rollout : { ...rollout, wave, soakSinceMs };
  draft.set("rollout", next);
  return next;
}

/** [W4] The soak runs only while every cluster of the wave stays healthy; any miss starts it over. */
function soak(
  draft: Draft,
  seconds: number,
  wave: number,
  members: readonly Part[],
  since: number | null,
): number | null {
  const ill = members.find(({ cluster }) => !viewIn(draft, cluster).healthy);
  if (ill && seconds > 0) {
    draft.wait(
      "Soaking",
      ill.cluster,
      `wave ${wave + 1} soaks from the moment that all of it is healthy`,
      "Look at this cluster.",
      [{ object: ill.cluster, field: "healthy", value: "no" }],
    );
    return null;
  }
  const sinceMs = since ?? draft.nowMs;
  const endsAtMs = sinceMs + seconds * SECOND_MS;
  if (draft.nowMs < endsAtMs) {
    draft.wakeAt(endsAtMs);
    draft.wait(
      "Soaking",
      undefined,
      `wave ${wave + 1} soaks until ${new Date(endsAtMs).toISOString()}`,
      "Wait, or shorten soakSeconds.",
      [{ object: `wave ${wave + 1}`, field: "healthy", value: "yes", sinceMs }],
    );
  }
  return sinceMs;
}

/** [W5] An approval is for one revision and one wave; it may come early, and is void for any other revision. */
function isApproved(draft: Draft, revision: string, wave: number): boolean {
  return draft.intent.requests.approvals.some((each) => each.revision === revision && each.wave === wave);
}

/** [U7] How many more instances may be released before the current batch is complete. */
export function batchAllowance(batches: readonly number[], parts: readonly Part[]): number {
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

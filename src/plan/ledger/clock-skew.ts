import type {
  ClusterEntry,
  ClusterName,
  Halt,
  LeaderMove,
  Presence,
  Rollout,
  StepInProgress,
  TimeMs,
} from "../types/index.ts";

/**
 * [R6] A time in the ledger that has not come yet was written by a leader whose clock ran ahead. Left as it is, it
 * would hold a gate, a soak or a deadline for as long as that clock was wrong; so it is read as now.
 */
export function clustersNotAhead(
  clusters: Readonly<Record<ClusterName, ClusterEntry>>,
  nowMs: TimeMs,
): Record<ClusterName, ClusterEntry> {
  return Object.fromEntries(Object.entries(clusters).map(([name, entry]) => [name, entryNotAhead(entry, nowMs)]));
}

function entryNotAhead(entry: ClusterEntry, nowMs: TimeMs): ClusterEntry {
  const times = [
    entry.writtenAtMs,
    entry.ackedAtMs,
    entry.openSinceMs,
    entry.reassertedAtMs,
    entry.strandedSinceMs,
    entry.presence.kind === "here" ? null : entry.presence.sinceMs,
    entry.presence.kind === "lost" ? entry.presence.atMs : null,
  ];
  const ahead = times.some((time) => (time ?? 0) > nowMs);
  const { step } = entry;
  if (!ahead && (step === null || (step.sinceMs <= nowMs && step.progressMs <= nowMs))) return entry;
  return {
    ...entry,
    writtenAtMs: Math.min(entry.writtenAtMs, nowMs),
    ackedAtMs: notAhead(entry.ackedAtMs, nowMs),
    openSinceMs: notAhead(entry.openSinceMs, nowMs),
    reassertedAtMs: notAhead(entry.reassertedAtMs, nowMs),
    strandedSinceMs: notAhead(entry.strandedSinceMs, nowMs),
    presence: presenceNotAhead(entry.presence, nowMs),
    step: step && stepNotAhead(step, nowMs),
  };
}

function presenceNotAhead(presence: Presence, nowMs: TimeMs): Presence {
  if (presence.kind === "here") return presence;
  const sinceMs = Math.min(presence.sinceMs, nowMs);
  return presence.kind === "lost"
    ? { kind: "lost", sinceMs, atMs: Math.min(presence.atMs, nowMs) }
    : { ...presence, sinceMs };
}

function stepNotAhead(step: StepInProgress, nowMs: TimeMs): StepInProgress {
  return { ...step, sinceMs: Math.min(step.sinceMs, nowMs), progressMs: Math.min(step.progressMs, nowMs) };
}

export function rolloutNotAhead(rollout: Rollout | null, nowMs: TimeMs): Rollout | null {
  if (!rollout) return null;
  return {
    ...rollout,
    sinceMs: Math.min(rollout.sinceMs, nowMs),
    soakSinceMs: notAhead(rollout.soakSinceMs, nowMs),
    leaderUnknownSinceMs: notAhead(rollout.leaderUnknownSinceMs, nowMs),
  };
}

export function haltNotAhead(halt: Halt | null, nowMs: TimeMs): Halt | null {
  return halt && { ...halt, sinceMs: Math.min(halt.sinceMs, nowMs) };
}

export function moveNotAhead(move: LeaderMove | null, nowMs: TimeMs): LeaderMove | null {
  return move && { ...move, sinceMs: Math.min(move.sinceMs, nowMs) };
}

function notAhead(timeMs: TimeMs | null, nowMs: TimeMs): TimeMs | null {
  return timeMs === null ? null : Math.min(timeMs, nowMs);
}

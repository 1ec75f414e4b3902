/** The timeline's scale. Pure. */

export interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Time in which nothing ran, drawn shorter than it was. */
export interface Break extends Interval {
  readonly fromShare: number;
  readonly toShare: number;
}

export interface Scale {
  /** Where a moment is drawn, from 0 to 1. */
  share(ms: number): number;
  readonly breaks: readonly Break[];
}

/** An idle interval is drawn at most this long, compared with all that ran. */
const IDLE_SHARE = 0.3;
/** Shorter idle time is drawn as it was. */
const MIN_IDLE_MS = 3_000;
/** Without anything that ran, there is nothing to compare with. */
const NOTHING_RAN_MS = 10_000;

/**
 * Steps take seconds and approvals take days: a linear axis would show only the wait. Idle intervals are shortened, and
 * everything keeps its order. What is ahead gets `aheadShare` of the width, from `nowMs` on.
 */
export function scaleOf(
  ran: readonly Interval[],
  range: Interval & { readonly nowMs: number },
  aheadShare: number,
): Scale {
  const { fromMs, nowMs, toMs } = range;
  const clipped = ran
    .map((one) => ({ fromMs: clamp(one.fromMs, fromMs, nowMs), toMs: clamp(one.toMs, fromMs, nowMs) }))
    .filter((one) => one.toMs > one.fromMs);
  const edges = [...new Set([fromMs, nowMs, ...clipped.flatMap((one) => [one.fromMs, one.toMs])])].sort(
    (a, b) => a - b,
  );
  const pieces = edges.slice(1).map((end, index) => {
    const start = edges[index] ?? end;
    return { start, end, isIdle: !clipped.some((one) => one.fromMs <= start && one.toMs >= end) };
  });
  const activeMs = pieces.reduce((sum, { start, end, isIdle }) => sum + (isIdle ? 0 : end - start), 0);
  const longest = Math.max(MIN_IDLE_MS, (activeMs === 0 ? NOTHING_RAN_MS : activeMs) * IDLE_SHARE);
  const weights = pieces.map(({ start, end, isIdle }) => (isIdle ? Math.min(end - start, longest) : end - start));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const past = toMs > nowMs ? 1 - aheadShare : 1;
  let at = 0;
  const drawn = pieces.map((piece, index) => {
    const fromShare = at;
    at += total === 0 ? 0 : ((weights[index] ?? 0) / total) * past;
    return { ...piece, fromShare, toShare: at, isShort: piece.isIdle && piece.end - piece.start > longest };
  });
  const share = (ms: number): number => {
    if (ms > nowMs && toMs > nowMs) return past + (Math.min(ms, toMs) - nowMs) * ((1 - past) / (toMs - nowMs));
    const piece = drawn.find(({ end }) => ms <= end) ?? drawn.at(-1);
    if (!piece || piece.end === piece.start) return 0;
    const within = clamp((ms - piece.start) / (piece.end - piece.start), 0, 1);
    return piece.fromShare + within * (piece.toShare - piece.fromShare);
  };
  const breaks = drawn
    .filter(({ isShort }) => isShort)
    .map(({ start, end, fromShare, toShare }) => ({ fromMs: start, toMs: end, fromShare, toShare }));
  return { share, breaks };
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

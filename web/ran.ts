/** A rollout that is over, in figures. Pure. */
import type { TimelineView } from "../src/web/types.ts";

export interface Ran {
  readonly endedMs: number;
  readonly tookMs: number;
  readonly steps: number;
  readonly clusters: number;
}

/** Undefined: nothing ran, or something still runs. */
export function ranOf({ spans }: Pick<TimelineView, "spans">): Ran | undefined {
  const ended = spans.flatMap(({ toMs }) => toMs ?? []);
  if (spans.length === 0 || ended.length < spans.length) return undefined;
  const endedMs = Math.max(...ended);
  return {
    endedMs,
    tookMs: endedMs - Math.min(...spans.map(({ fromMs }) => fromMs)),
    steps: spans.length,
    clusters: new Set(spans.map(({ cluster }) => cluster)).size,
  };
}

/** At rest: when the last rollout ended, and what it took. */
import type { TimelineView } from "../../src/web/types.ts";
import { count, duration, took } from "../format.ts";
import { ranOf } from "../ran.ts";
import { nowMs } from "../state.ts";

export function Ran({ timeline, noun = "rollout" }: { timeline: TimelineView; noun?: string }) {
  const ran = ranOf(timeline);
  if (!ran) return null;
  const one = noun === "rollout" ? "step" : noun;
  const part = (many: number) => (many === 1 ? one : `${one}s`);
  return (
    <dl class="figures ran">
      <div>
        <dt>{`since the last ${noun}`}</dt>
        <dd>{duration(nowMs.value - ran.endedMs)}</dd>
      </div>
      <div>
        <dt>it took</dt>
        <dd>{took(ran.tookMs)}</dd>
      </div>
      <div>
        <dt>{`${part(ran.steps)} in ${count(ran.clusters, "cluster")}`}</dt>
        <dd>{ran.steps}</dd>
      </div>
    </dl>
  );
}

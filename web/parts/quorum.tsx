/** The quorum meter: every instance is one segment of an arc, and the mark is the majority. */
import type { QuorumView } from "../../src/web/types.ts";
import { count } from "../format.ts";
import { Gauge } from "./gauge.tsx";

function verdict({ needed, ready, spare }: QuorumView): string {
  if (needed === 0) return "This application has no quorum.";
  if (ready < needed) return `Quorum is lost: ${needed - ready} more must become ready.`;
  if (spare === 0) return "No other instance may go down.";
  return `${count(spare, "more instance")} may go down before quorum is lost.`;
}

export function Quorum({ quorum }: { quorum: QuorumView }) {
  const { voters, ready, needed, spare, maxUnavailable } = quorum;
  // The colour says how safe it is, not how full: an instance that the rollout takes down is no alarm.
  const tone = ready < needed ? "bad" : spare === 0 && needed > 0 && voters > 1 ? "busy" : "good";
  const down = voters - ready;
  return (
    <div class="quorum">
      <Gauge
        value={ready}
        of={voters}
        word="ready"
        label={`${ready} of ${voters} instances are ready, ${needed} are needed`}
        tone={tone}
        rest={ready < needed ? "lost" : down > 0 ? "allowed" : "off"}
        mark={needed > 0 ? needed : undefined}
      />
      <p class={`verdict ${tone}`}>{verdict(quorum)}</p>
      <dl class="figures">
        <div>
          <dt>majority</dt>
          <dd>{needed}</dd>
        </div>
        <div>
          <dt>can lose now</dt>
          <dd>{spare}</dd>
        </div>
        <div>
          <dt>down / allowed</dt>
          <dd>
            {down} / {maxUnavailable}
          </dd>
        </div>
      </dl>
    </div>
  );
}

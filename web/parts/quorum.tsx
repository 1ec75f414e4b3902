/** The quorum meter: every instance is one segment of an arc, and the mark is the majority. */
import type { ClusterView, QuorumView } from "../../src/web/types.ts";
import { count } from "../format.ts";
import { lossesOf } from "../losses.ts";
import { Gauge } from "./gauge.tsx";

/** The worst ones; more are not read. */
const MAX_LOSSES = 5;

/** Which cluster the application can do without, at this moment. */
function Losses({ quorum, clusters }: { quorum: QuorumView; clusters: readonly ClusterView[] }) {
  const losses = lossesOf(quorum, clusters);
  // A lone cluster takes everything with it, and what is lost already cannot be lost again.
  if (losses.length < 2 || quorum.needed === 0 || quorum.ready < quorum.needed) return null;
  const rest = losses.length - MAX_LOSSES;
  return (
    <div class="losses">
      <h3 id="losses">If a cluster fails now</h3>
      <ul aria-labelledby="losses">
        {losses.slice(0, MAX_LOSSES).map(({ cluster, left, keepsQuorum }) => (
          <li key={cluster}>
            <span class="name">{cluster}</span>
            <span class="dim">
              {left} of {quorum.voters} left
            </span>
            <span class={keepsQuorum ? "keeps" : "loses"}>{keepsQuorum ? "✓ quorum holds" : "✕ quorum is lost"}</span>
          </li>
        ))}
      </ul>
      {rest > 0 && (
        <p class="dim">
          {count(rest, "other cluster")}: at least {losses[MAX_LOSSES]?.left} left
        </p>
      )}
    </div>
  );
}

function verdict({ needed, ready, spare }: QuorumView): string {
  if (needed === 0) return "This application has no quorum.";
  if (ready < needed) return `Quorum is lost: ${needed - ready} more must become ready.`;
  if (spare === 0) return "No other instance may go down.";
  return `${count(spare, "more instance")} may go down before quorum is lost.`;
}

export function Quorum({ quorum, clusters }: { quorum: QuorumView; clusters: readonly ClusterView[] }) {
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
      <Losses quorum={quorum} clusters={clusters} />
    </div>
  );
}

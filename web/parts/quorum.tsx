/** The quorum meter: every instance is one segment of an arc, and the mark is the majority. */
import type { QuorumView } from "../../src/web/types.ts";
import { count } from "../format.ts";

const CENTRE = { x: 120, y: 118 };
const RADIUS = 92;
const WIDTH = 22;
/** Above this, segments would be too thin to be seen: one arc shows the share. */
const MAX_SEGMENTS = 48;
const GAP = 0.035;

function point(share: number, radius: number): string {
  const angle = Math.PI * (1 - share);
  return `${(CENTRE.x + radius * Math.cos(angle)).toFixed(2)} ${(CENTRE.y - radius * Math.sin(angle)).toFixed(2)}`;
}

function arc(from: number, to: number): string {
  return `M ${point(from, RADIUS)} A ${RADIUS} ${RADIUS} 0 0 1 ${point(to, RADIUS)}`;
}

export function Quorum({ quorum }: { quorum: QuorumView }) {
  const { voters, ready, needed, spare, maxUnavailable } = quorum;
  const tone = ready < needed ? "bad" : ready < voters ? "busy" : "good";
  const many = Math.max(1, Math.min(voters, MAX_SEGMENTS));
  const filled = voters === 0 ? 0 : (ready / voters) * many;
  const mark = voters === 0 ? 0 : needed / voters;
  const gap = many > 24 ? GAP / 4 : GAP / 2;
  const words =
    needed === 0
      ? "This application has no quorum."
      : ready < needed
        ? `Quorum is lost: ${needed - ready} more must become ready.`
        : spare === 0
          ? "No other instance may go down."
          : `${count(spare, "more instance")} may go down before quorum is lost.`;
  return (
    <div class="quorum">
      <svg
        viewBox="0 0 240 138"
        role="img"
        aria-label={`${ready} of ${voters} instances are ready, ${needed} are needed`}
      >
        {Array.from({ length: many }, (_, index) => (
          <path
            key={index}
            d={arc(index / many + (many > 1 ? gap / 2 : 0), (index + 1) / many - (many > 1 ? gap / 2 : 0))}
            class={`segment ${index + 1 <= filled ? `on ${tone}` : "off"}`}
            stroke-width={WIDTH}
          />
        ))}
        {needed > 0 && (
          <g class="majority">
            <path d={`M ${point(mark, RADIUS - WIDTH * 0.72)} L ${point(mark, RADIUS + WIDTH * 0.82)}`} />
          </g>
        )}
        <text x={CENTRE.x} y={CENTRE.y - 22} class="big">
          {ready}
          <tspan class="of"> / {voters}</tspan>
        </text>
        <text x={CENTRE.x} y={CENTRE.y + 2} class="small">
          ready
        </text>
      </svg>
      <dl class="figures">
        <div>
          <dt>Needed</dt>
          <dd>{needed}</dd>
        </div>
        <div>
          <dt>Can lose now</dt>
          <dd>{spare}</dd>
        </div>
        <div>
          <dt>Allowed down</dt>
          <dd>{maxUnavailable}</dd>
        </div>
      </dl>
      <p class="dim">{words}</p>
    </div>
  );
}

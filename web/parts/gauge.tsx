/** An arc of segments with a number in its middle. */

const CENTRE = { x: 120, y: 118 };
const RADIUS = 92;
const WIDTH = 22;
/** Above this, segments would be too thin to be seen: each then stands for several. */
const MAX_SEGMENTS = 48;
const GAP = 0.035;
/** More digits than these get smaller letters, so that they do not reach the arc. */
const ROOMY_DIGITS = 2;

function point(share: number, radius: number): string {
  const angle = Math.PI * (1 - share);
  return `${(CENTRE.x + radius * Math.cos(angle)).toFixed(2)} ${(CENTRE.y - radius * Math.sin(angle)).toFixed(2)}`;
}

function arc(from: number, to: number): string {
  return `M ${point(from, RADIUS)} A ${RADIUS} ${RADIUS} 0 0 1 ${point(to, RADIUS)}`;
}

interface GaugeProps {
  readonly value: number;
  readonly of: number;
  /** What is counted, below the number. */
  readonly word: string;
  /** All of it, for people who do not see it. */
  readonly label: string;
  readonly tone: "good" | "busy" | "bad";
  /** The look of the segments that are missing. */
  readonly rest?: "off" | "allowed" | "lost";
  /** Where the mark is, in the same unit. */
  readonly mark?: number | undefined;
}

export function Gauge({ value, of, word, label, tone, rest = "off", mark }: GaugeProps) {
  const many = Math.max(1, Math.min(of, MAX_SEGMENTS));
  const filled = of === 0 ? 0 : (value / of) * many;
  const gap = many === 1 ? 0 : many > 24 ? GAP / 8 : GAP / 4;
  return (
    <svg viewBox="8 8 224 118" role="img" aria-label={label}>
      {Array.from({ length: many }, (_, index) => (
        <path
          key={index}
          d={arc(index / many + gap, (index + 1) / many - gap)}
          class={`segment ${index + 1 <= filled ? `on ${tone}` : rest}`}
          stroke-width={WIDTH}
        />
      ))}
      {mark !== undefined && of > 0 && (
        <g class="majority">
          <path d={`M ${point(mark / of, RADIUS - WIDTH * 0.66)} L ${point(mark / of, RADIUS + WIDTH * 0.74)}`} />
        </g>
      )}
      <text x={CENTRE.x} y={CENTRE.y - 22} class={`big ${`${value}${of}`.length > ROOMY_DIGITS ? "long" : ""}`}>
        {value}
        <tspan class="of"> / {of}</tspan>
      </text>
      <text x={CENTRE.x} y={CENTRE.y + 2} class="small">
        {word}
      </text>
    </svg>
  );
}

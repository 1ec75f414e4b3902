/** The rollout over time: a lane for each cluster, what ran, what waits, and what the plan says comes next. */
import type { AheadView, ApplicationView, SpanView, TimelineView } from "../../src/web/types.ts";
import { clockTime, duration, words } from "../format.ts";
import { nowMs, seenWaits } from "../state.ts";

/** A phone gets a narrower drawing, so that its text stays readable. */
const IS_NARROW = innerWidth < 760;
const LEFT = IS_NARROW ? 104 : 116;
const RIGHT = 14;
const WIDTH = IS_NARROW ? 480 : 1000;
const LANE = 40;
const TOP = 30;
const BAR = 22;
const MIN_BAR = 5;
/** A step whose time is not known is drawn this long, with a question mark. */
const UNKNOWN_MS = 8_000;
const MIN_DOMAIN_MS = 10_000;
const MAX_LANES = 30;

interface Ahead {
  readonly cluster: string;
  readonly step: string;
  readonly number: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly isKnown: boolean;
}

/** One after the other, from now on: where several may run at once, this is the latest they would end. */
function laidOut(ahead: readonly AheadView[], now: number): Ahead[] {
  const found: Ahead[] = [];
  let at = now;
  for (const event of ahead) {
    if (event.kind === "wait") at += event.forMs;
    if (event.kind !== "step") continue;
    const tookMs = event.expectedMs ?? UNKNOWN_MS;
    const number = found.length + 1;
    const { cluster, step } = event;
    found.push({ cluster, step, number, fromMs: at, toMs: at + tookMs, isKnown: event.expectedMs !== undefined });
    at += tookMs;
  }
  return found;
}

/** The rollout as it was at a moment. */
function untilMoment(timeline: TimelineView, untilMs: number): TimelineView {
  const spans = timeline.spans
    .filter(({ fromMs }) => fromMs <= untilMs)
    .map(({ toMs, ...span }) => (toMs !== undefined && toMs <= untilMs ? { ...span, toMs } : span));
  return { ...timeline, spans, notes: timeline.notes.filter(({ atMs }) => atMs <= untilMs) };
}

/** `untilMs`: as it was then, drawn to the same scale. */
export function Timeline({ app, untilMs }: { app: ApplicationView; untilMs?: number | undefined }) {
  const { plan, clusters } = app;
  const whole = app.timeline;
  const timeline = untilMs === undefined ? whole : untilMoment(whole, untilMs);
  const isPast = untilMs !== undefined;
  const isRunning = app.phase !== "Settled" || whole.spans.some(({ toMs }) => toMs === undefined);
  const last = Math.max(whole.fromMs, ...whole.spans.map(({ toMs }) => toMs ?? 0));
  const present = Math.max(isRunning ? nowMs.value : last, app.atMs > last && isRunning ? app.atMs : last);
  const now = untilMs ?? present;
  const ahead = isRunning && !isPast ? laidOut(plan.ahead, now) : [];
  const lanes = clusters.slice(0, MAX_LANES).map(({ name }) => name);
  const start = timeline.fromMs;
  const end = Math.max(present, ...ahead.map(({ toMs }) => toMs));
  const domain = Math.max(MIN_DOMAIN_MS, (end - start) * 1.04);
  const x = (ms: number) => LEFT + ((ms - start) / domain) * (WIDTH - LEFT - RIGHT);
  const height = TOP + lanes.length * LANE + 8;
  if (whole.spans.length === 0 && ahead.length === 0) {
    return (
      <p class="dim">
        {timeline.problem ?? "Nothing has moved since this revision was made, or the hub no longer has its Events."}
      </p>
    );
  }
  const ticks = ticksOf(start, domain);
  return (
    <div class="timeline">
      <svg
        viewBox={`0 0 ${WIDTH} ${height}`}
        role="img"
        aria-label="Timeline of the rollout; the lists below have the same in words"
      >
        <defs>
          <pattern id="held" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="7" height="7" class="held-ground" />
            <rect width="2.6" height="7" class="held-line" />
          </pattern>
        </defs>
        {ticks.map((ms) => (
          <g key={ms} class="tick">
            <line x1={x(ms)} x2={x(ms)} y1={TOP - 6} y2={height} />
            <text x={x(ms)} y={TOP - 12}>
              {duration(ms - start)}
            </text>
          </g>
        ))}
        {lanes.map((name, index) => (
          <g key={name} transform={`translate(0 ${TOP + index * LANE})`}>
            <rect class="lane" x="0" width={WIDTH} height={LANE - 6} rx="8" />
            <text class="lane-name" x="12" y={LANE / 2 + 1}>
              {name}
            </text>
            {seenWaits.value
              .filter(({ cluster, fromMs, toMs }) => cluster === name && toMs >= start && fromMs <= now)
              .map(({ reason, fromMs, toMs }) => (
                <rect
                  key={`${reason}${fromMs}`}
                  class="held"
                  x={x(Math.max(fromMs, start))}
                  width={Math.max(0, x(Math.min(toMs, now)) - x(Math.max(fromMs, start)))}
                  y={13}
                  height={9}
                  rx="3"
                >
                  <title>{`${name} waited: ${reason}`}</title>
                </rect>
              ))}
            {timeline.spans
              .filter(({ cluster }) => cluster === name)
              .map((span) => (
                <Bar key={`${span.what}${span.fromMs}`} span={span} x={x} now={now} />
              ))}
            {ahead
              .filter(({ cluster }) => cluster === name)
              .map((step) => (
                <g key={step.number} class="ahead">
                  <rect
                    x={x(step.fromMs) + 2}
                    width={Math.max(MIN_BAR, x(step.toMs) - x(step.fromMs) - 4)}
                    y={6}
                    height={BAR}
                    rx="6"
                  />
                  <text x={(x(step.fromMs) + x(step.toMs)) / 2} y={21}>
                    {`${step.number}${step.isKnown ? "" : "?"}`}
                  </text>
                  <title>{`Next, step ${step.number}: ${step.step} in ${name}`}</title>
                </g>
              ))}
          </g>
        ))}
        {(isRunning || isPast) && (
          <g class="now">
            <line x1={x(now)} x2={x(now)} y1={TOP - 8} y2={height} />
            <text x={x(now)} y={TOP - 12}>
              {isPast ? clockTime(now) : "now"}
            </text>
          </g>
        )}
      </svg>
      <p class="legend">
        <span class="key done" /> ran <span class="key running" /> runs <span class="key waiting" /> held by a gate
        (seen since you opened this page) <span class="key next" /> planned, in this order
      </p>
      <details>
        <summary>The same in words</summary>
        <ul class="spans">
          {timeline.spans.map(({ cluster, what, why, fromMs, toMs }) => (
            <li key={`${cluster}${fromMs}${what}`}>
              <time>{clockTime(fromMs)}</time> <strong>{cluster}</strong> {words(what).toLowerCase()}
              {toMs === undefined ? ", still runs" : `, ${duration(toMs - fromMs)}`}: {why}
            </li>
          ))}
          {timeline.notes.map(({ atMs, reason, message, isWarning }) => (
            <li key={`${reason}${atMs}`} class={isWarning ? "warning" : ""}>
              <time>{clockTime(atMs)}</time> <strong>{reason}</strong>: {message}
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

function Bar({ span, x, now }: { span: SpanView; x: (ms: number) => number; now: number }) {
  const { cluster, what, why, fromMs, toMs } = span;
  const isRunning = toMs === undefined;
  const width = Math.max(MIN_BAR, x(toMs ?? now) - x(fromMs));
  const label = words(what);
  return (
    <g class={`bar ${isRunning ? "running" : "done"} ${what === "RollingBack" ? "back" : ""}`}>
      <rect x={x(fromMs)} width={width} y={6} height={BAR} rx="6" />
      {width > label.length * 8.4 + 14 && (
        <text x={x(fromMs) + 9} y={21}>
          {label}
        </text>
      )}
      <title>{`${cluster}: ${label} at ${clockTime(fromMs)}, ${isRunning ? "still runs" : duration(toMs - fromMs)}. ${why}`}</title>
    </g>
  );
}

const STEPS_MS = [5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 86_400].map((seconds) => seconds * 1000);
const MAX_TICKS = 7;

function ticksOf(start: number, domain: number): number[] {
  const step = STEPS_MS.find((ms) => domain / ms <= MAX_TICKS) ?? domain / MAX_TICKS;
  return Array.from({ length: Math.floor(domain / step) }, (_, index) => start + (index + 1) * step).filter(
    (ms) => ms - start < domain * 0.97,
  );
}

/** The rollout over time: a lane for each cluster, what ran, what waits, and what the plan says comes next. */
import type { AheadView, SpanView, TimelineView } from "../../src/web/types.ts";
import { clockTime, duration, fitted, took, words } from "../format.ts";
import { scaleOf } from "../scale.ts";
import { nowMs } from "../state.ts";
import { rangeOf, type Story } from "../story.ts";
import { titleOf } from "../titles.ts";

/** A phone gets a narrower drawing, so that its text stays readable. */
const IS_NARROW = innerWidth < 760;
const MIN_LEFT = IS_NARROW ? 94 : 116;
const MAX_LEFT = IS_NARROW ? 160 : 280;
/** Of one letter of a lane's name, in the drawing's own unit. */
const LETTER = IS_NARROW ? 8.8 : 9.2;
const RIGHT = 14;
const WIDTH = IS_NARROW ? 390 : 1000;
const LANE = 40;
const TOP = 30;
const BAR = 22;
const MIN_BAR = 5;
const MIN_HOLD = 2;
/** A step whose time is not known is drawn this long. */
const UNKNOWN_MS = 8_000;
const MAX_LANES = 30;
/** What is ahead gets this much of the width, whatever it takes compared with what ran. */
const AHEAD_SHARE = 0.36;
/** Times closer to each other than this are not written both. */
const MIN_TICK_GAP = IS_NARROW ? 70 : 62;

interface Ahead {
  readonly cluster: string;
  readonly step: string;
  readonly number: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly isKnown: boolean;
}

/** As much room as the longest name needs, within limits. */
function leftFor(lanes: readonly string[]): number {
  const longest = Math.max(0, ...lanes.map(({ length }) => length));
  return Math.min(MAX_LEFT, Math.max(MIN_LEFT, 28 + longest * LETTER));
}

/** One after the other, from now on: where several may run at once, this is the latest they would end. */
function laidOut(ahead: readonly AheadView[], now: number): Ahead[] {
  const found: Ahead[] = [];
  let at = now;
  for (const event of ahead) {
    // A soak of a day would leave no room for the steps after it.
    if (event.kind === "wait") at += Math.min(event.forMs, UNKNOWN_MS);
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
  const until = <T extends { fromMs: number; toMs?: number }>(all: readonly T[]) =>
    all
      .filter(({ fromMs }) => fromMs <= untilMs)
      .map((one) => {
        if (one.toMs === undefined || one.toMs <= untilMs) return one;
        const { toMs: _, ...open } = one;
        return open;
      });
  const notes = timeline.notes.filter(({ atMs }) => atMs <= untilMs);
  return { ...timeline, spans: until(timeline.spans), holds: until(timeline.holds), notes };
}

/** `untilMs`: as it was then, drawn to the same scale. */
export function Timeline({ story, untilMs }: { story: Story; untilMs?: number | undefined }) {
  const { isRunning, atMs } = story;
  const whole = story.timeline;
  const timeline = untilMs === undefined ? whole : untilMoment(whole, untilMs);
  const isPast = untilMs !== undefined;
  const last = rangeOf(story).toMs;
  const present = isRunning ? Math.max(nowMs.value, atMs, last) : last;
  const now = untilMs ?? present;
  const ahead = isRunning && !isPast ? laidOut(story.ahead, now) : [];
  const lanes = story.lanes.slice(0, MAX_LANES);
  const left = leftFor(lanes);
  const start = timeline.fromMs;
  const ran = [...whole.spans, ...whole.holds].map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs ?? present }));
  const end = Math.max(present, ...ahead.map(({ toMs }) => toMs));
  const scale = scaleOf(
    whole.spans.map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs ?? present })),
    { fromMs: start, nowMs: present, toMs: end },
    AHEAD_SHARE,
  );
  const at = (share: number) => left + share * (WIDTH - left - RIGHT);
  const x = (ms: number) => at(scale.share(ms));
  const height = TOP + lanes.length * LANE + 14;
  if (whole.spans.length === 0 && whole.holds.length === 0 && ahead.length === 0) {
    return (
      <p class="dim">
        {timeline.problem ?? "Nothing has moved since this revision was made, or the hub no longer has its Events."}
      </p>
    );
  }
  const ticks = ticksOf([start, ...ran.flatMap((one) => [one.fromMs, one.toMs])], x, isRunning || isPast ? x(now) : -1);
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
            <line x1={x(ms)} x2={x(ms)} y1={TOP - 6} y2={height - 14} />
            <text x={x(ms)} y={TOP - 13}>
              {ms === start ? clockTime(ms) : `+${duration(ms - start)}`}
            </text>
          </g>
        ))}
        {lanes.map((name, index) => (
          <g key={name} transform={`translate(0 ${TOP + index * LANE})`}>
            <rect class="lane" x="0" width={WIDTH} height={LANE - 6} rx="8" />
            <text class="lane-name" x="12" y={LANE / 2 + 1}>
              {name === "" ? "all" : fitted(name, Math.floor((left - 24) / LETTER))}
              <title>{name}</title>
            </text>
            {timeline.holds
              .filter(({ cluster, fromMs }) => cluster === name && fromMs <= now)
              .map(({ reason, why, fromMs, toMs }) => (
                <rect
                  key={`${reason}${fromMs}`}
                  class="held"
                  x={x(Math.max(fromMs, start))}
                  width={Math.max(MIN_HOLD, x(Math.min(toMs ?? now, now)) - x(Math.max(fromMs, start)))}
                  y={name === "" ? 12 : 27}
                  height={name === "" ? 10 : 6}
                  rx="3"
                >
                  <title>{`${name === "" ? "The rollout" : name} was held by ${reason} from ${clockTime(fromMs)}, ${toMs === undefined ? "still" : duration(toMs - fromMs)}: ${why}`}</title>
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
                    {step.number}
                  </text>
                  <title>{`Next, step ${step.number}: ${step.step} in ${name}${step.isKnown ? "" : "; its time is not known"}`}</title>
                </g>
              ))}
          </g>
        ))}
        {scale.breaks
          .filter((one) => at(one.toShare) - at(one.fromShare) > 60 && one.fromMs < now)
          .map((one) => (
            <text
              key={one.fromMs}
              class="break"
              x={(at(one.fromShare) + at(one.toShare)) / 2}
              y={height - 4}
              text-anchor="middle"
            >
              {`⋯ ${duration(one.toMs - one.fromMs)} ⋯`}
            </text>
          ))}
        {timeline.notes
          .filter(({ atMs }) => atMs >= start && atMs <= now)
          .map(({ atMs, reason, message, isWarning }) => (
            <g key={`${reason}${atMs}`} class={`note-mark ${isWarning ? "warning" : ""}`}>
              <path d={`M ${x(atMs)} ${TOP - 1} l 5 -8 h -10 z`} />
              <title>{`${clockTime(atMs)} ${reason}: ${message}`}</title>
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
        <span>
          <i class="key done" /> ran
        </span>
        {(isRunning || isPast) && (
          <span>
            <i class="key running" /> runs
          </span>
        )}
        {whole.holds.length > 0 && (
          <span>
            <i class="key waiting" /> held by a gate
          </span>
        )}
        {whole.spans.some(({ isBad }) => isBad) && (
          <span>
            <i class="key failed" /> failed
          </span>
        )}
        {!isPast && ahead.length > 0 && (
          <span>
            <i class="key next" /> planned, in this order
          </span>
        )}
      </p>
      <details>
        <summary>The same in words</summary>
        <ul class="spans">
          {timeline.spans.map(({ cluster, what, why, fromMs, toMs, isBad }) => (
            <li key={`${cluster}${fromMs}${what}`} class={isBad ? "warning" : ""}>
              <time>{clockTime(fromMs)}</time> <strong>{cluster}</strong> {words(what).toLowerCase()}
              {toMs === undefined ? ", still runs" : `, ${took(toMs - fromMs)}`}: {why}
            </li>
          ))}
          {timeline.holds.map(({ cluster, reason, why, fromMs, toMs }) => (
            <li key={`${cluster}${reason}${fromMs}`}>
              <time>{clockTime(fromMs)}</time> <strong>{cluster === "" ? "all clusters" : cluster}</strong> held by{" "}
              <code title={titleOf(reason, cluster === "" ? undefined : cluster)}>{reason}</code>
              {toMs === undefined ? ", still" : `, ${took(toMs - fromMs)}`}: {why}
            </li>
          ))}
          {timeline.notes.map(({ atMs, reason, message, isWarning }) => (
            <li key={`${reason}${atMs}`} class={isWarning ? "warning" : ""}>
              <time>{clockTime(atMs)}</time> <strong>{reason}</strong>: {message}
            </li>
          ))}
        </ul>
        {whole.problem !== undefined && <p class="dim">{whole.problem}</p>}
        {whole.dropped !== undefined && <p class="dim">{whole.dropped} more were too many to keep.</p>}
      </details>
    </div>
  );
}

const LOOKS: Readonly<Record<string, string>> = { RollingBack: "back", TransferringLeader: "leader" };

function Bar({ span, x, now }: { span: SpanView; x: (ms: number) => number; now: number }) {
  const { cluster, what, why, fromMs, toMs, isBad } = span;
  const isRunning = toMs === undefined;
  const width = Math.max(MIN_BAR, x(toMs ?? now) - x(fromMs));
  const label = words(what);
  return (
    <g class={`bar ${isRunning ? "running" : "done"} ${isBad ? "failed" : (LOOKS[what] ?? "")}`}>
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

/** Where something began or ended, as far as there is room to write it. */
function ticksOf(moments: readonly number[], x: (ms: number) => number, nowX: number): number[] {
  const found: number[] = [];
  for (const ms of [...new Set(moments)].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last !== undefined && x(ms) - x(last) < MIN_TICK_GAP) continue;
    if (nowX >= 0 && Math.abs(x(ms) - nowX) < MIN_TICK_GAP) continue;
    if (x(ms) > WIDTH - RIGHT - MIN_TICK_GAP / 2) continue;
    found.push(ms);
  }
  return found;
}

/** A timeline of one update as SVG: which members answered, which led, how long writes took, which requests failed. */
import type { Look } from "../../test/availability/record.ts";
import type { Seen } from "../../test/availability/ways.ts";

const WIDTH = 860;
const LEFT = 120;
const RIGHT = 16;
const LANE = 22;
const TOP = 58;
const PLOT = 130;
const GAP_MS = 250;
const MIN_MS = 0.5;
const MAX_MS = 10_000;
const BUCKET_US = 20_000;
const COLOURS = {
  up: "#9ecae9",
  leader: "#1f5fa8",
  learner: "#d9e7c7",
  failed: "#c4314b",
  gap: "#f6c9cf",
  text: "#24292f",
  line: "#d0d7de",
};

export function timelineSvg(title: string, seen: Seen, seconds: number): string {
  const fromUs = seen.before.fromUs;
  const x = (us: number) => LEFT + (((us - fromUs) / 1e6) * (WIDTH - LEFT - RIGHT)) / seconds;
  const lanes = [...seen.members].sort((left, right) => ordinal(left.name) - ordinal(right.name));
  const plotTop = TOP + lanes.length * LANE + 26;
  const height = plotTop + PLOT + 40;
  const y = (ms: number) => plotTop + PLOT - (Math.log10(clamp(ms) / MIN_MS) / Math.log10(MAX_MS / MIN_MS)) * PLOT;
  const { during, before } = seen.figures;
  const said =
    `no write for ${Math.round(during.longestWriteGapMs)} ms (before: ${Math.round(before.longestWriteGapMs)} ms), ` +
    `${during.retried} of ${during.requests} requests retried, ${during.failed} failed, ${during.leaderChanges} leader changes, ` +
    `${(during.withoutQuorumMs / 1000).toFixed(1)} s without quorum`;
  const parts = [
    text(LEFT, 20, title, 'font-weight="600" font-size="15"'),
    text(LEFT, 38, said),
    ...gaps(seen, x, TOP - 6, plotTop + PLOT),
    ...lanes.flatMap(({ name, cluster, endpoint }, at) => {
      const top = TOP + at * LANE;
      const own = seen.record.looks.filter((look) => look.endpoint === endpoint && look.end >= fromUs);
      return [text(8, top + 12, `${name}  ${cluster}`), ...bars(own, x, top)];
    }),
    ...[1, 10, 100, 1000].map(
      (ms) =>
        `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(ms)}" y2="${y(ms)}" stroke="${COLOURS.line}"/>${text(8, y(ms) + 4, `write ${ms} ms`)}`,
    ),
    `<path d="${latencies(seen, fromUs)
      .map(([us, ms]) => `M${x(us).toFixed(1)} ${y(ms).toFixed(1)}h1.4`)
      .join("")}" stroke="${COLOURS.leader}" stroke-width="1.4"/>`,
    ...seen.record.attempts
      .filter(({ error, end }) => error !== undefined && end >= fromUs)
      .map(
        ({ end, try: attempt }) =>
          `<line x1="${x(end).toFixed(1)}" x2="${x(end).toFixed(1)}" y1="${plotTop - 12}" y2="${plotTop - (attempt === 2 ? 0 : 6)}" stroke="${COLOURS.failed}"/>`,
      ),
    ...Array.from({ length: Math.floor(seconds / 5) + 1 }, (_, at) =>
      text(x(fromUs + at * 5e6) - 6, plotTop + PLOT + 16, `${at * 5} s`),
    ),
    `<line x1="${x(seen.during.fromUs)}" x2="${x(seen.during.fromUs)}" y1="${TOP - 6}" y2="${plotTop + PLOT}" stroke="${COLOURS.text}" stroke-dasharray="3 3"/>`,
    text(x(seen.during.fromUs) + 4, plotTop + PLOT + 32, "the update starts"),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="11" role="img" aria-label="${escaped(`${title}: ${said}`)}">
<rect width="100%" height="100%" fill="#ffffff"/>
${parts.join("\n")}
</svg>
`;
}

/** From each answer to the next look: light while it answers, dark while it says that it leads itself. */
function bars(looks: readonly Look[], x: (us: number) => number, top: number): string[] {
  const runs: { from: number; to: number; colour: string }[] = [];
  for (const look of looks) {
    if (look.error !== undefined) continue;
    const colour = look.leader === look.id ? COLOURS.leader : look.learner ? COLOURS.learner : COLOURS.up;
    const last = runs.at(-1);
    if (last && last.colour === colour && look.start - last.to < 200_000) last.to = look.end;
    else runs.push({ from: look.start, to: look.end, colour });
  }
  return runs.map(
    ({ from, to, colour }) =>
      `<rect x="${x(from).toFixed(1)}" y="${top}" width="${Math.max(1, x(to) - x(from)).toFixed(1)}" height="${LANE - 7}" fill="${colour}"/>`,
  );
}

function gaps({ record, before, during }: Seen, x: (us: number) => number, top: number, bottom: number): string[] {
  const ends = record.attempts
    .filter(
      ({ kind, error, end }) => kind === "write" && error === undefined && end >= before.fromUs && end < during.toUs,
    )
    .map(({ end }) => end)
    .sort((left, right) => left - right);
  return ends.flatMap((end, at) => {
    const last = ends[at - 1] ?? end;
    if (end - last < GAP_MS * 1000) return [];
    return [
      `<rect x="${x(last).toFixed(1)}" y="${top}" width="${(x(end) - x(last)).toFixed(1)}" height="${bottom - top}" fill="${COLOURS.gap}"/>`,
    ];
  });
}

/** The slowest write of each short time. */
function latencies({ record, during }: Seen, fromUs: number): [us: number, ms: number][] {
  const slowest = new Map<number, number>();
  for (const { kind, error, start, end } of record.attempts) {
    if (kind !== "write" || error !== undefined || end < fromUs || end >= during.toUs) continue;
    const bucket = Math.floor(end / BUCKET_US) * BUCKET_US;
    slowest.set(bucket, Math.max(slowest.get(bucket) ?? 0, (end - start) / 1000));
  }
  return [...slowest];
}

function clamp(ms: number): number {
  return Math.min(MAX_MS, Math.max(MIN_MS, ms));
}

function ordinal(name: string): number {
  return Number(/\d+$/.exec(name)?.[0] ?? 0);
}

function text(x: number, y: number, what: string, more = ""): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${COLOURS.text}" ${more}>${escaped(what)}</text>`;
}

function escaped(what: string): string {
  return what.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

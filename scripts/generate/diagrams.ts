import type { GeneratedFile } from "./types.ts";

/** The pictures of docs/concepts.md: a light card each, so that they can be read on light and on dark pages. */
export function diagrams(): GeneratedFile[] {
  return [
    { path: "docs/pictures/loop.svg", text: loop() },
    { path: "docs/pictures/update.svg", text: update() },
    { path: "docs/pictures/quorum.svg", text: quorum() },
    { path: "docs/pictures/identity.svg", text: identity() },
  ];
}

const INK = "#1f2328";
const GREY = "#59636e";
const LINE = "#8c959f";
const OLD = { fill: "#eaeef2", stroke: "#8c959f" };
const BUSY = { fill: "#fff1c7", stroke: "#bf8700" };
const NEW = { fill: "#d2f4d9", stroke: "#1a7f37" };
const GONE = { fill: "#ffe2e0", stroke: "#cf222e" };
const CALM = { fill: "#e4f0ff", stroke: "#0969da" };

type Paint = typeof OLD;

function card(width: number, height: number, title: string, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${title}</title>
<style>text{font-family:ui-sans-serif,system-ui,"Segoe UI","Helvetica Neue",Arial,sans-serif;font-size:14px;fill:${INK}}.s{font-size:12px;fill:${GREY}}.b{font-weight:600}.m{text-anchor:middle}</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="${LINE}"/></marker></defs>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="#ffffff" stroke="#d1d9e0"/>
${parts.join("\n")}
</svg>
`;
}

const text = (x: number, y: number, content: string, kind = "") =>
  `<text x="${x}" y="${y}"${kind === "" ? "" : ` class="${kind}"`}>${content}</text>`;

const box = (x: number, y: number, width: number, height: number, { fill, stroke }: Paint) =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="7" fill="${fill}" stroke="${stroke}" stroke-width="1.5"/>`;

const arrow = (path: string) =>
  `<path d="${path}" fill="none" stroke="${LINE}" stroke-width="2" marker-end="url(#a)"/>`;

/** A box with a head and lines below it, all in its middle. */
function station(
  x: number,
  y: number,
  width: number,
  height: number,
  paint: Paint,
  head: string,
  lines: string[],
): string {
  const middle = x + width / 2;
  const top = y + height / 2 - (lines.length * 17) / 2 + 5;
  return [
    box(x, y, width, height, paint),
    text(middle, top, head, "b m"),
    ...lines.map((line, at) => text(middle, top + 18 + at * 17, line, "s m")),
  ].join("\n");
}

function loop(): string {
  const stations: [string, Paint, string[]][] = [
    ["Observe", CALM, ["every cluster's live object,", "one snapshot each"]],
    ["Plan", CALM, ["who may act now, and", "why everybody else waits"]],
    ["Ledger", CALM, ["written first: a crash", "forgets nothing"]],
    ["Grant", CALM, ["revision, instances, turn,", "topology, epoch"]],
  ];
  const [width, gap, top] = [190, 34, 62];
  const parts = [text(24, 36, "On the hub: Lockstep", "b")];
  stations.forEach(([head, paint, lines], at) => {
    const x = 24 + at * (width + gap);
    parts.push(station(x, top, width, 84, paint, head, lines));
    if (at > 0) parts.push(arrow(`M${x - gap + 2} ${top + 42}H${x - 4}`));
  });
  const right = 24 + 3 * (width + gap) + width / 2;
  const left = 24 + width - 40;
  parts.push(text(24, 222, "In each cluster", "b"));
  const members = ["member1", "member2", "member3"];
  members.forEach((name, at) => {
    const x = 24 + at * 300;
    const lines = at === 2 ? ["its turn: it does what it was granted"] : ["runs exactly what it was granted"];
    parts.push(station(x, 236, 262, 66, at === 2 ? BUSY : OLD, name, lines));
  });
  parts.push(arrow(`M${right} ${top + 88}V230`), text(right + 10, 190, "to one cluster", "s"));
  parts.push(arrow(`M${left} 232V${top + 90}`), text(left + 10, 190, "status, for this epoch", "s"));
  return card(
    24 + 4 * width + 3 * gap + 24,
    326,
    "Observe, plan, write the ledger, grant; the clusters do the local work",
    parts,
  );
}

/** Instances in the rows, moments in the columns: what each runs, and whose turn it is. */
function update(): string {
  const rows: [string, string, boolean][] = [
    ["member1", "web-0", true],
    ["member1", "web-1", false],
    ["member2", "web-100", false],
    ["member2", "web-101", false],
    ["member3", "web-200", false],
  ];
  /** The row that restarts in each moment; -1: a gate opens. */
  const moments = [4, -1, 3, 2, -1, 1, 0, -1];
  const [left, top, wide, high] = [196, 66, 74, 34];
  const parts = [text(24, 34, "An update over three clusters, one instance at a time, the leader's cluster last", "b")];
  const done = new Set<number>();
  moments.forEach((moment, at) => {
    const x = left + at * wide;
    if (moment < 0) {
      const middle = x + wide / 2 - 3;
      parts.push(
        `<path d="M${middle} ${top - 4}V${top + rows.length * (high + 8)}" stroke="${NEW.stroke}" stroke-width="2" stroke-dasharray="4 4"/>`,
      );
      parts.push(text(middle, top + rows.length * (high + 8) + 18, "gate opens", "s m"));
      return;
    }
    rows.forEach((_, row) => {
      const paint = row === moment ? BUSY : done.has(row) ? NEW : OLD;
      const y = top + row * (high + 8);
      parts.push(box(x, y, wide - 6, high, paint));
      const word = row === moment ? "restarts" : done.has(row) ? "new" : "old";
      parts.push(text(x + (wide - 6) / 2, y + 22, word, "s m"));
    });
    done.add(moment);
  });
  rows.forEach(([cluster, name, leads], row) => {
    const y = top + row * (high + 8) + 22;
    parts.push(
      text(24, y, row === 0 || rows[row - 1]?.[0] !== cluster ? cluster : "", "b"),
      text(112, y, `${name}${leads ? " ★" : ""}`),
    );
  });
  const below = top + rows.length * (high + 8) + 18;
  parts.push(text(24, below, "★ leads", "s"));
  return card(left + moments.length * wide + 20, below + 20, "An ordered update", parts);
}

function quorum(): string {
  const cases: [string, string, Paint, string][] = [
    ["nnnnn", "one restarts: 4 of 5 ready, 3 needed", BUSY, "allowed: it is the one of maxUnavailable 1"],
    ["nnxnn", "one is broken by itself: 4 of 5 ready", GONE, "waits: the budget is used up (BudgetExhausted)"],
    [
      "xxooo",
      "a cluster of two is away: 3 of 5 ready",
      GONE,
      "waits: one more down is below the majority (QuorumAtRisk)",
    ],
  ];
  const parts = [text(24, 34, "Five voters, majority 3, maxUnavailable 1: what may be taken down", "b")];
  cases.forEach(([instances, what, paint, answer], row) => {
    const y = 62 + row * 76;
    [...instances].forEach((state, at) => {
      const restarts = row === 0 && at === 2;
      const look = restarts ? BUSY : state === "x" ? GONE : NEW;
      parts.push(
        `<circle cx="${46 + at * 46}" cy="${y + 24}" r="17" fill="${look.fill}" stroke="${look.stroke}" stroke-width="1.5"/>`,
      );
      const word = restarts ? "↻" : state === "x" ? "✕" : "✓";
      parts.push(text(46 + at * 46, y + 29, word, "m"));
    });
    parts.push(
      text(290, y + 18, what),
      `<circle cx="296" cy="${y + 36}" r="5" fill="${row === 0 ? NEW.stroke : paint.stroke}"/>`,
    );
    parts.push(text(310, y + 41, answer, "s"));
  });
  return card(724, 296, "Quorum and budget", parts);
}

function identity(): string {
  const clusters: [string, string, string[]][] = [
    ["member1", "ordinals 0 to 99", ["web-0", "web-1", "web-2"]],
    ["member2", "ordinals 100 to 199", ["web-100", "web-101"]],
    ["member3", "ordinals 200 to 299", ["web-200"]],
  ];
  const parts = [
    text(24, 34, "One space of ordinals: growing one cluster renumbers nobody, and everybody is told", "b"),
  ];
  clusters.forEach(([name, block, instances], at) => {
    const x = 24 + at * 248;
    parts.push(box(x, 54, 228, 128, { fill: "#f6f8fa", stroke: "#d1d9e0" }));
    parts.push(text(x + 16, 78, name, "b"), text(x + 16, 97, block, "s"));
    instances.forEach((instance, index) => {
      const joins = instance === "web-2";
      parts.push(box(x + 14 + index * 68, 114, 62, 50, joins ? BUSY : NEW));
      parts.push(
        text(x + 45 + index * 68, 136, instance, "s m"),
        text(x + 45 + index * 68, 154, joins ? "joining" : "member", "s m"),
      );
    });
    parts.push(arrow(`M${x + 114} 214V188`));
  });
  parts.push(box(24, 216, 724, 46, CALM));
  parts.push(
    text(386, 244, "web-topology, the same in every cluster: instances, addresses, and who is joining or leaving", "m"),
  );
  return card(772, 284, "Identity and topology", parts);
}

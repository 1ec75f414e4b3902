/** Screens as SVG: a dark window, readable on light and on dark pages. */
import type { Line, Run } from "./terminal.ts";

export interface Frame {
  readonly lines: readonly Line[];
  readonly seconds: number;
}

const CELL_WIDTH = 8.4;
const LINE_HEIGHT = 19;
const FONT_PX = 14;
const PADDING = 16;
const BAR_HEIGHT = 34;
const FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const COLOURS = {
  red: "#ff7b72",
  green: "#56d364",
  yellow: "#e3b341",
  text: "#e6edf3",
  bold: "#ffffff",
  dim: "#9198a1",
};

export function still(command: string, lines: readonly Line[], description: string): string {
  return picture(command, lines.length, widest(lines), description, [group(lines, "")], "");
}

/**
 * Frames shown one after the other, in an endless loop. A reader who wants no motion, or whose viewer supports none,
 * sees the frame `stillAt`.
 */
export function animation(command: string, frames: readonly Frame[], description: string, stillAt: number): string {
  const height = Math.max(...frames.map(({ lines }) => lines.length));
  const width = Math.max(...frames.map(({ lines }) => widest(lines)));
  const total = frames.reduce((sum, { seconds }) => sum + seconds, 0);
  let shownAt = 0;
  const rules = [`.f{visibility:hidden}#f${stillAt}{visibility:visible}`];
  const groups = frames.map(({ lines, seconds }, index) => {
    const [from, to] = [percent(shownAt / total), percent((shownAt + seconds) / total)];
    shownAt += seconds;
    const before = index === 0 ? "" : "0%{visibility:hidden}";
    const after = index === frames.length - 1 ? "" : `${to}{visibility:hidden}`;
    rules.push(
      `@keyframes f${index}{${before}${from}{visibility:visible}${after}}`,
      `@media(prefers-reduced-motion:no-preference){#f${index}{animation:f${index} ${total.toFixed(1)}s step-end infinite}}`,
    );
    return group(lines, ` id="f${index}" class="f"`);
  });
  return picture(command, height, width, description, groups, rules.join("\n"));
}

function picture(
  command: string,
  rows: number,
  columns: number,
  description: string,
  groups: readonly string[],
  rules: string,
): string {
  const width = Math.ceil(columns * CELL_WIDTH + 2 * PADDING);
  const height = BAR_HEIGHT + rows * LINE_HEIGHT + PADDING;
  const dots = ["#ff5f57", "#febc2e", "#28c840"].map(
    (fill, index) => `<circle cx="${18 + index * 18}" cy="17" r="5.5" fill="${fill}"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" xml:space="preserve">
<!-- drawn by npm run pictures from a real run -->
<title>$ ${escaped(command)}</title>
<desc>${escaped(description)}</desc>
<style>
text{font-family:${FONT};font-size:${FONT_PX}px;fill:${COLOURS.text};white-space:pre}
.b{font-weight:700;fill:${COLOURS.bold}}.d{fill:${COLOURS.dim}}
.red{fill:${COLOURS.red}}.green{fill:${COLOURS.green}}.yellow{fill:${COLOURS.yellow}}
${rules}</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="9" fill="#0d1117" stroke="#3d444d"/>
${dots.join("")}
<text x="${width / 2}" y="22" text-anchor="middle" class="d">${escaped(command)}</text>
${groups.join("\n")}
</svg>
`;
}

function group(lines: readonly Line[], attributes: string): string {
  const texts = lines.flatMap((line, row) => line.map((run) => textElement(run, row)));
  return `<g${attributes}>\n${texts.join("\n")}\n</g>`;
}

/** Each run has the width of its characters, for any font: columns stay aligned. */
function textElement({ column, text, style }: Run, row: number): string {
  const classes = [style.bold ? "b" : "", style.dim ? "d" : "", style.colour ?? ""].filter(Boolean).join(" ");
  const x = (PADDING + column * CELL_WIDTH).toFixed(1);
  const y = BAR_HEIGHT + row * LINE_HEIGHT + FONT_PX;
  const length = ([...text].length * CELL_WIDTH).toFixed(1);
  const kind = classes === "" ? "" : ` class="${classes}"`;
  return `<text x="${x}" y="${y}" textLength="${length}"${kind}>${escaped(text)}</text>`;
}

function widest(lines: readonly Line[]): number {
  return Math.max(0, ...lines.flatMap((line) => line.map(({ column, text }) => column + [...text].length)));
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

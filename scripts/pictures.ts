// Draws docs/pictures from real runs of the built program. With --check it draws only in memory, and exits 1 if a
// committed picture differs; times, ages and the moments between two steps may differ.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Recording, Session } from "./pictures/session.ts";
import { animation, type Frame, still } from "./pictures/svg.ts";
import { type Line, Terminal, textOf } from "./pictures/terminal.ts";

const ROOT = new URL("..", import.meta.url).pathname;
const FOLDER = join(ROOT, "docs/pictures");
const COLUMNS = 110;
const ROWS = 40;
const SIZE = `${COLUMNS}x${ROWS}`;
/** The shortest and the longest time that a frame is shown. */
const SHORTEST_SECONDS = 0.5;
const LONGEST_SECONDS = 1.5;
const LAST_SECONDS = 4;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences begin with the escape character
const CONTROL = /\u001b\[[?0-9;]*[A-Za-z]/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: the same
const NEXT_PICTURE = /(?=\u001b\[H\u001b\[J|\u001b\[\?1049l)/;
const BACK_TO_NORMAL = "\u001b[?1049l";

export type Pictures = Readonly<Record<string, string>>;

export async function draw(): Promise<Pictures> {
  const session = new Session();
  try {
    const up = session.start(["up"], SIZE);
    await up.until("the example", (text) => text.includes("Ctrl-C stops everything."));
    // So that the plan knows from history how long a step takes.
    await session.run(["restart", "web"], SIZE);
    const settled = await watched(session);
    writeFileSync(join(session.folder, "web-2.0.yaml"), template("example.com/web:2.0"));
    const plan = await session.run(["plan", "-f", "web-2.0.yaml"], SIZE);
    return {
      "up.svg": still("lockstep up", screen(up), "a hub, three clusters and five instances come up in order"),
      "plan.svg": still(
        "lockstep plan -f web-2.0.yaml",
        screen(plan),
        "three steps, each with its reason, quorum and budget",
      ),
      "status.svg": animation(
        "lockstep status web -w",
        settled,
        "one cluster after the other is updated, the first one last",
        midUpdate(settled),
      ),
    };
  } finally {
    await session.close();
  }
}

/** Every picture that `status -w` draws during an update, from the start to the end. */
async function watched(session: Session): Promise<Frame[]> {
  const watch = session.start(["status", "web", "-w"], SIZE);
  await watch.until("the end of the update", (text) =>
    /member1 +Updating[\s\S]*StatefulSet {2}Settled\n/.test(text.replaceAll(CONTROL, "")),
  );
  await watch.end();
  const terminal = new Terminal(COLUMNS);
  const shots: { lines: Line[]; atMs: number }[] = [];
  for (const { text, atMs } of watch.written) {
    for (const part of text.split(NEXT_PICTURE)) {
      if (part.startsWith(BACK_TO_NORMAL)) return framesOf(shots);
      terminal.write(part);
      shots.push({ lines: terminal.lines(), atMs });
    }
  }
  return framesOf(shots);
}

function framesOf(shots: readonly { lines: Line[]; atMs: number }[]): Frame[] {
  const different = shots.filter(
    ({ lines }, index) => lines.length > 0 && skeleton(lines) !== skeleton(shots[index - 1]?.lines ?? []),
  );
  return different.map(({ lines, atMs }, index) => {
    const next = different[index + 1];
    const seconds = next
      ? Math.min(LONGEST_SECONDS, Math.max(SHORTEST_SECONDS, (next.atMs - atMs) / 1000))
      : LAST_SECONDS;
    return { lines, seconds };
  });
}

/** The most useful frame if nothing moves: in the middle of the update. */
function midUpdate(frames: readonly Frame[]): number {
  const updating = frames.flatMap(({ lines }, index) => (/─ \S+ +Updating/.test(skeleton(lines)) ? [index] : []));
  return updating[Math.floor(updating.length / 2)] ?? frames.length - 1;
}

function screen(recording: Recording): Line[] {
  const terminal = new Terminal(COLUMNS);
  for (const { text } of recording.written) terminal.write(text);
  return terminal.lines();
}

/** Except for what differs each time: times, ages, the revision of a restart at this second, the dashboard's link. */
function timeless(text: string): string {
  const linked = text.replaceAll(/127\.0\.0\.1:\d+\/#link=[\w-]+/g, "127.0.0.1:PORT/#link=SECRET");
  return linked.replaceAll(/\d+(\.\d+)? ?m?s\b/g, "N s").replaceAll(/\bweb-[a-z0-9]{10}\b/g, "web-REVISION");
}

function skeleton(lines: readonly Line[]): string {
  return timeless(lines.map(textOf).join("\n"));
}

function template(image: string): string {
  const text = readFileSync(join(ROOT, "examples/statefulset/3-statefulset.yaml"), "utf8");
  return text.replace("example.com/web:1.0", image);
}

/** The text of a picture's last frame. */
export function shownBy(svg: string): string {
  const last = svg.slice(svg.lastIndexOf("<g"));
  const texts = [...last.matchAll(/<text x="([\d.]+)" y="(\d+)"[^>]*>([^<]*)</g)];
  return texts.map(([, , y, text = ""]) => `${y} ${timeless(text)}`).join("\n");
}

async function main(): Promise<number> {
  const pictures = await draw();
  if (!process.argv.includes("--check")) {
    mkdirSync(FOLDER, { recursive: true });
    for (const [name, svg] of Object.entries(pictures)) writeFileSync(join(FOLDER, name), svg);
    return 0;
  }
  const outdated = Object.entries(pictures).filter(
    ([name, svg]) => shownBy(svg) !== shownBy(readFileSync(join(FOLDER, name), "utf8")),
  );
  for (const [name] of outdated) console.error(`docs/pictures/${name} is not current: run npm run pictures`);
  return outdated.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exit(await main());

/** What a page asks its reader to do, in order: shell blocks, files to write, and what a command answers. */

export type Task =
  /** Run it. */
  | {
      readonly kind: "run";
      readonly line: number;
      readonly code: string;
      readonly exit: number;
      readonly answer?: string;
    }
  /** It runs until it is stopped; when it prints this, the reader continues in another terminal. */
  | { readonly kind: "start"; readonly line: number; readonly code: string; readonly until: string }
  /** Save the block under that name. */
  | { readonly kind: "file"; readonly line: number; readonly name: string; readonly text: string }
  /** A machine cannot do it; the page says why. */
  | { readonly kind: "skipped"; readonly line: number; readonly code: string; readonly reason: string };

/** Thrown for a marker or a block that cannot be executed as written. */
export class PageError extends Error {
  override readonly name = "PageError";

  constructor(page: string, line: number, message: string) {
    super(`${page}:${line}: ${message}`);
  }
}

const SHELL = new Set(["sh", "bash", "shell", "console", "zsh"]);
/** `<!-- run: ... -->` and `<!-- file: NAME -->`, right above the block that they speak of. */
const MARKER = /^<!-- (run|file): ([\s\S]*?)-->$/;

interface Part {
  readonly kind: "marker" | "fence" | "text";
  readonly line: number;
  readonly info: string;
  readonly text: string;
}

export function tasksOf(page: string, markdown: string): Task[] {
  const tasks: Task[] = [];
  const parts = [...partsOf(page, markdown)];
  parts.forEach((part, index) => {
    const marker = parts[index - 1]?.kind === "marker" ? parts[index - 1]?.text : undefined;
    if (part.kind === "marker") {
      const hidden = hiddenTask(part);
      if (hidden) tasks.push(hidden);
      else if (parts[index + 1]?.kind !== "fence") {
        throw new PageError(page, part.line, `'${part.text}' stands above no block`);
      }
    } else if (part.kind === "fence" && SHELL.has(part.info)) {
      tasks.push(shellTask(page, part, marker, answerTo(parts, index)));
    } else if (part.kind === "fence" && marker !== undefined) {
      const name = /^file: (\S+)\s*$/.exec(marker)?.[1];
      if (name === undefined)
        throw new PageError(page, part.line, `'${marker}' is nothing for a block of ${part.info}`);
      tasks.push({ kind: "file", line: part.line, name, text: part.text });
    }
  });
  return tasks;
}

/** What every reader has done before they come here. */
function hiddenTask({ line, text }: Part): Task | undefined {
  const [, until, code] = /^run: hidden(?: until "(.+)")?\n([\s\S]*)$/.exec(text) ?? [];
  if (code === undefined) return undefined;
  return until === undefined ? { kind: "run", line, code, exit: 0 } : { kind: "start", line, code, until };
}

function shellTask(
  page: string,
  { line, text: code }: Part,
  marker: string | undefined,
  answer: string | undefined,
): Task {
  if (marker === undefined || marker.startsWith("run: hidden")) {
    return { kind: "run", line, code, exit: 0, ...(answer !== undefined && { answer }) };
  }
  const [, until] = /^run: until "(.+)"\s*$/.exec(marker) ?? [];
  if (until !== undefined) return { kind: "start", line, code, until };
  const [, exit] = /^run: exits (\d+)\s*$/.exec(marker) ?? [];
  if (exit !== undefined)
    return { kind: "run", line, code, exit: Number(exit), ...(answer !== undefined && { answer }) };
  const [, reason] = /^run: no, (.{10,})$/s.exec(marker) ?? [];
  if (reason !== undefined) return { kind: "skipped", line, code, reason: reason.trim() };
  throw new PageError(page, line, `'${marker}' is not known; use until "TEXT", exits N, or no, REASON`);
}

/** A block of plain text right below a shell block is what that one prints. */
function answerTo(parts: readonly Part[], index: number): string | undefined {
  const next = parts[index + 1];
  return next?.kind === "fence" && next.info === "text" ? next.text : undefined;
}

function* partsOf(page: string, markdown: string): Generator<Part> {
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const fence = /^(\s*)(```+)(\S*)/.exec(line);
    if (fence) {
      const [, indent = "", ticks = "```", info = ""] = fence;
      const end = lines.findIndex((each, index) => index > at && each.trim() === ticks);
      if (end < 0) throw new PageError(page, at + 1, "a block is never closed");
      const inside = lines
        .slice(at + 1, end)
        .map((each) => (each.startsWith(indent) ? each.slice(indent.length) : each));
      yield { kind: "fence", line: at + 1, info, text: `${inside.join("\n")}\n` };
      at = end;
    } else if (line.startsWith("<!-- run:") || line.startsWith("<!-- file:")) {
      const end = lines.findIndex((each, index) => index >= at && each.trimEnd().endsWith("-->"));
      if (end < 0) throw new PageError(page, at + 1, "a comment is never closed");
      const [, verb = "", rest = ""] =
        MARKER.exec(
          lines
            .slice(at, end + 1)
            .join("\n")
            .trim(),
        ) ?? [];
      yield {
        kind: "marker",
        line: at + 1,
        info: "",
        text: `${verb}: ${rest.replace(/\s+$/, verb === "run" && rest.includes("\n") ? "\n" : "")}`,
      };
      at = end;
    } else if (line.trim() !== "") yield { kind: "text", line: at + 1, info: "", text: line };
  }
}

/**
 * Undefined: the output says what the page shows. `...` stands for anything, a line of its own for any number of lines.
 */
export function missingIn(output: string, answer: string): string | undefined {
  const printed = output.split("\n").map((line) => line.trimEnd());
  let from = 0;
  for (const line of answer.split("\n")) {
    const wanted = line.trimEnd();
    if (wanted === "" || wanted === "...") continue;
    const pattern = new RegExp(`^${wanted.split("...").map(escaped).join(".*")}$`);
    const found = printed.findIndex((each, index) => index >= from && pattern.test(each));
    if (found < 0) return wanted;
    from = found + 1;
  }
  return undefined;
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

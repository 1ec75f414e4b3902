import { stringify } from "yaml";
import type { Json } from "../../runtime/index.ts";

/** Lines shown before and after a change. */
const CONTEXT_LINES = 3;
/** Longer texts are shown as a whole: aligning them line by line would take too long. */
const MAX_CELLS = 4_000_000;

/**
 * Both values as YAML with sorted keys, line by line: ` ` equal, `-` only before, `+` only after. Empty: no difference.
 */
export function yamlDiff(before: Json | undefined, after: Json | undefined): string[] {
  return lineDiff(toLines(before), toLines(after));
}

export function toYaml(value: Json | undefined): string {
  return stringify(value, { sortMapEntries: true, lineWidth: 0 });
}

function toLines(value: Json | undefined): string[] {
  return value === undefined ? [] : toYaml(value).trimEnd().split("\n");
}

type Edit = { mark: " " | "-" | "+"; line: string };

function lineDiff(before: string[], after: string[]): string[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end++;
  }
  const edits: Edit[] = [
    ...before.slice(0, start).map((line): Edit => ({ mark: " ", line })),
    ...align(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map((line): Edit => ({ mark: " ", line })),
  ];
  return withContext(edits);
}

/** The longest common subsequence, from a table of its lengths for all pairs of tails. */
function align(before: string[], after: string[]): Edit[] {
  const removed = before.map((line): Edit => ({ mark: "-", line }));
  const added = after.map((line): Edit => ({ mark: "+", line }));
  if (before.length * after.length > MAX_CELLS) return [...removed, ...added];
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const edits: Edit[] = [];
  let row = 0;
  let column = 0;
  while (row < before.length && column < after.length) {
    const line = before[row] ?? "";
    if (line === after[column]) {
      edits.push({ mark: " ", line });
      row++;
      column++;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      edits.push({ mark: "-", line });
      row++;
    } else {
      edits.push({ mark: "+", line: after[column] ?? "" });
      column++;
    }
  }
  return [...edits, ...removed.slice(row), ...added.slice(column)];
}

function withContext(edits: readonly Edit[]): string[] {
  const shown = new Set<number>();
  for (const [index, { mark }] of edits.entries()) {
    if (mark === " ") continue;
    for (let near = index - CONTEXT_LINES; near <= index + CONTEXT_LINES; near++) shown.add(near);
  }
  const lines: string[] = [];
  let last = -1;
  for (const [index, { mark, line }] of edits.entries()) {
    if (!shown.has(index)) continue;
    if (lines.length > 0 && index !== last + 1) lines.push("  ...");
    lines.push(`${mark} ${line}`);
    last = index;
  }
  return lines;
}

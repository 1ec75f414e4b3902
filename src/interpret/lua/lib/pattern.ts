import type { Meter } from "../meter.ts";
import { parsePattern } from "./pattern-parser.ts";
import { BadPattern, type Pattern } from "./pattern-program.ts";

/** Pairs of positions: the whole match, then each capture. A position capture is stored as a pair of `~position`. */
export type Captures = number[];

/** Where backtracking goes on, three numbers each: pc and sp of another way, or -1 with a slot and its old value. */
const RESTORE = -1;
const STACK_ENTRY_BYTES = 24;

/** Matches at exactly one position. The stack is explicit: no text makes it recurse. */
export function matchAt(meter: Meter, { program }: Pattern, text: string, start: number): Captures | undefined {
  const captures: number[] = [];
  const stack: number[] = [];
  let highWater = 0;
  let pc = 0;
  let sp = start;
  for (;;) {
    meter.burn(1);
    const instruction = program[pc];
    if (instruction === undefined) return undefined;
    let ok = true;
    switch (instruction.op) {
      case "byte":
        ok = sp < text.length && instruction.matches(text.charCodeAt(sp));
        sp++;
        pc++;
        break;
      case "split":
        stack.push(instruction.second, sp, 0);
        pc = instruction.first;
        break;
      case "jump":
        pc = instruction.to;
        break;
      case "save":
        while (captures.length <= instruction.slot) captures.push(0);
        stack.push(RESTORE, instruction.slot, captures[instruction.slot] ?? 0);
        captures[instruction.slot] = sp;
        pc++;
        break;
      case "position":
        while (captures.length <= instruction.slot + 1) captures.push(0);
        captures[instruction.slot] = ~sp;
        captures[instruction.slot + 1] = ~sp;
        pc++;
        break;
      case "balance": {
        const end = balanced(text, sp, instruction.open, instruction.close);
        meter.burn(Math.max(end - sp, 0));
        ok = end >= 0;
        sp = end;
        pc++;
        break;
      }
      case "back": {
        if (instruction.slot >= captures.length - 1) throw new BadPattern("invalid capture index");
        const from = captures[instruction.slot] ?? 0;
        const earlier = from < 0 ? "" : text.slice(from, captures[instruction.slot + 1]);
        meter.burn(earlier.length);
        ok = text.startsWith(earlier, sp);
        sp += earlier.length;
        pc++;
        break;
      }
      case "end":
        if (sp >= text.length) return captures;
        ok = false;
        break;
      case "match":
        return captures;
    }
    if (stack.length > highWater) {
      meter.allocate(STACK_ENTRY_BYTES);
      highWater = stack.length;
    }
    if (ok) continue;
    for (;;) {
      const value = stack.pop();
      const position = stack.pop();
      const way = stack.pop();
      if (way === undefined || position === undefined || value === undefined) return undefined;
      if (way === RESTORE) captures[position] = value;
      else {
        pc = way;
        sp = position;
        break;
      }
    }
  }
}

/** The position after the closing character that balances the opening one at `start`; -1 if there is none. */
function balanced(text: string, start: number, open: number, close: number): number {
  if (text.charCodeAt(start) !== open) return -1;
  let level = 1;
  for (let at = start + 1; at < text.length; at++) {
    const byte = text.charCodeAt(at);
    if (byte === close) {
      level--;
      if (level === 0) return at + 1;
    } else if (byte === open) level++;
  }
  return -1;
}

/** The first match at or after a position. */
export function findFrom(meter: Meter, pattern: Pattern, text: string, start: number): Captures | undefined {
  for (let at = start; at <= text.length; at++) {
    const captures = matchAt(meter, pattern, text, at);
    if (captures !== undefined || pattern.anchored) return captures;
  }
  return undefined;
}

/** Patterns repeat from call to call; parsing each once pays. */
export class PatternCache {
  private readonly parsed = new Map<string, Pattern>();

  get(pattern: string): Pattern {
    const known = this.parsed.get(pattern);
    if (known !== undefined) return known;
    const parsed = parsePattern(pattern);
    // A script has few patterns, unless it makes them up as it goes; then none is worth keeping.
    if (this.parsed.size >= MAX_CACHED_PATTERNS) this.parsed.clear();
    if (pattern.length <= MAX_CACHED_PATTERN_BYTES) this.parsed.set(pattern, parsed);
    return parsed;
  }
}

const MAX_CACHED_PATTERNS = 50;
const MAX_CACHED_PATTERN_BYTES = 200;

import { type Meter, WALK_STEPS } from "../meter.ts";
import { parsePattern, payForParsing } from "./pattern-parser.ts";
import { BadPattern, type Pattern } from "./pattern-program.ts";

/** Pairs of positions: the whole match, then each capture. A position capture is stored as a pair of `~position`. */
export type Captures = number[];

/** The backtracking stack, three numbers each: pc and sp of an alternative, or -1 with a slot and its old value. */
const RESTORE = -1;
/** The stack grows by half whenever it is full, and is copied then. */
const STACK_ENTRY_BYTES = 96;
/** The cost of starting a match at another position. */
const ATTEMPT_FUEL = 10;
const CAPTURE_BYTES = 32;

/**
 * Matches one pattern against one text, at one position after the other. The stack is explicit: there is no recursion.
 */
class Matcher {
  readonly #meter: Meter;
  readonly #pattern: Pattern;
  readonly #text: string;
  readonly #captures: Captures;
  readonly #stack: number[] = [];
  #top = 0;

  constructor(meter: Meter, pattern: Pattern, text: string) {
    this.#meter = meter;
    this.#pattern = pattern;
    this.#text = text;
    meter.allocate(2 * pattern.slots * CAPTURE_BYTES);
    this.#captures = new Array<number>(pattern.slots).fill(0);
  }

  /** Matches at exactly one position. */
  matchAt(start: number): Captures | undefined {
    const meter = this.#meter;
    const text = this.#text;
    const captures = this.#captures;
    const { program, slots } = this.#pattern;
    meter.burn(ATTEMPT_FUEL + slots);
    captures.fill(0);
    this.#top = 0;
    /** The captures that this attempt has reached: those of lower slots. */
    let known = 0;
    let pc = 0;
    let sp = start;
    for (;;) {
      meter.burn(1);
      const instruction = program[pc];
      if (instruction === undefined) return undefined;
      let ok = true;
      switch (instruction.op) {
        case "char":
          ok = text.charCodeAt(sp) === instruction.code;
          sp++;
          pc++;
          break;
        case "byte":
          ok = sp < text.length && instruction.matches[text.charCodeAt(sp)] === 1;
          sp++;
          pc++;
          break;
        case "split":
          meter.burn(1);
          this.#push(instruction.second, sp, 0);
          pc = instruction.first;
          break;
        case "jump":
          pc = instruction.to;
          break;
        case "save":
          this.#push(RESTORE, instruction.slot, captures[instruction.slot] ?? 0);
          captures[instruction.slot] = sp;
          known = Math.max(known, instruction.slot + 1);
          pc++;
          break;
        case "position":
          captures[instruction.slot] = ~sp;
          captures[instruction.slot + 1] = ~sp;
          known = Math.max(known, instruction.slot + 2);
          pc++;
          break;
        case "balance": {
          const end = balanced(meter, text, sp, instruction.open, instruction.close);
          ok = end >= 0;
          sp = end;
          pc++;
          break;
        }
        case "back": {
          if (instruction.slot >= known - 1) throw new BadPattern("invalid capture index");
          const from = captures[instruction.slot] ?? 0;
          const to = captures[instruction.slot + 1] ?? 0;
          const length = from < 0 ? 0 : Math.max(to - from, 0);
          meter.burn(length);
          ok = text.startsWith(text.slice(from, from + length), sp);
          sp += length;
          pc++;
          break;
        }
        case "end":
          if (sp >= text.length) return captures.slice();
          ok = false;
          break;
        case "match":
          return captures.slice();
      }
      if (ok) continue;
      for (;;) {
        if (this.#top === 0) return undefined;
        this.#top -= 3;
        const way = this.#stack[this.#top] ?? 0;
        const position = this.#stack[this.#top + 1] ?? 0;
        if (way === RESTORE) captures[position] = this.#stack[this.#top + 2] ?? 0;
        else {
          pc = way;
          sp = position;
          break;
        }
      }
    }
  }

  #push(way: number, position: number, value: number): void {
    const stack = this.#stack;
    const top = this.#top;
    if (top >= stack.length) this.#meter.allocate(STACK_ENTRY_BYTES);
    stack[top] = way;
    stack[top + 1] = position;
    stack[top + 2] = value;
    this.#top = top + 3;
  }
}

/**
 * The position after the closing character that balances the opening one at `start`; -1 if there is none. Its length is
 * unknown in advance, so it is charged step by step.
 */
function balanced(meter: Meter, text: string, start: number, open: number, close: number): number {
  if (text.charCodeAt(start) !== open) return -1;
  let level = 1;
  for (let at = start + 1; at < text.length; at++) {
    if ((at - start - 1) % WALK_STEPS === 0) meter.burn(WALK_STEPS);
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
  const matcher = new Matcher(meter, pattern, text);
  for (let at = start; at <= text.length; at++) {
    const captures = matcher.matchAt(at);
    if (captures !== undefined || pattern.anchored) return captures;
  }
  return undefined;
}

/** Patterns repeat inside a call, so each is parsed once. The cache lives as long as the call that pays for it. */
export class PatternCache {
  readonly #parsed = new Map<string, Pattern>();
  readonly #meter: Meter;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  get isEmpty(): boolean {
    return this.#parsed.size === 0;
  }

  get(pattern: string): Pattern {
    const known = this.#parsed.get(pattern);
    if (known !== undefined) return known;
    payForParsing(this.#meter, pattern);
    const parsed = parsePattern(pattern);
    // A script has few patterns, unless it generates them; then none is worth caching.
    if (this.#parsed.size >= MAX_CACHED_PATTERNS) this.#parsed.clear();
    if (pattern.length <= MAX_CACHED_PATTERN_BYTES) this.#parsed.set(pattern, parsed);
    return parsed;
  }
}

const MAX_CACHED_PATTERNS = 50;
const MAX_CACHED_PATTERN_BYTES = 200;

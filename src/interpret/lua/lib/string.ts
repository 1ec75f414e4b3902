import { decode, encode, isAscii } from "../bytes.ts";
import { CLOSURE_BYTES, type Meter } from "../meter.ts";
import { LuaFunction, type LuaResult, type LuaValue, NOTHING } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Arguments, Builtin } from "./arguments.ts";
import { formatString } from "./format.ts";
import { type Captures, findFrom } from "./pattern.ts";
import { BadPattern, type Pattern } from "./pattern-program.ts";
import { findPlain } from "./search.ts";

/** Karmada's own limit on every string argument of this library, with its wording. */
const MAX_INPUT_BYTES = 1_000_000;
const REFUSED = ["dump", "gsub", "rep"];

export function stringLibrary(vm: Vm): Record<string, Builtin> {
  const { meter } = vm;
  const refused = Object.fromEntries(
    REFUSED.map((name): [string, Builtin] => [
      name,
      (_args, check) =>
        check.raise(
          `The Lua function string.${name} is not supported by Karmada. If you believe this function is essential for ` +
            "your use case, please submit an issue to let us know why you need it.",
        ),
    ]),
  );
  /** The string argument, within Karmada's limit. */
  const input = (args: LuaValue[], n: number, check: Arguments): string => {
    const text = check.string(args, n);
    if (text.length > MAX_INPUT_BYTES) {
      check.raise(
        `string length ${text.length} exceeds the maximum allowed input string length ${MAX_INPUT_BYTES} in Karmada ` +
          "lua string lib, please check your lua script.",
      );
    }
    return text;
  };
  const gmatch: Builtin = (args, check) => gmatchOf(vm, input(args, 1, check), input(args, 2, check), check);
  return {
    ...refused,
    byte: (args, check) => bytesOf(vm, input(args, 1, check), args, check),
    char: (args, check) => {
      meter.burn(args.length * 2);
      meter.text(args.length * 2);
      const bytes = Buffer.alloc(args.length);
      for (let n = 1; n <= args.length; n++) bytes[n - 1] = check.integer(args, n) & 0xff;
      return bytes.toString("latin1");
    },
    find: (args, check) => find(vm, input(args, 1, check), input(args, 2, check), args, check),
    format: (args, check) => formatString(vm, input(args, 1, check), args),
    gfind: gmatch,
    gmatch,
    len: (args, check) => check.string(args, 1).length,
    lower: (args, check) => changeCase(meter, input(args, 1, check), (text) => text.toLowerCase()),
    match: (args, check) => {
      const text = input(args, 1, check);
      const pattern = input(args, 2, check);
      const offset = check.integerOr(args, 3, 1);
      const start = Math.max((offset < 0 ? text.length + offset + 1 : offset) - 1, 0);
      const captures = run(vm, pattern, check, (parsed) => findFrom(meter, parsed, text, start));
      return captures === undefined ? NOTHING : capturedValues(meter, text, captures);
    },
    reverse: (args, check) => {
      const text = input(args, 1, check);
      meter.text(text.length * 3);
      return Buffer.from(text, "latin1").reverse().toString("latin1");
    },
    sub: (args, check) => {
      const text = input(args, 1, check);
      const start = startPosition(text, check.integer(args, 2));
      const last = check.integerOr(args, 3, -1);
      const end = Math.min(Math.max(last < 0 ? text.length + last + 1 : last, 0), text.length);
      return start >= text.length || end < start ? "" : slice(meter, text, start, end);
    },
    upper: (args, check) => changeCase(meter, input(args, 1, check), (text) => text.toUpperCase()),
  };
}

/** Converts a Lua position (1 is the first, -1 the last) to an offset. */
function startPosition(text: string, position: number): number {
  const offset = position === 0 ? 0 : position - 1;
  return Math.max(offset < 0 ? text.length + offset + 1 : offset, 0);
}

/** V8 may keep the whole text for a part of it; the text was charged when it was created. */
function slice(meter: Meter, text: string, start: number, end: number): string {
  meter.text(end - start);
  return text.slice(start, end);
}

/** The cost of changing case byte by byte, and of traversing text character by character. */
const CASE_SHIFT = 2;
const CHARACTER_FUEL = 16;
const CHARACTER_BYTES = 48;

/** Character by character, as in Go: a letter whose other case has several letters stays. */
function changeCase(meter: Meter, bytes: string, change: (text: string) => string): string {
  meter.text(bytes.length);
  meter.burn(bytes.length >>> CASE_SHIFT);
  if (isAscii(bytes)) return change(bytes);
  meter.burn(bytes.length * CHARACTER_FUEL);
  meter.allocate(bytes.length * CHARACTER_BYTES);
  const changed = Array.from(decode(meter, bytes), (rune) => {
    const other = change(rune);
    return other.length === 1 || [...other].length === 1 ? other : rune;
  });
  return encode(meter, changed.join(""));
}

function bytesOf(vm: Vm, text: string, args: LuaValue[], check: Arguments): LuaValue[] {
  let start = check.integerOr(args, 2, 1) - 1;
  let end = check.integerOr(args, 3, -1);
  if (start < 0) start = text.length + start + 1;
  if (end < 0) end = text.length + end + 1;
  if (args.length === 2) return start < 0 || start >= text.length ? NOTHING : [text.charCodeAt(start)];
  const from = Math.max(start, 0);
  const to = Math.min(end, text.length);
  vm.meter.list(Math.max(to - from, 0));
  const values: LuaValue[] = [];
  for (let i = from; i < to; i++) values.push(text.charCodeAt(i));
  return values;
}

function find(vm: Vm, text: string, pattern: string, args: LuaValue[], check: Arguments): LuaResult {
  if (pattern === "") return [1, 0];
  const start = startPosition(text, check.integerOr(args, 3, 1));
  const plain = args[3];
  if (args.length === 4 && plain !== undefined && plain !== false) {
    const at = findPlain(vm.meter, text, pattern, start);
    return at < 0 ? undefined : [at + 1, at + pattern.length];
  }
  const captures = run(vm, pattern, check, (parsed) => findFrom(vm.meter, parsed, text, start));
  if (captures === undefined) return undefined;
  return [(captures[0] ?? 0) + 1, captures[1], ...captured(vm.meter, text, captures)];
}

/** A match that was not returned yet: its list, and its position in the list of matches. */
const MATCH_BYTES = 64;
const CAPTURE_BYTES = 8;

/** All matches are found at the first call, as in gopher-lua; an invalid pattern fails there. */
function gmatchOf(vm: Vm, text: string, pattern: string, check: Arguments): LuaFunction {
  const { meter } = vm;
  meter.allocate(CLOSURE_BYTES);
  const matches = run(vm, pattern, check, (parsed) => {
    const found: Captures[] = [];
    for (let at = 0; at <= text.length; ) {
      meter.allocate(MATCH_BYTES + parsed.slots * CAPTURE_BYTES);
      const captures = findFrom(meter, parsed, text, at);
      if (captures === undefined) break;
      found.push(captures);
      if (parsed.anchored) break;
      at = Math.max(captures[1] ?? 0, (captures[0] ?? 0) + 1);
    }
    return found;
  });
  let next = 0;
  return new LuaFunction("gmatch", () => {
    const captures = matches[next++];
    return captures === undefined ? NOTHING : capturedValues(meter, text, captures);
  });
}

/** The captures, or the whole match if the pattern has none. */
function capturedValues(meter: Meter, text: string, captures: Captures): LuaValue[] {
  if (captures.length > 2) return captured(meter, text, captures);
  return [slice(meter, text, captures[0] ?? 0, captures[1] ?? 0)];
}

function captured(meter: Meter, text: string, captures: Captures): LuaValue[] {
  meter.list(captures.length);
  const values: LuaValue[] = [];
  for (let slot = 2; slot < captures.length; slot += 2) {
    const from = captures[slot] ?? 0;
    const to = captures[slot + 1] ?? 0;
    values.push(from < 0 ? ~from + 1 : slice(meter, text, from, Math.max(from, to)));
  }
  return values;
}

function run<T>(vm: Vm, pattern: string, check: Arguments, match: (parsed: Pattern) => T): T {
  try {
    vm.meter.burn(pattern.length);
    return match(vm.patterns.get(pattern));
  } catch (thrown) {
    if (thrown instanceof BadPattern) return check.raise(thrown.reason);
    throw thrown;
  }
}

import { isAscii, runes, textToBytes } from "../bytes.ts";
import { type Meter, SLOT_BYTES } from "../meter.ts";
import { LuaFunction, type LuaResult, type LuaValue, NOTHING } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Arguments, Builtin } from "./arguments.ts";
import { formatString } from "./format.ts";
import { type Captures, findFrom } from "./pattern.ts";
import { BadPattern, type Pattern } from "./pattern-program.ts";

/** Karmada's own limit on every string that a function of this library takes, with its wording. */
const MAX_INPUT_BYTES = 1_000_000;
/** Going through text character by character takes that much longer than by bytes. */
const RUNE_FUEL = 10;
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
  /** The string argument, within Karmada's limit and paid for. */
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
  const paid = (args: LuaValue[], n: number, check: Arguments): string => {
    const text = input(args, n, check);
    meter.burn(text.length);
    return text;
  };
  const gmatch: Builtin = (args, check) => gmatchOf(vm, paid(args, 1, check), paid(args, 2, check), check);
  return {
    ...refused,
    byte: (args, check) => bytesOf(vm, input(args, 1, check), args, check),
    char: (args, check) => {
      meter.burn(args.length);
      let text = "";
      for (let n = 1; n <= args.length; n++) text += String.fromCharCode(check.integer(args, n) & 0xff);
      return meter.string(text);
    },
    find: (args, check) => find(vm, input(args, 1, check), input(args, 2, check), args, check),
    format: (args, check) => meter.string(formatString(vm, paid(args, 1, check), args.slice(1))),
    gfind: gmatch,
    gmatch,
    len: (args, check) => check.string(args, 1).length,
    lower: (args, check) => meter.string(changeCase(meter, paid(args, 1, check), (text) => text.toLowerCase())),
    match: (args, check) => {
      const text = input(args, 1, check);
      const pattern = input(args, 2, check);
      const offset = check.integerOr(args, 3, 1);
      const start = Math.max((offset < 0 ? text.length + offset + 1 : offset) - 1, 0);
      const captures = run(vm, pattern, check, (parsed) => findFrom(meter, parsed, text, start));
      return captures === undefined ? NOTHING : capturedValues(text, captures);
    },
    reverse: (args, check) => meter.string([...paid(args, 1, check)].reverse().join("")),
    sub: (args, check) => {
      const text = input(args, 1, check);
      const start = startPosition(text, check.integer(args, 2));
      const last = check.integerOr(args, 3, -1);
      const end = Math.min(Math.max(last < 0 ? text.length + last + 1 : last, 0), text.length);
      return start >= text.length || end < start ? "" : meter.string(text.slice(start, end));
    },
    upper: (args, check) => meter.string(changeCase(meter, paid(args, 1, check), (text) => text.toUpperCase())),
  };
}

/** From a position as Lua counts (1 is the first, -1 the last) to an offset. */
function startPosition(text: string, position: number): number {
  const offset = position === 0 ? 0 : position - 1;
  return Math.max(offset < 0 ? text.length + offset + 1 : offset, 0);
}

/** Character by character, as Go does it: a letter whose other case has several letters stays. */
function changeCase(meter: Meter, bytes: string, change: (text: string) => string): string {
  if (isAscii(bytes)) return change(bytes);
  meter.burn(bytes.length * RUNE_FUEL);
  let text = "";
  for (const rune of runes(bytes)) {
    const changed = change(rune);
    text += [...changed].length === 1 ? changed : rune;
  }
  return textToBytes(text);
}

function bytesOf(vm: Vm, text: string, args: LuaValue[], check: Arguments): LuaValue[] {
  let start = check.integerOr(args, 2, 1) - 1;
  let end = check.integerOr(args, 3, -1);
  if (start < 0) start = text.length + start + 1;
  if (end < 0) end = text.length + end + 1;
  if (args.length === 2) return start < 0 || start >= text.length ? NOTHING : [text.charCodeAt(start)];
  const from = Math.max(start, 0);
  const to = Math.min(end, text.length);
  vm.meter.burn(Math.max(to - from, 0));
  vm.meter.allocate(SLOT_BYTES * Math.max(to - from, 0));
  const values: LuaValue[] = [];
  for (let i = from; i < to; i++) values.push(text.charCodeAt(i));
  return values;
}

function find(vm: Vm, text: string, pattern: string, args: LuaValue[], check: Arguments): LuaResult {
  if (pattern === "") return [1, 0];
  const start = startPosition(text, check.integerOr(args, 3, 1));
  const plain = args[3];
  if (args.length === 4 && plain !== undefined && plain !== false) {
    vm.meter.burn(text.length);
    const at = text.indexOf(pattern, start);
    return at < 0 ? undefined : [at + 1, at + pattern.length];
  }
  const captures = run(vm, pattern, check, (parsed) => findFrom(vm.meter, parsed, text, start));
  if (captures === undefined) return undefined;
  return [(captures[0] ?? 0) + 1, captures[1], ...captured(text, captures)];
}

/** All matches are found at the first call, as in gopher-lua; a pattern that fails does so there. */
function gmatchOf(vm: Vm, text: string, pattern: string, check: Arguments): LuaFunction {
  const matches = run(vm, pattern, check, (parsed) => {
    const found: Captures[] = [];
    for (let at = 0; at <= text.length; ) {
      const captures = findFrom(vm.meter, parsed, text, at);
      if (captures === undefined) break;
      vm.meter.allocate(64);
      found.push(captures);
      if (parsed.anchored) break;
      at = Math.max(captures[1] ?? 0, (captures[0] ?? 0) + 1);
    }
    return found;
  });
  let next = 0;
  return new LuaFunction("gmatch", () => {
    const captures = matches[next++];
    return captures === undefined ? NOTHING : capturedValues(text, captures);
  });
}

/** The captures, or the whole match where the pattern has none. */
function capturedValues(text: string, captures: Captures): LuaValue[] {
  return captures.length > 2 ? captured(text, captures) : [text.slice(captures[0], captures[1])];
}

function captured(text: string, captures: Captures): LuaValue[] {
  const values: LuaValue[] = [];
  for (let slot = 2; slot < captures.length; slot += 2) {
    const from = captures[slot] ?? 0;
    values.push(from < 0 ? ~from + 1 : text.slice(from, captures[slot + 1]));
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

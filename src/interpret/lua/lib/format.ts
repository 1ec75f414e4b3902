import { decode, encode, isAscii, textToBytes } from "../bytes.ts";
import type { Meter } from "../meter.ts";
import { isInt64, numberToString, parseNumber, textOfNumber, toInt64 } from "../numbers.ts";
import { toText } from "../operators.ts";
import { type LuaValue, typeName } from "../values.ts";
import type { Vm } from "../vm.ts";
import { formatFloat, payForFloat } from "./float.ts";

/** Go refuses wider fields than this. */
const MAX_WIDTH = 1_000_000;

interface Directive {
  readonly minus: boolean;
  readonly plus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
  readonly width: number;
  readonly precision: number | undefined;
  readonly verb: string;
}

const DIRECTIVE = /%([-+# 0]*)(\d*)(?:\.(\d*))?(.?)/gs;
/** The cost of reading one directive of a format and converting an ordinary value for it. */
const DIRECTIVE_FUEL = 40;
const DIRECTIVE_BYTES = 256;

/** string.format is Go's fmt.Sprintf in gopher-lua, including its output for a verb that does not match its value. */
export function formatString(vm: Vm, format: string, args: readonly LuaValue[]): string {
  const { meter } = vm;
  meter.text(format.length);
  meter.burn(format.length);
  const signs = count(format, "%");
  // All at once: V8 finds every directive before it replaces the first one.
  meter.burn(signs * DIRECTIVE_FUEL);
  meter.allocate(signs * DIRECTIVE_BYTES);
  // The format itself is the first argument. A single percent sign needs a value, two do not.
  const end = 1 + Math.min(args.length - 1, Math.max(signs - count(format, "%%"), 0));
  let used = 1;
  const text = format.replace(DIRECTIVE, (_match, flags: string, width: string, precision?: string, verb = "") => {
    if (verb === "%") return "%";
    if (verb === "") return "%!(NOVERB)";
    if (used >= end) return `%!${verb}(MISSING)`;
    const directive = directiveOf(flags, width, precision, verb);
    if (directive === undefined) return "%!(BADWIDTH)";
    payForFilling(meter, directive);
    return formatValue(vm, directive, args[used++]);
  });
  if (used >= end) return text;
  const extra: string[] = [];
  for (const value of args.slice(used, end)) {
    const piece = `${goType(value)}=${toText(vm, value)}`;
    meter.text(piece.length);
    meter.burn(DIRECTIVE_FUEL);
    extra.push(piece);
  }
  return `${text}%!(EXTRA ${extra.join(", ")})`;
}

/** Width and precision give the minimum length of the text. */
function payForFilling(meter: Meter, { width, precision = 0 }: Directive): void {
  meter.burn((width + precision) >>> 2);
  meter.reserve(4 * (width + precision));
}

function count(text: string, part: string): number {
  let found = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) found++;
  return found;
}

function directiveOf(flags: string, width: string, precision: string | undefined, verb: string): Directive | undefined {
  if (Number(width) > MAX_WIDTH || Number(precision ?? 0) > MAX_WIDTH) return undefined;
  const minus = flags.includes("-");
  return {
    minus,
    plus: flags.includes("+"),
    sharp: flags.includes("#"),
    space: flags.includes(" "),
    zero: flags.includes("0") && !minus,
    width: Number(width),
    precision: precision === undefined ? undefined : Number(precision),
    verb,
  };
}

function formatValue(vm: Vm, directive: Directive, value: LuaValue): string {
  const { meter } = vm;
  if (typeof value === "number") return formatNumber(meter, directive, value);
  if (typeof value === "string") return formatText(meter, directive, value);
  if (directive.verb === "t" && typeof value === "boolean") return padded(meter, directive, toText(vm, value), false);
  if ("svq".includes(directive.verb)) return formatText(meter, directive, toText(vm, value));
  return `%!${directive.verb}(${goType(value)}=${toText(vm, value)})`;
}

/** gopher-lua treats %d and %i of a string in an unexpected way: a number is printed as it is, anything else as 0. */
function formatText(meter: Meter, directive: Directive, text: string): string {
  const { verb, precision } = directive;
  // The result contains the text once, and on the way it is copied.
  meter.text(2 * text.length);
  switch (verb) {
    case "d":
    case "i":
      return parseNumber(meter, text) === undefined
        ? formatInteger(meter, { ...directive, verb: "d" }, 0n)
        : padded(meter, directive, text, false);
    case "s":
    case "v":
      return padded(meter, directive, cut(meter, text, precision), false);
    case "q":
      return padded(meter, directive, quote(meter, cut(meter, text, precision), directive.sharp), false);
    case "x":
    case "X": {
      meter.text(4 * text.length);
      const hex = Buffer.from(text.slice(0, precision), "latin1").toString("hex");
      return padded(meter, directive, verb === "X" ? hex.toUpperCase() : hex, false);
    }
    default:
      return `%!${verb}(string=${text})`;
  }
}

/** Precision counts characters. */
function cut(meter: Meter, text: string, precision: number | undefined): string {
  if (precision === undefined || text.length <= precision) return text;
  // No character has more than four bytes.
  const enough = text.slice(0, precision * 4);
  if (isAscii(enough)) return text.slice(0, precision);
  const decoded = decode(meter, enough);
  return encode(meter, decoded.slice(0, unitsOf(decoded, precision)));
}

/** How many code units the first characters have. */
function unitsOf(text: string, characters: number): number {
  let at = 0;
  for (let seen = 0; seen < characters && at < text.length; seen++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
}

const ESCAPES: Record<string, string> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

/** A backquoted string holds anything printable but the backquote. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the ranges are exactly what Go does not print.
const NEEDS_ESCAPE = /[`\x7f\x00-\x08\x0a-\x1f]/;
/** An escaped byte becomes up to four, and is replaced by itself. */
const ESCAPE_FUEL = 8;
const ESCAPE_BYTES = 96;

function quote(meter: Meter, bytes: string, raw: boolean): string {
  meter.burn(bytes.length);
  if (raw && !NEEDS_ESCAPE.test(bytes)) return `\`${bytes}\``;
  const text = decode(meter, bytes);
  const pieces: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x20 && code !== 0x22 && code !== 0x5c && code !== 0x7f) continue;
    meter.burn(ESCAPE_FUEL);
    meter.allocate(ESCAPE_BYTES);
    pieces.push(text.slice(start, at), ESCAPES[text.charAt(at)] ?? `\\x${code.toString(16).padStart(2, "0")}`);
    start = at + 1;
  }
  pieces.push(text.slice(start));
  return encode(meter, `"${pieces.join("")}"`);
}

function formatNumber(meter: Meter, directive: Directive, value: number): string {
  switch (directive.verb) {
    case "s":
    case "q":
      return formatText(meter, directive, textOfNumber(meter, value));
    case "d":
    case "i":
    case "b":
    case "o":
    case "x":
    case "X":
    case "c":
    case "U":
      return formatInteger(meter, directive, toInt64(value));
    case "e":
    case "E":
    case "f":
    case "F":
    case "g":
    case "G":
      return floatText(meter, directive, value, directive.verb);
    case "v":
      return isInt64(value)
        ? formatInteger(meter, { ...directive, verb: "d" }, toInt64(value))
        : floatText(meter, directive, value, "g");
    default:
      return `%!${directive.verb}(${isInt64(value) ? "int64" : "float64"}=${numberToString(value)})`;
  }
}

function floatText(meter: Meter, directive: Directive, value: number, verb: string): string {
  payForFloat(meter, value);
  return signed(meter, directive, formatFloat(value, verb, directive.precision), Number.isFinite(value));
}

const RADIX: Record<string, number> = { b: 2, o: 8, x: 16, X: 16 };
const SHARP_PREFIX: Record<string, string> = { b: "0b", o: "0", x: "0x", X: "0X" };

function formatInteger(meter: Meter, directive: Directive, value: bigint): string {
  const { verb, precision } = directive;
  if (verb === "c") return padded(meter, directive, textToBytes(runeOf(value)), false);
  if (verb === "U") return padded(meter, directive, `U+${value.toString(16).toUpperCase().padStart(4, "0")}`, false);
  const negative = value < 0n;
  let digits = (negative ? -value : value).toString(RADIX[verb] ?? 10);
  if (verb === "X") digits = digits.toUpperCase();
  if (precision !== undefined) digits = precision === 0 && value === 0n ? "" : digits.padStart(precision, "0");
  if (directive.sharp) digits = (SHARP_PREFIX[verb] ?? "") + digits;
  return signed(
    meter,
    { ...directive, zero: directive.zero && precision === undefined },
    (negative ? "-" : "") + digits,
    true,
  );
}

function runeOf(value: bigint): string {
  const isRune = value >= 0n && value <= 0x10ffffn && !(value >= 0xd800n && value <= 0xdfffn);
  return isRune ? String.fromCodePoint(Number(value)) : "\ufffd";
}

/** Adds the sign that the flags request, and zeros between sign and digits. */
function signed(meter: Meter, directive: Directive, text: string, mayZero: boolean): string {
  const own = /^[+-]/.exec(text)?.[0] ?? "";
  const digits = text.slice(own.length);
  const sign = own === "-" ? "-" : directive.plus ? "+" : directive.space ? " " : "";
  if (directive.zero && mayZero) return sign + digits.padStart(directive.width - sign.length, "0");
  // Go always prints infinity with its sign.
  return padded(meter, directive, (sign === "" && digits === "Inf" ? "+" : sign) + digits, true);
}

function padded(meter: Meter, directive: Directive, text: string, isNumber: boolean): string {
  if (directive.width === 0) return text;
  const length = isNumber ? text.length : decode(meter, text).length;
  const fill = (directive.zero && !isNumber ? "0" : " ").repeat(Math.max(directive.width - length, 0));
  return directive.minus ? text + fill : fill + text;
}

function goType(value: LuaValue): string {
  switch (typeName(value)) {
    case "string":
      return "lua.LString";
    case "number":
      return "lua.LNumber";
    case "boolean":
      return "lua.LBool";
    case "nil":
      return "*lua.LNilType";
    case "table":
      return "*lua.LTable";
    default:
      return "*lua.LFunction";
  }
}

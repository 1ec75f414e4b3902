import { bytesToText, runes, textToBytes } from "../bytes.ts";
import { isInt64, numberToString, parseNumber, toInt64 } from "../numbers.ts";
import { toText } from "../operators.ts";
import { type LuaValue, typeName } from "../values.ts";
import type { Vm } from "../vm.ts";
import { formatFloat } from "./float.ts";

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

/** string.format is Go's fmt.Sprintf in gopher-lua, down to what it prints for a verb that does not fit its value. */
export function formatString(vm: Vm, format: string, given: LuaValue[]): string {
  const wanted = count(format, "%") - count(format, "%%");
  const args = given.slice(0, Math.max(wanted, 0));
  let used = 0;
  const text = format.replace(DIRECTIVE, (_match, flags: string, width: string, precision?: string, verb = "") => {
    if (verb === "%") return "%";
    if (verb === "") return "%!(NOVERB)";
    if (used >= args.length) return `%!${verb}(MISSING)`;
    const directive = directiveOf(flags, width, precision, verb);
    if (directive === undefined) return "%!(BADWIDTH)";
    const size = directive.width + (directive.precision ?? 0);
    vm.meter.burn(1 + size);
    vm.meter.allocate(size);
    return formatValue(vm, directive, args[used++]);
  });
  const extra = args.slice(used).map((value) => `${goType(value)}=${toText(vm, value)}`);
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(", ")})`;
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
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
  if (typeof value === "number") return formatNumber(directive, value);
  if (typeof value === "string") return formatText(directive, value);
  if (directive.verb === "t" && typeof value === "boolean") return padded(directive, toText(vm, value), false);
  if ("svq".includes(directive.verb)) return formatText(directive, toText(vm, value));
  return `%!${directive.verb}(${goType(value)}=${toText(vm, value)})`;
}

/** gopher-lua has %d and %i of a string the wrong way round: a number is printed as it stands, anything else as 0. */
function formatText(directive: Directive, text: string): string {
  const { verb, precision } = directive;
  switch (verb) {
    case "d":
    case "i":
      return parseNumber(text) === undefined
        ? formatInteger({ ...directive, verb: "d" }, 0n)
        : padded(directive, text, false);
    case "s":
    case "v":
      return padded(directive, cut(text, precision), false);
    case "q":
      return padded(directive, quote(cut(text, precision), directive.sharp), false);
    case "x":
    case "X": {
      const hex = [...text.slice(0, precision)].map((byte) => byte.charCodeAt(0).toString(16).padStart(2, "0"));
      return padded(directive, verb === "X" ? hex.join("").toUpperCase() : hex.join(""), false);
    }
    default:
      return `%!${verb}(string=${text})`;
  }
}

function cut(text: string, precision: number | undefined): string {
  if (precision === undefined) return text;
  return textToBytes([...runes(text)].slice(0, precision).join(""));
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
function needsEscape(byte: string): boolean {
  return byte === "`" || byte === "\x7f" || (byte < " " && byte !== "\t");
}

function quote(bytes: string, raw: boolean): string {
  if (raw && ![...bytes].some(needsEscape)) return `\`${bytes}\``;
  let text = '"';
  for (const rune of runes(bytes)) {
    const code = rune.codePointAt(0) ?? 0;
    if (ESCAPES[rune] !== undefined) text += ESCAPES[rune];
    else if (code < 0x20 || code === 0x7f) text += `\\x${code.toString(16).padStart(2, "0")}`;
    else text += rune;
  }
  return textToBytes(`${text}"`);
}

function formatNumber(directive: Directive, value: number): string {
  switch (directive.verb) {
    case "s":
    case "q":
      return formatText(directive, numberToString(value));
    case "d":
    case "i":
    case "b":
    case "o":
    case "x":
    case "X":
    case "c":
    case "U":
      return formatInteger(directive, toInt64(value));
    case "e":
    case "E":
    case "f":
    case "F":
    case "g":
    case "G":
      return signed(directive, formatFloat(value, directive.verb, directive.precision), Number.isFinite(value));
    case "v":
      return isInt64(value)
        ? formatInteger({ ...directive, verb: "d" }, toInt64(value))
        : signed(directive, formatFloat(value, "g", directive.precision), Number.isFinite(value));
    default:
      return `%!${directive.verb}(${isInt64(value) ? "int64" : "float64"}=${numberToString(value)})`;
  }
}

const RADIX: Record<string, number> = { b: 2, o: 8, x: 16, X: 16 };
const SHARP_PREFIX: Record<string, string> = { b: "0b", o: "0", x: "0x", X: "0X" };

function formatInteger(directive: Directive, value: bigint): string {
  const { verb, precision } = directive;
  if (verb === "c") return padded(directive, textToBytes(runeOf(value)), false);
  if (verb === "U") return padded(directive, `U+${value.toString(16).toUpperCase().padStart(4, "0")}`, false);
  const negative = value < 0n;
  let digits = (negative ? -value : value).toString(RADIX[verb] ?? 10);
  if (verb === "X") digits = digits.toUpperCase();
  if (precision !== undefined) digits = precision === 0 && value === 0n ? "" : digits.padStart(precision, "0");
  if (directive.sharp) digits = (SHARP_PREFIX[verb] ?? "") + digits;
  return signed(
    { ...directive, zero: directive.zero && precision === undefined },
    (negative ? "-" : "") + digits,
    true,
  );
}

function runeOf(value: bigint): string {
  const isRune = value >= 0n && value <= 0x10ffffn && !(value >= 0xd800n && value <= 0xdfffn);
  return isRune ? String.fromCodePoint(Number(value)) : "\ufffd";
}

/** Adds the sign the flags ask for, and zeros between sign and digits. */
function signed(directive: Directive, text: string, mayZero: boolean): string {
  const own = /^[+-]/.exec(text)?.[0] ?? "";
  const digits = text.slice(own.length);
  const sign = own === "-" ? "-" : directive.plus ? "+" : directive.space ? " " : "";
  if (directive.zero && mayZero) return sign + digits.padStart(directive.width - sign.length, "0");
  // Go prints infinity with its sign in any case.
  return padded(directive, (sign === "" && digits === "Inf" ? "+" : sign) + digits, true);
}

function padded(directive: Directive, text: string, isNumber: boolean): string {
  const length = isNumber ? text.length : bytesToText(text).length;
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

/**
 * Numbers and their text as in Go's strconv and fmt, which is what gopher-lua's scripts see. Text is read once, from
 * left to right: the time is at most linear.
 */
import type { Meter } from "./meter.ts";

const INT64_MIN = -(2 ** 63);
const INT64_END = 2 ** 63;

/** Whether gopher-lua prints the number without a fraction. */
export function isInt64(value: number): boolean {
  return Math.floor(value) === value && value >= INT64_MIN && value < INT64_END;
}

/**
 * Go's conversion of a float to int64 on the machines that run Karmada: a value out of range becomes the smallest
 * int64.
 */
export function toInt64(value: number): bigint {
  const whole = Math.trunc(value);
  return whole >= INT64_MIN && whole < INT64_END ? BigInt(whole) : -(2n ** 63n);
}

/** The same as a number, for positions and counts. */
export function toInt(value: number): number {
  const whole = Math.trunc(value);
  return whole >= INT64_MIN && whole < INT64_END ? whole : INT64_MIN;
}

/** The text of a small whole number is cached; computing the digits of any other number takes this much longer. */
const DIGITS_FUEL = 80;
const SMALL_INTEGER = 1_000_000;
/** No number's text is longer. */
const NUMBER_TEXT_BYTES = 32;

/** `numberToString`, charged. */
export function textOfNumber(meter: Meter, value: number): string {
  meter.text(NUMBER_TEXT_BYTES);
  if (!(Math.abs(value) < SMALL_INTEGER && Math.floor(value) === value)) meter.burn(DIGITS_FUEL);
  return numberToString(value);
}

export function numberToString(value: number): string {
  if (isInt64(value)) return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return shortest(value);
}

const SHORTEST_PLAIN_DIGITS = 6;

function shortest(value: number): string {
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= SHORTEST_PLAIN_DIGITS) return `${mantissa}e${exponentPart(exponent)}`;
  return String(value);
}

/** At least two digits and always a sign: e+06. */
export function exponentPart(exponent: number): string {
  return `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** The cost of reading a number, plus four units for each byte. */
const READ_FUEL = 8;

/** The numeric value of a string in arithmetic; undefined if it has none. */
export function parseNumber(meter: Meter, bytes: string): number | undefined {
  payForReading(meter, bytes);
  const text = withoutBlanks(bytes);
  return parseInteger(text, 0) ?? parseFloatText(text);
}

export function payForReading(meter: Meter, bytes: string): void {
  meter.burn(READ_FUEL + bytes.length * 4);
}

export function withoutBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a;
}

/** strconv.ParseFloat: out of range is an error, as in Go. */
export function parseFloatText(text: string): number | undefined {
  const start = text.startsWith("-") || text.startsWith("+") ? 1 : 0;
  const rest = text.length - start <= LONGEST_WORD ? text.slice(start).toLowerCase() : "";
  if (rest === "inf" || rest === "infinity") {
    return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (rest === "nan" && start === 0) return Number.NaN;
  const value = hasHexPrefix(text, start) ? hexFloat(text, start) : decimalFloat(text, start);
  return value !== undefined && Number.isFinite(value) ? value : undefined;
}

const LONGEST_WORD = "infinity".length;

function hasHexPrefix(text: string, at: number): boolean {
  return text.charCodeAt(at) === 0x30 && (text.charCodeAt(at + 1) | 0x20) === 0x78;
}

/** Digits with at most one point, underscores only between digits, then perhaps an exponent. */
function decimalFloat(text: string, start: number): number | undefined {
  const wholeEnd = runOf(text, start, isDigitOrUnderscore);
  const hasPoint = text.charCodeAt(wholeEnd) === 0x2e;
  const end = hasPoint ? runOf(text, wholeEnd + 1, isDigitOrUnderscore) : wholeEnd;
  const first = wholeEnd > start ? start : wholeEnd + 1;
  if (first >= end || !isDigit(text.charCodeAt(first)) || !underscoresSeparateDigits(text, start, end))
    return undefined;
  if (exponentEnd(text, end, "e") !== text.length) return undefined;
  return Number(text.includes("_") ? text.replaceAll("_", "") : text);
}

function hexFloat(text: string, start: number): number | undefined {
  const wholeStart = start + 2;
  const wholeEnd = runOf(text, wholeStart, isHexDigit);
  const fractionStart = text.charCodeAt(wholeEnd) === 0x2e ? wholeEnd + 1 : wholeEnd;
  const end = runOf(text, fractionStart, isHexDigit);
  if (end >= text.length || exponentEnd(text, end, "p") !== text.length) return undefined;
  const digits = text.slice(wholeStart, wholeEnd) + text.slice(fractionStart, end);
  if (digits === "") return undefined;
  const value = Number.parseInt(digits, 16) * 2 ** (Number(text.slice(end + 1)) - 4 * (end - fractionStart));
  return text.startsWith("-") ? -value : value;
}

/** The end of an exponent, if there is one at this position; -1 for a letter without digits. */
function exponentEnd(text: string, at: number, letter: string): number {
  if (text.charAt(at).toLowerCase() !== letter) return at;
  const sign = text.charAt(at + 1);
  const digits = sign === "+" || sign === "-" ? at + 2 : at + 1;
  const end = runOf(text, digits, isDigit);
  return end > digits ? end : -1;
}

function underscoresSeparateDigits(text: string, start: number, end: number): boolean {
  for (let at = text.indexOf("_", start); at >= 0 && at < end; at = text.indexOf("_", at + 1)) {
    if (!isDigit(text.charCodeAt(at - 1)) || !isDigit(text.charCodeAt(at + 1))) return false;
  }
  return true;
}

function runOf(text: string, start: number, belongs: (code: number) => boolean): number {
  let at = start;
  while (at < text.length && belongs(text.charCodeAt(at))) at++;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isDigitOrUnderscore(code: number): boolean {
  return isDigit(code) || code === 0x5f;
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);
}

const PREFIXED = /^0([xXbBoO])/;
const PREFIX_BASES: Record<string, number> = { x: 16, b: 2, o: 8 };
/** No int64 has more digits, in any base. */
const INT64_MAX_DIGITS = 64;
/** Fewer digits than this are exact as a float, in any base. */
const EXACT_DIGITS = 10;

/** strconv.ParseInt with 64 bits. Base 0 reads the base from the text: 0x, 0b, 0o, and a leading 0 for octal. */
export function parseInteger(text: string, base: number): number | undefined {
  const sign = text.charAt(0) === "-" || text.charAt(0) === "+" ? text.charAt(0) : "";
  let digits = text.slice(sign.length);
  let radix = base;
  if (base === 0) {
    const prefix = PREFIXED.exec(digits)?.[1];
    if (digits.includes("_")) {
      if (!underscoresAreInside(digits, prefix)) return undefined;
      digits = digits.replaceAll("_", "");
    }
    if (prefix !== undefined) {
      radix = PREFIX_BASES[prefix.toLowerCase()] ?? 10;
      digits = digits.slice(2);
    } else if (digits.length > 1 && digits.startsWith("0")) {
      radix = 8;
      digits = digits.slice(1);
    } else radix = 10;
  }
  if (radix < 2 || radix > 36 || digits === "") return undefined;
  const significant = digits.slice(Math.min(runOf(digits, 0, isZero), digits.length - 1));
  if (significant.length > INT64_MAX_DIGITS) return undefined;
  const value = significant.length <= EXACT_DIGITS ? small(significant, radix) : large(significant, radix, sign);
  return value !== undefined && value !== 0 && sign === "-" ? -value : value;
}

function isZero(code: number): boolean {
  return code === 0x30;
}

/** The value of a digit, in bases up to 36; too large for any base if it is not a digit. */
function worthOf(code: number): number {
  if (isDigit(code)) return code - 0x30;
  const letter = (code | 0x20) - 0x61;
  return letter >= 0 && letter < 26 ? letter + 10 : Number.POSITIVE_INFINITY;
}

function small(digits: string, radix: number): number | undefined {
  let value = 0;
  for (let at = 0; at < digits.length; at++) {
    const worth = worthOf(digits.charCodeAt(at));
    if (!(worth < radix)) return undefined;
    value = value * radix + worth;
  }
  return value;
}

/** In pieces that are exact as floats: arithmetic on big numbers takes far longer. */
function large(digits: string, radix: number, sign: string): number | undefined {
  let value = 0n;
  for (let at = 0; at < digits.length; at += EXACT_DIGITS) {
    const piece = digits.slice(at, at + EXACT_DIGITS);
    const worth = small(piece, radix);
    if (worth === undefined) return undefined;
    value = value * BigInt(radix ** piece.length) + BigInt(worth);
  }
  const signed = sign === "-" ? -value : value;
  return BigInt.asIntN(64, signed) === signed ? Number(value) : undefined;
}

function underscoresAreInside(digits: string, prefix: string | undefined): boolean {
  const rest = prefix === undefined ? digits : `0${digits.slice(2)}`;
  return !rest.startsWith("_") && !rest.endsWith("_") && !rest.includes("__");
}

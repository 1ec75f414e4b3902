/** Numbers and their text as Go's strconv and fmt have them, which is what gopher-lua's scripts see. */

const INT64_MIN = -(2 ** 63);
const INT64_END = 2 ** 63;

/** Whether gopher-lua prints the number without a fraction. */
export function isInt64(value: number): boolean {
  return Math.floor(value) === value && value >= INT64_MIN && value < INT64_END;
}

/** Go's conversion of a float to int64 on the machines that run Karmada: what does not fit becomes the smallest one. */
export function toInt64(value: number): bigint {
  const whole = Math.trunc(value);
  return whole >= INT64_MIN && whole < INT64_END ? BigInt(whole) : -(2n ** 63n);
}

/** The same as a number, for positions and counts. */
export function toInt(value: number): number {
  const whole = Math.trunc(value);
  return whole >= INT64_MIN && whole < INT64_END ? whole : INT64_MIN;
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

const BLANKS = /^[ \t\n]+|[ \t\n]+$/g;

/** The number a string stands for in arithmetic; undefined if it stands for none. */
export function parseNumber(bytes: string): number | undefined {
  const text = bytes.replace(BLANKS, "");
  return parseInteger(text, 0) ?? parseFloatText(text);
}

const DECIMAL = /^[+-]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?$/;
const HEX_FLOAT = /^([+-]?)0[xX]([\da-fA-F]*)\.?([\da-fA-F]*)[pP]([+-]?\d+)$/;
const INFINITE = /^[+-]?inf(?:inity)?$/i;

/** strconv.ParseFloat: out of range is an error, as it is there. */
export function parseFloatText(text: string): number | undefined {
  if (DECIMAL.test(text)) {
    if (/_(?!\d)|(?<!\d)_/.test(text)) return undefined;
    const value = Number(text.replaceAll("_", ""));
    return Number.isFinite(value) ? value : undefined;
  }
  if (INFINITE.test(text)) return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (/^nan$/i.test(text)) return Number.NaN;
  const hex = HEX_FLOAT.exec(text);
  if (hex === null) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = hex;
  if (whole === "" && fraction === "") return undefined;
  const value = Number.parseInt(whole + fraction, 16) * 2 ** (Number(exponent) - 4 * fraction.length);
  return Number.isFinite(value) ? (sign === "-" ? -value : value) : undefined;
}

const PREFIXED = /^0([xXbBoO])/;
const PREFIX_BASES: Record<string, number> = { x: 16, b: 2, o: 8 };
/** No int64 has more digits, in any base. */
const INT64_MAX_DIGITS = 64;

/** strconv.ParseInt with 64 bits. Base 0 reads the base from the text: 0x, 0b, 0o, and a leading 0 for octal. */
export function parseInteger(text: string, base: number): number | undefined {
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  let digits = text.slice(sign.length);
  let radix = base;
  if (base === 0) {
    const prefix = PREFIXED.exec(digits)?.[1];
    if (digits.includes("_")) {
      if (!underscoresSeparateDigits(digits, prefix)) return undefined;
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
  const significant = digits.replace(/^0+(?=.)/, "");
  if (significant.length > INT64_MAX_DIGITS) return undefined;
  let value = 0n;
  for (const digit of significant) {
    const worth = Number.parseInt(digit, 36);
    if (!(worth < radix)) return undefined;
    value = value * BigInt(radix) + BigInt(worth);
  }
  if (sign === "-") value = -value;
  return BigInt.asIntN(64, value) === value ? Number(value) : undefined;
}

function underscoresSeparateDigits(digits: string, prefix: string | undefined): boolean {
  const rest = prefix === undefined ? digits : `0${digits.slice(2)}`;
  return !/^_|_$|__/.test(rest);
}

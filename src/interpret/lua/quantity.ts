/** Kubernetes' resource.Quantity: exact numbers with a unit, printed in one canonical way. */

export type QuantityFormat = "DecimalSI" | "DecimalExponent" | "BinarySI";

/** Thrown for text that is not a quantity. The reason is Kubernetes' own. */
export class QuantityError extends Error {
  constructor(text: string, reason: string) {
    super(`cannot parse '${text}': ${reason}`);
    this.name = "QuantityError";
  }
}

/** No meaningful quantity is longer; arithmetic on longer ones would take disproportionate time. */
const MAX_CHARACTERS = 400;
const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?/;
const SUFFIX = /^[eEinumkKMGTP]*[-+]?\d*$/;
const WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_NUMBER = "unable to parse numeric part of quantity";
const TOO_LONG = `quantities have at most ${MAX_CHARACTERS} characters`;
const SHOWN_CHARACTERS = 40;
const WRONG_SUFFIX = "unable to parse quantity's suffix";

const DECIMAL_SUFFIXES = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const BINARY_SUFFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL_NAMES = new Map([...DECIMAL_SUFFIXES].map(([suffix, exponent]) => [exponent, suffix]));

/** The smallest unit: a smaller amount is rounded up to it, away from zero. */
const SMALLEST_EXPONENT = -9;
/** Exponents are limited here, so that no text creates numbers of a million digits. Kubernetes' own limit is 2^31. */
const LARGEST_EXPONENT = 400;
/** E, the largest decimal unit. */
const LARGEST_SUFFIX = 18;
const INT64_MAX = 2n ** 63n - 1n;
/** The number of digits that always fits an int64; Kubernetes keeps such numbers as they were written. */
const INT64_SAFE_DIGITS = 18;

/**
 * The cost of reading a quantity and adding it to another one, and of each digit; powers of ten may be large numbers.
 */
const QUANTITY_FUEL = 150;
const DIGIT_FUEL = 12;
const EXPONENT_FUEL = 5_000;

/** In the units of a script's fuel. */
export function quantityFuel(text: string): number {
  const hasExponent = /[eE][-+]?\d/.test(text.slice(0, MAX_CHARACTERS));
  return QUANTITY_FUEL + DIGIT_FUEL * Math.min(text.length, MAX_CHARACTERS) + (hasExponent ? EXPONENT_FUEL : 0);
}

function trailingZeros(digits: string): number {
  let end = digits.length;
  while (end > 0 && digits.charAt(end - 1) === "0") end--;
  return digits.length - end;
}

/** The amount is mantissa times ten to the power of exponent. */
export class Quantity {
  static readonly ZERO = new Quantity(0n, 0, undefined);

  readonly mantissa: bigint;
  readonly exponent: number;
  readonly format: QuantityFormat | undefined;

  constructor(mantissa: bigint, exponent: number, format: QuantityFormat | undefined) {
    this.mantissa = mantissa;
    this.exponent = exponent;
    this.format = format;
  }

  /** Throws QuantityError. */
  static parse(text: string): Quantity {
    if (text.length > MAX_CHARACTERS) throw new QuantityError(`${text.slice(0, SHOWN_CHARACTERS)}...`, TOO_LONG);
    const [number = "", sign = "", whole = "", fraction] = NUMBER.exec(text) ?? [];
    const suffix = text.slice(number.length);
    if (text === "" || !SUFFIX.test(suffix)) throw new QuantityError(text, WRONG_FORMAT);
    const { exponent, binaryPower, format } = unitOf(text, suffix);
    const denominator = fraction ?? "";
    // Without digits it is zero, as in Kubernetes, unless the unit is too large or too small for its fast path.
    const digits = BigInt(`0${whole}${denominator}`);
    const mantissa = (sign === "-" ? -digits : digits) * 2n ** BigInt(binaryPower);
    const scale = exponent - denominator.length;
    if (keepsScale(format, binaryPower, whole, denominator, scale, mantissa))
      return new Quantity(mantissa, scale, format);
    if (whole === "" && denominator === "") throw new QuantityError(text, WRONG_NUMBER);
    return normalized(mantissa, scale, format);
  }

  /** An unset format, as for zero, is replaced by the other's. */
  add(other: Quantity): Quantity {
    const format = this.mantissa === 0n ? other.format : this.format;
    if (other.mantissa === 0n) return new Quantity(this.mantissa, this.exponent, format);
    if (this.mantissa === 0n) return new Quantity(other.mantissa, other.exponent, format);
    const exponent = Math.min(this.exponent, other.exponent);
    return new Quantity(this.#scaledTo(exponent) + other.#scaledTo(exponent), exponent, format);
  }

  /** The value in units of ten to the power of `exponent`, rounded away from zero. */
  roundUp(exponent: number): bigint {
    if (this.exponent >= exponent) return this.#scaledTo(exponent);
    const unit = 10n ** BigInt(exponent - this.exponent);
    const quotient = this.mantissa / unit;
    const rest = this.mantissa % unit;
    return rest === 0n ? quotient : rest > 0n ? quotient + 1n : quotient - 1n;
  }

  toNumber(): number {
    const value = Number(this.mantissa);
    return this.exponent === 0 ? value : value * Number(`1e${this.exponent}`);
  }

  toString(): string {
    if (this.mantissa === 0n) return "0";
    if (this.format === "BinarySI" && this.#isWhole() && this.#isAtLeast1024()) return this.#binaryText();
    return this.#decimalText();
  }

  #isWhole(): boolean {
    return this.exponent >= 0 || this.mantissa % 10n ** BigInt(-this.exponent) === 0n;
  }

  #isAtLeast1024(): boolean {
    const size = this.roundUp(0);
    return size >= 1024n || size <= -1024n;
  }

  #binaryText(): string {
    let amount = this.roundUp(0);
    let power = 0;
    while (power < BINARY_SUFFIXES.length - 1 && amount % 1024n === 0n) {
      amount /= 1024n;
      power++;
    }
    return `${amount}${BINARY_SUFFIXES[power] ?? ""}`;
  }

  /** Moves zeros between the number and its unit as text: repeated division of large numbers takes long. */
  #decimalText(): string {
    const isSI = this.format === "DecimalSI" || this.format === "BinarySI";
    const written = this.mantissa.toString();
    const digits = written.slice(0, written.length - trailingZeros(written));
    const exponent = this.exponent + written.length - digits.length;
    const largest = isSI ? Math.min(exponent, LARGEST_SUFFIX) : exponent;
    const shown = Math.floor(largest / 3) * 3;
    const amount = digits.padEnd(digits.length + exponent - shown, "0");
    if (isSI) return `${amount}${DECIMAL_NAMES.get(shown) ?? ""}`;
    return shown === 0 ? amount : `${amount}e${shown}`;
  }

  #scaledTo(exponent: number): bigint {
    return this.mantissa * 10n ** BigInt(this.exponent - exponent);
  }
}

function unitOf(text: string, suffix: string): { exponent: number; binaryPower: number; format: QuantityFormat } {
  const decimal = DECIMAL_SUFFIXES.get(suffix);
  if (decimal !== undefined) return { exponent: decimal, binaryPower: 0, format: "DecimalSI" };
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  if (binary > 0) return { exponent: 0, binaryPower: 10 * binary, format: "BinarySI" };
  if (!/^[eE][+-]?\d+$/.test(suffix)) throw new QuantityError(text, WRONG_SUFFIX);
  const exponent = Math.max(-LARGEST_EXPONENT, Math.min(Number(suffix.slice(1)), LARGEST_EXPONENT));
  return { exponent, binaryPower: 0, format: "DecimalExponent" };
}

/** Kubernetes keeps what fits an int64 as written, which is visible only in the approximate float. */
function keepsScale(
  format: QuantityFormat,
  binaryPower: number,
  whole: string,
  fraction: string,
  scale: number,
  mantissa: bigint,
): boolean {
  const digits = whole.replace(/^0+/, "").length || 1;
  if (scale < SMALLEST_EXPONENT) return false;
  if (format !== "BinarySI") return digits + fraction.length <= INT64_SAFE_DIGITS;
  if (fraction !== "") return false;
  return 15 - digits - Math.trunc((binaryPower * 3) / 10) - 1 >= 0 && mantissa <= INT64_MAX;
}

function normalized(mantissa: bigint, scale: number, format: QuantityFormat): Quantity {
  if (mantissa === 0n) return new Quantity(0n, 0, format);
  const negative = mantissa < 0n;
  let size = negative ? -mantissa : mantissa;
  if (scale > SMALLEST_EXPONENT) size *= 10n ** BigInt(scale - SMALLEST_EXPONENT);
  else if (scale < SMALLEST_EXPONENT) {
    const unit = 10n ** BigInt(SMALLEST_EXPONENT - scale);
    size = size / unit + (size % unit > 0n ? 1n : 0n);
  }
  const one = 10n ** BigInt(-SMALLEST_EXPONENT);
  if (format === "BinarySI" && size > INT64_MAX * one) size = INT64_MAX * one;
  const shown = format === "BinarySI" && size < one ? "DecimalSI" : format;
  return new Quantity(negative ? -size : size, SMALLEST_EXPONENT, shown);
}

import type { Meter } from "../meter.ts";
import { exponentPart } from "../numbers.ts";

/** The exact decimal form of a positive finite number: 0.digits times ten to the power of point. */
interface Decimal {
  readonly digits: string;
  readonly point: number;
}

/** The exact decimal form takes longer the further the number is from 1. */
const FLOAT_FUEL = 60;
const FUEL_PER_BIT = 3;
const FLOAT_BYTES = 2_000;

/** The cost of formatting the number, without the extra digits that a precision requests. */
export function payForFloat(meter: Meter, value: number): void {
  const bits = Math.abs(Math.log2(Math.abs(value)));
  meter.burn(FLOAT_FUEL + (Number.isFinite(bits) ? Math.ceil(bits) * FUEL_PER_BIT : 0));
  meter.reserve(FLOAT_BYTES);
}

/**
 * Go's formatting of floats with the verbs e, f and g. Every float has an exact decimal expansion (of at most about 770
 * digits); it is rounded half to even, where JavaScript's toFixed rounds half up.
 */
export function formatFloat(value: number, verb: string, precision: number | undefined): string {
  if (Number.isNaN(value)) return "NaN";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const size = Math.abs(value);
  if (size === Number.POSITIVE_INFINITY) return sign === "-" ? "-Inf" : "+Inf";
  const text = sign + formatSize(size, verb.toLowerCase(), precision);
  return verb === "E" || verb === "G" ? text.toUpperCase() : text;
}

function formatSize(size: number, verb: string, precision: number | undefined): string {
  switch (verb) {
    case "e":
      return scientific(rounded(expand(size), (precision ?? 6) + 1), precision ?? 6);
    case "f": {
      const decimal = expand(size);
      return plain(rounded(decimal, decimal.point + (precision ?? 6)), precision ?? 6);
    }
    default:
      return precision === undefined ? shortestGeneral(size) : general(size, precision);
  }
}

function general(size: number, precision: number): string {
  const kept = Math.max(precision, 1);
  const decimal = withoutZeros(rounded(expand(size), kept));
  const exponent = decimal.point - 1;
  // Go compares with the number of existing digits, if these are fewer and the number is whole.
  const limit = kept > decimal.digits.length && decimal.digits.length >= decimal.point ? decimal.digits.length : kept;
  if (exponent < -4 || exponent >= limit) return scientific(decimal, decimal.digits.length - 1);
  return plain(decimal, Math.max(decimal.digits.length - decimal.point, 0));
}

function shortestGeneral(size: number): string {
  const [mantissa = "0", exponentText = "0"] = size.toExponential().split("e");
  const exponent = Number(exponentText);
  const digits = mantissa.replace(".", "");
  const decimal = { digits, point: exponent + 1 };
  if (size === 0) return "0";
  if (exponent < -4 || exponent >= SHORTEST_EXPONENT) return scientific(decimal, digits.length - 1);
  return plain(decimal, Math.max(digits.length - decimal.point, 0));
}

/** %g without a precision switches to exponents from here on. */
const SHORTEST_EXPONENT = 6;

function scientific({ digits, point }: Decimal, fractionDigits: number): string {
  const shown = digits.padEnd(fractionDigits + 1, "0");
  const fraction = fractionDigits > 0 ? `.${shown.slice(1, fractionDigits + 1)}` : "";
  const isZero = /^0*$/.test(digits);
  return `${shown.charAt(0)}${fraction}e${exponentPart(isZero ? 0 : point - 1)}`;
}

function plain({ digits, point }: Decimal, fractionDigits: number): string {
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, "0") : "0";
  if (fractionDigits === 0) return whole;
  const fraction = point > 0 ? digits.slice(point) : "0".repeat(-point) + digits;
  return `${whole}.${fraction.slice(0, fractionDigits).padEnd(fractionDigits, "0")}`;
}

function withoutZeros({ digits, point }: Decimal): Decimal {
  const short = digits.replace(/0+$/, "");
  return short === "" ? { digits: "0", point: 1 } : { digits: short, point };
}

/** Keeps this many digits, rounding half to even. */
function rounded({ digits, point }: Decimal, keep: number): Decimal {
  if (keep >= digits.length) return { digits, point };
  if (keep < 0) return { digits: "0", point: 1 };
  const rest = digits.slice(keep);
  const half = rest.startsWith("5") && /^50*$/.test(rest);
  const lastIsOdd = keep > 0 && Number(digits.charAt(keep - 1)) % 2 === 1;
  const up = half ? lastIsOdd : rest.charAt(0) >= "5";
  const kept = digits.slice(0, keep);
  if (!up) return kept === "" ? { digits: "0", point: 1 } : { digits: kept, point };
  const raised = (BigInt(kept === "" ? "0" : kept) + 1n).toString().padStart(keep, "0");
  return { digits: raised, point: raised.length > keep ? point + 1 : point };
}

function expand(size: number): Decimal {
  if (size === 0) return { digits: "0", point: 1 };
  let exponent = 0;
  let mantissa = size;
  // Halving and doubling are exact, so the mantissa becomes whole without losing a bit.
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2;
    exponent--;
  }
  const whole = BigInt(mantissa);
  // x / 2^n = x * 5^n / 10^n
  const text = (exponent < 0 ? whole * 5n ** BigInt(-exponent) : whole).toString();
  return { digits: text, point: text.length + exponent };
}

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Quantity, QuantityError } from "./quantity.ts";

const sum = (...texts: string[]): string =>
  texts.reduce((total, text) => total.add(Quantity.parse(text)), Quantity.ZERO).toString();

// The expectations are Kubernetes' own answers.
describe("a quantity", () => {
  it.each([
    [["1.5Gi", "512Mi"], "2Gi"],
    [["100m", "1"], "1100m"],
    [["1e3", "1"], "1001"],
    [["1e3"], "1e3"],
    [["0.1", "0.2"], "300m"],
    [["1Ki", "1"], "1025"],
    [["1Gi"], "1Gi"],
    [["1024"], "1024"],
    [["1023Ki", "1Ki"], "1Mi"],
    [["512"], "512"],
    [["0.5Mi"], "512Ki"],
    [["0.1Ki"], "102400m"],
    [["1.1n"], "2n"],
    [["-1.5Gi"], "-1536Mi"],
    [["9223372036854775807", "1"], "9223372036854775808"],
    [["16Ei"], "9223372036854775807"],
    [["0Gi", "5"], "5"],
    [["12E", "1000E"], "1012E"],
    [["2500m", "2500m"], "5"],
    [["1000k"], "1M"],
    [[], "0"],
  ])("%j add up to %s", (texts, expected) => {
    expect(sum(...texts)).toBe(expected);
  });

  it.each(["", "abc", "1Xi", "1.2.3", "--1", " 1", "1 ", "1e3Ki", "1e", "1K", "Pi", "0x1"])("cannot be %j", (text) => {
    expect(() => Quantity.parse(text)).toThrow(QuantityError);
  });

  it("rounds up to the requested unit", () => {
    expect(Quantity.parse("1001m").roundUp(0)).toBe(2n);
    expect(Quantity.parse("1.5").roundUp(-3)).toBe(1500n);
    expect(Quantity.parse("100u").roundUp(-3)).toBe(1n);
    expect(Quantity.parse("-1.5").roundUp(0)).toBe(-2n);
  });

  it("approximates a number", () => {
    expect(Quantity.parse("100m").toNumber()).toBe(0.1);
    expect(Quantity.parse("1.5Gi").toNumber()).toBe(1610612736);
  });
});

const UNITS: [suffix: string, numerator: bigint, denominator: bigint][] = [
  ["n", 1n, 10n ** 9n],
  ["u", 1n, 10n ** 6n],
  ["m", 1n, 1000n],
  ["", 1n, 1n],
  ["k", 1000n, 1n],
  ["M", 10n ** 6n, 1n],
  ["G", 10n ** 9n, 1n],
  ["T", 10n ** 12n, 1n],
  ["Ki", 2n ** 10n, 1n],
  ["Mi", 2n ** 20n, 1n],
  ["Gi", 2n ** 30n, 1n],
];
/** The same amounts in every run. */
const SEED = 20_240_301;
const NANO = 10n ** 9n;

/** The text of a quantity, and its value in billionths, computed independently. */
const amounts = fc
  .record({ digits: fc.bigInt({ min: 0n, max: 10n ** 17n }), unit: fc.constantFrom(...UNITS), negative: fc.boolean() })
  .map(({ digits, unit: [suffix, numerator, denominator], negative }) => {
    const nanos = (digits * numerator * NANO) / denominator;
    return { text: `${negative ? "-" : ""}${digits}${suffix}`, nanos: negative ? -nanos : nanos, suffix };
  })
  // Kubernetes limits binary quantities to the largest int64.
  .filter(({ nanos, suffix }) => !suffix.endsWith("i") || (nanos < 2n ** 63n * NANO && nanos > -(2n ** 63n) * NANO));

describe("quantities of any kind", () => {
  it("add up exactly", () => {
    fc.assert(
      fc.property(fc.array(amounts, { maxLength: 6 }), (list) => {
        const total = list.reduce((sumSoFar, { text }) => sumSoFar.add(Quantity.parse(text)), Quantity.ZERO);
        expect(total.roundUp(-9)).toBe(list.reduce((sumSoFar, { nanos }) => sumSoFar + nanos, 0n));
      }),
      { seed: SEED },
    );
  });

  it("keep their value when they are read back, and their canonical text is stable", () => {
    fc.assert(
      fc.property(amounts, ({ text, nanos }) => {
        const canonical = sum(text);
        const again = Quantity.parse(canonical);
        expect(again.roundUp(-9)).toBe(nanos);
        expect(sum(canonical)).toBe(canonical);
      }),
      { seed: SEED },
    );
  });

  it("only ever fail with their own error", () => {
    const soup = fc.string({ unit: fc.constantFrom(..."0123456789.+-eEinumkKMGTP x") });
    fc.assert(
      fc.property(soup, (text) => {
        try {
          Quantity.parse(text).toString();
        } catch (error) {
          expect(error).toBeInstanceOf(QuantityError);
        }
      }),
      { seed: SEED },
    );
  });
});

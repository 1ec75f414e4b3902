import { describe, expect, it } from "vitest";
import { parseJsonText, printJsonText } from "./json-text.ts";

describe("JSON that is text in a field", () => {
  it("keeps the order of keys and the spelling of numbers, and escapes as Go does", () => {
    const text = '{"b": {"z": 1, "a": [1.50, -0, 1e3]}, "a": "x < y & z", "n": 12345678901234567890}';
    expect(printJsonText(parseJsonText(text))).toBe(
      '{"b":{"z":1,"a":[1.50,-0,1e3]},"a":"x \\u003c y \\u0026 z","n":12345678901234567890}',
    );
  });

  it("takes nothing inside a string for a number", () => {
    const text = '{"1.50":"1.50","a\\"1e3":"\\\\\\"2.0"}';
    expect(printJsonText(parseJsonText(text))).toBe(text);
  });

  it("refuses its own mark, and takes nothing else for it", () => {
    expect(() => parseJsonText(JSON.stringify({ a: "\u0001number:5" }))).toThrow(SyntaxError);
    const text = JSON.stringify({ b: '"number:5"', c: "\\u0001number:5" });
    expect(printJsonText(parseJsonText(text))).toBe(text);
  });

  it("refuses what is not JSON", () => {
    for (const text of ["fast", "{", "01", "1.e", "{a: 1}"]) expect(() => parseJsonText(text)).toThrow(SyntaxError);
  });
});

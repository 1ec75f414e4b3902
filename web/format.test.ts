import { expect, it } from "vitest";
import { duration, fitted, took } from "./format.ts";

it.each([
  [45_000, "45 s"],
  [125_000, "2 min 5 s"],
  [12 * 60_000, "12 min"],
  [200 * 60_000, "3 h 20 min"],
  [5 * 86_400_000, "5 d"],
])("%d ms are %s", (ms, text) => expect(duration(ms)).toBe(text));

it("what is over took some time, however short", () => {
  expect(took(120)).toBe("less than 1 s");
  expect(took(2_400)).toBe("2 s");
});

it("a name that does not fit keeps both ends, in which names differ", () => {
  expect(fitted("member1", 10)).toBe("member1");
  expect(fitted("prod-eu-west-1-database-a", 11)).toBe("prod-…ase-a");
  expect(fitted("abc", 1)).toBe("a…c");
});

import { expect, it } from "vitest";
import { laterTerm, SupersededError, TermOutOfRangeError } from "./errors.ts";
import { MAX_TERM, nextTerm, readTerm } from "./terms.ts";

it.each([
  [undefined, 0],
  ["0", 0],
  ["17", 17],
  [String(MAX_TERM), MAX_TERM],
])("term %s is read as %i", (text, term) => {
  expect(readTerm(text)).toBe(term);
});

it.each([String(MAX_TERM + 1), "9007199254740993", "99999999999999999999999", "1e3", "-1", "1.5", "", " 1", "x"])(
  "term '%s' is not one that a leader wrote: it counts as later than every leader's term, and never as an earlier one",
  (text) => {
    expect(readTerm(text)).toBe(Number.POSITIVE_INFINITY);
  },
);

it("the next leader has a higher term than all before it, if a higher one exists", () => {
  expect(nextTerm()).toBe(1);
  expect(nextTerm(4, 9, 2)).toBe(10);
  expect(nextTerm(MAX_TERM - 1)).toBe(MAX_TERM);
  expect(nextTerm(MAX_TERM)).toBeUndefined();
  expect(nextTerm(3, Number.POSITIVE_INFINITY)).toBeUndefined();
});

it("a later term is another leader's; a term out of range needs a user, and the error names the command", () => {
  const work = { kind: "Work", namespace: "karmada-es-east", name: "web" };
  expect(laterTerm(work, 3, 4)).toBeInstanceOf(SupersededError);
  const error = laterTerm(work, 3, Number.POSITIVE_INFINITY);
  expect(error).toBeInstanceOf(TermOutOfRangeError);
  expect(error.message).toContain(
    "kubectl annotate work web -n karmada-es-east lockstep.karmada.io/term=0 --overwrite",
  );
});

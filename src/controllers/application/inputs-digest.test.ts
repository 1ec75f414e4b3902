import { createHash, randomBytes } from "node:crypto";
import { expect, it, vi } from "vitest";
import { canonicalText } from "../../runtime/index.ts";
import { digestOfAny, outlineOf } from "./inputs-digest.ts";

/** What ledgers hold: another digest would render everything again. */
function stored(value: unknown): string {
  const text = canonicalText(JSON.parse(JSON.stringify({ value })));
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

it("the digest of inputs is the one that ledgers hold, with and without an archive", () => {
  const archive = { bytes: Buffer.from([0, 1, 200, 255]) };
  for (const value of [{ b: [1, null], a: "x" }, { chart: { archive }, a: 1 }, [{ archive }, { archive }], archive]) {
    expect(digestOfAny(value)).toBe(stored(value));
    expect(digestOfAny(value)).toBe(stored(value));
  }
  // A text that looks like the place of an archive stays a text.
  const [{ mark } = { mark: "" }] = outlineOf(archive).archives;
  const lookalike = { a: JSON.parse(mark), b: "$&" };
  expect(digestOfAny(lookalike)).toBe(stored(lookalike));
});

it("an archive is made to text once, however often its application is looked at", () => {
  const bytes = () => Buffer.from(content);
  const content = randomBytes(1_000);
  const slow = vi.spyOn(Uint8Array.prototype, "join");
  const looks = [1, 2, 3].map(() => {
    const archive = { bytes: bytes() };
    return [1, 2].map((variant) => digestOfAny({ archive, values: [variant] })).join(" ");
  });
  expect([new Set(looks).size, slow.mock.calls.length]).toEqual([1, 1]);
  slow.mockRestore();
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { cutList } from "./list-body.ts";

it("a list that is split and parsed item by item equals JSON.parse of the whole, for any strings in its objects", () => {
  const list = fc.record({
    kind: fc.string(),
    metadata: fc.dictionary(fc.string(), fc.jsonValue()),
    items: fc.array(fc.jsonValue(), { maxLength: 5 }),
    after: fc.jsonValue(),
  });
  fc.assert(
    fc.property(list, fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const cut = cutList(text);
      expect(cut).toBeDefined();
      const items = cut?.items.map(([start, end]) => JSON.parse(text.slice(start, end)));
      expect({ ...JSON.parse(cut?.envelope ?? ""), items }).toEqual(JSON.parse(text));
    }),
    { numRuns: 500 },
  );
});

it.each([
  "",
  "[]",
  '{"items":[{"a":1}',
  '{"items":[{"a":"x]}',
  '{"items":[1,]}',
  '{"items":[1 2]}',
  '{"kind":"List"}',
  '{"items":null}',
  '{"kind" "x","items":[]}',
])("%s is not a list that can be split", (text) => {
  expect(cutList(text)).toBeUndefined();
});

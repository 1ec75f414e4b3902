import fc from "fast-check";
import { expect, it } from "vitest";
import { cutList, itemText, unwantedKeys } from "./list-body.ts";

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
      const items = cut?.items.map((item) => JSON.parse(itemText(text, item)));
      expect({ ...JSON.parse(cut?.envelope ?? ""), items }).toEqual(JSON.parse(text));
    }),
    { numRuns: 500 },
  );
});

it("the texts of unwanted keys are empty, at any depth; other values of these keys and all other texts stay", () => {
  const items = fc.array(
    fc.jsonValue().chain((value) =>
      fc.record({
        annotations: fc.record({ long: fc.oneof(fc.string(), fc.jsonValue()), short: fc.string() }),
        value: fc.constant(value),
        long: fc.string(),
      }),
    ),
    { maxLength: 4 },
  );
  const emptied = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(emptied);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [
        key,
        key === "long" && typeof each === "string" ? "" : emptied(each),
      ]),
    );
  };
  fc.assert(
    fc.property(items, fc.constantFrom(undefined, 1), (value, indent) => {
      const text = JSON.stringify({ kind: "List", items: value }, null, indent);
      const cut = cutList(text, unwantedKeys(["long"]));
      expect(cut?.items.map((item) => JSON.parse(itemText(text, item)))).toEqual(
        emptied(JSON.parse(JSON.stringify(value))),
      );
    }),
    { numRuns: 300 },
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

import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../runtime/index.ts";
import { compileSchema } from "./compile.ts";

function lines(spec: JsonObject, value: Json, old?: Json): string[] {
  const schema = compileSchema({ type: "object", properties: { spec } });
  const errors = schema.validate({ spec: value }, old === undefined ? undefined : { spec: old });
  return errors.map((error) => `${error.path}: ${error.message}`);
}

function holds(rule: string, spec: JsonObject, value: Json, old?: Json): boolean {
  return lines({ ...spec, "x-kubernetes-validations": [{ rule }] }, value, old).length === 0;
}

const object = (properties: JsonObject): JsonObject => ({ type: "object", properties });
const listOf = (items: JsonObject): JsonObject => ({ type: "array", items });

describe("rules", () => {
  it("report the message, the messageExpression, or the rule itself", () => {
    const schema = (rule: JsonObject) => ({
      ...object({ n: { type: "integer" } }),
      "x-kubernetes-validations": [rule],
    });
    expect(lines(schema({ rule: "self.n > 1" }), { n: 1 })).toEqual(["spec: Invalid value: failed rule: self.n > 1"]);
    expect(lines(schema({ rule: "self.n > 1", message: "n must be greater than 1" }), { n: 1 })).toEqual([
      "spec: Invalid value: n must be greater than 1",
    ]);
    const expression = { rule: "self.n > 1", messageExpression: "'n is %d'.format([self.n])", message: "fallback" };
    expect(lines(schema(expression), { n: 1 })).toEqual(["spec: Invalid value: n is 1"]);
    expect(lines(schema({ ...expression, messageExpression: "''" }), { n: 1 })).toEqual([
      "spec: Invalid value: fallback",
    ]);
  });

  it("use reason and fieldPath", () => {
    const schema = (reason: string) => ({
      ...object({ n: { type: "integer" }, m: { type: "object", additionalProperties: { type: "string" } } }),
      "x-kubernetes-validations": [{ rule: "false", message: "no", reason, fieldPath: ".n" }],
    });
    expect(lines(schema("FieldValueForbidden"), {})).toEqual(["spec.n: Forbidden: no"]);
    expect(lines(schema("FieldValueRequired"), {})).toEqual(["spec.n: Required value: no"]);
    expect(lines(schema("FieldValueInvalid"), {})).toEqual(["spec.n: Invalid value: no"]);
    expect(lines(schema("FieldValueDuplicate"), {})).toEqual(["spec.n: Duplicate value"]);
  });

  it("show scalars, and name list items and map entries", () => {
    const positive = {
      type: "integer",
      "x-kubernetes-validations": [{ rule: "self > 0", message: "must be positive" }],
    };
    expect(lines(listOf(positive), [1, 0])).toEqual(["spec[1]: Invalid value: 0: must be positive"]);
    expect(lines({ type: "object", additionalProperties: positive }, { a: 0 })).toEqual([
      "spec[a]: Invalid value: 0: must be positive",
    ]);
  });

  it("report which rule could not be evaluated, and why", () => {
    const schema = {
      ...object({ n: { type: "integer" } }),
      "x-kubernetes-validations": [{ rule: "self.n > 1", message: "n must be greater than 1" }],
    };
    expect(lines(schema, {})).toEqual([
      'spec: Invalid value: "object": no such key: n evaluating rule: n must be greater than 1',
    ]);
  });

  it("are skipped while the object has the wrong shape, and an error reports that", () => {
    const schema = { ...object({ n: { type: "integer" } }), "x-kubernetes-validations": [{ rule: "self.n > 1" }] };
    expect(lines(schema, { n: "x" })).toEqual([
      'spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"',
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    ]);
  });

  it("stop when they exceed the cost budget", () => {
    const rule = "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))";
    const schema = { ...listOf({ type: "integer" }), "x-kubernetes-validations": [{ rule }] };
    expect(lines(schema, Array(40).fill(1))).toEqual([]);
    expect(lines(schema, Array(1_000).fill(1))).toEqual([
      'spec: Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run',
    ]);
  });
});

describe("values in rules", () => {
  it("integers are ints, by schema; numbers are doubles", () => {
    expect(holds("self.n / 2 == 1 && type(self.n) == int", object({ n: { type: "integer" } }), { n: 3 })).toBe(true);
    expect(holds("self.n / 2.0 == 1.5", object({ n: { type: "number" } }), { n: 3 })).toBe(true);
    const mixed = object({ n: { "x-kubernetes-int-or-string": true } });
    const rule = "type(self.n) == int ? self.n >= 1 : self.n.endsWith('%')";
    expect(holds(rule, mixed, { n: 1 })).toBe(true);
    expect(holds(rule, mixed, { n: "5%" })).toBe(true);
    expect(holds(rule, mixed, { n: "5" })).toBe(false);
  });

  it("absent and null fields are absent; a null entry of a map is present", () => {
    const schema = object({ a: { type: "string", nullable: true } });
    expect(holds("!has(self.a)", schema, {})).toBe(true);
    expect(holds("!has(self.a)", schema, { a: null })).toBe(true);
    const map = { type: "object", additionalProperties: { type: "string", nullable: true } };
    expect(holds("'k' in self && self['k'] == null && !('j' in self)", map, { k: null })).toBe(true);
  });

  it("reserved words and odd characters in field names are escaped", () => {
    const schema = object({ namespace: { type: "string" }, "a-b": { type: "string" }, "c.d/e": { type: "string" } });
    const rule = "self.__namespace__ == 'n' && self.a__dash__b == 'x' && self.c__dot__d__slash__e == 'y'";
    expect(holds(rule, schema, { namespace: "n", "a-b": "x", "c.d/e": "y" })).toBe(true);
  });

  it("map keys are not escaped", () => {
    const schema = { type: "object", additionalProperties: { type: "integer" } };
    expect(holds("self['a-b'] == 1 && self.all(k, k.startsWith('a'))", schema, { "a-b": 1 })).toBe(true);
  });

  it("only the names in metadata are visible", () => {
    const schema = compileSchema({
      type: "object",
      "x-kubernetes-validations": [{ rule: "self.metadata.name == 'x' && self.kind == 'K'" }],
    });
    expect(schema.validate({ kind: "K", metadata: { name: "x" } })).toEqual([]);
    expect(() =>
      compileSchema({ type: "object", "x-kubernetes-validations": [{ rule: "self.metadata.namespace_ == 'x'" }] }),
    ).toThrow("undefined field 'namespace_'");
  });

  it("Kubernetes' list functions work", () => {
    const ints = listOf({ type: "integer" });
    expect(holds("self.sum() == 6 && self.min() == 1 && self.max() == 3 && self.isSorted()", ints, [1, 2, 3])).toBe(
      true,
    );
    expect(holds("self.isSorted()", ints, [2, 1])).toBe(false);
    expect(holds("self.sum() == 0", ints, [])).toBe(true);
    expect(holds("self.indexOf(2) == 1 && self.lastIndexOf(2) == 2 && self.indexOf(9) == -1", ints, [1, 2, 2])).toBe(
      true,
    );
    expect(holds("self.map(x, x * 2).sum() == 6", ints, [1, 2])).toBe(true);
    expect(holds("self.exists_one(x, x == 1)", ints, [1, 1])).toBe(false);
  });

  it("Kubernetes' string functions work", () => {
    const text = { type: "string" };
    expect(holds("self.matches('^[a-z]+$')", text, "abc")).toBe(true);
    expect(holds("self.matches('^(a+)+$')", text, `${"a".repeat(20_000)}b`)).toBe(false);
    expect(holds("self.split(',').size() == 2 && self.lowerAscii() == 'a,b'", text, "A,B")).toBe(true);
    expect(holds("self.replace('a', 'b') == 'b' && self.indexOf('a') == 0 && size(self) == 1", text, "a")).toBe(true);
    expect(holds("isQuantity(self)", text, "1.5Gi")).toBe(true);
    expect(holds("isURL(self)", text, "https://example.com")).toBe(true);
  });
});

describe("transition rules", () => {
  const immutable = {
    type: "string",
    "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "is immutable" }],
  };

  it("run only if there is an old value", () => {
    const schema = object({ a: immutable });
    expect(lines(schema, { a: "x" })).toEqual([]);
    expect(lines(schema, { a: "x" }, {})).toEqual([]);
    expect(lines(schema, { a: "x" }, { a: "x" })).toEqual([]);
    expect(lines(schema, { a: "y" }, { a: "x" })).toEqual(['spec.a: Invalid value: "y": is immutable']);
  });

  it("match the entries of a list of type map by key, and no other lists", () => {
    const item = { ...object({ name: { type: "string" }, a: immutable }), required: ["name"] };
    const map = { ...listOf(item), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] };
    const old = [
      { name: "one", a: "1" },
      { name: "two", a: "2" },
    ];
    const changed = [
      { name: "two", a: "2" },
      { name: "one", a: "9" },
    ];
    expect(lines(map, changed, old)).toEqual(['spec[1].a: Invalid value: "9": is immutable']);
    expect(lines(listOf(item), changed, old)).toEqual([]);
  });

  it("apply also to an unchanged value", () => {
    const schema = object({
      n: { type: "integer", "x-kubernetes-validations": [{ rule: "self > oldSelf", message: "must rise" }] },
    });
    expect(lines(schema, { n: 1 }, { n: 1 })).toEqual(["spec.n: Invalid value: 1: must rise"]);
  });

  it("other rules do not check unchanged values again", () => {
    const schema = object({
      n: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 5" }] },
      m: { type: "integer" },
    });
    expect(lines(schema, { n: 1, m: 2 }, { n: 1, m: 1 })).toEqual([]);
    expect(lines(schema, { n: 2, m: 1 }, { n: 1, m: 1 })).toHaveLength(1);
  });
});

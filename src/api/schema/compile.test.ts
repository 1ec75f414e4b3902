import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../runtime/index.ts";
import { compileSchema } from "./compile.ts";
import { SchemaError } from "./types.ts";

/** A schema whose `spec` is the given one. */
function specSchema(spec: JsonObject): JsonObject {
  return { type: "object", properties: { spec } };
}

function lines(spec: JsonObject, value: Json, old?: Json): string[] {
  const oldObject = old === undefined ? undefined : { spec: old };
  return compileSchema(specSchema(spec))
    .validate({ spec: value }, oldObject)
    .map((error) => `${error.path}: ${error.message}`);
}

describe("validation answers in Kubernetes' words", () => {
  const cases: Array<[string, JsonObject, Json, string[]]> = [
    [
      "type",
      { type: "integer" },
      "a",
      ['spec: Invalid value: "string": spec in body must be of type integer: "string"'],
    ],
    ["null", { type: "string" }, null, ['spec: Invalid value: "null": spec in body must be of type string: "null"']],
    ["nullable", { type: "string", nullable: true }, null, []],
    ["integer as number", { type: "number" }, 3, []],
    ["whole float as integer", { type: "integer" }, 3.0, []],
    [
      "fraction",
      { type: "integer" },
      1.5,
      [
        'spec: Invalid value: "number": spec in body must be of type integer: "number"',
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec',
      ],
    ],
    [
      "minimum",
      { type: "integer", minimum: 0 },
      -1,
      ["spec: Invalid value: -1: spec in body should be greater than or equal to 0"],
    ],
    [
      "exclusive minimum",
      { type: "integer", minimum: 0, exclusiveMinimum: true },
      0,
      ["spec: Invalid value: 0: spec in body should be greater than 0"],
    ],
    [
      "maximum",
      { type: "integer", maximum: 5 },
      6,
      ["spec: Invalid value: 6: spec in body should be less than or equal to 5"],
    ],
    [
      "multipleOf",
      { type: "number", multipleOf: 0.5 },
      0.7,
      ["spec: Invalid value: 0.7: spec in body should be a multiple of 0.5"],
    ],
    [
      "int32",
      { type: "integer", format: "int32" },
      2 ** 31,
      ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec'],
    ],
    ["enum", { type: "string", enum: ["A", "B"] }, "C", ['spec: Unsupported value: "C": supported values: "A", "B"']],
    ["maxLength", { type: "string", maxLength: 1 }, "ab", ["spec: Too long: may not be more than 1 byte"]],
    ["length in characters", { type: "string", maxLength: 1 }, "😀", []],
    [
      "minLength",
      { type: "string", minLength: 1 },
      "",
      ['spec: Invalid value: "": spec in body should be at least 1 chars long'],
    ],
    [
      "pattern",
      { type: "string", pattern: "^a+$" },
      "b",
      ["spec: Invalid value: \"b\": spec in body should match '^a+$'"],
    ],
    [
      "format",
      { type: "string", format: "date-time" },
      "2020-02-30T00:00:00Z",
      ['spec: Invalid value: "2020-02-30T00:00:00Z": spec in body must be of type date-time: "2020-02-30T00:00:00Z"'],
    ],
    [
      "maxItems",
      { type: "array", items: { type: "string" }, maxItems: 1 },
      ["a", "b"],
      ["spec: Too many: 2: must have at most 1 item"],
    ],
    [
      "minItems",
      { type: "array", items: { type: "string" }, minItems: 1 },
      [],
      ["spec: Invalid value: 0: spec in body should have at least 1 items"],
    ],
    [
      "items",
      { type: "array", items: { type: "string" } },
      ["a", 1],
      ['spec[1]: Invalid value: "integer": spec[1] in body must be of type string: "integer"'],
    ],
    [
      "required",
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      {},
      ["spec.a: Required value"],
    ],
    [
      "minProperties",
      { type: "object", additionalProperties: { type: "string" }, minProperties: 1 },
      {},
      ["spec: Invalid value: 0: spec in body should have at least 1 properties"],
    ],
    [
      "maxProperties",
      { type: "object", additionalProperties: { type: "string" }, maxProperties: 1 },
      { a: "", b: "" },
      ["spec: Too many: 2: must have at most 1 item"],
    ],
    [
      "additionalProperties",
      { type: "object", additionalProperties: { type: "integer" } },
      { a: "b" },
      ['spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"'],
    ],
    ["int or string", { "x-kubernetes-int-or-string": true }, "25%", []],
    [
      "neither int nor string",
      { "x-kubernetes-int-or-string": true },
      true,
      ['spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean"'],
    ],
    [
      "set",
      { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
      ["a", "b", "a", "a"],
      ['spec[2]: Duplicate value: "a"'],
    ],
    [
      "list map",
      {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: { type: "object", required: ["name"], properties: { name: { type: "string" }, n: { type: "integer" } } },
      },
      [
        { name: "a", n: 1 },
        { name: "a", n: 2 },
      ],
      ['spec[1]: Duplicate value: {"name":"a"}'],
    ],
    [
      "list map of something else",
      {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
      },
      ["a"],
      [
        'spec[0]: Invalid value: "string": spec[0] in body must be of type object: "string"',
        'spec[0]: Invalid value: "a": must be an object for an array of list-type map',
      ],
    ],
    [
      "oneOf",
      {
        type: "object",
        properties: { a: { type: "string" }, b: { type: "string" } },
        oneOf: [{ required: ["a"] }, { required: ["b"] }],
      },
      { a: "", b: "" },
      ['<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ],
    [
      "anyOf",
      {
        type: "object",
        properties: { a: { type: "string" }, b: { type: "string" } },
        anyOf: [{ required: ["a"] }, { required: ["b"] }],
      },
      {},
      ['<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)', "spec.a: Required value"],
    ],
    [
      "not",
      { type: "integer", not: { minimum: 5 } },
      7,
      ['<nil>: Invalid value: "": "spec" must not validate the schema (not)'],
    ],
  ];
  it.each(cases)("for the case: %s", (_name, schema, value, expected) => {
    expect(lines(schema, value)).toEqual(expected);
  });

  it("drops errors about unchanged values, so that old objects stay editable", () => {
    const schema = { type: "object", properties: { a: { type: "integer", maximum: 5 }, b: { type: "integer" } } };
    expect(lines(schema, { a: 9, b: 2 }, { a: 9, b: 1 })).toEqual([]);
    expect(lines(schema, { a: 8, b: 2 }, { a: 9, b: 1 })).toHaveLength(1);
  });
});

describe("a string format", () => {
  const good: Record<string, string[]> = {
    "date-time": ["2024-02-29T23:59:59Z", "2024-01-01T00:00:00.5+02:00"],
    duration: ["1h30m", "0", "-1.5s", "22 ns", "3 weeks"],
    ipv4: ["10.0.0.1"],
    ipv6: ["::1", "fe80::1", "1:2:3:4:5:6:7:8", "::ffff:10.0.0.1"],
    cidr: ["10.0.0.0/8", "fe80::/10"],
    uri: ["https://example.com/x", "/path"],
    hostname: ["a.example.com"],
    uuid: ["01234567-89ab-cdef-0123-456789abcdef"],
    byte: ["aGVsbG8="],
    "made-up": ["anything"],
  };
  const bad: Record<string, string[]> = {
    "date-time": ["2024-02-30T00:00:00Z", "2024-01-01", "2024-01-01T25:00:00Z", ""],
    duration: ["1 parsec", "h", ""],
    ipv4: ["256.0.0.1", "1.2.3", "::1"],
    ipv6: ["1::2::3", "1:2:3:4:5:6:7", "12345::", "10.0.0.1", ":".repeat(100_000)],
    cidr: ["10.0.0.0/33", "10.0.0.0"],
    uri: ["example", "https://exa mple"],
    hostname: ["-a", "a..b", "a_b"],
    uuid: ["x"],
    byte: ["a"],
  };
  const check = (format: string, text: string) => lines({ type: "string", format }, text).length === 0;
  it.each(Object.entries(good))("accepts valid values of %s", (format, texts) => {
    expect(texts.filter((text) => !check(format, text))).toEqual([]);
  });
  it.each(Object.entries(bad))("refuses invalid values of %s", (format, texts) => {
    expect(texts.filter((text) => check(format, text))).toEqual([]);
  });
});

describe("pruning", () => {
  const schema = compileSchema({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          known: { type: "string" },
          list: { type: "array", items: { type: "object", properties: { a: { type: "string" } } } },
          map: { type: "object", additionalProperties: { type: "object", properties: { a: { type: "string" } } } },
          free: {
            type: "object",
            "x-kubernetes-preserve-unknown-fields": true,
            properties: { strict: { type: "object", properties: {} } },
          },
          template: {
            type: "object",
            "x-kubernetes-embedded-resource": true,
            properties: { spec: { type: "object" } },
          },
        },
      },
    },
  });

  it("removes unknown fields and names them", () => {
    const value: JsonObject = {
      apiVersion: "v1",
      kind: "K",
      metadata: { name: "n", labels: { a: "b" } },
      other: 1,
      spec: {
        known: "x",
        foo: 1,
        list: [{ a: "1", b: "2" }],
        map: { k: { a: "1", b: "2" } },
        free: { anything: { deep: [1] }, strict: { x: 1 } },
        template: { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: {}, status: {} },
      },
    };
    expect(schema.prune(value)).toEqual([
      "other",
      "spec.foo",
      "spec.free.strict.x",
      "spec.list[0].b",
      "spec.map.k.b",
      "spec.template.status",
    ]);
    expect(value).toEqual({
      apiVersion: "v1",
      kind: "K",
      metadata: { name: "n", labels: { a: "b" } },
      spec: {
        known: "x",
        list: [{ a: "1" }],
        map: { k: { a: "1" } },
        free: { anything: { deep: [1] }, strict: {} },
        template: { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: {} },
      },
    });
  });
});

describe("defaulting", () => {
  const schema = compileSchema(
    specSchema({
      type: "object",
      default: {},
      properties: {
        n: { type: "integer", default: 1 },
        nullable: { type: "string", nullable: true, default: "x" },
        plain: { type: "string" },
        nested: { type: "object", properties: { deep: { type: "string", default: "d" } } },
        list: { type: "array", items: { type: "object", properties: { a: { type: "string", default: "a" } } } },
      },
    }),
  );
  const defaulted = (value: JsonObject) => {
    schema.applyDefaults(value);
    return value;
  };

  it("sets absent fields, inside existing values and inside values that a default has just set", () => {
    expect(defaulted({})).toEqual({ spec: { n: 1, nullable: "x" } });
    expect(defaulted({ spec: { n: 0, nested: {}, list: [{}, { a: "b" }] } })).toEqual({
      spec: { n: 0, nullable: "x", nested: { deep: "d" }, list: [{ a: "a" }, { a: "b" }] },
    });
  });

  it("treats null as absent unless null is allowed", () => {
    expect(defaulted({ spec: { n: null, nullable: null, plain: null } })).toEqual({ spec: { n: 1, nullable: null } });
  });

  it("never shares a default between objects", () => {
    const first = defaulted({});
    (first.spec as JsonObject).n = 7;
    expect(defaulted({})).toEqual({ spec: { n: 1, nullable: "x" } });
  });
});

function refusalOf(schema: JsonObject): string {
  try {
    compileSchema(schema);
    return "accepted";
  } catch (error) {
    return String((error as Error).message);
  }
}

describe("a schema is refused, with the place and the reason", () => {
  const cases: Array<[string, JsonObject, string]> = [
    ["no type at the root", {}, "type: must not be empty at the root"],
    ["root not an object", { type: "string" }, "type: must be object at the root"],
    [
      "root map",
      { type: "object", additionalProperties: { type: "string" } },
      "additionalProperties: must not be used at the root",
    ],
    ["field without type", specSchema({}), "properties[spec].type: must not be empty for specified object fields"],
    ["list without items", specSchema({ type: "array" }), "properties[spec].items: must be specified"],
    [
      "unknown type",
      specSchema({ type: "file" }),
      "properties[spec].type: must be one of object, array, string, integer, number, boolean",
    ],
    [
      "bad pattern",
      specSchema({ type: "string", pattern: "(" }),
      "properties[spec].pattern: must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`",
    ],
    [
      "lookahead",
      specSchema({ type: "string", pattern: "(?=a)" }),
      "properties[spec].pattern: must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
    ],
    ["$ref", specSchema({ $ref: "#/x" }), "properties[spec].$ref: is not supported"],
    [
      "type inside anyOf",
      specSchema({ type: "string", anyOf: [{ type: "string" }] }),
      "properties[spec].anyOf[0].type: must be empty to be structural",
    ],
    [
      "undeclared field inside oneOf",
      specSchema({ type: "object", oneOf: [{ properties: { a: { minimum: 1 } } }] }),
      "properties[spec].properties[a]: must be specified because properties[spec].oneOf[0].properties[a] is",
    ],
    [
      "metadata with its own schema",
      { type: "object", properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } } },
      "properties[metadata]: must not specify anything other than name and generateName, but metadata is implicitly specified",
    ],
    [
      "list map without keys",
      specSchema({ type: "array", "x-kubernetes-list-type": "map", items: { type: "object" } }),
      "properties[spec].x-kubernetes-list-map-keys: must not be empty if x-kubernetes-list-type is map",
    ],
    [
      "rule with a misspelt field",
      specSchema({
        type: "object",
        properties: { a: { type: "string" } },
        "x-kubernetes-validations": [{ rule: "self.b == ''" }],
      }),
      "properties[spec].x-kubernetes-validations[0].rule: compilation failed: undefined field 'b'",
    ],
    [
      "rule with an unknown variable",
      specSchema({ type: "string", "x-kubernetes-validations": [{ rule: "slef == ''" }] }),
      "properties[spec].x-kubernetes-validations[0].rule: compilation failed: undeclared reference to 'slef' (in container '')",
    ],
    [
      "rule with an unknown function",
      specSchema({ type: "string", "x-kubernetes-validations": [{ rule: "self.shout() == ''" }] }),
      "properties[spec].x-kubernetes-validations[0].rule: compilation failed: undeclared reference to 'shout' (in container '')",
    ],
    [
      "fieldPath that leads nowhere",
      specSchema({ type: "object", "x-kubernetes-validations": [{ rule: "true", fieldPath: ".a" }] }),
      "properties[spec].x-kubernetes-validations[0].fieldPath: does not refer to a valid field: .a",
    ],
  ];
  it.each(cases)("%s", (_name, schema, message) => {
    expect(() => compileSchema(schema)).toThrow(SchemaError);
    expect(refusalOf(schema)).toBe(message);
  });

  it("names the place of a rule that is not CEL", () => {
    const schema = specSchema({ type: "string", "x-kubernetes-validations": [{ rule: "self ==" }] });
    expect(() => compileSchema(schema)).toThrow(
      /^properties\[spec\]\.x-kubernetes-validations\[0\]\.rule: compilation failed: /,
    );
  });
});

describe("hostile input", () => {
  const schema = compileSchema(
    specSchema({
      type: "object",
      properties: {
        text: { type: "string", pattern: "^(a+)+$" },
        map: { type: "object", additionalProperties: { type: "string" } },
        any: { "x-kubernetes-preserve-unknown-fields": true },
      },
    }),
  );

  it("treats __proto__ and constructor as ordinary names", () => {
    const value: JsonObject = JSON.parse(
      '{"spec":{"__proto__":{"polluted":true},"constructor":1,"map":{"__proto__":"x"}}}',
    );
    expect(schema.prune(value)).toEqual(["spec.__proto__", "spec.constructor"]);
    schema.applyDefaults(value);
    expect(schema.validate(value)).toEqual([]);
    expect(JSON.stringify(value)).toBe('{"spec":{"map":{"__proto__":"x"}}}');
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  it("can declare and default a field called __proto__", () => {
    const fields: JsonObject = JSON.parse('{"__proto__":{"type":"string","default":"d"}}');
    const odd = compileSchema(specSchema({ type: "object", default: {}, properties: fields }));
    const value: JsonObject = {};
    odd.applyDefaults(value);
    expect(JSON.stringify(value)).toBe('{"spec":{"__proto__":"d"}}');
  });

  it("matches a pattern that would hang a backtracking engine", () => {
    expect(schema.validate({ spec: { text: `${"a".repeat(100_000)}b` } })).toHaveLength(1);
  });

  it("refuses depth instead of overflowing the stack", () => {
    let deep: Json = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    const value = { spec: { any: deep } };
    expect(schema.prune(value)).toEqual([]);
    schema.applyDefaults(value);
    expect(schema.validate(value)).toEqual([
      { kind: "Invalid", path: "<nil>", message: "Invalid value: the object is nested too deeply" },
    ]);
    expect(() => compileSchema({ type: "object", properties: { spec: deep } })).toThrow("is nested too deeply");
  });

  it("does not repeat a huge value in the error", () => {
    const [error] = schema.validate({ spec: { text: "b".repeat(1_000_000) } });
    expect(error?.message.length).toBeLessThan(2_000);
  });
});

describe("properties", () => {
  const schema = compileSchema(
    specSchema({
      type: "object",
      default: {},
      properties: {
        n: { type: "integer", default: 3, minimum: 0 },
        s: { type: "string", nullable: true },
        list: { type: "array", items: { type: "object", properties: { a: { type: "string", default: "a" } } } },
        map: { type: "object", additionalProperties: { type: "integer", default: 1 } },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
      "x-kubernetes-validations": [{ rule: "!has(self.n) || self.n < 100" }],
    }),
  );
  const key = fc.constantFrom("spec", "n", "s", "list", "map", "free", "a", "__proto__", "other");
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, 0, -1, 1.5, "", "x"),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 5 }),
    ),
  }));
  const anyObject = fc.record({ spec: tree, other: tree }, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;

  it("pruning and defaulting are idempotent, and never throw", () => {
    fc.assert(
      fc.property(anyObject, (value) => {
        schema.prune(value);
        schema.applyDefaults(value);
        const once = JSON.stringify(value);
        expect(schema.prune(value)).toEqual([]);
        schema.applyDefaults(value);
        expect(JSON.stringify(value)).toBe(once);
      }),
    );
  });

  it("validation is repeatable, changes nothing, and accepts an unchanged update", () => {
    fc.assert(
      fc.property(anyObject, (value) => {
        const before = JSON.stringify(value);
        const errors = schema.validate(value);
        expect(schema.validate(value)).toEqual(errors);
        expect(JSON.stringify(value)).toBe(before);
        expect(schema.validate(value, JSON.parse(before)).filter((error) => error.kind !== "Duplicate")).toEqual([]);
      }),
    );
  });
});

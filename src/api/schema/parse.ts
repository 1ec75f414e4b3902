import { RE2JS } from "@bufbuild/re2";
import { isJsonObject, type Json, type JsonObject, ownField } from "../../runtime/index.ts";
import { isTooDeep } from "./json.ts";
import type { NodeType, Pattern, RuleReason, RuleSource, SchemaNode, ValueLimits } from "./node.ts";
import { SchemaError } from "./types.ts";

/** Reads a whole schema; throws SchemaError if it is not one. Another function checks that it is structural. */
export function parseSchema(schema: JsonObject): SchemaNode {
  if (isTooDeep(schema)) throw new SchemaError("", "is nested too deeply");
  return parseNode(schema, "");
}

const TYPES: readonly NodeType[] = ["object", "array", "string", "integer", "number", "boolean"];
const REASONS: readonly RuleReason[] = [
  "FieldValueInvalid",
  "FieldValueForbidden",
  "FieldValueRequired",
  "FieldValueDuplicate",
];

/** Keywords of JSON Schema that a CustomResourceDefinition must not use. */
const FORBIDDEN = ["$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id", "deprecated"];

// Users do not write longer patterns or rules; compiling them would only cost time and memory.
const LONGEST_PATTERN_CHARS = 10_000;
const LONGEST_RULE_CHARS = 20_000;

function parseNode(schema: JsonObject, path: string): SchemaNode {
  for (const keyword of FORBIDDEN) {
    if (ownField(schema, keyword) !== undefined) throw new SchemaError(child(path, keyword), "is not supported");
  }
  const read = new KeywordReader(schema, path);
  if (read.flag("uniqueItems")) {
    throw new SchemaError(
      child(path, "uniqueItems"),
      "cannot be set to true since the runtime complexity becomes quadratic; use x-kubernetes-list-type: set",
    );
  }
  return {
    path,
    type: read.oneOf("type", TYPES),
    nullable: read.flag("nullable"),
    defaultValue: ownField(schema, "default"),
    properties: read.nodes("properties"),
    additional: parseAdditional(schema, path),
    items: read.node("items"),
    preserveUnknown: read.flag("x-kubernetes-preserve-unknown-fields"),
    embedded: read.flag("x-kubernetes-embedded-resource"),
    intOrString: read.flag("x-kubernetes-int-or-string"),
    listType: read.oneOf("x-kubernetes-list-type", ["atomic", "set", "map"]),
    listMapKeys: read.strings("x-kubernetes-list-map-keys"),
    limits: parseLimits(read, schema),
    allOf: read.nodeList("allOf"),
    anyOf: read.nodeList("anyOf"),
    oneOf: read.nodeList("oneOf"),
    not: read.node("not"),
    rules: parseRules(schema, path),
  };
}

function parseLimits(read: KeywordReader, schema: JsonObject): ValueLimits {
  const pattern = read.text("pattern");
  const options = ownField(schema, "enum");
  if (options !== undefined && !Array.isArray(options)) throw read.wrong("enum", "a list");
  return {
    required: read.strings("required"),
    enum: options,
    minimum: read.number("minimum"),
    maximum: read.number("maximum"),
    exclusiveMinimum: read.flag("exclusiveMinimum"),
    exclusiveMaximum: read.flag("exclusiveMaximum"),
    multipleOf: read.number("multipleOf"),
    minLength: read.number("minLength"),
    maxLength: read.number("maxLength"),
    minItems: read.number("minItems"),
    maxItems: read.number("maxItems"),
    minProperties: read.number("minProperties"),
    maxProperties: read.number("maxProperties"),
    pattern: pattern === undefined ? undefined : parsePattern(pattern, child(read.path, "pattern")),
    format: read.text("format"),
  };
}

/** RE2, as in Kubernetes: its time is linear in the text, for every pattern. */
function parsePattern(source: string, path: string): Pattern {
  if (source.length > LONGEST_PATTERN_CHARS) {
    throw new SchemaError(path, `must be no longer than ${LONGEST_PATTERN_CHARS} characters`);
  }
  try {
    const compiled = RE2JS.compile(source);
    return { source, test: (text) => compiled.test(text) };
  } catch (error) {
    throw new SchemaError(path, `must be a valid regular expression, but isn't: ${messageOf(error)}`);
  }
}

function parseAdditional(schema: JsonObject, path: string): SchemaNode["additional"] {
  const value = ownField(schema, "additionalProperties");
  const at = child(path, "additionalProperties");
  if (value === undefined || value === null) return undefined;
  if (value === true) return "anything";
  if (value === false) throw new SchemaError(at, "cannot be set to false");
  if (!isJsonObject(value)) throw new SchemaError(at, "must be a schema or true");
  if (Object.keys(objectOr(ownField(schema, "properties"))).length > 0) {
    throw new SchemaError(at, "additionalProperties and properties are mutual exclusive");
  }
  return parseNode(value, at);
}

function parseRules(schema: JsonObject, path: string): RuleSource[] {
  const keyword = "x-kubernetes-validations";
  const list = ownField(schema, keyword);
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw new SchemaError(child(path, keyword), "must be a list");
  return list.map((entry, index) => {
    const at = `${child(path, keyword)}[${index}]`;
    if (!isJsonObject(entry)) throw new SchemaError(at, "must be an object");
    const read = new KeywordReader(entry, at);
    const rule = read.text("rule")?.trim();
    if (!rule) throw new SchemaError(child(at, "rule"), "rule is not specified");
    if (rule.length > LONGEST_RULE_CHARS) {
      throw new SchemaError(child(at, "rule"), `must be no longer than ${LONGEST_RULE_CHARS} characters`);
    }
    if (read.flag("optionalOldSelf")) {
      throw new SchemaError(child(at, "optionalOldSelf"), "is not supported; write a transition rule with oldSelf");
    }
    return {
      path: at,
      rule,
      message: read.text("message")?.trim() || undefined,
      messageExpression: read.text("messageExpression")?.trim() || undefined,
      reason: read.oneOf("reason", REASONS) ?? "FieldValueInvalid",
      fieldPath: read.text("fieldPath") || undefined,
    };
  });
}

class KeywordReader {
  readonly #schema: JsonObject;
  readonly path: string;

  constructor(schema: JsonObject, path: string) {
    this.#schema = schema;
    this.path = path;
  }

  wrong(keyword: string, expected: string): SchemaError {
    return new SchemaError(child(this.path, keyword), `must be ${expected}`);
  }

  #field(keyword: string): Json | undefined {
    return ownField(this.#schema, keyword) ?? undefined;
  }

  flag(keyword: string): boolean {
    const value = this.#field(keyword);
    if (value !== undefined && typeof value !== "boolean") throw this.wrong(keyword, "true or false");
    return value === true;
  }

  text(keyword: string): string | undefined {
    const value = this.#field(keyword);
    if (value !== undefined && typeof value !== "string") throw this.wrong(keyword, "a string");
    return value;
  }

  number(keyword: string): number | undefined {
    const value = this.#field(keyword);
    if (value !== undefined && typeof value !== "number") throw this.wrong(keyword, "a number");
    return value;
  }

  oneOf<const T extends string>(keyword: string, options: readonly T[]): T | undefined {
    const value = this.#field(keyword);
    if (value === undefined || value === "") return undefined;
    const found = options.find((option) => option === value);
    if (found === undefined) throw this.wrong(keyword, `one of ${options.join(", ")}`);
    return found;
  }

  strings(keyword: string): string[] {
    const value = this.#field(keyword);
    if (value === undefined) return [];
    const strings = Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
    if (!Array.isArray(value) || strings.length !== value.length) throw this.wrong(keyword, "a list of strings");
    return strings;
  }

  node(keyword: string): SchemaNode | undefined {
    const value = this.#field(keyword);
    if (value === undefined) return undefined;
    if (!isJsonObject(value)) throw this.wrong(keyword, "a schema");
    return parseNode(value, child(this.path, keyword));
  }

  nodeList(keyword: string): SchemaNode[] {
    const value = this.#field(keyword);
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw this.wrong(keyword, "a list of schemas");
    return value.map((item, index) => {
      const at = `${child(this.path, keyword)}[${index}]`;
      if (!isJsonObject(item)) throw new SchemaError(at, "must be a schema");
      return parseNode(item, at);
    });
  }

  nodes(keyword: string): Map<string, SchemaNode> {
    const value = this.#field(keyword);
    if (value === undefined) return new Map();
    if (!isJsonObject(value)) throw this.wrong(keyword, "a map of schemas");
    return new Map(
      Object.entries(value).map(([name, schema]) => {
        const at = `${child(this.path, keyword)}[${name}]`;
        if (!isJsonObject(schema)) throw new SchemaError(at, "must be a schema");
        return [name, parseNode(schema, at)];
      }),
    );
  }
}

function child(path: string, keyword: string): string {
  return path === "" ? keyword : `${path}.${keyword}`;
}

function objectOr(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

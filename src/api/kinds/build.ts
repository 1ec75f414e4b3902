import Type, { type Static, type TProperties, type TSchema } from "typebox";
import type { Json, JsonObject } from "../../runtime/index.ts";

/**
 * The words the kinds are written in. Each makes a TypeBox schema, from which come the TypeScript type, the CRD's schema
 * and its defaults; the description is what `kubectl explain` shows, and always names the default.
 *
 * A field with a default is present in the TypeScript type (that is the defaulted object) but not required of the user.
 */

/** One rule in CEL, and what a person reads when it is broken: which field, and the remedy. */
export interface Rule {
  rule: string;
  message: string;
  /** The field the error points at, if not the value the rule stands on. */
  fieldPath?: string;
}

interface Common {
  rules?: Rule[];
}

interface TextOptions<Default extends string | undefined> extends Common {
  maxLength: number;
  minLength?: number;
  pattern?: string;
  format?: string;
  default?: Default;
}

export function text(description: string, options: TextOptions<string>) {
  return Type.String(keywords(description, options));
}

interface IntegerOptions extends Common {
  minimum?: number;
  maximum?: number;
  format?: "int32" | "int64";
  default?: number;
}

export function integer(description: string, options: IntegerOptions = {}) {
  return Type.Integer(keywords(description, { format: "int32", ...options }));
}

export function flag(description: string, options: { default?: boolean } = {}) {
  return Type.Boolean(keywords(description, options));
}

/** One of a few words. */
export function choice<const Values extends readonly [string, ...string[]]>(
  description: string,
  values: Values,
  options: Common & { default?: Values[number] } = {},
) {
  return Type.Unsafe<Values[number]>({ type: "string", enum: [...values], ...keywords(description, options) });
}

/** The rules must make sure that a text is a percentage. */
export function numberOrPercent(description: string, options: { rules: Rule[]; default: number }) {
  return Type.Unsafe<number | `${number}%`>({
    "x-kubernetes-int-or-string": true,
    maxLength: LONGEST_PERCENT_CHARS,
    ...keywords(description, options),
  });
}

// "100%", with room for what people get wrong, so that they read our message and not one about length.
const LONGEST_PERCENT_CHARS = 16;

interface ListOptions extends Common {
  maxItems: number;
  minItems?: number;
  default?: [];
  /** `set`: each item once. A list of keys: each item is known by these fields, once. Otherwise it is replaced as a whole. */
  identity?: "set" | readonly string[];
}

export function list<Item extends TSchema>(description: string, items: Item, options: ListOptions) {
  const { identity, ...rest } = options;
  const kind: JsonObject = Array.isArray(identity)
    ? { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [...identity] }
    : { "x-kubernetes-list-type": identity === "set" ? "set" : "atomic" };
  return Type.Array(items, { ...keywords(description, rest), ...kind });
}

interface MapOptions extends Common {
  maxProperties: number;
  default?: Record<string, never>;
}

export function map<Value extends TSchema>(description: string, values: Value, options: MapOptions) {
  return Type.Unsafe<Record<string, Static<Value>>>({
    type: "object",
    additionalProperties: values,
    ...keywords(description, options),
  });
}

export function object<Properties extends TProperties>(
  description: string,
  properties: Properties,
  options: Common & { default?: Record<string, never> } = {},
) {
  return Type.Object(properties, keywords(description, options));
}

/** Any JSON object, kept as it is. */
export function anyObject(description: string) {
  return Type.Unsafe<JsonObject>({ type: "object", description, "x-kubernetes-preserve-unknown-fields": true });
}

export const optional = Type.Optional;

export function time(description: string) {
  // Longer than any RFC 3339 time people write.
  return Type.String({ description, format: "date-time", maxLength: 40 });
}

function keywords(description: string, options: Common & { default?: unknown }): Record<string, unknown> {
  const { rules, ...rest } = options;
  const value = options.default;
  const isScalar = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return {
    description: isScalar ? `${description} Defaults to ${value}.` : description,
    ...rest,
    ...(rules && { "x-kubernetes-validations": rules.map((rule) => ({ ...rule })) }),
  };
}

/** The TypeBox schema as a structural one: what has a default is not required. */
export function toOpenAPI(schema: TSchema): JsonObject {
  // TypeBox keeps its own marks in fields that JSON does not show.
  return structural(JSON.parse(JSON.stringify(schema)) as JsonObject);
}

function structural(schema: JsonObject): JsonObject {
  const result: JsonObject = { ...schema };
  if (isObject(schema.properties)) {
    const properties = mapValues(schema.properties, structural);
    result.properties = properties;
    const required = (Array.isArray(schema.required) ? schema.required : []).filter(
      (name) => typeof name === "string" && !hasDefault(properties[name]),
    );
    if (required.length > 0) result.required = required;
    else delete result.required;
  }
  if (isObject(schema.items)) result.items = structural(schema.items);
  if (isObject(schema.additionalProperties)) result.additionalProperties = structural(schema.additionalProperties);
  return result;
}

function hasDefault(property: Json | undefined): boolean {
  return isObject(property) && property.default !== undefined;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mapValues(object: JsonObject, change: (value: JsonObject) => JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [key, isObject(value) ? change(value) : value]),
  );
}

import Type, { type Static, type TProperties, type TSchema } from "typebox";
import type { Json, JsonObject } from "../../runtime/index.ts";

/**
 * The functions that define kinds. Each makes a TypeBox schema; the TypeScript type, the CRD's schema and its defaults
 * are derived from it. The description is what `kubectl explain` shows, and always names the default.
 *
 * A field with a default is always present in the TypeScript type (the defaulted object), but users need not set it.
 */

/** One CEL rule, and the message for users when an object breaks it: which field, and the remedy. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
  /** The field that the error names, if it is not the value that the rule applies to. */
  readonly fieldPath?: string;
}

interface Common {
  readonly rules?: Rule[];
}

interface TextOptions<Default extends string | undefined> extends Common {
  readonly maxLength: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly default?: Default;
}

export function text(description: string, options: TextOptions<string>) {
  return Type.String(keywords(description, options));
}

interface IntegerOptions extends Common {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: "int32" | "int64";
  readonly default?: number;
}

export function integer(description: string, options: IntegerOptions = {}) {
  return Type.Integer(keywords(description, { format: "int32", ...options }));
}

export function flag(description: string, options: { default?: boolean } = {}) {
  return Type.Boolean(keywords(description, options));
}

/** One of a few fixed words. */
export function choice<const Values extends readonly [string, ...string[]]>(
  description: string,
  values: Values,
  options: Common & { default?: Values[number] } = {},
) {
  return Type.Unsafe<Values[number]>({ type: "string", enum: [...values], ...keywords(description, options) });
}

/** The rules must check that a string is a percentage. */
export function numberOrPercent(description: string, options: { rules: Rule[]; default: number }) {
  return Type.Unsafe<number | `${number}%`>({
    "x-kubernetes-int-or-string": true,
    maxLength: LONGEST_PERCENT_CHARS,
    ...keywords(description, options),
  });
}

// "100%", with room for mistakes, so that users read our message instead of one about length.
const LONGEST_PERCENT_CHARS = 16;

interface ListOptions extends Common {
  readonly maxItems: number;
  readonly minItems?: number;
  readonly default?: [];
  /**
   * `set`: items are unique. A list of keys: these fields identify an item. Otherwise the list is replaced as a whole.
   */
  readonly identity?: "set" | readonly string[];
}

export function list<Item extends TSchema>(description: string, items: Item, options: ListOptions) {
  const { identity, ...rest } = options;
  const kind: JsonObject = Array.isArray(identity)
    ? { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [...identity] }
    : { "x-kubernetes-list-type": identity === "set" ? "set" : "atomic" };
  return Type.Array(items, { ...keywords(description, rest), ...kind });
}

interface MapOptions extends Common {
  readonly maxProperties: number;
  readonly default?: Record<string, never>;
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

/** Any JSON object, stored unchanged. */
export function anyObject(description: string) {
  return Type.Unsafe<JsonObject>({ type: "object", description, "x-kubernetes-preserve-unknown-fields": true });
}

/** Any Kubernetes object, stored unchanged; the API server checks its apiVersion, kind and metadata. */
export function embeddedObject(description: string) {
  return Type.Unsafe<JsonObject>({
    type: "object",
    description,
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
  });
}

export const optional = Type.Optional;

export function time(description: string) {
  // Longer than any RFC 3339 time that users write.
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

/** The TypeBox schema as a structural schema: a field with a default is not required. */
export function toOpenAPI(schema: TSchema): JsonObject {
  // TypeBox stores its own marks in fields that JSON does not show.
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

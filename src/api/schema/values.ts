import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { stringFormat } from "./formats.ts";
import { canonicalText, fieldNames, jsonEqual, ownField } from "./json.ts";
import type { SchemaNode } from "./node.ts";
import type { FieldError } from "./types.ts";
import { wording } from "./wording.ts";

/**
 * OpenAPI v3 validation. An error under a value that did not change since `old` is dropped: an object that was stored
 * before its schema became stricter stays editable, as Kubernetes has it.
 */
export function checkValue(node: SchemaNode, value: Json, path: string, old: Json | undefined): FieldError[] {
  const errors = [...checkType(node, value, path), ...checkAlternatives(node, value, path)];
  if (typeof value === "string") errors.push(...checkString(node, value, path));
  if (typeof value === "number") errors.push(...checkNumber(node, value, path));
  if (Array.isArray(value)) errors.push(...checkList(node, value, path, old));
  if (isJsonObject(value)) errors.push(...checkObject(node, value, path, old));
  const options = node.limits.enum;
  if (options && !options.some((option) => jsonEqual(option, value))) {
    errors.push(wording.notSupported(path, value, options));
  }
  return errors.length > 0 && old !== undefined && jsonEqual(value, old) ? [] : errors;
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function checkType(node: SchemaNode, value: Json, path: string): FieldError[] {
  const expected = node.intOrString ? ["integer", "string"] : node.type ? [node.type] : [];
  if (expected.length === 0) return [];
  const actual = typeOf(value);
  if (actual === "null" ? node.nullable : expected.some((type) => type === actual)) return [];
  if (actual === "integer" && expected.includes("number")) return [];
  return [wording.wrongType(path, actual, `${inBody(path)} must be of type ${expected.join(",")}: "${actual}"`)];
}

function checkString(node: SchemaNode, text: string, path: string): FieldError[] {
  const { format } = node.limits;
  const limit = limitError(node, text, path);
  // A text that is too long is not looked at further.
  if (limit?.kind === "TooLong") return [limit];
  const errors = limit ? [limit] : [];
  const hasFormat = format !== undefined && (node.type === "string" || node.type === undefined);
  const check = hasFormat ? stringFormat(format) : undefined;
  if (check && !check(text)) {
    errors.push(wording.wrongType(path, text, `${inBody(path)} must be of type ${format}: ${JSON.stringify(text)}`));
  }
  return errors;
}

/** The first that is broken; the others would mostly say the same. */
function limitError(node: SchemaNode, text: string, path: string): FieldError | undefined {
  const { minLength, maxLength, pattern } = node.limits;
  if (maxLength !== undefined && characters(text) > maxLength) return wording.tooLong(path, maxLength);
  if (minLength !== undefined && characters(text) < minLength) {
    return wording.invalid(path, text, `${inBody(path)} should be at least ${minLength} chars long`);
  }
  if (pattern && !pattern.test(text)) {
    return wording.invalid(path, text, `${inBody(path)} should match '${pattern.source}'`);
  }
  return undefined;
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const INT32_MAX = 2 ** 31 - 1;
// Beyond 2^53 a JSON number read by JavaScript is no longer exact; Kubernetes' own limit is 2^63.
const INT64_MAX = 2 ** 63;

function checkNumber(node: SchemaNode, value: number, path: string): FieldError[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, format } = node.limits;
  const errors: FieldError[] = [];
  const fail = (detail: string) => errors.push(wording.invalid(path, value, `${inBody(path)} should be ${detail}`));
  if (node.type === "integer") {
    const beyondInt32 = format === "int32" && (value > INT32_MAX || value < -INT32_MAX - 1);
    if (beyondInt32 || Math.abs(value) >= INT64_MAX || !Number.isInteger(value)) {
      const kind =
        format === "int32" || format === "int64" ? `integer with format ${format}` : "integer (default format)";
      errors.push(wording.invalid("", "", `Checked value must be of type ${kind} in ${path}`));
    }
  }
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) fail(`a multiple of ${multipleOf}`);
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    fail(exclusiveMaximum ? `less than ${maximum}` : `less than or equal to ${maximum}`);
  }
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    fail(exclusiveMinimum ? `greater than ${minimum}` : `greater than or equal to ${minimum}`);
  }
  return errors;
}

function isMultiple(value: number, factor: number): boolean {
  return Number.isInteger(factor < 1 ? value * (1 / factor) : value / factor);
}

function checkList(node: SchemaNode, list: Json[], path: string, old: Json | undefined): FieldError[] {
  const { minItems, maxItems } = node.limits;
  if (maxItems !== undefined && list.length > maxItems) return [wording.tooMany(path, list.length, maxItems)];
  const errors: FieldError[] = [];
  if (minItems !== undefined && list.length < minItems) {
    errors.push(wording.invalid(path, list.length, `${inBody(path)} should have at least ${minItems} items`));
  }
  const items = node.items;
  if (items) {
    const oldItem = oldItemFinder(node, old);
    list.forEach((item, index) => {
      errors.push(...checkValue(items, item, `${path}[${index}]`, oldItem(item)));
    });
  }
  return errors;
}

function checkObject(node: SchemaNode, object: JsonObject, path: string, old: Json | undefined): FieldError[] {
  const { minProperties, maxProperties, required } = node.limits;
  const names = fieldNames(object);
  const errors: FieldError[] = [];
  if (minProperties !== undefined && names.length < minProperties) {
    errors.push(
      wording.invalid(path, names.length, `${inBody(path)} should have at least ${minProperties} properties`),
    );
  }
  if (maxProperties !== undefined && names.length > maxProperties) {
    return [...errors, wording.tooMany(path, names.length, maxProperties)];
  }
  const oldObject = isJsonObject(old) ? old : {};
  for (const name of names) {
    const property = node.properties.get(name) ?? (node.additional === "anything" ? undefined : node.additional);
    const value = ownField(object, name);
    if (!property || value === undefined) continue;
    errors.push(...checkValue(property, value, fieldPath(path, name), ownField(oldObject, name)));
  }
  for (const name of required) {
    if (ownField(object, name) === undefined) errors.push(wording.required(fieldPath(path, name)));
  }
  return errors;
}

function checkAlternatives(node: SchemaNode, value: Json, path: string): FieldError[] {
  const errors: FieldError[] = [];
  // What Kubernetes says of a failed alternative has no path of its own; the field stands inside the sentence.
  const fail = (detail: string) => errors.push(wording.invalid("", "", `"${path}" must ${detail}`));
  const check = (nested: SchemaNode) => checkValue(nested, value, path, undefined);
  const isValid = (found: FieldError[]) => found.length === 0;

  const any = node.anyOf.map(check);
  if (any.length > 0 && !any.some(isValid)) {
    fail("validate at least one schema (anyOf)");
    errors.push(...fewest(any));
  }
  const one = node.oneOf.map(check);
  const valid = one.filter(isValid).length;
  if (one.length > 0 && valid !== 1) {
    const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
    fail(`validate one and only one schema (oneOf). ${found}`);
    if (valid === 0) errors.push(...fewest(one));
  }
  const all = node.allOf.map(check);
  if (!all.every(isValid)) {
    errors.push(...all.flat());
    fail(`validate all the schemas (allOf)${all.some(isValid) ? "" : ". None validated"}`);
  }
  if (node.not && isValid(check(node.not))) fail("not validate the schema (not)");
  return errors;
}

/** The errors of the alternative that fits best; the first of several. */
function fewest(alternatives: FieldError[][]): FieldError[] {
  return alternatives.reduce((best, next) => (next.length < best.length ? next : best));
}

/** Finds the old item that an item of a list of type map continues. In other lists, none does. */
export function oldItemFinder(node: SchemaNode, old: Json | undefined): (item: Json) => Json | undefined {
  if (node.listType !== "map" || !Array.isArray(old)) return () => undefined;
  const byKey = new Map(old.map((item) => [listMapKey(node, item), item]));
  return (item) => byKey.get(listMapKey(node, item));
}

/** Two items of a list of type map are the same entry exactly if this text is the same. */
function listMapKey(node: SchemaNode, item: Json): string {
  const fields = isJsonObject(item) ? item : {};
  return canonicalText(node.listMapKeys.map((key) => ownField(fields, key) ?? null));
}

/** Sets and maps written as lists: every entry stands there once. Reports each repeated entry once, as Kubernetes does. */
export function checkUniqueness(node: SchemaNode, value: Json, path: string): FieldError[] {
  if (Array.isArray(value)) {
    const errors = node.listType === "set" || node.listType === "map" ? repeatedItems(node, value, path) : [];
    const items = node.items;
    if (items)
      for (const [index, item] of value.entries()) errors.push(...checkUniqueness(items, item, `${path}[${index}]`));
    return errors;
  }
  if (!isJsonObject(value)) return [];
  return fieldNames(value).flatMap((name) => {
    const property = node.properties.get(name);
    const additional = node.additional === "anything" ? undefined : node.additional;
    const field = ownField(value, name);
    if (field === undefined) return [];
    if (property) return checkUniqueness(property, field, fieldPath(path, name));
    return additional ? checkUniqueness(additional, field, `${path}[${name}]`) : [];
  });
}

function repeatedItems(node: SchemaNode, list: Json[], path: string): FieldError[] {
  if (node.listType === "map") {
    for (const [index, item] of list.entries()) {
      if (item !== null && !isJsonObject(item)) {
        return [wording.invalid(`${path}[${index}]`, item, "must be an object for an array of list-type map")];
      }
    }
  }
  const seen = new Map<string, number>();
  const errors: FieldError[] = [];
  list.forEach((item, index) => {
    const key = node.listType === "map" ? listMapKey(node, item) : canonicalText(item);
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    if (times === 2)
      errors.push(wording.duplicate(`${path}[${index}]`, node.listType === "map" ? keysOf(node, item) : item));
  });
  return errors;
}

function keysOf(node: SchemaNode, item: Json): JsonObject {
  const fields = isJsonObject(item) ? item : {};
  return Object.fromEntries(
    node.listMapKeys.map((key) => [key, ownField(fields, key)] as const).filter(([, value]) => value !== undefined),
  );
}

function fieldPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function inBody(path: string): string {
  return `${path} in body`;
}

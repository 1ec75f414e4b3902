import { canonicalText, isJsonObject, type Json, type JsonObject, ownField, sameJson } from "../../runtime/index.ts";
import { stringFormat } from "./formats.ts";
import { fieldNames } from "./json.ts";
import type { SchemaNode } from "./node.ts";
import type { FieldError } from "./types.ts";
import { wording } from "./wording.ts";

/**
 * OpenAPI v3 validation; appends to `errors`. An error in a value that is unchanged since `old` is dropped: an object
 * that was stored before its schema became stricter stays editable, as in Kubernetes.
 */
export function checkValue(
  node: SchemaNode,
  value: Json,
  path: string,
  old: Json | undefined,
  errors: FieldError[],
): FieldError[] {
  if (value === old) return errors;
  const before = errors.length;
  checkType(node, value, path, errors);
  checkAlternatives(node, value, path, errors);
  if (typeof value === "string") checkString(node, value, path, errors);
  else if (typeof value === "number") checkNumber(node, value, path, errors);
  else if (Array.isArray(value)) checkList(node, value, path, old, errors);
  else if (isJsonObject(value)) checkObject(node, value, path, old, errors);
  const options = node.limits.enum;
  if (options && !options.some((option) => sameJson(option, value))) {
    errors.push(wording.notSupported(path, value, options));
  }
  if (errors.length > before && old !== undefined && sameJson(value, old)) errors.length = before;
  return errors;
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function checkType(node: SchemaNode, value: Json, path: string, errors: FieldError[]): void {
  if (!node.intOrString && node.type === undefined) return;
  const actual = typeOf(value);
  if (actual === node.type && !node.intOrString) return;
  const expected = node.intOrString ? ["integer", "string"] : [node.type ?? ""];
  if (actual === "null" ? node.nullable : expected.includes(actual)) return;
  if (actual === "integer" && expected.includes("number")) return;
  errors.push(wording.wrongType(path, actual, `${inBody(path)} must be of type ${expected.join(",")}: "${actual}"`));
}

function checkString(node: SchemaNode, text: string, path: string, errors: FieldError[]): void {
  const { format } = node.limits;
  const limit = limitError(node, text, path);
  if (limit) errors.push(limit);
  // A text that is too long is not checked further.
  if (limit?.kind === "TooLong") return;
  const hasFormat = format !== undefined && (node.type === "string" || node.type === undefined);
  const check = hasFormat ? stringFormat(format) : undefined;
  if (check && !check(text)) {
    errors.push(wording.wrongType(path, text, `${inBody(path)} must be of type ${format}: ${JSON.stringify(text)}`));
  }
}

/** Only the first failed check; the others would mostly repeat it. */
function limitError(node: SchemaNode, text: string, path: string): FieldError | undefined {
  const { minLength, maxLength, pattern } = node.limits;
  // A text has at most as many characters as code units, and at least half as many.
  if (maxLength !== undefined && text.length > maxLength && characters(text) > maxLength)
    return wording.tooLong(path, maxLength);
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

function checkNumber(node: SchemaNode, value: number, path: string, errors: FieldError[]): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, format } = node.limits;
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
}

function isMultiple(value: number, factor: number): boolean {
  return Number.isInteger(factor < 1 ? value * (1 / factor) : value / factor);
}

function checkList(node: SchemaNode, list: Json[], path: string, old: Json | undefined, errors: FieldError[]): void {
  const { minItems, maxItems } = node.limits;
  if (maxItems !== undefined && list.length > maxItems) {
    errors.push(wording.tooMany(path, list.length, maxItems));
    return;
  }
  if (minItems !== undefined && list.length < minItems) {
    errors.push(wording.invalid(path, list.length, `${inBody(path)} should have at least ${minItems} items`));
  }
  const items = node.items;
  if (!items) return;
  const oldItem = oldItemFinder(node, old);
  list.forEach((item, index) => {
    checkValue(items, item, `${path}[${index}]`, oldItem(item), errors);
  });
}

function checkObject(
  node: SchemaNode,
  object: JsonObject,
  path: string,
  old: Json | undefined,
  errors: FieldError[],
): void {
  const { minProperties, maxProperties, required } = node.limits;
  const names = fieldNames(object);
  if (minProperties !== undefined && names.length < minProperties) {
    errors.push(
      wording.invalid(path, names.length, `${inBody(path)} should have at least ${minProperties} properties`),
    );
  }
  if (maxProperties !== undefined && names.length > maxProperties) {
    errors.push(wording.tooMany(path, names.length, maxProperties));
    return;
  }
  const oldObject = isJsonObject(old) ? old : {};
  for (const name of names) {
    const property = node.properties.get(name) ?? (node.additional === "anything" ? undefined : node.additional);
    const value = ownField(object, name);
    if (!property || value === undefined) continue;
    checkValue(property, value, fieldPath(path, name), ownField(oldObject, name), errors);
  }
  for (const name of required) {
    if (ownField(object, name) === undefined) errors.push(wording.required(fieldPath(path, name)));
  }
}

function checkAlternatives(node: SchemaNode, value: Json, path: string, errors: FieldError[]): void {
  if (!node.not && node.anyOf.length === 0 && node.oneOf.length === 0 && node.allOf.length === 0) return;
  // Kubernetes' message for a failed alternative has no path; the message contains the field.
  const fail = (detail: string) => errors.push(wording.invalid("", "", `"${path}" must ${detail}`));
  const check = (nested: SchemaNode) => checkValue(nested, value, path, undefined, []);
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
}

/** The errors of the alternative that matches best; the first of several. */
function fewest(alternatives: FieldError[][]): FieldError[] {
  return alternatives.reduce((best, next) => (next.length < best.length ? next : best));
}

/** Finds the old item with the same key, in a list of type map. Other lists have no such item. */
export function oldItemFinder(node: SchemaNode, old: Json | undefined): (item: Json) => Json | undefined {
  if (node.listType !== "map" || !Array.isArray(old)) return () => undefined;
  const byKey = new Map(old.map((item) => [listMapKey(node, item), item]));
  return (item) => byKey.get(listMapKey(node, item));
}

/** Two items of a list of type map are the same entry if and only if this text is equal. */
function listMapKey(node: SchemaNode, item: Json): string {
  const fields = isJsonObject(item) ? item : {};
  return canonicalText(node.listMapKeys.map((key) => ownField(fields, key) ?? null));
}

/**
 * Lists of type set or map: every entry must be unique. Reports each duplicate once, as Kubernetes does. Entries that
 * are identical in `known` were checked when that was stored.
 */
export function checkUniqueness(
  node: SchemaNode,
  value: Json,
  path: string,
  known: Json | undefined,
  errors: FieldError[],
): FieldError[] {
  if (typeof value !== "object" || value === known) return errors;
  if (Array.isArray(value)) {
    if (node.listType === "set" || node.listType === "map") errors.push(...repeatedItems(node, value, path));
    const items = node.items;
    const knownItems = Array.isArray(known) ? known : [];
    if (items) {
      for (const [index, item] of value.entries()) {
        checkUniqueness(items, item, `${path}[${index}]`, knownItems[index], errors);
      }
    }
  } else if (isJsonObject(value)) {
    const knownFields = isJsonObject(known) ? known : {};
    for (const name of Object.keys(value)) {
      const field = ownField(value, name);
      if (typeof field !== "object") continue;
      const property = node.properties.get(name);
      const next = property ?? (node.additional === "anything" ? undefined : node.additional);
      if (!next) continue;
      const at = property ? fieldPath(path, name) : `${path}[${name}]`;
      checkUniqueness(next, field, at, ownField(knownFields, name), errors);
    }
  }
  return errors;
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

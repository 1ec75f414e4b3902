import { isJsonObject, type Json, type JsonObject, ownField, sameJson } from "../../runtime/index.ts";
import { fieldShape } from "../apply/structure.ts";
import { badRequest } from "../request/status.ts";
import type { Shape } from "../types.ts";

const DIRECTIVE = "$patch";
const RETAIN_KEYS = "$retainKeys";
const DELETE_FROM = "$deleteFromPrimitiveList/";
const ELEMENT_ORDER = "$setElementOrder/";

/**
 * Kubernetes' strategic merge patch of built-in kinds. Lists merge by key if the kind defines one; nothing is shared
 * with `original`'s maps.
 */
export function strategicMerge(original: Json | undefined, patch: JsonObject, shape: Shape): JsonObject {
  const directive = ownField(patch, DIRECTIVE);
  if (directive === "replace") return withoutDirectives(patch);
  if (directive === "delete") return {};
  if (directive !== undefined && directive !== "merge")
    throw badRequest(`unrecognized patch directive: ${JSON.stringify(directive)}`);
  const merged: JsonObject = isJsonObject(original) ? { ...original } : {};
  retainKeys(merged, patch);
  const orders = new Map<string, Json[]>();
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === undefined || key === DIRECTIVE || key === RETAIN_KEYS) continue;
    if (key.startsWith(ELEMENT_ORDER)) orders.set(key.slice(ELEMENT_ORDER.length), listOf(value, key));
    else if (key.startsWith(DELETE_FROM)) {
      const field = key.slice(DELETE_FROM.length);
      const present = ownField(merged, field);
      const gone = listOf(value, key);
      if (Array.isArray(present)) merged[field] = present.filter((item) => !gone.some((each) => sameJson(each, item)));
    } else if (value === null) delete merged[key];
    else merged[key] = mergeValue(ownField(merged, key), value, fieldShape(shape, key));
  }
  for (const [field, order] of orders) {
    const present = ownField(merged, field);
    if (Array.isArray(present))
      merged[field] = inOrder(
        present,
        order,
        ownField(isJsonObject(original) ? original : {}, field),
        fieldShape(shape, field),
      );
  }
  return merged;
}

function mergeValue(original: Json | undefined, patch: Json, shape: Shape): Json {
  if (isJsonObject(patch)) return strategicMerge(original, patch, shape.atomic ? {} : shape);
  if (!Array.isArray(patch)) return patch;
  if (shape.patchKey !== undefined)
    return mergeByKey(Array.isArray(original) ? original : [], patch, shape, shape.patchKey);
  if (shape.set) {
    const merged = Array.isArray(original) ? [...original] : [];
    for (const item of patch) if (!merged.some((each) => sameJson(each, item))) merged.push(item);
    return merged;
  }
  return patch.map(withoutDirectivesIn);
}

function mergeByKey(original: Json[], patch: Json[], shape: Shape, key: string): Json[] {
  const items = patch.filter(isJsonObject);
  if (items.length !== patch.length)
    throw badRequest(`each item of a list that merges by ${JSON.stringify(key)} must be an object`);
  const isReplace = items.some((item) => ownField(item, DIRECTIVE) === "replace" && ownField(item, key) === undefined);
  const merged: Json[] = isReplace ? [] : [...original];
  for (const item of items) {
    const identity = ownField(item, key);
    if (identity === undefined) {
      if (ownField(item, DIRECTIVE) === "replace") continue;
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    }
    const position = merged.findIndex((each) => isJsonObject(each) && sameJson(ownField(each, key), identity));
    if (ownField(item, DIRECTIVE) === "delete") {
      if (position >= 0) merged.splice(position, 1);
    } else if (position >= 0) merged[position] = strategicMerge(merged[position], item, shape.items ?? {});
    else merged.push(strategicMerge({}, item, shape.items ?? {}));
  }
  return merged;
}

/** A union: siblings that $retainKeys does not name are removed. */
function retainKeys(merged: JsonObject, patch: JsonObject): void {
  const retained = ownField(patch, RETAIN_KEYS);
  if (retained === undefined) return;
  const names = listOf(retained, RETAIN_KEYS);
  for (const key of Object.keys(merged)) if (!names.includes(key)) delete merged[key];
}

/**
 * The order that $setElementOrder gives; items that it does not name (of other managers) stay behind the one that they
 * followed.
 */
function inOrder(items: Json[], order: Json[], original: Json | undefined, shape: Shape): Json[] {
  const identity = (item: Json): Json | undefined =>
    shape.patchKey !== undefined && isJsonObject(item) ? ownField(item, shape.patchKey) : item;
  const rank = (item: Json) => order.findIndex((each) => sameJson(identity(each), identity(item)));
  const named = items.filter((item) => rank(item) >= 0).sort((left, right) => rank(left) - rank(right));
  const before = Array.isArray(original) ? original : [];
  const others = items.filter((item) => rank(item) < 0);
  for (const other of others) {
    const index = before.findIndex((each) => sameJson(identity(each), identity(other)));
    const predecessor = index > 0 ? before[index - 1] : undefined;
    const at =
      predecessor === undefined
        ? index === 0
          ? -1
          : named.length - 1
        : named.findIndex((each) => sameJson(identity(each), identity(predecessor)));
    named.splice(at + 1, 0, other);
  }
  return named;
}

function listOf(value: Json, key: string): Json[] {
  if (!Array.isArray(value)) throw badRequest(`${key} must be a list`);
  return value;
}

function withoutDirectivesIn(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutDirectivesIn);
  return isJsonObject(value) ? withoutDirectives(value) : value;
}

function withoutDirectives(patch: JsonObject): JsonObject {
  const plain: JsonObject = {};
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === undefined || value === null) continue;
    if (key === DIRECTIVE || key === RETAIN_KEYS || key.startsWith(DELETE_FROM) || key.startsWith(ELEMENT_ORDER))
      continue;
    plain[key] = withoutDirectivesIn(value);
  }
  return plain;
}

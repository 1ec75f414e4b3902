import { isJsonObject, type Json, type JsonObject, ownField } from "../../runtime/index.ts";
import { setField } from "./json.ts";
import type { SchemaNode } from "./node.ts";

/**
 * Adds the schema's defaults, in place. A null where null is not allowed counts as absent: it is replaced by the
 * default or removed. Defaults of nested fields apply inside existing values, and inside values that a default has just
 * set. Parts that `known` shares already have their defaults, and are skipped.
 */
export function applyDefaults(node: SchemaNode, value: Json | undefined, known: Json | undefined): void {
  if (value === known) return;
  if (Array.isArray(value)) defaultItems(node, value, Array.isArray(known) ? known : []);
  else if (isJsonObject(value)) defaultFields(node, value, isJsonObject(known) ? known : {});
}

function defaultItems(node: SchemaNode, list: Json[], known: readonly Json[]): void {
  const items = node.items;
  if (items === undefined) return;
  list.forEach((item, index) => {
    if (item === null && !items.nullable && items.defaultValue !== undefined) {
      list[index] = structuredClone(items.defaultValue);
    }
    applyDefaults(items, list[index], known[index]);
  });
}

function defaultFields(node: SchemaNode, object: JsonObject, known: JsonObject): void {
  for (const name of Object.keys(object)) {
    const field = object[name] === null ? fieldNode(node, name) : undefined;
    if (field && !field.nullable && field.defaultValue === undefined) delete object[name];
  }
  node.properties.forEach((property, name) => {
    if (property.defaultValue === undefined) return;
    const current = ownField(object, name);
    if (current === undefined || (current === null && !property.nullable)) {
      setField(object, name, structuredClone(property.defaultValue));
    }
  });
  for (const name of Object.keys(object)) {
    const field = fieldNode(node, name);
    if (field === undefined) continue;
    if (ownField(object, name) === null && !field.nullable && field.defaultValue !== undefined) {
      setField(object, name, structuredClone(field.defaultValue));
    }
    applyDefaults(field, ownField(object, name), ownField(known, name));
  }
}

function fieldNode(node: SchemaNode, name: string): SchemaNode | undefined {
  const property = node.properties.get(name);
  if (property) return property;
  return node.additional === "anything" ? undefined : node.additional;
}

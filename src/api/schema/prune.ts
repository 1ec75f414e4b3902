import { isJsonObject, type Json, type JsonObject, LIMITS, ownField } from "../../runtime/index.ts";
import type { SchemaNode } from "./node.ts";

const META_FIELDS: readonly string[] = ["apiVersion", "kind", "metadata"];

/**
 * Removes fields that the schema does not declare, in place; returns the removed paths, sorted. Parts that `known`
 * shares are skipped.
 */
export function pruneObject(root: SchemaNode, value: JsonObject, known: JsonObject | undefined): string[] {
  const removed: string[] = [];
  prune({ ...root, embedded: true }, value, known, "", removed, 0);
  return removed.sort();
}

/** Without a node, everything inside is unknown: objects are emptied, scalars stay (the field itself is declared). */
function prune(
  node: SchemaNode | undefined,
  value: Json | undefined,
  known: Json | undefined,
  path: string,
  removed: string[],
  depth: number,
) {
  if (typeof value !== "object" || value === known || depth > LIMITS.jsonDepth) return;
  if (Array.isArray(value)) {
    if (node?.preserveUnknown && node.items === undefined) return;
    const items = node?.preserveUnknown && node.items ? { ...node.items, preserveUnknown: true } : node?.items;
    const knownItems = Array.isArray(known) ? known : [];
    value.forEach((item, index) => {
      prune(items, item, knownItems[index], `${path}[${index}]`, removed, depth + 1);
    });
  } else if (isJsonObject(value)) {
    const knownFields = isJsonObject(known) ? known : {};
    for (const name of Object.keys(value)) {
      if (node?.embedded && META_FIELDS.includes(name)) continue;
      const at = path === "" ? name : `${path}.${name}`;
      const next = node?.properties.get(name) ?? node?.additional;
      if (next) {
        const below = next === "anything" ? undefined : next;
        prune(below, ownField(value, name), ownField(knownFields, name), at, removed, depth + 1);
      } else if (!node?.preserveUnknown) {
        removed.push(at);
        delete value[name];
      }
    }
  }
}

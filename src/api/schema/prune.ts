import { isJsonObject, type Json, type JsonObject, LIMITS } from "../../runtime/index.ts";
import { ownField } from "./json.ts";
import type { SchemaNode } from "./node.ts";

const META_FIELDS: readonly string[] = ["apiVersion", "kind", "metadata"];

/** Removes what the schema does not know, in place; returns the removed paths, sorted. */
export function pruneObject(root: SchemaNode, value: JsonObject): string[] {
  const removed: string[] = [];
  prune({ ...root, embedded: true }, value, "", removed, 0);
  return removed.sort();
}

/** Without a node everything inside is unknown: objects are emptied, scalars stay (the field itself is known). */
function prune(node: SchemaNode | undefined, value: Json | undefined, path: string, removed: string[], depth: number) {
  if (depth > LIMITS.jsonDepth) return;
  if (Array.isArray(value)) {
    if (node?.preserveUnknown && node.items === undefined) return;
    const items = node?.preserveUnknown && node.items ? { ...node.items, preserveUnknown: true } : node?.items;
    value.forEach((item, index) => {
      prune(items, item, `${path}[${index}]`, removed, depth + 1);
    });
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      if (node?.embedded && META_FIELDS.includes(name)) continue;
      const at = path === "" ? name : `${path}.${name}`;
      const property = node?.properties.get(name);
      if (property) prune(property, ownField(value, name), at, removed, depth + 1);
      else if (node?.additional === "anything") prune(undefined, ownField(value, name), at, removed, depth + 1);
      else if (node?.additional) prune(node.additional, ownField(value, name), at, removed, depth + 1);
      else if (!node?.preserveUnknown) {
        removed.push(at);
        delete value[name];
      }
    }
  }
}

import { type CelInput, celList, celMap } from "@bufbuild/cel";
import { isJsonObject, type Json, type JsonObject, ownField } from "../../runtime/index.ts";
import { fieldNames } from "./json.ts";
import type { SchemaNode } from "./node.ts";

/** Reserved words of CEL; a field with such a name is written `__namespace__` in a rule. */
const RESERVED = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

const ESCAPES: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};

/** The field's name in a rule; undefined if a rule cannot name it (Kubernetes hides such fields from rules). */
export function escapeFieldName(name: string): string | undefined {
  if (!/^[A-Za-z_./-][\w./-]*$/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  return name.replace(/__|[-./]/g, (match) => ESCAPES[match] ?? match);
}

/** The metadata that rules can read; no more, so that no rule can depend on labels or owners. */
export const VISIBLE_METADATA: readonly string[] = ["name", "generateName"];

/**
 * The value as rules see it: integers as CEL ints (a bare JavaScript number is a CEL double), and only declared fields.
 * A field that is null is absent; an entry of a map or list that is null is null.
 */
export function toCelValue(node: SchemaNode, value: Json, isObjectRoot = false): CelInput {
  if (typeof value === "number") return numberValue(node, value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const items = node.items;
    return celList(items ? value.map((item) => toCelValue(items, item)) : []);
  }
  const entries = new Map<string, CelInput>();
  const hasMeta = isObjectRoot || node.embedded;
  if (hasMeta) addMeta(entries, value);
  for (const name of fieldNames(value)) {
    // Whatever a schema declares about metadata, rules see no more of it than above.
    if (hasMeta && name === "metadata") continue;
    const field = ownField(value, name);
    if (field === undefined) continue;
    const property = node.properties.get(name);
    if (property) {
      const key = escapeFieldName(name);
      if (key !== undefined && field !== null) entries.set(key, toCelValue(property, field));
    } else if (node.additional && node.additional !== "anything") {
      entries.set(name, toCelValue(node.additional, field));
    }
  }
  return mapValue(entries);
}

function numberValue(node: SchemaNode, value: number): bigint | number {
  const isInteger = node.type === "integer" || node.intOrString;
  return isInteger && Number.isInteger(value) ? BigInt(value) : value;
}

function addMeta(entries: Map<string, CelInput>, object: JsonObject): void {
  for (const name of ["apiVersion", "kind"]) {
    const value = ownField(object, name);
    if (typeof value === "string") entries.set(name, value);
  }
  const metadata = ownField(object, "metadata");
  if (!isJsonObject(metadata)) return;
  const visible = new Map<string, CelInput>();
  for (const name of VISIBLE_METADATA) {
    const value = ownField(metadata, name);
    if (typeof value === "string") visible.set(name, value);
  }
  entries.set("metadata", mapValue(visible));
}

/** The library treats a null entry as absent; Kubernetes does not. */
function mapValue(entries: Map<string, CelInput>): CelInput {
  const map = celMap(entries);
  if ([...entries.values()].includes(null)) {
    Object.defineProperty(map, "has", { value: (key: unknown) => typeof key === "string" && entries.has(key) });
  }
  return map;
}

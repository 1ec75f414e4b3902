/** The values that an agent feeds back: one JSONPath each, all from one version of the object. */
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";

/** A longer part of an object is left out; the other values still come. */
const MAX_RAW_BYTES = 1024;

/** Fields that are absent give no value. */
export function valuesOf(object: JsonObject, paths: readonly JsonObject[]): JsonObject[] {
  return paths.flatMap(({ name, path }) => {
    const found = at(object, stepsOf(String(path)));
    const fieldValue = found === undefined || found === null ? undefined : fedBack(found);
    return fieldValue ? [{ name: String(name), fieldValue }] : [];
  });
}

function fedBack(value: Json): JsonObject | undefined {
  if (typeof value === "string") return { type: "String", string: value };
  if (typeof value === "number") return { type: "Integer", integer: value };
  if (typeof value === "boolean") return { type: "Boolean", boolean: value };
  const jsonRaw = JSON.stringify(value);
  return jsonRaw.length <= MAX_RAW_BYTES ? { type: "JsonRaw", jsonRaw } : undefined;
}

type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "all" }
  | { readonly kind: "with"; readonly field: string; readonly value: string };

const PARSED = new Map<string, readonly Step[]>();

/** `.a.b\.c`, `[*]`, and `[?(@.field=="value")]`: what the adapter asks for, and no more. */
function stepsOf(path: string): readonly Step[] {
  const known = PARSED.get(path);
  if (known) return known;
  const steps: Step[] = [];
  for (const [, field, filter] of path.matchAll(/\.((?:\\.|[^.[\\])+)|\[([^\]]*)\]/g)) {
    const [, key = "", value = ""] = /^\?\(@\.(\w+)=="([^"]*)"\)$/.exec(filter ?? "") ?? [];
    if (field !== undefined) steps.push({ kind: "field", name: field.replaceAll("\\.", ".") });
    else if (filter === "*") steps.push({ kind: "all" });
    else steps.push({ kind: "with", field: key, value });
  }
  PARSED.set(path, steps);
  return steps;
}

function at(from: Json | undefined, [step, ...rest]: readonly Step[]): Json | undefined {
  if (step === undefined) return from;
  if (step.kind === "field") return isJsonObject(from) ? at(from[step.name], rest) : undefined;
  const items = Array.isArray(from) ? from.filter(isJsonObject) : [];
  const chosen = step.kind === "all" ? items : items.filter((item) => item[step.field] === step.value);
  const found: Json[] = [];
  for (const item of chosen) {
    const value = at(item, rest);
    if (value !== undefined) found.push(value);
  }
  return found.length > 1 ? found : found[0];
}

/** The values that an agent feeds back: one JSONPath each, all from one version of the object. */
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";

/** A longer part of an object is left out; the other values still come. */
const MAX_RAW_BYTES = 1024;

/** Fields that are absent give no value, nor do whole parts without the agent's gate for them. */
export function valuesOf(object: JsonObject, paths: readonly JsonObject[], reportsParts: boolean): JsonObject[] {
  return paths.flatMap(({ name, path }) => {
    const found = at(object, stepsOf(String(path)));
    const fieldValue = found === undefined || found === null ? undefined : fedBack(found, reportsParts);
    return fieldValue ? [{ name: String(name), fieldValue }] : [];
  });
}

function fedBack(value: Json, reportsParts: boolean): JsonObject | undefined {
  if (typeof value === "string") return { type: "String", string: value };
  if (typeof value === "number") return { type: "Integer", integer: value };
  if (typeof value === "boolean") return { type: "Boolean", boolean: value };
  if (!reportsParts) return Array.isArray(value) && value[0] !== undefined ? fedBack(value[0], false) : undefined;
  const jsonRaw = JSON.stringify(value);
  return jsonRaw.length <= MAX_RAW_BYTES ? { type: "JsonRaw", jsonRaw } : undefined;
}

type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "all" }
  | { readonly kind: "at"; readonly index: number }
  | { readonly kind: "with"; readonly field: string; readonly value: string };

const PARSED = new Map<string, readonly Step[]>();

/** `.a.b\.c`, `[*]`, `[0]`, and `[?(@.field=="value")]`: what the adapter asks for, and no more. */
function stepsOf(path: string): readonly Step[] {
  const known = PARSED.get(path);
  if (known) return known;
  const steps: Step[] = [];
  for (const [, field, filter] of path.matchAll(/\.((?:\\.|[^.[\\])+)|\[([^\]]*)\]/g)) {
    const [, key = "", value = ""] = /^\?\(@\.(\w+)=="([^"]*)"\)$/.exec(filter ?? "") ?? [];
    if (field !== undefined) steps.push({ kind: "field", name: field.replaceAll("\\.", ".") });
    else if (filter === "*") steps.push({ kind: "all" });
    else if (/^\d+$/.test(filter ?? "")) steps.push({ kind: "at", index: Number(filter) });
    else steps.push({ kind: "with", field: key, value });
  }
  PARSED.set(path, steps);
  return steps;
}

function at(from: Json | undefined, [step, ...rest]: readonly Step[]): Json | undefined {
  if (step === undefined) return from;
  if (step.kind === "field") return isJsonObject(from) ? at(from[step.name], rest) : undefined;
  const items = Array.isArray(from) ? from.filter(isJsonObject) : [];
  if (step.kind === "at") return at(items[step.index], rest);
  const chosen = step.kind === "all" ? items : items.filter((item) => item[step.field] === step.value);
  const found: Json[] = [];
  for (const item of chosen) {
    const value = at(item, rest);
    if (value !== undefined) found.push(value);
  }
  return found.length > 1 ? found : found[0];
}

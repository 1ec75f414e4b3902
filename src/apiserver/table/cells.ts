import { isJsonObject, type Json, type JsonObject, valueAt } from "../../runtime/index.ts";
import { humanAge } from "./duration.ts";

/** One column of a Table: its heading, and an object's value in it. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format: string;
  readonly description: string;
  /** 0: always; above: with -o wide only. */
  readonly priority: number;
  cell(object: JsonObject, nowMs: number): Json;
}

export const NONE = "<none>";

/** A built-in kind's column. */
export function column(name: string, cell: (object: JsonObject, nowMs: number) => Json, description = name): Column {
  return { name, type: "string", format: "", description, priority: 0, cell };
}

export function number(name: string, cell: (object: JsonObject) => number, description = name): Column {
  return { name, type: "integer", format: "", description, priority: 0, cell };
}

/** Shown with -o wide only. */
export function wide(shown: Column): Column {
  return { ...shown, priority: 1 };
}

export const nameColumn: Column = {
  ...column("Name", (object) => textAt(object, "metadata", "name"), "The object's name."),
  format: "name",
};

export const ageColumn = column(
  "Age",
  (object, nowMs) => humanAge(valueAt(object, "metadata", "creationTimestamp"), nowMs),
  "Time since creation.",
);

export function textAt(value: Json | undefined, ...path: string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

export function numberAt(value: Json | undefined, ...path: string[]): number {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : 0;
}

/** The objects in the list at a chain of fields. */
export function objectsAt(value: Json | undefined, ...path: string[]): JsonObject[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter(isJsonObject) : [];
}

export function textsAt(value: Json | undefined, ...path: string[]): string[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
}

export function countAt(value: Json | undefined, ...path: string[]): number {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.length : isJsonObject(found) ? Object.keys(found).length : 0;
}

/** Labels and selectors as kubectl prints them: a=b,c=d. */
export function labels(value: Json | undefined): string {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return NONE;
  return Object.keys(value)
    .sort()
    .map((key) => `${key}=${value[key]}`)
    .join(",");
}

/** A LabelSelector as kubectl prints it. */
export function selector(value: Json | undefined): string {
  const equal = labels(valueAt(value, "matchLabels"));
  const expressions = objectsAt(value, "matchExpressions").map((each) => {
    const key = textAt(each, "key");
    const values = textsAt(each, "values").join(",");
    switch (textAt(each, "operator")) {
      case "In":
        return `${key} in (${values})`;
      case "NotIn":
        return `${key} notin (${values})`;
      case "DoesNotExist":
        return `!${key}`;
      default:
        return key;
    }
  });
  return [...(equal === NONE ? [] : [equal]), ...expressions].join(",") || NONE;
}

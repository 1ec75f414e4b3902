import { isJsonObject, type Json } from "../../runtime/index.ts";

/**
 * The JSONPath of printer columns and scale subresources: fields, quoted fields, indexes, `[*]`, and filters that
 * compare one field: `.status.conditions[?(@.type=="Ready")].status`. `..` is not supported.
 */
export type JsonPath = readonly Step[];

type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "all" }
  | { readonly kind: "filter"; readonly path: JsonPath; readonly operator: Operator | undefined; readonly value: Json };

type Operator = "==" | "!=" | "<" | "<=" | ">" | ">=";

/** Thrown for a JSONPath that this server does not support. */
export class JsonPathError extends Error {
  override readonly name = "JsonPathError";
  readonly path: string;

  constructor(path: string, reason: string) {
    super(`JSONPath ${JSON.stringify(path)}: ${reason}`);
    this.path = path;
  }
}

/** Reads `.spec.replicas`, with or without the leading `$` and surrounding braces. */
export function parseJsonPath(text: string): JsonPath {
  const braces = /^\{(.*)\}$/.exec(text.trim());
  const source = (braces?.[1] ?? text).trim().replace(/^[$@]/, "");
  const steps: Step[] = [];
  let rest = source;
  while (rest !== "") {
    const { step, length } = nextStep(text, rest);
    steps.push(step);
    rest = rest.slice(length);
  }
  return steps;
}

function nextStep(text: string, rest: string): { step: Step; length: number } {
  // A dot inside a name is written \. as in .metadata.labels.app\.kubernetes\.io/name.
  const field = /^\.?((?:\\.|[^.[\]\\])+)/.exec(rest);
  if (field?.[1] !== undefined) {
    return { step: { kind: "field", name: field[1].replace(/\\(.)/g, "$1") }, length: field[0].length };
  }
  const quoted = /^\.?\[\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")\s*\]/.exec(rest);
  if (quoted) {
    const name = (quoted[1] ?? quoted[2] ?? "").replace(/\\(.)/g, "$1");
    return { step: { kind: "field", name }, length: quoted[0].length };
  }
  const index = /^\.?\[\s*(-?\d+)\s*\]/.exec(rest);
  if (index) return { step: { kind: "index", index: Number(index[1]) }, length: index[0].length };
  const all = /^\.?\[\s*\*\s*\]/.exec(rest);
  if (all) return { step: { kind: "all" }, length: all[0].length };
  const filter = /^\.?\[\?\(((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^)"'])*)\)\]/.exec(rest);
  if (filter?.[1] !== undefined) return { step: parseFilter(text, filter[1]), length: filter[0].length };
  throw new JsonPathError(text, `cannot read "${rest}"; write fields, indexes, [*] or [?(@.field=="value")]`);
}

function parseFilter(text: string, condition: string): Step {
  const match = /^\s*@((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^=!<>])*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*$/.exec(
    condition,
  );
  if (!match) throw new JsonPathError(text, `filter "${condition}" must compare a field of the item: @.field=="value"`);
  const path = parseJsonPath(match[1] ?? "");
  const operator = OPERATORS.find((each) => each === match[2]);
  return { kind: "filter", path, operator, value: operator ? literal(text, match[3] ?? "") : null };
}

const OPERATORS: readonly Operator[] = ["==", "!=", "<=", ">=", "<", ">"];

function literal(text: string, source: string): Json {
  const quoted = /^'((?:\\.|[^'\\])*)'$/.exec(source) ?? /^"((?:\\.|[^"\\])*)"$/.exec(source);
  if (quoted) return (quoted[1] ?? "").replace(/\\(.)/g, "$1");
  if (source === "true" || source === "false") return source === "true";
  if (/^-?\d+(\.\d+)?$/.test(source)) return Number(source);
  throw new JsonPathError(text, `cannot compare with ${source}; write a quoted text, a number, true or false`);
}

/** All values at the path; none if a field is missing. */
export function findAll(path: JsonPath, value: Json | undefined): Json[] {
  let found: Json[] = value === undefined ? [] : [value];
  for (const step of path) found = found.flatMap((each) => follow(step, each));
  return found;
}

/** The first value at the path. */
export function findFirst(path: JsonPath, value: Json | undefined): Json | undefined {
  return findAll(path, value)[0];
}

function follow(step: Step, value: Json): Json[] {
  switch (step.kind) {
    case "field": {
      const next = isJsonObject(value) && Object.hasOwn(value, step.name) ? value[step.name] : undefined;
      return next === undefined ? [] : [next];
    }
    case "index": {
      const next = Array.isArray(value) ? value.at(step.index) : undefined;
      return next === undefined ? [] : [next];
    }
    case "all":
      return itemsOf(value);
    case "filter":
      return itemsOf(value).filter((item) => {
        const left = findFirst(step.path, item);
        if (left === undefined) return false;
        return step.operator === undefined || compares(left, step.operator, step.value);
      });
  }
}

function itemsOf(value: Json): Json[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.values(value).filter((each) => each !== undefined) : [];
}

function compares(left: Json, operator: Operator, right: Json): boolean {
  if (operator === "==") return left === right;
  if (operator === "!=") return left !== right;
  const comparable =
    (typeof left === "number" && typeof right === "number") || (typeof left === "string" && typeof right === "string");
  if (!comparable) return false;
  switch (operator) {
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    case ">=":
      return left >= right;
  }
}

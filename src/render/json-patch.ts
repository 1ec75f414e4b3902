import { clone, isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";

/** The three operations of RFC 6902 that override policies know. */
export type PatchOperation = { op: "add" | "replace"; path: string; value: Json } | { op: "remove"; path: string };

/** Thrown when an operation does not apply to the document; nothing of the patch is then applied. */
export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly operation: PatchOperation["op"];
  readonly path: string;
  readonly reason: string;
  constructor(operation: PatchOperation["op"], path: string, reason: string) {
    super(`${operation} ${path || '""'}: ${reason}`);
    this.operation = operation;
    this.path = path;
    this.reason = reason;
  }
}

/** Applies the operations in order to a copy. As in Karmada's patch library, a negative index counts from the end. */
export function applyPatch(document: Json, operations: readonly PatchOperation[]): Json {
  let result = clone(document);
  for (const operation of operations) result = applyOne(result, operation);
  return result;
}

/** The value that a pointer names, or undefined when there is none. */
export function valueAtPointer(document: Json, path: string): Json | undefined {
  const segments = parsePointer(path);
  if (!segments) return undefined;
  let current: Json | undefined = document;
  for (const segment of segments) current = child(current, segment);
  return current;
}

/** One key as a segment of a pointer. */
export function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function applyOne(document: Json, operation: PatchOperation): Json {
  const fail = (reason: string) => new PatchError(operation.op, operation.path, reason);
  const segments = parsePointer(operation.path);
  if (!segments) throw fail("the path must start with '/' and must not name __proto__");
  const key = segments.pop();
  if (key === undefined) {
    if (operation.op === "remove") throw fail("the whole document cannot be removed");
    return clone(operation.value);
  }
  let parent: Json | undefined = document;
  for (const [index, segment] of segments.entries()) {
    parent = child(parent, segment);
    if (parent === undefined) throw fail(`nothing is at /${segments.slice(0, index + 1).join("/")}`);
  }
  if (Array.isArray(parent)) applyToList(parent, key, operation, fail);
  else if (isJsonObject(parent)) applyToObject(parent, key, operation, fail);
  else throw fail("its parent is neither an object nor a list");
  return document;
}

function applyToObject(parent: JsonObject, key: string, operation: PatchOperation, fail: (reason: string) => Error) {
  if (operation.op !== "add" && !Object.hasOwn(parent, key)) throw fail("nothing is there");
  if (operation.op === "remove") delete parent[key];
  else parent[key] = clone(operation.value);
}

function applyToList(parent: Json[], key: string, operation: PatchOperation, fail: (reason: string) => Error) {
  // An addition may also go behind the last element.
  const places = operation.op === "add" ? parent.length + 1 : parent.length;
  const index = operation.op === "add" && key === "-" ? parent.length : listIndex(key, places);
  if (index === undefined) throw fail(`'${key}' is no index of a list of ${parent.length}`);
  if (operation.op === "add") parent.splice(index, 0, clone(operation.value));
  else if (operation.op === "remove") parent.splice(index, 1);
  else parent[index] = clone(operation.value);
}

function child(value: Json | undefined, segment: string): Json | undefined {
  if (Array.isArray(value)) {
    const index = listIndex(segment, value.length);
    return index === undefined ? undefined : value[index];
  }
  return isJsonObject(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
}

function listIndex(segment: string, places: number): number | undefined {
  if (!/^-?\d{1,9}$/.test(segment)) return undefined;
  const index = Number(segment) + (segment.startsWith("-") ? places : 0);
  return index >= 0 && index < places ? index : undefined;
}

/** RFC 6901. `__proto__` is refused: assigning it would change an object's prototype instead of its content. */
function parsePointer(path: string): string[] | undefined {
  if (path === "") return [];
  if (!path.startsWith("/")) return undefined;
  const segments = path
    .slice(1)
    .split("/")
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
  return segments.includes("__proto__") ? undefined : segments;
}

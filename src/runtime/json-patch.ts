import { clone, isJsonObject, type Json, type JsonObject } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { sameJson } from "./same-json.ts";

/** RFC 6902. Override policies use the first two lines. */
export type PatchOperation =
  | { op: "add" | "replace"; path: string; value: Json }
  | { op: "remove"; path: string }
  | { op: "test"; path: string; value: Json }
  | { op: "move" | "copy"; from: string; path: string };

export type PatchErrorCode =
  /** The operation does not match the document. */
  | "NotApplicable"
  | "TestFailed"
  /** Applying it would exceed the budget. */
  | "TooLarge";

/** Thrown when an operation cannot be applied; the document must then be discarded. */
export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly operation: PatchOperation["op"];
  readonly path: string;
  readonly reason: string;
  readonly code: PatchErrorCode;
  constructor(operation: PatchOperation["op"], path: string, reason: string, code: PatchErrorCode = "NotApplicable") {
    const shown = path.slice(0, SHOWN_PATH_CHARACTERS) || '""';
    super(`${operation} ${shown}: ${reason}`);
    this.operation = operation;
    this.path = shown;
    this.reason = reason;
    this.code = code;
  }
}

const SHOWN_PATH_CHARACTERS = 200;

/** How many elements of lists may be moved and read, in total. */
const MAX_VISITED_ELEMENTS = 2_000_000;

/**
 * The cost limit of patching one object, for any patches: a few copies of copies could fill all memory. Everything is
 * charged before it is done.
 */
export class PatchBudget {
  readonly maxOperations: number;
  /** The maximum total size of all added and copied values, as JSON text. */
  readonly maxAddedBytes: number;
  #operations = 0;
  #addedBytes = 0;
  #visited = 0;

  constructor(maxOperations: number = LIMITS.patchOperations, maxAddedBytes: number = LIMITS.requestBodyBytes) {
    this.maxOperations = maxOperations;
    this.maxAddedBytes = maxAddedBytes;
  }

  /** Why the operation may not start; undefined if it may. */
  begin(): string | undefined {
    this.#operations++;
    if (this.#operations <= this.maxOperations) return undefined;
    return `more than ${this.maxOperations} operations are applied to one object`;
  }

  /** Why the value may not be added; undefined if it may. */
  add(value: Json): string | undefined {
    const size = jsonSize(value, this.maxAddedBytes - this.#addedBytes);
    if (size === undefined) return `what is added to one object has more than ${this.maxAddedBytes} bytes`;
    this.#addedBytes += size;
    return undefined;
  }

  /** Why this many elements may not be visited; undefined if they may. */
  visit(elements: number): string | undefined {
    this.#visited += elements;
    if (this.#visited <= MAX_VISITED_ELEMENTS) return undefined;
    return `more than ${MAX_VISITED_ELEMENTS} elements of lists are visited in one object`;
  }
}

/**
 * The minimum length of a value as JSON; undefined if that is more than `limit`, or if it nests too deeply. A part that
 * appears twice counts twice.
 */
export function jsonSize(value: Json | undefined, limit: number): number | undefined {
  const left = remaining(value, limit, LIMITS.jsonDepth);
  return left < 0 ? undefined : limit - left;
}

/** The rest of the limit; negative if it is exceeded. */
function remaining(value: Json | undefined, limit: number, depth: number): number {
  if (depth < 0) return -1;
  let left = limit - 2;
  if (typeof value === "string") left -= value.length + 1;
  else if (Array.isArray(value)) {
    for (const item of value) {
      if (left < 0) return left;
      left = remaining(item, left, depth - 1);
    }
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      if (left < 0) return left;
      left = remaining(value[key], left - key.length - 3, depth - 1);
    }
  }
  return left;
}

/** Applies the operations in order to a copy. */
export function applyPatch(document: Json, operations: readonly PatchOperation[], budget = new PatchBudget()): Json {
  return patchInPlace(clone(document), operations, budget);
}

/**
 * Applies the operations in order to the document itself, and returns the result. As in Kubernetes' patch library, a
 * negative index counts from the end.
 */
export function patchInPlace(document: Json, operations: readonly PatchOperation[], budget: PatchBudget): Json {
  let result = document;
  for (const operation of operations) {
    const denied = budget.begin();
    if (denied !== undefined) throw new PatchError(operation.op, operation.path, denied, "TooLarge");
    result = new Step(operation, budget).apply(result);
  }
  return result;
}

/** The value that a pointer names, or undefined when there is none. */
export function valueAtPointer(document: Json, path: string): Json | undefined {
  const segments = parsePointer(path);
  if (!segments) return undefined;
  let current: Json | undefined = document;
  for (const segment of segments) {
    if (current === undefined) return undefined;
    current = child(current, segment);
  }
  return current;
}

/** One key as a segment of a pointer. */
export function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

class Step {
  readonly #operation: PatchOperation;
  readonly #budget: PatchBudget;

  constructor(operation: PatchOperation, budget: PatchBudget) {
    this.#operation = operation;
    this.#budget = budget;
  }

  apply(document: Json): Json {
    const operation = this.#operation;
    switch (operation.op) {
      case "add":
        return this.#put(document, this.#copyOf(operation.value), "add");
      case "replace":
        return this.#put(document, this.#copyOf(operation.value), "replace");
      case "remove":
        this.#remove(document, operation.path);
        return document;
      case "test":
        if (!sameJson(valueAtPointer(document, operation.path) ?? null, operation.value)) {
          throw new PatchError("test", operation.path, "the value there differs", "TestFailed");
        }
        return document;
      case "copy":
        return this.#put(document, this.#copyOf(this.#valueAt(document, operation.from)), "add");
      case "move": {
        if (operation.path === operation.from) return document;
        if (operation.path.startsWith(`${operation.from}/`)) throw this.#failed("a value cannot be moved into itself");
        const value = this.#valueAt(document, operation.from);
        this.#remove(document, operation.from);
        return this.#put(document, value, "add");
      }
    }
  }

  #copyOf(value: Json): Json {
    this.#check(this.#budget.add(value));
    return clone(value);
  }

  #valueAt(document: Json, path: string): Json {
    const value = valueAtPointer(document, path);
    if (value === undefined) throw this.#failed(`there is nothing at ${path.slice(0, SHOWN_PATH_CHARACTERS)}`);
    return value;
  }

  #put(document: Json, value: Json, as: "add" | "replace"): Json {
    const { path } = this.#operation;
    if (path === "") return value;
    const { parent, key } = this.#parentOf(document, path);
    if (!Array.isArray(parent)) {
      if (as === "replace" && !Object.hasOwn(parent, key)) throw this.#failed("nothing is there");
      parent[key] = value;
      return document;
    }
    // An addition may also go behind the last element.
    const isLast = as === "add" && key === "-";
    const index = isLast ? parent.length : this.#indexIn(parent, key, as === "add" ? 1 : 0);
    if (as === "replace") parent[index] = value;
    else {
      this.#check(this.#budget.visit(parent.length - index));
      parent.splice(index, 0, value);
    }
    return document;
  }

  #remove(document: Json, path: string): void {
    if (path === "") throw this.#failed("the whole document cannot be removed");
    const { parent, key } = this.#parentOf(document, path);
    if (Array.isArray(parent)) {
      const index = this.#indexIn(parent, key, 0);
      this.#check(this.#budget.visit(parent.length - index));
      parent.splice(index, 1);
    } else {
      if (!Object.hasOwn(parent, key)) throw this.#failed("nothing is there");
      delete parent[key];
    }
  }

  #parentOf(document: Json, path: string): { parent: JsonObject | Json[]; key: string } {
    const segments = parsePointer(path);
    const key = segments?.pop();
    if (segments === undefined || key === undefined) {
      throw this.#failed("the path must start with '/' and must not name __proto__");
    }
    let parent: Json | undefined = document;
    for (const [index, segment] of segments.entries()) {
      parent = child(parent, segment);
      if (parent === undefined) {
        const missing = `/${segments.slice(0, index + 1).join("/")}`;
        throw this.#failed(`there is nothing at ${missing.slice(0, SHOWN_PATH_CHARACTERS)}`);
      }
    }
    if (Array.isArray(parent) || isJsonObject(parent)) return { parent, key };
    throw this.#failed("its parent is neither an object nor a list");
  }

  #indexIn(list: Json[], key: string, placesBehind: number): number {
    const index = listIndex(key, list.length + placesBehind);
    if (index === undefined) throw this.#failed(`'${key.slice(0, 20)}' is not an index of a list of ${list.length}`);
    return index;
  }

  #check(denied: string | undefined): void {
    if (denied !== undefined) throw new PatchError(this.#operation.op, this.#operation.path, denied, "TooLarge");
  }

  #failed(reason: string): PatchError {
    return new PatchError(this.#operation.op, this.#operation.path, reason);
  }
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

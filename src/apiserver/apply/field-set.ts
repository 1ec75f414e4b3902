import { isJsonObject, type Json, type JsonObject, ownField } from "../../runtime/index.ts";

/**
 * A set of field paths, as a trie like FieldsV1: `f:name` is a field, `k:{...}` a list item by its keys, `v:...` an
 * item of a list of scalars, and `.` the element itself. Elements are kept in FieldsV1's spelling.
 */
export class FieldSet {
  /** Whether the path that ends here is in the set. */
  member = false;
  readonly children = new Map<string, FieldSet>();

  isEmpty(): boolean {
    return !this.member && this.children.size === 0;
  }

  /** The subset below one element, created if it is missing. */
  at(element: string): FieldSet {
    const child = this.children.get(element) ?? new FieldSet();
    this.children.set(element, child);
    return child;
  }

  /** Removes what the sets below an element no longer hold. */
  tidy(): this {
    for (const [element, child] of this.children) if (child.tidy().isEmpty()) this.children.delete(element);
    return this;
  }

  clone(): FieldSet {
    return new FieldSet().add(this);
  }

  /** Adds every path of another set. */
  add(other: FieldSet): this {
    this.member ||= other.member;
    for (const [element, child] of other.children) this.at(element).add(child);
    return this;
  }

  /** Removes every path of another set. */
  subtract(other: FieldSet): this {
    if (other.member) this.member = false;
    for (const [element, child] of other.children) {
      const mine = this.children.get(element);
      if (mine?.subtract(child).isEmpty()) this.children.delete(element);
    }
    return this;
  }

  intersection(other: FieldSet): FieldSet {
    const both = new FieldSet();
    both.member = this.member && other.member;
    for (const [element, child] of this.children) {
      const theirs = other.children.get(element);
      const shared = theirs && child.intersection(theirs);
      if (shared && !shared.isEmpty()) both.children.set(element, shared);
    }
    return both;
  }

  equals(other: FieldSet): boolean {
    if (this.member !== other.member || this.children.size !== other.children.size) return false;
    for (const [element, child] of this.children) {
      const theirs = other.children.get(element);
      if (!theirs || !child.equals(theirs)) return false;
    }
    return true;
  }

  /** Paths as Kubernetes prints them: `.spec.containers[name="db"].image`. */
  *paths(prefix = ""): Generator<string> {
    if (this.member) yield prefix;
    for (const [element, child] of this.#sorted()) yield* child.paths(prefix + printed(element));
  }

  toFieldsV1(): JsonObject {
    const fields: JsonObject = {};
    if (this.member && this.children.size > 0) fields["."] = {};
    for (const [element, child] of this.#sorted()) fields[element] = child.toFieldsV1();
    return fields;
  }

  /** Undefined when it is not a FieldsV1 document. */
  static fromFieldsV1(fields: Json | undefined): FieldSet | undefined {
    const set = isJsonObject(fields) ? read(fields) : undefined;
    if (set && set.children.size === 0) set.member = false;
    return set;
  }

  #sorted(): [string, FieldSet][] {
    return [...this.children].sort(([left], [right]) => (left < right ? -1 : 1));
  }
}

/** Whether a FieldsV1 document, not parsed, has one of the set's paths. Follows only the set, which is small. */
export function overlaps(fields: Json | undefined, set: FieldSet): boolean {
  if (!isJsonObject(fields)) return false;
  if (set.member && isMember(fields)) return true;
  for (const [element, child] of set.children) if (overlaps(ownField(fields, element), child)) return true;
  return false;
}

/** Whether a FieldsV1 document, not parsed, has all of the set's paths. */
export function covers(fields: Json | undefined, set: FieldSet): boolean {
  if (!isJsonObject(fields)) return set.isEmpty();
  if (set.member && !isMember(fields)) return false;
  for (const [element, child] of set.children) if (!covers(ownField(fields, element), child)) return false;
  return true;
}

function isMember(fields: JsonObject): boolean {
  return ownField(fields, ".") !== undefined || Object.keys(fields).length === 0;
}

function read(fields: JsonObject): FieldSet | undefined {
  const set = new FieldSet();
  const elements = Object.keys(fields);
  if (elements.length === 0) set.member = true;
  for (const element of elements) {
    const below = fields[element];
    if (element === ".") {
      set.member = true;
      continue;
    }
    if (!/^[fkvi]:/.test(element) || !isJsonObject(below)) return undefined;
    const child = read(below);
    if (!child) return undefined;
    set.children.set(element, child);
  }
  return set;
}

function printed(element: string): string {
  const rest = element.slice(2);
  if (element.startsWith("f:")) return `.${rest}`;
  if (element.startsWith("v:")) return `[=${rest}]`;
  if (element.startsWith("i:")) return `[${rest}]`;
  const keys = JSON.parse(rest) as JsonObject;
  const pairs = Object.keys(keys).map((key) => `${key}=${JSON.stringify(keys[key])}`);
  return `[${pairs.join(",")}]`;
}

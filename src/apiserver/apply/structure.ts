import { isJsonObject, type Json, type JsonObject, ownField, sameJson } from "../../runtime/index.ts";
import type { Shape } from "../types.ts";
import { FieldSet } from "./field-set.ts";

/**
 * Values seen through their shape: a granular map or list has children, each under its FieldsV1 element; everything
 * else is a leaf. All of server-side apply uses this view.
 */
interface Child {
  readonly value: Json;
  readonly shape: Shape;
}

const PLAIN: Shape = {};

export function fieldShape(shape: Shape, field: string): Shape {
  const fields = shape.fields;
  if (fields !== undefined && Object.hasOwn(fields, field)) return fields[field] ?? PLAIN;
  return shape.items ?? PLAIN;
}

/** Undefined for a leaf. */
function childrenOf(value: Json | undefined, shape: Shape): Map<string, Child> | undefined {
  if (shape.atomic) return undefined;
  if (isJsonObject(value)) {
    const children = new Map<string, Child>();
    for (const key of Object.keys(value)) {
      const child = value[key];
      if (child !== undefined) children.set(`f:${key}`, { value: child, shape: fieldShape(shape, key) });
    }
    return children;
  }
  if (!Array.isArray(value) || (!shape.mapKeys && !shape.set)) return undefined;
  const children = new Map<string, Child>();
  for (const item of value) {
    const element = itemElement(item, shape);
    if (!children.has(element)) children.set(element, { value: item, shape: shape.items ?? PLAIN });
  }
  return children;
}

function itemElement(item: Json, shape: Shape): string {
  if (!shape.mapKeys || !isJsonObject(item)) return `v:${JSON.stringify(item)}`;
  const keys: JsonObject = {};
  for (const key of [...shape.mapKeys].sort()) {
    const value = ownField(item, key) ?? shape.keyDefaults?.[key];
    if (value !== undefined) keys[key] = value;
  }
  return `k:${JSON.stringify(keys)}`;
}

/** The paths that an applier of this value owns. */
export function ownedFields(value: Json | undefined, shape: Shape): FieldSet {
  const set = new FieldSet();
  const children = childrenOf(value, shape);
  if (!children) {
    set.member = value !== undefined;
    return set;
  }
  // An empty list is still owned: otherwise it would come and go with every second apply.
  if (children.size === 0) set.member = true;
  for (const [element, child] of children) {
    const below = ownedFields(child.value, child.shape);
    // A list item is owned itself, in addition to its fields; so is a key that the shape does not name.
    if (Array.isArray(value)) below.member = true;
    if (!below.isEmpty()) set.children.set(element, below);
  }
  return set;
}

export interface Comparison {
  /** Paths that are new or have another value. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

export function compare(old: Json | undefined, current: Json | undefined, shape: Shape): Comparison {
  const comparison = { changed: new FieldSet(), removed: new FieldSet() };
  if (sameJson(old, current)) return comparison;
  walk(old, current, shape, comparison.changed, comparison.removed);
  comparison.changed.tidy();
  comparison.removed.tidy();
  return comparison;
}

/** Marks differences below one path. The caller has checked that the two values differ: equal branches cost nothing. */
function walk(
  old: Json | undefined,
  current: Json | undefined,
  shape: Shape,
  changed: FieldSet,
  removed: FieldSet,
): void {
  const before = childrenOf(old, shape);
  const after = childrenOf(current, shape);
  if (!before || !after || Array.isArray(old) !== Array.isArray(current)) {
    markAll(old, before, removed);
    markAll(current, after, changed);
    return;
  }
  for (const [element, child] of after) {
    const previous = before.get(element);
    if (!previous) markAll(child.value, childrenOf(child.value, child.shape), changed.at(element));
    else if (!sameJson(previous.value, child.value)) {
      walk(previous.value, child.value, child.shape, changed.at(element), removed.at(element));
    }
  }
  for (const [element, child] of before) {
    if (!after.has(element)) markAll(child.value, childrenOf(child.value, child.shape), removed.at(element));
  }
}

function markAll(value: Json | undefined, children: Map<string, Child> | undefined, set: FieldSet): void {
  if (value === undefined) return;
  set.member = true;
  for (const [element, child] of children ?? []) {
    markAll(child.value, childrenOf(child.value, child.shape), set.at(element));
  }
}

/** The existing value with the applied configuration merged into it. */
export function merge(live: Json | undefined, applied: Json, shape: Shape): Json {
  if (shape.atomic) return applied;
  if (isJsonObject(live) && isJsonObject(applied)) {
    const merged: JsonObject = { ...live };
    for (const key of Object.keys(applied)) {
      const value = applied[key];
      if (value !== undefined) merged[key] = merge(ownField(live, key), value, fieldShape(shape, key));
    }
    return merged;
  }
  if (!Array.isArray(live) || !Array.isArray(applied) || (!shape.mapKeys && !shape.set)) return applied;
  return mergeLists(live, applied, shape);
}

/** The applied order for applied items; items of other managers keep their positions between them. */
function mergeLists(live: Json[], applied: Json[], shape: Shape): Json[] {
  const pending = new Map(applied.map((item) => [itemElement(item, shape), item]));
  const present = new Map(live.map((item) => [itemElement(item, shape), item]));
  const isApplied = new Set(pending.keys());
  const merged: Json[] = [];
  const emit = (element: string, item: Json) => {
    pending.delete(element);
    merged.push(merge(present.get(element), item, shape.items ?? PLAIN));
  };
  for (const item of live) {
    const element = itemElement(item, shape);
    if (!isApplied.has(element)) merged.push(item);
    else if (pending.has(element)) {
      for (const [next, value] of [...pending]) {
        emit(next, value);
        if (next === element) break;
      }
    }
  }
  for (const [element, item] of pending) emit(element, item);
  return merged;
}

/**
 * Removes what an applier owned and no longer applies, unless another manager owns it. `owned` has the paths of all
 * managers, including the applier's new ones. Returns undefined if nothing is left of the value.
 */
export function removeAbandoned(
  value: Json,
  shape: Shape,
  abandoned: FieldSet,
  owned: FieldSet | undefined,
): Json | undefined {
  const children = childrenOf(value, shape);
  if (!children || children.size === 0) return value;
  const kept: [string, Json][] = [];
  let changed = false;
  for (const [element, child] of children) {
    const last = abandoned.children.get(element);
    const still = owned?.children.get(element);
    let remains: Json | undefined = child.value;
    if (last && !still && last.member) remains = undefined;
    else if (last) remains = removeAbandoned(child.value, child.shape, last, still);
    if (remains !== child.value) changed = true;
    if (remains !== undefined) kept.push([element, remains]);
  }
  if (!changed) return value;
  if (kept.length === 0 && !owned?.member) return undefined;
  if (Array.isArray(value)) return kept.map(([, item]) => item);
  return Object.fromEntries(kept.map(([element, item]) => [element.slice(2), item]));
}

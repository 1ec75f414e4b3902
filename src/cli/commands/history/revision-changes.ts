/** What one revision changed compared with another, in lines for users. */
import type { RevisionContent } from "../../../render/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";

/**
 * A line for each field, images first, because most users look for them. Values are shortened to one line; values of
 * Secrets are never shown.
 */
export function changesBetween(before: RevisionContent, after: RevisionContent): string[] {
  const lines: string[] = [];
  fieldChanges("", before.template, after.template, lines);
  const objects = (content: RevisionContent) =>
    new Map([...content.dependencies, ...content.overrides].map((object) => [objectName(object), object]));
  const [old, now] = [objects(before), objects(after)];
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    if (!old.has(name)) lines.push(`${name}: added`);
    else if (!now.has(name)) lines.push(`${name}: removed`);
    else fieldChanges(`${name} `, old.get(name), now.get(name), lines);
  }
  if (before.restart !== after.restart) {
    lines.push(after.restart === undefined ? "no restart mark" : `restarted at ${after.restart}`);
  }
  if (lines.length === 0 && before.dependencyDigest !== after.dependencyDigest) {
    lines.push("content of a Secret or another dependency");
  }
  const isImage = (line: string) => IMAGE_LINE.test(line);
  return [...lines.filter(isImage), ...lines.filter((line) => !isImage(line))];
}

const IMAGE_LINE = /^\S*\bimage: /;

function objectName(object: JsonObject): string {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  return `${object.kind} ${metadata.name}`;
}

function fieldChanges(path: string, before: Json | undefined, after: Json | undefined, lines: string[]): void {
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  if (isJsonObject(before) && isJsonObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      fieldChanges(below(path, key), before[key], after[key], lines);
    }
    return;
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const names = sharedNames(before, after);
    if (names) {
      namedChanges(path, before, after, names, lines);
      return;
    }
    if (before.length === after.length) {
      before.forEach((item, index) => {
        fieldChanges(`${path}[${index}]`, item, after[index], lines);
      });
      return;
    }
  }
  lines.push(`${path}: ${difference(before, after)}`);
}

function below(path: string, key: string): string {
  return path === "" || path.endsWith(" ") ? `${path}${key}` : `${path}.${key}`;
}

/** Containers, ports, volumes, variables: lists whose items have names, and may have moved. */
function sharedNames(before: readonly Json[], after: readonly Json[]): string[] | undefined {
  const [old, now] = [before.map(nameOf), after.map(nameOf)];
  const names: string[] = [];
  for (const name of [...old, ...now]) {
    if (name === undefined) return undefined;
    if (!names.includes(name)) names.push(name);
  }
  const isUnique = (list: readonly unknown[]) => new Set(list).size === list.length;
  const isSame = old.length === now.length && old.every((name, index) => name === now[index]);
  return !isSame && isUnique(old) && isUnique(now) ? names : undefined;
}

function nameOf(item: Json): string | undefined {
  return isJsonObject(item) && typeof item.name === "string" ? item.name : undefined;
}

function namedChanges(
  path: string,
  before: readonly Json[],
  after: readonly Json[],
  names: readonly string[],
  lines: string[],
): void {
  const told = lines.length;
  for (const name of names) {
    const [old, now] = [before, after].map((list) => list.find((item) => nameOf(item) === name));
    const at = `${path}[${name}]`;
    if (old === undefined) lines.push(`${at}: added ${short(now)}`);
    else if (now === undefined) lines.push(`${at}: removed`);
    else fieldChanges(at, old, now, lines);
  }
  if (lines.length === told) lines.push(`${path}: in another order`);
}

/** Of a text of several lines, the differing lines: the first of them, and how many more. */
function difference(before: Json | undefined, after: Json | undefined): string {
  const isLong = (value: Json | undefined) => typeof value === "string" && value.trimEnd().includes("\n");
  if (typeof before !== "string" || typeof after !== "string" || !(isLong(before) || isLong(after))) {
    return `${short(before)} -> ${short(after)}`;
  }
  const [old, now] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const [gone, came] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const more = Math.max(gone.length, came.length) - 1;
  const rest = more > 0 ? ` (and ${more} more ${more === 1 ? "line" : "lines"})` : "";
  return `line ${start + 1}: ${short(gone[0])} -> ${short(came[0])}${rest}`;
}

/** A longer value is not useful in one line. */
const VALUE_CHARS = 60;

/** In one line, for any value. */
function short(value: Json | undefined): string {
  if (value === undefined) return "(none)";
  const text = typeof value === "string" && !/[\n\r\t]/.test(value) ? value : JSON.stringify(value);
  return text.length <= VALUE_CHARS ? text : `${text.slice(0, VALUE_CHARS - 3)}...`;
}

import { parse as parseYaml, type Tags } from "yaml";
import {
  applyPatch,
  escapePointer,
  isJsonObject,
  type Json,
  type JsonObject,
  PatchError,
  type PatchOperation,
  patchInPlace,
  valueAt,
  valueAtPointer,
} from "../runtime/index.ts";
import { formatImage, parseImage, withTagOrDigest } from "./image-reference.ts";
import { ensureObject, objectAt, stringAt } from "./json.ts";
import { parseJsonText, printJsonText } from "./json-text.ts";
import type { OverrideBudget } from "./override-budget.ts";
import { printYamlText } from "./yaml-text.ts";

/** The maximum length of a path or an image in an error, because errors appear in conditions. */
const SHOWN_CHARACTERS = 200;

/** Thrown when one overrider does not apply; `overrides.ts` adds the policy and the rule. */
export class OverriderError extends Error {
  override readonly name = "OverriderError";
  /** Its position in the rule, such as `plaintext[0]`. */
  readonly overrider: string;
  /** The path in the object that it refers to; empty if it names none. */
  readonly path: string;
  readonly reason: string;
  constructor(overrider: string, path: string, reason: string) {
    super(`${overrider}: ${reason}`);
    this.overrider = overrider;
    this.path = path.slice(0, SHOWN_CHARACTERS);
    this.reason = reason;
  }
}

/** Applies one rule's overriders to the object itself, in Karmada's order, and returns the result. */
export function applyOverriders(object: JsonObject, overriders: JsonObject, budget: OverrideBudget): JsonObject {
  let result = object;
  for (const { field, apply } of ORDER) {
    const list = overriders[field];
    if (list === undefined || list === null) continue;
    if (!Array.isArray(list)) throw new OverriderError(field, "", "must be a list");
    for (const [index, entry] of list.entries()) {
      const place = `${field}[${index}]`;
      if (!isJsonObject(entry)) throw new OverriderError(place, "", "must be an object");
      check(budget.overrider(), place, "");
      result = patched(result, place, apply(result, entry, place, budget), budget);
    }
  }
  return result;
}

type Overrider = (object: JsonObject, entry: JsonObject, place: string, budget: OverrideBudget) => PatchOperation[];

function check(denied: string | undefined, place: string, path: string): void {
  if (denied !== undefined) throw new OverriderError(place, path, denied);
}

const ORDER: ReadonlyArray<{ field: string; apply: Overrider }> = [
  { field: "imageOverrider", apply: imagePatches },
  { field: "commandOverrider", apply: (...given) => commandPatches("command", ...given) },
  { field: "argsOverrider", apply: (...given) => commandPatches("args", ...given) },
  { field: "labelsOverrider", apply: (object, entry, place) => metadataPatches("labels", object, entry, place) },
  {
    field: "annotationsOverrider",
    apply: (object, entry, place) => metadataPatches("annotations", object, entry, place),
  },
  { field: "fieldOverrider", apply: fieldPatches },
  { field: "plaintext", apply: (_object, entry, place) => [patchOperation(entry, "path", place)] },
];

function patched(
  object: JsonObject,
  place: string,
  patches: readonly PatchOperation[],
  budget: OverrideBudget,
): JsonObject {
  const addsTo = (map: string) => patches.some(({ op, path }) => op === "add" && path.startsWith(`/metadata/${map}/`));
  const needed = ["labels", "annotations"].filter((map) => addsTo(map) && !objectAt(object, "metadata", map));
  // On Karmada's hub, a template that a policy has claimed always has both maps; here those marks were removed.
  for (const map of needed) ensureObject(object, "metadata", map);
  try {
    const result = patchInPlace(object, patches, budget.patches);
    if (isJsonObject(result)) return result;
  } catch (error) {
    if (error instanceof PatchError) throw new OverriderError(place, error.path, `${error.operation}: ${error.reason}`);
    throw error;
  }
  throw new OverriderError(place, "", "the result is not an object");
}

const POD_TEMPLATE_KINDS = new Set(["ReplicaSet", "Deployment", "DaemonSet", "StatefulSet", "Job"]);

/** The path of the containers for the kinds that Karmada knows; undefined for every other kind. */
function containersPath(object: JsonObject): string[] | undefined {
  if (object.kind === "Pod") return ["spec", "containers"];
  const known = typeof object.kind === "string" && POD_TEMPLATE_KINDS.has(object.kind);
  return known ? ["spec", "template", "spec", "containers"] : undefined;
}

/** The containers for which `isWanted` holds, with their paths. */
function containers(
  object: JsonObject,
  place: string,
  budget: OverrideBudget,
  isWanted: (container: JsonObject) => boolean = () => true,
): Array<{ path: string; container: JsonObject }> {
  const path = containersPath(object);
  const list = path && valueAt(object, ...path);
  if (!path || !Array.isArray(list)) return [];
  const prefix = `/${path.join("/")}`;
  check(budget.patches.visit(list.length), place, prefix);
  const found: Array<{ path: string; container: JsonObject }> = [];
  list.forEach((container, index) => {
    if (isJsonObject(container) && isWanted(container)) found.push({ path: `${prefix}/${index}`, container });
  });
  return found;
}

function imagePatches(object: JsonObject, entry: JsonObject, place: string, budget: OverrideBudget): PatchOperation[] {
  const { predicate } = entry;
  let targets: Array<{ path: string; image: Json | undefined }>;
  if (isJsonObject(predicate)) {
    const path = text(predicate, "path", `${place}.predicate`);
    targets = [{ path, image: valueAtPointer(object, path) }];
  } else {
    targets = containers(object, place, budget).map(({ path, container }) => ({
      path: `${path}/image`,
      image: container.image,
    }));
  }
  return targets.map(({ path, image }) => {
    if (typeof image !== "string") throw new OverriderError(place, path, "there is no image at this path");
    return { op: "replace", path, value: overriddenImage(image, entry, place, path) };
  });
}

function overriddenImage(image: string, entry: JsonObject, place: string, path: string): string {
  const parts = parseImage(image);
  if (!parts) throw new OverriderError(place, path, `'${image.slice(0, SHOWN_CHARACTERS)}' is not an image name`);
  const operator = operatorOf(entry, place);
  const value = stringAt(entry, "value") ?? "";
  const change = (current: string) => (operator === "remove" ? "" : operator === "add" ? current + value : value);
  switch (entry.component) {
    case "Registry":
      return formatImage({ ...parts, registry: change(parts.registry) });
    case "Repository":
      return formatImage({ ...parts, repository: change(parts.repository) });
    case "Tag":
      if (operator === "remove") return formatImage({ ...parts, tag: "", digest: "" });
      return formatImage(withTagOrDigest(parts, change(parts.tag || parts.digest)));
    default:
      throw new OverriderError(`${place}.component`, path, "must be Registry, Repository or Tag");
  }
}

function commandPatches(
  field: "command" | "args",
  object: JsonObject,
  entry: JsonObject,
  place: string,
  budget: OverrideBudget,
): PatchOperation[] {
  const operator = operatorOf(entry, place);
  const values = Array.isArray(entry.value) ? entry.value.filter((value) => typeof value === "string") : [];
  // Some versions of V8 hash text that looks like a number by a known formula, but not text that starts with a sign.
  const isListed = new Set(operator === "remove" ? values.map((value) => `=${value}`) : []);
  const named = containers(object, place, budget, ({ name }) => name === entry.containerName);
  return named.map(({ path, container }): PatchOperation => {
    const list = Array.isArray(container[field]) ? container[field] : [];
    // Every container of that name gets all of them.
    check(budget.patches.visit(list.length + values.length), place, path);
    const current = list.map(String);
    let value = current;
    if (operator === "add") value = [...current, ...values];
    if (operator === "remove") value = current.filter((word) => !isListed.has(`=${word}`));
    return { op: "add", path: `${path}/${field}`, value };
  });
}

function metadataPatches(
  map: "labels" | "annotations",
  object: JsonObject,
  entry: JsonObject,
  place: string,
): PatchOperation[] {
  const operator = operatorOf(entry, place);
  if (!isJsonObject(entry.value)) throw new OverriderError(`${place}.value`, "", "must be a map");
  const current = objectAt(object, "metadata", map) ?? {};
  return Object.entries(entry.value).flatMap(([key, value]): PatchOperation[] => {
    // A missing key is neither removed nor replaced, and that is not an error.
    if (operator !== "add" && !Object.hasOwn(current, key)) return [];
    const path = `/metadata/${map}/${escapePointer(key)}`;
    return [operator === "remove" ? { op: "remove", path } : { op: operator, path, value: value ?? null }];
  });
}

/** Changes a document that is stored as text in one field, such as a file in a ConfigMap. */
function fieldPatches(object: JsonObject, entry: JsonObject, place: string, budget: OverrideBudget): PatchOperation[] {
  const path = text(entry, "fieldPath", place);
  const source = valueAtPointer(object, path);
  if (typeof source !== "string") throw new OverriderError(place, path, "there is no text at this path");
  const format = isNonEmptyList(entry.yaml) ? YAML_TEXT : JSON_TEXT;
  const list = isNonEmptyList(entry.yaml) ? entry.yaml : entry.json;
  const listName = format === YAML_TEXT ? "yaml" : "json";
  if (!isNonEmptyList(list)) throw new OverriderError(place, path, "must have either json or yaml operations");
  const operations = list.map((operation, index) => {
    const operationPlace = `${place}.${listName}[${index}]`;
    if (!isJsonObject(operation)) throw new OverriderError(operationPlace, path, "must be an object");
    return patchOperation(operation, "subPath", operationPlace);
  });
  check(budget.text(format.name, source), place, path);
  let document: Json;
  try {
    document = format.parse(source);
  } catch {
    // The parser's own message may quote the document, which may be secret.
    throw new OverriderError(place, path, `the text there is not ${format.name}`);
  }
  check(budget.document(format.name, document), place, path);
  if (holdsInexactNumber(document)) {
    throw new OverriderError(
      place,
      path,
      "the text contains a number that is too large to be exact, or infinite; write it as a string",
    );
  }
  try {
    return [{ op: "replace", path, value: format.print(applyPatch(document, operations, budget.patches)) }];
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw new OverriderError(place, path, `${error.operation} of sub-path ${error.path}: ${error.reason}`);
  }
}

const JSON_TEXT = { name: "JSON", parse: parseJsonText, print: printJsonText } as const;

/** YAML 1.1, as Kubernetes' own YAML library reads it: 12:30 is not a number, and dates are strings. */
const YAML_OPTIONS = {
  // Each error would be drawn, with a search of the whole text, and tenants write the text.
  prettyErrors: false,
  version: "1.1",
  // For a duplicate key the last value wins, as in Kubernetes' library; the parser's check would compare every key with
  // every other.
  uniqueKeys: false,
  customTags: (tags: Tags): Tags =>
    tags.filter(
      (tag) => typeof tag === "string" || (tag.tag !== "tag:yaml.org,2002:timestamp" && tag.format !== "TIME"),
    ),
} as const;

const YAML_TEXT = {
  name: "YAML",
  parse: (source: string): Json => parseYaml(source, YAML_OPTIONS),
  print: printYamlText,
} as const;

function holdsInexactNumber(value: Json): boolean {
  if (typeof value === "number")
    return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  if (Array.isArray(value)) return value.some(holdsInexactNumber);
  if (isJsonObject(value))
    return Object.values(value).some((entry) => entry !== undefined && holdsInexactNumber(entry));
  return false;
}

function patchOperation(entry: JsonObject, pathField: "path" | "subPath", place: string): PatchOperation {
  const op = operatorOf(entry, place);
  const path = text(entry, pathField, place);
  return op === "remove" ? { op, path } : { op, path, value: entry.value ?? null };
}

function operatorOf(entry: JsonObject, place: string): "add" | "remove" | "replace" {
  const { operator } = entry;
  if (operator === "add" || operator === "remove" || operator === "replace") return operator;
  throw new OverriderError(`${place}.operator`, "", "must be add, remove or replace");
}

function text(entry: JsonObject, field: string, place: string): string {
  const value = stringAt(entry, field);
  if (value === undefined) throw new OverriderError(`${place}.${field}`, "", "must be a string");
  return value;
}

function isNonEmptyList(value: Json | undefined): value is Json[] {
  return Array.isArray(value) && value.length > 0;
}

import { parse as parseYaml, stringify as stringifyYaml, type Tags } from "yaml";
import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import { formatImage, parseImage, withTagOrDigest } from "./image-reference.ts";
import { ensureObject, objectAt, stringAt, valueAt } from "./json.ts";
import { applyPatch, escapePointer, PatchError, type PatchOperation, valueAtPointer } from "./json-patch.ts";

/** Thrown when one overrider does not apply; `overrides.ts` adds the policy and the rule. */
export class OverriderError extends Error {
  override readonly name = "OverriderError";
  /** Its place in the rule, such as `plaintext[0]`. */
  readonly overrider: string;
  /** The path in the object that it is about; empty when it names none. */
  readonly path: string;
  readonly reason: string;
  constructor(overrider: string, path: string, reason: string) {
    super(`${overrider}: ${reason}`);
    this.overrider = overrider;
    this.path = path;
    this.reason = reason;
  }
}

/** Applies one rule's overriders, in Karmada's order, to a copy of the object. */
export function applyOverriders(object: JsonObject, overriders: JsonObject): JsonObject {
  let result = object;
  for (const { field, apply } of ORDER) {
    const list = overriders[field];
    if (list === undefined || list === null) continue;
    if (!Array.isArray(list)) throw new OverriderError(field, "", "must be a list");
    for (const [index, entry] of list.entries()) {
      const place = `${field}[${index}]`;
      if (!isJsonObject(entry)) throw new OverriderError(place, "", "must be an object");
      result = patched(result, place, apply(result, entry, place));
    }
  }
  return result;
}

type Overrider = (object: JsonObject, entry: JsonObject, place: string) => PatchOperation[];

const ORDER: ReadonlyArray<{ field: string; apply: Overrider }> = [
  { field: "imageOverrider", apply: imagePatches },
  { field: "commandOverrider", apply: (object, entry, place) => commandPatches("command", object, entry, place) },
  { field: "argsOverrider", apply: (object, entry, place) => commandPatches("args", object, entry, place) },
  { field: "labelsOverrider", apply: (object, entry, place) => metadataPatches("labels", object, entry, place) },
  {
    field: "annotationsOverrider",
    apply: (object, entry, place) => metadataPatches("annotations", object, entry, place),
  },
  { field: "fieldOverrider", apply: fieldPatches },
  { field: "plaintext", apply: (_object, entry, place) => [patchOperation(entry, "path", place)] },
];

function patched(object: JsonObject, place: string, patches: readonly PatchOperation[]): JsonObject {
  const addsTo = (map: string) => patches.some(({ op, path }) => op === "add" && path.startsWith(`/metadata/${map}/`));
  const needed = ["labels", "annotations"].filter((map) => addsTo(map) && !objectAt(object, "metadata", map));
  const document = needed.length > 0 ? structuredClone(object) : object;
  // On Karmada's hub a template that a policy has claimed always has both maps; here those marks were taken off.
  for (const map of needed) ensureObject(document, "metadata", map);
  try {
    const result = applyPatch(document, patches);
    if (isJsonObject(result)) return result;
  } catch (error) {
    if (error instanceof PatchError) throw new OverriderError(place, error.path, `${error.operation}: ${error.reason}`);
    throw error;
  }
  throw new OverriderError(place, "", "the result is not an object");
}

const POD_TEMPLATE_KINDS = new Set(["ReplicaSet", "Deployment", "DaemonSet", "StatefulSet", "Job"]);

/** Where the containers of the kinds that Karmada knows are; undefined for every other kind. */
function containersPath(object: JsonObject): string[] | undefined {
  if (object.kind === "Pod") return ["spec", "containers"];
  const known = typeof object.kind === "string" && POD_TEMPLATE_KINDS.has(object.kind);
  return known ? ["spec", "template", "spec", "containers"] : undefined;
}

function containers(object: JsonObject): Array<{ path: string; container: JsonObject }> {
  const path = containersPath(object);
  const list = path && valueAt(object, ...path);
  if (!path || !Array.isArray(list)) return [];
  return list.flatMap((container, index) =>
    isJsonObject(container) ? [{ path: `/${path.join("/")}/${index}`, container }] : [],
  );
}

function imagePatches(object: JsonObject, entry: JsonObject, place: string): PatchOperation[] {
  const { predicate } = entry;
  let targets: Array<{ path: string; image: Json | undefined }>;
  if (isJsonObject(predicate)) {
    const path = text(predicate, "path", `${place}.predicate`);
    targets = [{ path, image: valueAtPointer(object, path) }];
  } else {
    targets = containers(object).map(({ path, container }) => ({ path: `${path}/image`, image: container.image }));
  }
  return targets.map(({ path, image }) => {
    if (typeof image !== "string") throw new OverriderError(place, path, "no image is there");
    return { op: "replace", path, value: overriddenImage(image, entry, place, path) };
  });
}

function overriddenImage(image: string, entry: JsonObject, place: string, path: string): string {
  const parts = parseImage(image);
  if (!parts) throw new OverriderError(place, path, `'${image}' is not an image name`);
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
): PatchOperation[] {
  const operator = operatorOf(entry, place);
  const values = Array.isArray(entry.value) ? entry.value.filter((value) => typeof value === "string") : [];
  return containers(object)
    .filter(({ container }) => container.name === entry.containerName)
    .map(({ path, container }): PatchOperation => {
      const list = container[field];
      const current = Array.isArray(list) ? list.map(String) : [];
      let value = current;
      if (operator === "add") value = [...current, ...values];
      if (operator === "remove") value = current.filter((word) => !values.includes(word));
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
    // What is not there is neither removed nor replaced, and that is no failure.
    if (operator !== "add" && !Object.hasOwn(current, key)) return [];
    const path = `/metadata/${map}/${escapePointer(key)}`;
    return [operator === "remove" ? { op: "remove", path } : { op: operator, path, value: value ?? null }];
  });
}

/** Changes a document that is kept as text in one field, such as a file in a ConfigMap. */
function fieldPatches(object: JsonObject, entry: JsonObject, place: string): PatchOperation[] {
  const path = text(entry, "fieldPath", place);
  const source = valueAtPointer(object, path);
  if (typeof source !== "string") throw new OverriderError(place, path, "no text is there");
  const format = isNonEmptyList(entry.yaml) ? YAML_TEXT : JSON_TEXT;
  const list = isNonEmptyList(entry.yaml) ? entry.yaml : entry.json;
  const listName = format === YAML_TEXT ? "yaml" : "json";
  if (!isNonEmptyList(list)) throw new OverriderError(place, path, "must have either json or yaml operations");
  const operations = list.map((operation, index) => {
    const operationPlace = `${place}.${listName}[${index}]`;
    if (!isJsonObject(operation)) throw new OverriderError(operationPlace, path, "must be an object");
    return patchOperation(operation, "subPath", operationPlace);
  });
  let document: Json;
  try {
    document = format.parse(source);
  } catch {
    // The parser's own message may quote the document, which may be secret.
    throw new OverriderError(place, path, `the text there is not ${format.name}`);
  }
  if (holdsInexactNumber(document)) {
    throw new OverriderError(
      place,
      path,
      "the text holds a number too large to be carried exactly; write it as a string",
    );
  }
  try {
    return [{ op: "replace", path, value: format.print(applyPatch(document, operations)) }];
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw new OverriderError(place, path, `${error.operation} of sub-path ${error.path}: ${error.reason}`);
  }
}

const JSON_TEXT = {
  name: "JSON",
  parse: (source: string): Json => JSON.parse(source),
  print: (value: Json): string => JSON.stringify(value),
};

/** YAML 1.1, as Kubernetes' own YAML library reads it, which takes neither 12:30 for a number nor dates for dates. */
const YAML_OPTIONS = {
  version: "1.1",
  customTags: (tags: Tags): Tags =>
    tags.filter(
      (tag) => typeof tag === "string" || (tag.tag !== "tag:yaml.org,2002:timestamp" && tag.format !== "TIME"),
    ),
} as const;

const YAML_TEXT = {
  name: "YAML",
  parse: (source: string): Json => parseYaml(source, YAML_OPTIONS),
  print: (value: Json): string =>
    stringifyYaml(value, { ...YAML_OPTIONS, sortMapEntries: true, indentSeq: false, lineWidth: 0 }),
};

function holdsInexactNumber(value: Json): boolean {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
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

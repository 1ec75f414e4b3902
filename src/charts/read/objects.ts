/** From documents to checked objects, in apply order. Pure. */
import { createHash } from "node:crypto";
import { isKubeObject, type KubeObject } from "../../kube/index.ts";
import { canonicalText, isJsonObject, type JsonObject, valueAt } from "../../runtime/index.ts";
import type { ChartLimits } from "../limits.ts";
import { RefusalError } from "../refusal.ts";
import type { RenderedObject } from "../types.ts";
import type { Document } from "./documents.ts";
import { hookOf } from "./hooks.ts";
import { inApplyOrder } from "./order.ts";

/** Whether the annotations of Helm mean something: they do in a chart's output only. */
export interface ReadOptions {
  readonly hasHooks: boolean;
  /** Where an object without a namespace goes: two objects are the same if they end up as one. */
  readonly namespace: string;
  readonly limits: ChartLimits;
}

export function objectsOf(documents: readonly Document[], options: ReadOptions): RenderedObject[] {
  const objects = documents.flatMap((document) => split(document)).map((document) => objectOf(document, options));
  checkSize(objects, options.limits);
  refuseDuplicates(objects, options.namespace);
  if (objects.length === 0) {
    throw new RefusalError(
      "EmptyRender",
      "the source renders no objects",
      "check its values and conditions; to remove the application, delete it",
    );
  }
  return inApplyOrder(objects);
}

/** Of content and order: what a revision is identified by. */
export function digestOf(objects: readonly RenderedObject[]): string {
  const hash = createHash("sha256");
  for (const { object } of objects) hash.update(canonicalText(object)).update("\n");
  return `sha256:${hash.digest("hex")}`;
}

/** `Deployment default/api`; the namespace only if the object has one. */
export function titleOf(object: JsonObject): string {
  const name = String(valueAt(object, "metadata", "name") ?? "");
  const namespace = valueAt(object, "metadata", "namespace");
  return `${String(object.kind)} ${typeof namespace === "string" ? `${namespace}/` : ""}${name}`;
}

/** Two objects with one identity would be one in a cluster, whatever their versions. */
export function identityOf(object: KubeObject, namespace: string): string {
  const group = object.apiVersion.includes("/") ? object.apiVersion.split("/")[0] : "";
  return `${group}/${object.kind} ${object.metadata.namespace ?? namespace}/${object.metadata.name}`;
}

/** A List is split as kubectl does; hooks inside a List are hooks here, while helm overlooks them. */
function split({ value, template }: Document): Document[] {
  const { kind, items } = value;
  if (typeof kind !== "string" || !kind.endsWith("List") || !Array.isArray(items)) {
    return [{ value, ...(template !== undefined && { template }) }];
  }
  return items.flatMap((item, index) => {
    if (isJsonObject(item)) return split({ value: item, ...(template !== undefined && { template }) });
    throw invalid(template, `item ${index + 1} of a ${kind} is not an object`);
  });
}

function objectOf({ value, template }: Document, { hasHooks }: ReadOptions): RenderedObject {
  const name = valueAt(value, "metadata", "name");
  if (typeof value.kind !== "string" || value.kind === "") {
    throw invalid(template, `${typeof name === "string" ? `the document named '${name}'` : "a document"} has no kind`);
  }
  if (typeof value.apiVersion !== "string" || value.apiVersion === "") {
    throw invalid(template, `${titleOf(value)} has no apiVersion`);
  }
  if (typeof name !== "string" || name === "") throw invalid(template, `a ${value.kind} has no metadata.name`);
  checkMetadata(value, template);
  if (!isKubeObject(value)) throw invalid(template, `${titleOf(value)} is not a Kubernetes object`);
  const hook = hasHooks ? hookOf(value, placeOf(value, template)) : undefined;
  return {
    object: withoutEmptyParts(value),
    ...(hook && { hook }),
    keep: valueAt(value, "metadata", "annotations", "helm.sh/resource-policy") === "keep",
    isCrd: value.kind === "CustomResourceDefinition",
    ...(template !== undefined && { template }),
  };
}

/** Kubernetes' limits of names: what no API server takes must never become part of a path or of a status. */
const NAME_CHARS = 253;
const LABEL_CHARS = 63;
const SHOWN_CHARS = 80;
const IS_KIND = /^[A-Za-z][A-Za-z0-9]{0,62}$/;
const IS_API_VERSION = /^(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?[a-z0-9]+$/;
/** Of every kind: some allow colons and capitals, such as roles. */
const IS_NAME = /^(?!\.{1,2}$)[^/%\s\p{Cc}\p{Cf}]+$/u;
const IS_NAMESPACE = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

function checkNames(value: JsonObject, template: string | undefined): void {
  const { kind, apiVersion } = value;
  const [name, namespace] = [valueAt(value, "metadata", "name"), valueAt(value, "metadata", "namespace")];
  const check = (field: string, given: unknown, pattern: RegExp, maxChars: number) => {
    if (typeof given !== "string" || (given.length <= maxChars && pattern.test(given))) return;
    const shown = JSON.stringify(given.slice(0, SHOWN_CHARS));
    throw invalid(template, `${field} ${shown} of a ${shownKind(kind)} is not allowed in Kubernetes`);
  };
  check("kind", kind, IS_KIND, LABEL_CHARS);
  check("apiVersion", apiVersion, IS_API_VERSION, NAME_CHARS);
  check("metadata.name", name, IS_NAME, NAME_CHARS);
  if (namespace !== "") check("metadata.namespace", namespace, IS_NAMESPACE, LABEL_CHARS);
}

function shownKind(kind: unknown): string {
  return typeof kind === "string" && IS_KIND.test(kind) ? kind : "document";
}

function checkMetadata(value: JsonObject, template: string | undefined): void {
  const namespace = valueAt(value, "metadata", "namespace");
  if (namespace !== undefined && namespace !== null && typeof namespace !== "string") {
    throw invalid(template, `${titleOf(value)}: metadata.namespace must be text`);
  }
  checkNames(value, template);
  for (const part of ["labels", "annotations"]) {
    const map = valueAt(value, "metadata", part);
    if (map === undefined || map === null) continue;
    if (!isJsonObject(map)) throw invalid(template, `${titleOf(value)}: metadata.${part} must be a map`);
    const key = Object.keys(map).find((candidate) => typeof map[candidate] !== "string");
    if (key !== undefined) {
      throw invalid(template, `${titleOf(value)}: metadata.${part}[${key}] must be text; put quotes around it`);
    }
  }
}

/** `namespace:` and `annotations:` without a value mean absent, as for the API server. */
function withoutEmptyParts(object: KubeObject): KubeObject {
  const { metadata } = object;
  const empty = ["namespace", "labels", "annotations"].filter(
    (key) => metadata[key] === null || (key === "namespace" && metadata[key] === ""),
  );
  if (empty.length === 0) return object;
  const kept = Object.fromEntries(Object.entries(metadata).filter(([key]) => !empty.includes(key)));
  return { ...object, metadata: { ...kept, name: metadata.name } };
}

function checkSize(objects: readonly RenderedObject[], limits: ChartLimits): void {
  const remedy = "split the application, or allow more in the controller's settings";
  if (objects.length > limits.objects) {
    const message = `the source renders ${objects.length} objects, and ${limits.objects} are allowed`;
    throw new RefusalError("TooLarge", message, remedy);
  }
  let all = 0;
  for (const { object, template } of objects) {
    const size = Buffer.byteLength(JSON.stringify(object));
    all += size;
    if (size > limits.objectBytes) {
      const message = `${placeOf(object, template)} has ${size} bytes, and ${limits.objectBytes} are allowed for one object`;
      throw new RefusalError("TooLarge", message, "make it smaller; an API server refuses it, too");
    }
  }
  if (all > limits.renderBytes) {
    const message = `the objects have ${all} bytes together, and ${limits.renderBytes} are allowed`;
    throw new RefusalError("TooLarge", message, remedy);
  }
}

/** A hook may share its name with an object or with a hook of another event: they do not exist at the same time. */
function refuseDuplicates(objects: readonly RenderedObject[], namespace: string): void {
  const seen = new Map<string, RenderedObject>();
  for (const rendered of objects) {
    const identity = identityOf(rendered.object, namespace);
    const keys = (rendered.hook?.events ?? [""]).map((event) => `${event} ${identity}`);
    const other = keys.map((key) => seen.get(key)).find((found) => found !== undefined);
    if (other) {
      const places = [other.template, rendered.template].filter((template) => template !== undefined);
      const where = places.length > 0 ? ` (${[...new Set(places)].join(", ")})` : "";
      throw new RefusalError(
        "DuplicateObject",
        `the source renders ${titleOf(rendered.object)} twice${where}`,
        "rename or remove one of the two",
      );
    }
    for (const key of keys) seen.set(key, rendered);
  }
}

function placeOf(value: JsonObject, template: string | undefined): string {
  return template === undefined ? titleOf(value) : `${template}: ${titleOf(value)}`;
}

function invalid(template: string | undefined, what: string): RefusalError {
  return new RefusalError("InvalidManifest", `${template ? `${template}: ` : ""}${what}`, "correct the source");
}

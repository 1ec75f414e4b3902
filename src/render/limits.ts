import { type JsonObject, LIMITS } from "../runtime/index.ts";
import { LimitError } from "./errors.ts";
import { kindAndName, objectAt, stringAt, stringMapAt } from "./json.ts";

/** etcd's default limit for one request. */
const ETCD_REQUEST_MAX_BYTES = 1536 * 1024;
/** Reserved for what is added later: the dispatch object around the manifest, managed fields, status. */
const ETCD_REQUEST_HEADROOM_BYTES = 64 * 1024;
export const OBJECT_MAX_BYTES = ETCD_REQUEST_MAX_BYTES - ETCD_REQUEST_HEADROOM_BYTES;
/** Reserved for the annotations that an engine adds to what it delivers: Karmada's own have less than 300 bytes. */
const ANNOTATIONS_HEADROOM_BYTES = 1024;
export const ANNOTATIONS_MAX_BYTES = LIMITS.annotationsBytes - ANNOTATIONS_HEADROOM_BYTES;
/** Kubernetes refuses a ConfigMap or Secret whose values together are larger than this. */
export const CONFIG_MAX_BYTES = 1024 * 1024;
/** DNS subdomain names, as most objects have. */
const NAME_MAX_CHARS = 253;
/** DNS labels: Services, label values and label names. */
const LABEL_MAX_CHARS = 63;

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const SERVICE_NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;

/** Checks for everything that an API server on the way would refuse, and reports it before anything is written. */
export function checkLimits(object: JsonObject): void {
  checkName(object);
  checkLabels(object);
  checkAnnotations(object);
  checkConfig(object);
  const size = bytes(JSON.stringify(object));
  if (size > OBJECT_MAX_BYTES) {
    fail(object, "the whole object", size, OBJECT_MAX_BYTES, "bytes", "make its spec, data or annotations smaller");
  }
}

function checkName(object: JsonObject): void {
  const name = stringAt(object, "metadata", "name") ?? "";
  const isService = object.apiVersion === "v1" && object.kind === "Service";
  const limit = isService ? LABEL_MAX_CHARS : NAME_MAX_CHARS;
  if (name.length > limit) fail(object, "metadata.name", name.length, limit, "characters", "choose a shorter name");
  if (!(isService ? SERVICE_NAME : SUBDOMAIN).test(name)) {
    throw new LimitError(
      kindAndName(object),
      "metadata.name",
      `'${name}' is not a valid name`,
      "use lower-case letters, digits and '-'",
      name.length,
      limit,
    );
  }
}

function checkLabels(object: JsonObject): void {
  for (const [key, value] of Object.entries(stringMapAt(object, "metadata", "labels"))) {
    if (value.length > LABEL_MAX_CHARS) {
      fail(object, `label ${key}`, value.length, LABEL_MAX_CHARS, "characters", "choose a shorter value");
    }
    if (!LABEL_VALUE.test(value)) {
      throw new LimitError(
        kindAndName(object),
        `label ${key}`,
        `has the value '${value}', which is not a valid label value`,
        "use letters, digits, '-', '_' and '.', with a letter or digit at both ends",
        value.length,
        LABEL_MAX_CHARS,
      );
    }
  }
}

function checkAnnotations(object: JsonObject): void {
  const annotations = stringMapAt(object, "metadata", "annotations");
  const room = annotationsRoom(annotations);
  if (room >= 0) return;
  const sizes = Object.entries(annotations).map(([key, value]) => ({ key, size: bytes(key) + bytes(value) }));
  const largest = sizes.reduce((a, b) => (b.size > a.size ? b : a));
  const remedy = `shorten the largest, ${largest.key} (${largest.size} bytes)`;
  fail(object, "metadata.annotations", ANNOTATIONS_MAX_BYTES - room, ANNOTATIONS_MAX_BYTES, "bytes", remedy);
}

/** How much more text an object with these annotations may have in them; less than 0: it has too much. */
export function annotationsRoom(annotations: Readonly<Record<string, string>>): number {
  return ANNOTATIONS_MAX_BYTES - sum(Object.entries(annotations).map(([key, value]) => bytes(key) + bytes(value)));
}

function checkConfig(object: JsonObject): void {
  if (object.apiVersion !== "v1" || (object.kind !== "ConfigMap" && object.kind !== "Secret")) return;
  const plain = object.kind === "Secret" ? ["stringData"] : ["data"];
  const base64 = object.kind === "Secret" ? ["data"] : ["binaryData"];
  const total =
    sum(plain.flatMap((field) => strings(object, field).map(bytes))) +
    sum(base64.flatMap((field) => strings(object, field).map((text) => Buffer.byteLength(text, "base64"))));
  if (total <= CONFIG_MAX_BYTES) return;
  fail(object, "data", total, CONFIG_MAX_BYTES, "bytes", "split it, or keep large files elsewhere");
}

function strings(object: JsonObject, field: string): string[] {
  return Object.values(objectAt(object, field) ?? {}).filter((value) => typeof value === "string");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function bytes(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

function fail(object: JsonObject, field: string, actual: number, limit: number, unit: string, remedy: string): never {
  throw new LimitError(
    kindAndName(object),
    field,
    `has ${actual} ${unit}, and at most ${limit} are allowed`,
    remedy,
    actual,
    limit,
  );
}

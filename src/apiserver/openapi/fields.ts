import type { JsonObject } from "../../runtime/index.ts";

/**
 * Functions for writing the schemas of the built-in kinds: each returns one OpenAPI v3 schema. Objects are closed
 * (strict validation refuses an unlisted field) unless they are `open`. Every closed level lists all of Kubernetes'
 * names, so that only real mistakes are refused.
 */
export type Schema = JsonObject;
export type Fields = Readonly<Record<string, Schema>>;

export const text = (description: string): Schema => ({ type: "string", description });
export const flag = (description: string): Schema => ({ type: "boolean", description });
export const int32 = (description: string): Schema => ({ type: "integer", format: "int32", description });
export const int64 = (description: string): Schema => ({ type: "integer", format: "int64", description });
export const time = (description: string): Schema => ref(META, "Time", description);
export const microTime = (description: string): Schema => ref(META, "MicroTime", description);
export const intOrString = (description: string): Schema => ref(INTSTR, "IntOrString", description);
export const choice = (description: string, ...values: string[]): Schema => ({
  type: "string",
  description: `${description} One of: ${values.join(", ")}.`,
});

/** Everything below is stored and nothing below is checked: fields that this server stores but does not use. */
export const open = (description: string): Schema => ({
  type: "object",
  description,
  "x-kubernetes-preserve-unknown-fields": true,
});

export const object = (description: string, properties: Fields, required: readonly string[] = []): Schema => ({
  type: "object",
  description,
  properties: { ...properties },
  ...(required.length > 0 && { required: [...required] }),
});

export const map = (items: Schema, description: string): Schema => ({
  type: "object",
  additionalProperties: items,
  description,
});

/** A list that is replaced as a whole. */
export const list = (items: Schema, description: string): Schema => ({ type: "array", items, description });

/** A list whose items are identified by a field: strategic merge, apply and kubectl use it. */
export const keyedList = (
  items: Schema,
  key: string,
  description: string,
  applyKeys: readonly string[] = [key],
): Schema => ({
  ...list(items, description),
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": [...applyKeys],
  "x-kubernetes-patch-merge-key": key,
  "x-kubernetes-patch-strategy": "merge",
});

/** A list of scalars that is merged as a set. */
export const setList = (items: Schema, description: string): Schema => ({
  ...list(items, description),
  "x-kubernetes-list-type": "set",
  "x-kubernetes-patch-strategy": "merge",
});

export const META = "io.k8s.apimachinery.pkg.apis.meta.v1";
export const CORE = "io.k8s.api.core.v1";
const RESOURCE = "io.k8s.apimachinery.pkg.api.resource";
const INTSTR = "io.k8s.apimachinery.pkg.util.intstr";

const REF_PREFIX = "#/components/schemas/";

/**
 * A named definition used as a field. Kubernetes' own documents also put the reference next to the field's description.
 */
export const ref = (packageName: string, name: string, description?: string): Schema => ({
  allOf: [{ $ref: `${REF_PREFIX}${packageName}.${name}` }],
  ...(description !== undefined && { description }),
});

export const quantities = (description: string): Schema => map(ref(RESOURCE, "Quantity"), description);

/** The definition that a schema made by `ref` names, if it is one. */
export function referenceOf(schema: Schema): string | undefined {
  const first = Array.isArray(schema.allOf) ? schema.allOf[0] : undefined;
  if (typeof first !== "object" || first === null || Array.isArray(first)) return undefined;
  return typeof first.$ref === "string" ? first.$ref.slice(REF_PREFIX.length) : undefined;
}

/** The scalar definitions that Kubernetes names. */
export const SCALARS: Record<string, Schema> = {
  [`${META}.Time`]: { type: "string", format: "date-time", description: "A time in RFC 3339, to the second." },
  [`${META}.MicroTime`]: {
    type: "string",
    format: "date-time",
    description: "A time in RFC 3339, to the microsecond.",
  },
  [`${RESOURCE}.Quantity`]: {
    description: 'An amount with an optional suffix, such as "100m", "1Gi" or 2.',
    oneOf: [{ type: "string" }, { type: "number" }],
  },
  [`${INTSTR}.IntOrString`]: {
    description: "A number, or a string such as a percentage or a name.",
    format: "int-or-string",
    oneOf: [{ type: "integer" }, { type: "string" }],
  },
};

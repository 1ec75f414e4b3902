import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { DEFINITIONS, definitionName } from "../openapi/built-in.ts";
import { referenceOf } from "../openapi/fields.ts";
import type { Shape } from "../types.ts";

/** Conditions merge by their type in every built-in kind, even if a schema leaves `status` open. */
const CONDITIONS: Shape = { mapKeys: ["type"], patchKey: "type" };

const METADATA: Shape = {
  fields: {
    finalizers: { set: true },
    ownerReferences: { mapKeys: ["uid"], patchKey: "uid", items: { atomic: true } },
    managedFields: { atomic: true },
  },
};

/** Definitions that are one value, although they are maps. */
const ATOMIC = ["LabelSelector", "NodeSelector", "ObjectReference", "TypedLocalObjectReference", "SecretKeySelector"];

/** How a built-in kind's fields merge, from the schema that kubectl also reads. */
export function builtInShape(group: string, version: string, kind: string): Shape {
  const schema = DEFINITIONS[definitionName(group, version, kind)];
  const fields = schema ? objectShape(schema, new Map()).fields : undefined;
  return { fields: { status: { fields: { conditions: CONDITIONS } }, ...fields, metadata: METADATA } };
}

/** How a custom resource's fields merge, from its CRD. */
export function customShape(schema: JsonObject): Shape {
  return { fields: { ...objectShape(schema, new Map()).fields, metadata: METADATA } };
}

function objectShape(schema: JsonObject, seen: Map<string, Shape>): Shape {
  const reference = referenceOf(schema);
  if (reference !== undefined) {
    const known = seen.get(reference);
    if (known) return known;
    const target = DEFINITIONS[reference];
    if (!target) return {};
    seen.set(reference, {});
    const name = reference.slice(reference.lastIndexOf(".") + 1);
    const shape: Shape = ATOMIC.includes(name) ? { atomic: true } : objectShape(target, seen);
    seen.set(reference, shape);
    return shape;
  }
  if (schema["x-kubernetes-map-type"] === "atomic") return { atomic: true };
  if (isJsonObject(schema.items)) return listShape(schema, schema.items, seen);
  const fields: Record<string, Shape> = {};
  if (isJsonObject(schema.properties)) {
    for (const [name, field] of Object.entries(schema.properties)) {
      if (!isJsonObject(field)) continue;
      const shape = objectShape(field, seen);
      // A field without its own shape needs no entry, unless its siblings' rule would apply to it.
      if (Object.keys(shape).length > 0) fields[name] = shape;
    }
  }
  const items = isJsonObject(schema.additionalProperties) ? objectShape(schema.additionalProperties, seen) : undefined;
  return {
    ...(Object.keys(fields).length > 0 && { fields }),
    ...(items && Object.keys(items).length > 0 && { items }),
  };
}

function listShape(schema: JsonObject, itemSchema: JsonObject, seen: Map<string, Shape>): Shape {
  const patchKey = schema["x-kubernetes-patch-merge-key"];
  const patch = typeof patchKey === "string" ? { patchKey } : {};
  if (schema["x-kubernetes-list-type"] === "set") return { set: true };
  const keys = schema["x-kubernetes-list-map-keys"];
  if (schema["x-kubernetes-list-type"] !== "map" || !Array.isArray(keys)) {
    return Object.keys(patch).length > 0 ? { ...patch, items: objectShape(itemSchema, seen) } : {};
  }
  const mapKeys = keys.filter((key) => typeof key === "string");
  return {
    mapKeys,
    ...patch,
    items: objectShape(itemSchema, seen),
    ...(mapKeys.includes("protocol") && { keyDefaults: { protocol: "TCP" } }),
  };
}

import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { DEFINITIONS, definitionName } from "../openapi/built-in.ts";
import { referenceOf } from "../openapi/fields.ts";
import { badRequest } from "../request/status.ts";

/**
 * Reads a built-in kind as Go's decoder would: null is absent, unknown fields are dropped and reported, wrong types are
 * refused.
 */
export interface Decoder {
  /** Changes the value in place; returns the dropped paths. Throws 400. */
  decode(value: JsonObject): string[];
}

type Reader = (value: Json, path: string, unknown: string[]) => Json;

export function builtInDecoder(group: string, version: string, kind: string): Decoder | undefined {
  const schema = DEFINITIONS[definitionName(group, version, kind)];
  if (!schema) return undefined;
  let reader: Reader | undefined;
  return {
    decode(value) {
      const unknown: string[] = [];
      reader ??= compile(schema, kind, new Map());
      reader(value, "", unknown);
      return unknown;
    },
  };
}

function compile(schema: JsonObject, kind: string, seen: Map<string, Reader>): Reader {
  const reference = referenceOf(schema);
  if (reference !== undefined) {
    const known = seen.get(reference);
    if (known) return known;
    const target = DEFINITIONS[reference];
    if (!target) return (value) => value;
    // A definition may contain itself: its content is read through this until it is complete.
    let whole: Reader | undefined;
    seen.set(reference, (value, path, unknown) => (whole ? whole(value, path, unknown) : value));
    whole = compile(target, reference.slice(reference.lastIndexOf(".") + 1), seen);
    seen.set(reference, whole);
    return whole;
  }
  if (schema.oneOf !== undefined) return (value) => value;
  switch (schema.type) {
    case "string":
      return scalar("string", kind);
    case "boolean":
      return scalar("boolean", kind, "bool");
    case "integer":
      return integer(kind, typeof schema.format === "string" ? schema.format : "int64");
    case "number":
      return scalar("number", kind, "float64");
    case "array":
      return list(isJsonObject(schema.items) ? compile(schema.items, kind, seen) : (value) => value, kind);
    case "object":
      return object(schema, kind, seen);
    default:
      return (value) => value;
  }
}

function scalar(type: "string" | "boolean" | "number", kind: string, goType: string = type): Reader {
  return (value, path) => {
    if (typeof value !== type) throw mismatch(value, kind, path, goType);
    return value;
  };
}

function integer(kind: string, goType: string): Reader {
  const bound = goType === "int32" ? 2 ** 31 : 2 ** 63;
  return (value, path) => {
    if (typeof value !== "number") throw mismatch(value, kind, path, goType);
    if (!Number.isInteger(value) || value >= bound || value < -bound) {
      throw badRequest(
        `json: cannot unmarshal number ${value} into Go struct field ${kind}${dotted(path)} of type ${goType}`,
      );
    }
    return value;
  };
}

function list(item: Reader, kind: string): Reader {
  return (value, path, unknown) => {
    if (!Array.isArray(value)) throw mismatch(value, kind, path, "[]");
    for (const [index, each] of value.entries()) value[index] = item(each, `${path}[${index}]`, unknown);
    return value;
  };
}

function object(schema: JsonObject, kind: string, seen: Map<string, Reader>): Reader {
  const fields = new Map<string, Reader>();
  if (isJsonObject(schema.properties)) {
    for (const [name, field] of Object.entries(schema.properties)) {
      if (isJsonObject(field)) fields.set(name, compile(field, goStruct(kind, name), seen));
    }
  }
  const additional = isJsonObject(schema.additionalProperties)
    ? compile(schema.additionalProperties, kind, seen)
    : undefined;
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true;
  return (value, path, unknown) => {
    if (!isJsonObject(value)) throw mismatch(value, kind, path, kind);
    for (const key of Object.keys(value)) {
      const child = value[key];
      const at = path === "" ? key : `${path}.${key}`;
      const reader = fields.get(key) ?? additional;
      if (child === null || child === undefined) {
        if (!open || reader) delete value[key];
      } else if (reader) value[key] = reader(child, at, unknown);
      else if (!open) {
        unknown.push(at);
        delete value[key];
      }
    }
    return value;
  };
}

/** Go's name for the struct of a field without its own definition: errors contain it. */
function goStruct(kind: string, field: string): string {
  if (field === "spec") return `${kind}Spec`;
  return field === "status" ? `${kind}Status` : kind;
}

function mismatch(value: Json, kind: string, path: string, goType: string): Error {
  const got = Array.isArray(value)
    ? "array"
    : value === null
      ? "null"
      : typeof value === "boolean"
        ? "bool"
        : typeof value;
  return badRequest(`json: cannot unmarshal ${got} into Go struct field ${kind}${dotted(path)} of type ${goType}`);
}

const dotted = (path: string) => (path === "" ? "" : `.${path}`);

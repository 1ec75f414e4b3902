import type { JsonObject } from "../../runtime/index.ts";

export type FieldErrorKind =
  | "Required"
  | "Invalid"
  | "NotSupported"
  | "TypeInvalid"
  | "TooLong"
  | "TooMany"
  | "Forbidden"
  | "Duplicate";

/** One thing wrong with one field. `${path}: ${message}` reads as kubectl prints it. */
export interface FieldError {
  kind: FieldErrorKind;
  /** For example `spec.topology.clusters[0].name`; "<nil>" for the object itself, as Kubernetes names it. */
  path: string;
  /** As Kubernetes words it after the path: `Invalid value: -1: should be greater than or equal to 0`. */
  message: string;
}

/**
 * One OpenAPI v3 schema, read once, with everything an API server does to an object by it. Where `known` or `old` is given,
 * it went through all of this before; what `value` shares with it (the very same objects and lists, at the same place) is
 * neither looked at again nor changed.
 */
export interface CompiledSchema {
  /** Removes the fields the schema does not know, in place; returns their paths (`spec.foo`, `spec.list[0].bar`). */
  prune(value: JsonObject, known?: JsonObject): string[];
  /** Adds the schema's defaults where a field is absent, in place. */
  applyDefaults(value: JsonObject, known?: JsonObject): void;
  /** Every violation of the schema and, if there is none, of its rules. `old` is the stored object: transition rules run only with it. */
  validate(value: JsonObject, old?: JsonObject): FieldError[];
}

/** Thrown when a schema is not structural, or one of its rules does not compile. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  /** Where in the schema, for example `properties[spec].items`. */
  readonly path: string;
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(path === "" ? reason : `${path}: ${reason}`);
    this.path = path;
    this.reason = reason;
  }
}

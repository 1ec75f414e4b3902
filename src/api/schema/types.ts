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

/** One error in one field. `${path}: ${message}` reads as kubectl prints it. */
export interface FieldError {
  readonly kind: FieldErrorKind;
  /** For example `spec.topology.clusters[0].name`; "<nil>" for the object itself, as Kubernetes names it. */
  readonly path: string;
  /** Kubernetes' text after the path: `Invalid value: -1: should be greater than or equal to 0`. */
  readonly message: string;
}

/**
 * One OpenAPI v3 schema, parsed once, with everything that an API server does to an object with it. If `known` or `old`
 * is given, it has already passed all of this. Parts that `value` shares with it (identical objects and lists, in the
 * same place) are neither checked again nor changed.
 */
export interface CompiledSchema {
  /** Removes undeclared fields, in place; returns their paths (`spec.foo`, `spec.list[0].bar`). */
  prune(value: JsonObject, known?: JsonObject): string[];
  /** Adds the schema's defaults for absent fields, in place. */
  applyDefaults(value: JsonObject, known?: JsonObject): void;
  /** Every violation of the schema and, if there is none, of its rules. `old` is the stored object: transition rules run only with it. */
  validate(value: JsonObject, old?: JsonObject): FieldError[];
}

/** Thrown when a schema is not structural, or one of its rules does not compile. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  /** The position in the schema, for example `properties[spec].items`. */
  readonly path: string;
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(path === "" ? reason : `${path}: ${reason}`);
    this.path = path;
    this.reason = reason;
  }
}

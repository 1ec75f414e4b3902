import type { Json } from "../../runtime/index.ts";

export type NodeType = "object" | "array" | "string" | "integer" | "number" | "boolean";

/**
 * One level of a parsed schema. The same shape is used for the structural schema and for the schemas under allOf,
 * anyOf, oneOf and not, which may only restrict values and never add structure.
 */
export interface SchemaNode {
  /** The position of this node in the schema, for messages about the schema itself. */
  readonly path: string;
  readonly type: NodeType | undefined;
  readonly nullable: boolean;
  readonly defaultValue: Json | undefined;

  readonly properties: ReadonlyMap<string, SchemaNode>;
  /** The values of keys outside `properties`. "anything" is `additionalProperties: true`. */
  readonly additional: SchemaNode | "anything" | undefined;
  readonly items: SchemaNode | undefined;

  readonly preserveUnknown: boolean;
  /** The value is a Kubernetes object itself: apiVersion, kind and metadata need not be declared. */
  readonly embedded: boolean;
  readonly intOrString: boolean;
  readonly listType: "atomic" | "set" | "map" | undefined;
  readonly listMapKeys: readonly string[];

  readonly limits: ValueLimits;
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
  readonly rules: readonly RuleSource[];
}

export interface ValueLimits {
  readonly required: readonly string[];
  readonly enum: readonly Json[] | undefined;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly exclusiveMaximum: boolean;
  readonly multipleOf: number | undefined;
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
  readonly minItems: number | undefined;
  readonly maxItems: number | undefined;
  readonly minProperties: number | undefined;
  readonly maxProperties: number | undefined;
  readonly pattern: Pattern | undefined;
  readonly format: string | undefined;
}

export interface Pattern {
  readonly source: string;
  test(text: string): boolean;
}

export type RuleReason = "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";

/** One entry of x-kubernetes-validations, not yet compiled. */
export interface RuleSource {
  readonly path: string;
  readonly rule: string;
  readonly message: string | undefined;
  readonly messageExpression: string | undefined;
  readonly reason: RuleReason;
  readonly fieldPath: string | undefined;
}

/**
 * The kinds: schemas as the single source of types, CRD YAML, defaults and validation, and the structural-schema engine
 * behind them, which the embedded API server uses for every CRD. Imports src/runtime and src/contract.
 */
export { compileSchema } from "./schema/compile.ts";
export { type CompiledSchema, type FieldError, type FieldErrorKind, SchemaError } from "./schema/types.ts";

import { type CompiledSchema, compileSchema } from "../../api/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { builtInKinds } from "../builtin/kinds.ts";
import type { ResourceDefinition } from "../types.ts";

/** Far above the CRDs of one fleet; beyond it, everything is dropped and compiled again. */
const KEPT_SCHEMAS = 256;

/**
 * Compiled schemas by their text, and the built-in kinds. Everything is pure, so one cache may serve every server of a
 * process: compiling Lockstep's own rules costs more than hundreds of requests.
 */
export class SchemaCache {
  readonly #schemas = new Map<string, CompiledSchema>();
  /** The same by identity: servers that start with one snapshot share its definitions. */
  readonly #known = new WeakMap<JsonObject, CompiledSchema>();
  #builtIn: readonly ResourceDefinition[] | undefined;

  /** Throws SchemaError. */
  compile(schema: JsonObject): CompiledSchema {
    const known = this.#known.get(schema) ?? this.#compile(schema);
    this.#known.set(schema, known);
    return known;
  }

  #compile(schema: JsonObject): CompiledSchema {
    const text = JSON.stringify(schema);
    const known = this.#schemas.get(text);
    if (known) return known;
    const compiled = compileSchema(schema);
    if (this.#schemas.size >= KEPT_SCHEMAS) this.#schemas.clear();
    this.#schemas.set(text, compiled);
    return compiled;
  }

  builtIn(): readonly ResourceDefinition[] {
    this.#builtIn ??= builtInKinds();
    return this.#builtIn;
  }
}

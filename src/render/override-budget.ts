import { type Json, jsonSize, LIMITS, PatchBudget } from "../runtime/index.ts";

/** Rules and overriders applied to one object: more than any policy that a user writes. */
const MAX_OVERRIDERS = 1_000;
/** Text that field overriders read, in total. Reading JSON is fast; YAML takes about fifty times as long. */
const MAX_JSON_BYTES = LIMITS.requestBodyBytes;
const MAX_YAML_BYTES = 64 * 1024;

/**
 * What all override policies together may do to one object for one cluster. Every user who may edit a namespace may
 * write such policies, and the controller applies them: a text of a few lines must not become a document of gigabytes.
 * Each method returns why something is not allowed, or undefined if it is.
 */
export class OverrideBudget {
  readonly patches = new PatchBudget();
  #overriders = 0;
  readonly #textBytes = { JSON: 0, YAML: 0 };

  overrider(): string | undefined {
    this.#overriders++;
    if (this.#overriders <= MAX_OVERRIDERS) return undefined;
    return `more than ${MAX_OVERRIDERS} rules and overriders are applied to one object`;
  }

  /** Before the text is read. */
  text(format: "JSON" | "YAML", source: string): string | undefined {
    const limit = maxTextBytes(format);
    this.#textBytes[format] += source.length;
    if (this.#textBytes[format] <= limit) return undefined;
    return `the ${format} text that field overriders change in one object has more than ${limit} bytes`;
  }

  /** After parsing, and before it is copied: an alias in YAML repeats everything that it refers to. */
  document(format: "JSON" | "YAML", document: Json): string | undefined {
    const limit = 2 * maxTextBytes(format);
    if (jsonSize(document, limit) !== undefined) return undefined;
    return `the document has more than ${limit} bytes with its aliases expanded, or nests deeper than ${LIMITS.jsonDepth} levels`;
  }
}

function maxTextBytes(format: "JSON" | "YAML"): number {
  return format === "JSON" ? MAX_JSON_BYTES : MAX_YAML_BYTES;
}

/** From text to documents, as Kubernetes' own parser reads it. Pure; runs in a thread of its own for large text. */
import { LineCounter, parseAllDocuments, type Tags } from "yaml";
import { isJsonObject, type Json, type JsonObject, LIMITS } from "../../runtime/index.ts";
import { RefusalError } from "../refusal.ts";

/** A document that is a map; `template` is the file that helm says it comes from. */
export interface Document {
  readonly value: JsonObject;
  readonly template?: string;
}

/** What goes to the thread and back; errors travel as data. */
export type ReadResult =
  | { readonly kind: "read"; readonly documents: readonly Document[] }
  | { readonly kind: "invalid"; readonly message: string; readonly remedy?: string };

const SOURCE = /^# Source: (.+)$/m;
/** An alias bomb multiplies; real manifests have a handful. */
const MAX_ALIASES = 100;

export function readDocuments(text: string): ReadResult {
  const documents: Document[] = [];
  try {
    // Apart, so that a fault is found in its template. At the start of a line, '---' is always a separator.
    for (const part of text.split(/^---(?=\s|$)/m)) {
      const template = SOURCE.exec(part)?.[1]?.trim();
      for (const value of valuesIn(part)) documents.push(documentOf(value, template, documents.length));
    }
  } catch (error) {
    if (error instanceof RefusalError) return { kind: "invalid", message: error.message };
    throw error;
  }
  return { kind: "read", documents };
}

/** Values that are no manifests: values files, index.yaml, kustomization.yaml. Undefined if it is not YAML. */
export function readYaml(text: string): Json | undefined {
  const all = readAllYaml(text);
  return all && (all[0] ?? null);
}

/** Every document of a text. Undefined if it is not YAML. */
export function readAllYaml(text: string): Json[] | undefined {
  try {
    return valuesIn(text);
  } catch {
    return undefined;
  }
}

/**
 * YAML 1.1, because Kubernetes reads it: `0644` is octal and `on` is true. Of two equal keys the last one counts. Errors
 * are not drawn: the parser draws each of them, with a search of the whole text, and hostile text has one for each word.
 */
const OPTIONS = {
  version: "1.1",
  uniqueKeys: false,
  prettyErrors: false,
  customTags: kubernetesTags,
  logLevel: "error",
} as const;

function valuesIn(text: string): Json[] {
  if (!/\S/.test(text)) return [];
  const template = SOURCE.exec(text)?.[1];
  const values: Json[] = [];
  const lineCounter = new LineCounter();
  for (const document of parseAllDocuments(text, { ...OPTIONS, lineCounter })) {
    const [error] = document.errors;
    if (error) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw invalid(`not valid YAML: ${firstLine(error.message)} at line ${line}, column ${col}`, template);
    }
    const value: unknown = plainValue(() => document.toJS({ maxAliasCount: MAX_ALIASES }), template);
    if (value === null || value === undefined) continue;
    if (!isJson(value, 0))
      throw invalid("contains a value that JSON cannot express, or is nested too deeply", template);
    values.push(value);
  }
  return values;
}

function plainValue(read: () => unknown, template: string | undefined): unknown {
  try {
    return read();
  } catch (error) {
    throw invalid(`not valid YAML: ${error instanceof Error ? firstLine(error.message) : ""}`, template);
  }
}

/** Kubernetes reads none of these: dates and `22:22` stay text. */
function kubernetesTags(tags: Tags): Tags {
  return tags.filter((tag) => {
    if (typeof tag === "string")
      return !["timestamp", "binary", "omap", "pairs", "set", "intTime", "floatTime"].includes(tag);
    return tag.format !== "TIME" && !/:(?:timestamp|binary|omap|pairs|set)$/.test(tag.tag);
  });
}

function documentOf(value: Json, template: string | undefined, index: number): Document {
  if (!isJsonObject(value)) throw invalid(`document ${index + 1} is not an object`, template);
  return { value, ...(template !== undefined && { template }) };
}

function isJson(value: unknown, depth: number): value is Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (depth > LIMITS.jsonDepth || typeof value !== "object") return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((item) => isJson(item, depth + 1));
}

/** Parsers quote the text after their first line, and it may be secret. */
function firstLine(message: string): string {
  return message.split("\n")[0]?.replace(/:$/, "") ?? "";
}

function invalid(what: string, template: string | undefined): RefusalError {
  return new RefusalError("InvalidManifest", `${template ? `${template}: ` : ""}${what}`, "");
}

import { type Clock, isJsonObject, type Json } from "../../runtime/index.ts";
import type { ArchiveFile } from "../archive/tar.ts";
import { readText } from "../read/thread.ts";
import { RefusalError } from "../refusal.ts";

const REFERENCES = new Set(["$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id", "id"]);

/**
 * helm follows a schema's references to other documents, also to files of this machine, and quotes them in its messages.
 * So a schema must be complete in itself.
 */
export async function refuseForeignReferences(
  files: readonly ArchiveFile[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (const { path, bytes } of files) {
    if (!/(?:^|\/)values\.schema\.json$/.test(path)) continue;
    const schema = await readJson(Buffer.from(bytes).toString("utf8"), clock, signal);
    // helm may read what this parser does not, and would then follow what was not looked at.
    if (schema === undefined) throw new RefusalError("RenderFailed", `${path} is not JSON`, "correct the chart");
    const reference = foreignReference(schema);
    if (reference !== undefined) {
      throw new RefusalError(
        "RenderFailed",
        `${path} refers to another document: ${JSON.stringify(reference.slice(0, 200))}`,
        "copy what it refers to into the schema, below $defs",
      );
    }
  }
}

/** As helm does; what is only YAML is looked at as well. */
async function readJson(text: string, clock: Clock, signal: AbortSignal): Promise<Json | undefined> {
  try {
    return JSON.parse(text);
  } catch {
    const result = await readText(text, clock, signal);
    return result.kind === "read" ? result.documents.map(({ value }) => value) : undefined;
  }
}

function foreignReference(value: Json): string | undefined {
  if (Array.isArray(value)) return firstOf(value.map((item) => () => foreignReference(item)));
  if (!isJsonObject(value)) return undefined;
  return firstOf(
    Object.entries(value).map(([key, item]) => () => {
      if (typeof item === "string" && REFERENCES.has(key) && isForeign(key, item)) return item;
      return item === undefined ? undefined : foreignReference(item);
    }),
  );
}

/** `#/$defs/x` is inside. The names of the published drafts are known to helm without a request. */
function isForeign(key: string, reference: string): boolean {
  if (reference.startsWith("#") || reference === "") return false;
  if (/^https?:\/\/json-schema\.org\/(?:draft-0[4-7]\/|draft\/20\d\d-\d\d\/)?schema#?$/.test(reference)) return false;
  // A name of its own is no request, but references would be relative to it.
  return !((key === "$id" || key === "id") && !reference.startsWith("file:"));
}

function firstOf(finders: readonly (() => string | undefined)[]): string | undefined {
  for (const find of finders) {
    const found = find();
    if (found !== undefined) return found;
  }
  return undefined;
}

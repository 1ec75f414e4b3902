import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { meaningText } from "./json.ts";
import { sanitize } from "./sanitize.ts";

const DIGEST_CHARS = 16;

/**
 * A digest of a template's labels and annotations that reach members. They belong to the revision, and no generation
 * counts their edits.
 */
export function metadataDigest({ metadata }: { readonly metadata: unknown }): string {
  const { labels, annotations } = isJsonObject(metadata) ? metadata : {};
  const own: JsonObject = {
    metadata: { ...(isJsonObject(labels) && { labels }), ...(isJsonObject(annotations) && { annotations }) },
  };
  return createHash("sha256")
    .update(meaningText(sanitize(own)))
    .digest("hex")
    .slice(0, DIGEST_CHARS);
}

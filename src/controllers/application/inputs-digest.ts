import { createHash } from "node:crypto";
import { canonicalText, type Json, LruMap } from "../../runtime/index.ts";

const REMEMBERED_MAX = 10_000;
const known = new LruMap<string, string>(REMEMBERED_MAX);
const digests = new WeakMap<Uint8Array, string>();
/** The variants of one look share their archive. */
const texts = new WeakMap<Uint8Array, string>();

/**
 * A digest of inputs with the archive in them. Every look at an application asks for it again, once for each of its
 * variants, and an archive is large: so it is remembered by an outline that costs little.
 */
export function digestOfAny(value: unknown): string {
  const { digest, text, archives } = outlineOf(value);
  const before = known.get(digest);
  if (before !== undefined) return before;
  const full = archives.reduce((sofar, { mark, bytes }) => sofar.replaceAll(mark, () => bytesText(bytes)), text);
  const made = createHash("sha256").update(full).digest("hex").slice(0, 32);
  known.set(digest, made);
  return made;
}

interface Outline {
  /** Of the outline itself: two values with one outline are the same. */
  readonly digest: string;
  readonly text: string;
  readonly archives: readonly { readonly mark: string; readonly bytes: Uint8Array }[];
}

/** The value as text, with the digests of archives in their places. */
export function outlineOf(value: unknown): Outline {
  const archives = new Map<string, Uint8Array>();
  const text = JSON.stringify({ value }, function (this: Record<string, unknown>, key, item: unknown) {
    // Buffers make lists of numbers of themselves before they are given to this function.
    const own = this[key];
    if (!(own instanceof Uint8Array)) return item;
    const digest = digests.get(own) ?? createHash("sha256").update(own).digest("hex");
    digests.set(own, digest);
    archives.set(digest, own);
    return `archive ${digest}`;
  });
  const canonical = canonicalText(JSON.parse(text) as Json);
  return {
    digest: createHash("sha256").update(canonical).digest("hex"),
    text: canonical,
    archives: [...archives].map(([digest, bytes]) => ({ mark: `"archive ${digest}"`, bytes })),
  };
}

/** As ledgers have it since there are archives in ConfigMaps: another text would mean to render them all again. */
function bytesText(bytes: Uint8Array): string {
  const before = texts.get(bytes);
  if (before !== undefined) return before;
  const made = `{"data":[${bytes.join(",")}],"type":"Buffer"}`;
  texts.set(bytes, made);
  return made;
}

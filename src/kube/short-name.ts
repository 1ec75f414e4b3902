import { createHash } from "node:crypto";

/** Kubernetes' limit for a label's value, and for a name that is also used as a label value. */
const MAX_CHARS = 63;
/**
 * 96 bits: a tenant chooses its names freely, and must not be able to find two with the same hash. 40 bits took a
 * second.
 */
const HASH_CHARS = 24;

/**
 * A name, or a label's value, that only this identity has: a readable part, then a hash of the whole. A name that is
 * only truncated would be the same for all names with that beginning.
 */
export function shortName(readable: string, identity: string): string {
  const hash = createHash("sha256").update(identity).digest("hex").slice(0, HASH_CHARS);
  const plain = readable.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-");
  const prefix = plain.slice(0, MAX_CHARS - HASH_CHARS - 1).replace(/^-+|-+$/g, "");
  return prefix === "" ? hash : `${prefix}-${hash}`;
}

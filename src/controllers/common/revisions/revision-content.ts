/** A revision's content as bytes: compressed, cut into parts that fit into one object each, and told by a digest. */
import { createHash } from "node:crypto";
import type { RevisionContent } from "../../../render/index.ts";
import { compressed, decompressed, isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";

/** A Secret may hold 1 MiB, and an API server's request 1.5 MiB, which base64 makes a third larger. */
const PART_BYTES = 512 * 1024;
/** Of all parts together. */
const COMPRESSED_MAX_BYTES = 8 * 1024 * 1024;
/** Before compression; also what may come out of a stored content, whatever it claims to be. */
const CONTENT_MAX_BYTES = 32 * 1024 * 1024;
/** Each object travels in a dispatch object of its own, and etcd takes no request above 1.5 MiB. */
const OBJECT_MAX_BYTES = 1_300_000;

/** Thrown before anything is stored or granted. */
export class RevisionTooLargeError extends Error {
  override readonly name = "RevisionTooLargeError";
}

/** Thrown when what is stored is not what the ledger says was stored. */
export class RevisionDamagedError extends Error {
  override readonly name = "RevisionDamagedError";
  constructor(id: string, what: string) {
    super(
      `revision ${id} cannot be used: ${what}. Nothing is written from it; the members keep what they have. ` +
        "Restore its Secrets in Lockstep's namespace from a backup, or edit the template to make a new revision",
    );
  }
}

export interface PackedRevision {
  readonly parts: readonly Buffer[];
  readonly digest: string;
}

export function packRevision(content: RevisionContent): PackedRevision {
  refuseLargeObjects(content);
  const text = JSON.stringify(content);
  const bytes = Buffer.byteLength(text);
  if (bytes > CONTENT_MAX_BYTES) throw tooLarge("the template with everything it names", bytes, CONTENT_MAX_BYTES);
  const packed = compressed(text);
  if (packed.length > COMPRESSED_MAX_BYTES) {
    throw tooLarge("the template with everything it names, compressed,", packed.length, COMPRESSED_MAX_BYTES);
  }
  const parts: Buffer[] = [];
  for (let at = 0; at < packed.length; at += PART_BYTES) parts.push(packed.subarray(at, at + PART_BYTES));
  return { parts, digest: digestOf(text) };
}

/** Throws RevisionDamagedError unless the parts hold exactly what has this digest. */
export function unpackRevision(id: string, parts: readonly Buffer[], digest: string): RevisionContent {
  const text = inflate(id, parts);
  if (digestOf(text) !== digest) throw new RevisionDamagedError(id, "its content is not what the ledger's digest says");
  const value: Json = JSON.parse(text);
  const { template, dependencies, overrides, restart, dependencyDigest } = isJsonObject(value) ? value : {};
  if (!isJsonObject(template)) throw new RevisionDamagedError(id, "its content has no template");
  return {
    template,
    dependencies: objects(dependencies),
    overrides: objects(overrides),
    ...(typeof restart === "string" && { restart }),
    ...(typeof dependencyDigest === "string" && { dependencyDigest }),
  };
}

function inflate(id: string, parts: readonly Buffer[]): string {
  try {
    return decompressed(Buffer.concat(parts), CONTENT_MAX_BYTES);
  } catch (error) {
    throw new RevisionDamagedError(id, `its content cannot be decompressed (${String(error)})`);
  }
}

function refuseLargeObjects({ template, dependencies }: RevisionContent): void {
  for (const object of [template, ...dependencies]) {
    const bytes = Buffer.byteLength(JSON.stringify(object));
    if (bytes > OBJECT_MAX_BYTES) throw tooLarge(titleOf(object), bytes, OBJECT_MAX_BYTES);
  }
}

function tooLarge(what: string, bytes: number, limit: number): RevisionTooLargeError {
  return new RevisionTooLargeError(`${what} has ${bytes} bytes, and ${limit} is the limit`);
}

function titleOf({ kind, metadata }: JsonObject): string {
  const { namespace, name } = isJsonObject(metadata) ? metadata : {};
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

import type { IncomingMessage } from "node:http";

/** A request's body, or why it is refused. */
export type BodyRead = { kind: "whole"; bytes: Buffer } | { kind: "too large" } | { kind: "cut off" };

/**
 * This much of a body that is too large is still read and discarded: a client that is still sending when the connection
 * closes would see a reset instead of the answer with the reason.
 */
const DISCARDED_BYTES = 32 * 1024 * 1024;

/** Reads a body, never holding more than the limit. */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<BodyRead> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    // Leaving the loop early must not destroy the request: its socket still has to carry the answer.
    for await (const part of request.iterator({ destroyOnReturn: false })) {
      if (!Buffer.isBuffer(part)) continue;
      bytes += part.length;
      if (bytes <= limitBytes) parts.push(part);
      else parts.length = 0;
      if (bytes > limitBytes + DISCARDED_BYTES) break;
    }
  } catch {
    return { kind: "cut off" };
  }
  if (bytes > limitBytes) return { kind: "too large" };
  return { kind: "whole", bytes: Buffer.concat(parts) };
}

/** Undefined if the bytes are not UTF-8. */
export function utf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

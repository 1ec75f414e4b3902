import { gunzipSync, gzipSync } from "node:zlib";

export function compressed(text: string): Buffer {
  return gzipSync(text);
}

/**
 * Throws if the bytes are not compressed data, or if they would expand to more than `maxBytes` (a decompression bomb).
 */
export function decompressed(bytes: Uint8Array, maxBytes: number): string {
  return gunzipSync(bytes, { maxOutputLength: maxBytes }).toString("utf8");
}

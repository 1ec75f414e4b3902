import { createHash } from "node:crypto";
import { RefusalError } from "../refusal.ts";

export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** `expected` with or without `sha256:`. */
export function checkDigest(bytes: Uint8Array, expected: string, what: string, statedBy: string): void {
  const wanted = expected.replace(/^sha256:/, "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(wanted)) {
    throw new RefusalError(
      "DigestMismatch",
      `${what}: ${statedBy} states '${expected.slice(0, 100)}', which is no SHA-256 digest`,
      "give 64 hexadecimal digits",
    );
  }
  const found = sha256(bytes);
  if (found !== wanted) {
    throw new RefusalError(
      "DigestMismatch",
      `${what} has the digest sha256:${found}, and ${statedBy} states sha256:${wanted}`,
      "find out who changed it before you correct the digest",
    );
  }
}

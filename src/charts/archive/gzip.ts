import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { badArchive } from "./tar.ts";

const unzip = promisify(gunzip);
const zip = promisify(gzip);
/** Our own archives are read once, right away: time matters, size does not. */
const FASTEST = 1;

/** On a thread of its own, and never more than `maxBytes`: a bomb stops there. */
export async function unzipped(bytes: Uint8Array, maxBytes: number, name: string): Promise<Buffer> {
  try {
    return await unzip(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    const isTooLarge = error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    throw isTooLarge
      ? badArchive(`${name} unpacks to more than ${maxBytes} bytes`)
      : badArchive(`${name} is not compressed with gzip, or it is damaged`);
  }
}

export function zipped(bytes: Uint8Array): Promise<Buffer> {
  return zip(bytes, { level: FASTEST });
}

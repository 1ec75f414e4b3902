/** The page's files, as scripts/build.mjs makes them. Read once, kept compressed. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

export interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  readonly etag: string;
}

export type Assets = ReadonlyMap<string, Asset>;

const FILES = [
  ["/", "index.html", "text/html; charset=utf-8"],
  ["/app.js", "app.js", "text/javascript; charset=utf-8"],
  ["/app.css", "app.css", "text/css; charset=utf-8"],
  ["/icon.svg", "icon.svg", "image/svg+xml"],
] as const;

/** Thrown if the page has not been built. */
export class PageMissingError extends Error {
  override readonly name = "PageMissingError";

  constructor(folder: string, cause: unknown) {
    super(`the dashboard's page is not in ${folder}: run 'npm run build'`, { cause });
  }
}

export async function readAssets(folder: string): Promise<Assets> {
  try {
    return new Map(
      await Promise.all(
        FILES.map(async ([path, file, type]): Promise<[string, Asset]> => {
          const bytes = await readFile(join(folder, file));
          const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
          return [path, { type, bytes, gzipped: gzipSync(bytes), etag }];
        }),
      ),
    );
  } catch (error) {
    throw new PageMissingError(folder, error);
  }
}

import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import type { JsonObject } from "../../src/runtime/index.ts";

/** The YAML block that a page of the documentation saves under this name. */
export function saved(page: string, file: string): JsonObject[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  const block = text.split(`<!-- file: ${file} -->\n\`\`\`yaml\n`)[1]?.split("\n```")[0];
  if (block === undefined) throw new Error(`${page} saves no ${file}`);
  return parseAllDocuments(block).map((document) => document.toJS());
}

/**
 * The bundled customizations as a TypeScript module, so that every build contains them without reading files:
 * src/interpret/bundled/GROUP/KIND/customizations.yaml -> src/interpret/bundled/generated.ts.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";

const FOLDER = "src/interpret/bundled";

export function generateBundled(): { path: string; content: string } {
  const root = fileURLToPath(new URL(`../../${FOLDER}/`, import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith("/customizations.yaml"))
    .sort();
  const objects = files.flatMap((file) => customizations(readFileSync(`${root}${file}`, "utf8"), file));
  const lines = [
    `// Generated from ${FOLDER}/*/*/customizations.yaml by \`npm run generate\`: edit those.`,
    "// biome-ignore-all format: generated",
    'import type { JsonObject } from "../../runtime/index.ts";',
    "",
    "export const BUNDLED: readonly JsonObject[] = [",
    ...objects.map((object) => `${JSON.stringify(object)},`),
    "];",
    "",
  ];
  return { path: `${FOLDER}/generated.ts`, content: lines.join("\n") };
}

/** The objects of a file; those of a List one by one. */
function customizations(text: string, file: string): unknown[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${FOLDER}/${file}: ${error.message}`);
    const value = document.toJS();
    return value?.kind === "List" ? value.items : [value];
  });
}

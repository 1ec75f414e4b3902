// Writes every generated file of the repository. With --check it writes nothing, names each outdated file, and exits 1
// if there is one. A folder listed in OWNED contains only generated files: a file that no generator creates counts as
// outdated.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { generateBundled } from "./generate/bundled.ts";
import { contract } from "./generate/contract.ts";
import { diagrams } from "./generate/diagrams.ts";
import { crds, policies } from "./generate/manifests.ts";
import { monitoring } from "./generate/monitoring.ts";
import { notice } from "./generate/notice.ts";
import { reference } from "./generate/reference.ts";
import { sbom } from "./generate/sbom.ts";
import { spec } from "./generate/spec.ts";
import type { GeneratedFile, Generator } from "./generate/types.ts";

const GENERATORS: readonly Generator[] = [
  crds,
  policies,
  bundledCustomizations,
  contract,
  reference,
  diagrams,
  notice,
  spec,
  monitoring,
  sbom,
];
const OWNED = ["deploy/contract", "deploy/crds", "deploy/policies", "deploy/monitoring"];

function bundledCustomizations(): GeneratedFile[] {
  const { path, content } = generateBundled();
  return [{ path, text: content }];
}

/** The generated files that are missing, differ, or should not exist. */
export async function outdated(root: string, files: GeneratedFile[]): Promise<string[]> {
  const wrong = files.filter((file) => readOrUndefined(join(root, file.path)) !== file.text).map((file) => file.path);
  return [...wrong, ...leftovers(root, files)].sort();
}

function leftovers(root: string, files: GeneratedFile[]): string[] {
  const made = new Set(files.map((file) => file.path));
  return OWNED.flatMap((folder) => listOrEmpty(join(root, folder)).map((name) => `${folder}/${name}`)).filter(
    (path) => !made.has(path),
  );
}

export async function generate(): Promise<GeneratedFile[]> {
  const files = (await Promise.all(GENERATORS.map((generator) => generator()))).flat();
  return files.sort((left, right) => (left.path < right.path ? -1 : 1));
}

export function write(root: string, files: GeneratedFile[]): void {
  for (const path of leftovers(root, files)) rmSync(join(root, path));
  for (const file of files) {
    mkdirSync(dirname(join(root, file.path)), { recursive: true });
    writeFileSync(join(root, file.path), file.text);
  }
}

function readOrUndefined(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function listOrEmpty(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

async function main(): Promise<number> {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const files = await generate();
  const wrong = await outdated(root, files);
  if (process.argv.includes("--check")) {
    for (const path of wrong) console.error(`${path} is not current: run npm run generate`);
    return wrong.length === 0 ? 0 : 1;
  }
  write(root, files);
  for (const path of wrong) console.log(path);
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exit(await main());

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestEntry, testTgz } from "./tar.ts";

type TestChart = "shop" | "odd" | "notes" | "orders";
type Files = Readonly<Record<string, string | undefined>>;

/** The files of a test chart, by path inside it. */
export function chartFiles(name: TestChart): Record<string, string> {
  return filesBelow(join(import.meta.dirname, "testdata/charts", name));
}

/** A test chart as an archive, with files replaced, added, or removed (undefined). */
export function chartArchive(name: TestChart, changes: Files = {}): Buffer {
  return testTgz(entriesOf(name, { ...chartFiles(name), ...changes }));
}

/** A test chart's archive with another version. */
export function chartWithVersion(name: TestChart, version: string): Buffer {
  const chart = chartFiles(name)["Chart.yaml"] ?? "";
  return chartArchive(name, { "Chart.yaml": chart.replace(/^version: .*$/m, `version: ${version}`) });
}

/** The test kustomization as an archive. */
export function kustomizationArchive(changes: Files = {}): Buffer {
  const files = filesBelow(join(import.meta.dirname, "testdata/kustomizations/site"));
  return testTgz(entriesOf("site", { ...files, ...changes }));
}

function entriesOf(folder: string, files: Files): TestEntry[] {
  return Object.entries(files).flatMap(([path, text]) =>
    text === undefined ? [] : [{ path: `${folder}/${path}`, text }],
  );
}

function filesBelow(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).sort();
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]));
}

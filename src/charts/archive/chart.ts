import { ownField } from "../../runtime/index.ts";
import type { ChartLimits } from "../limits.ts";
import type { ReadResult } from "../read/documents.ts";
import type { TextReader } from "../read/from-text.ts";
import { readText } from "../read/thread.ts";
import { RefusalError } from "../refusal.ts";
import { unzipped, zipped } from "./gzip.ts";
import { type ArchiveBudget, type ArchiveFile, badArchive, readTar, writeTar } from "./tar.ts";

/** Subcharts are archives inside archives; real charts have two levels. */
const MAX_NESTING = 4;

/** An archive's files, checked: paths stay inside, and there are no links, devices or bombs, at any depth. */
export async function unpack(bytes: Uint8Array, name: string, limits: ChartLimits): Promise<ArchiveFile[]> {
  return unpackWithin(bytes, name, budgetOf(limits));
}

export interface CheckedChart {
  readonly name: string;
  readonly version: string;
  /** As a tgz, packed again from the checked files: helm sees exactly what was checked. */
  readonly archive: Buffer;
  /** All files, those of subcharts that are archives included. Paths begin with the chart's folder. */
  readonly files: readonly ArchiveFile[];
}

export async function checkedChart(
  bytes: Uint8Array,
  name: string,
  { clock, limits }: TextReader,
  signal: AbortSignal,
): Promise<CheckedChart> {
  const budget = budgetOf(limits);
  const own = await unpackWithin(bytes, name, budget);
  const [folder = ""] = own[0]?.path.split("/") ?? [];
  const stray = own.find(({ path }) => !path.startsWith(`${folder}/`));
  if (stray || folder === "") {
    throw badArchive(`${name} must contain one folder, the chart's${stray ? `; '${stray.path}' is outside` : ""}`);
  }
  const chart = await metadataOf(own, folder, name, (text) => readText(text, clock, signal));
  const nested = await nestedFiles(own, name, budget, 1);
  return { ...chart, archive: await zipped(writeTar(own)), files: [...own, ...nested] };
}

function budgetOf(limits: ChartLimits): ArchiveBudget {
  return { entries: limits.archiveEntries, bytes: limits.unpackedBytes, fileBytes: limits.fileBytes };
}

async function unpackWithin(bytes: Uint8Array, name: string, budget: ArchiveBudget): Promise<ArchiveFile[]> {
  // A tar has a header of a block, and padding of less than a block, for each entry.
  const overheadBytes = 1024 * (Math.max(0, budget.entries) + 16);
  const files = readTar(await unzipped(bytes, budget.bytes + overheadBytes, name), name, budget);
  if (files.length === 0) throw badArchive(`${name} contains no files`);
  return files;
}

/** helm reads `charts/*.tgz` itself, so they are checked as the chart is. */
async function nestedFiles(
  files: readonly ArchiveFile[],
  name: string,
  budget: ArchiveBudget,
  depth: number,
): Promise<ArchiveFile[]> {
  const found: ArchiveFile[] = [];
  for (const { path, bytes } of files) {
    if (!/(?:^|\/)charts\/[^/]+\.(?:tgz|tar\.gz)$/.test(path)) continue;
    if (depth > MAX_NESTING) throw badArchive(`${name}: '${path}' is an archive inside too many others`);
    const inner = await unpackWithin(bytes, `${name}: ${path}`, budget);
    const below = inner.map((file) => ({ ...file, path: `${path}/${file.path}` }));
    found.push(...below, ...(await nestedFiles(below, name, budget, depth + 1)));
  }
  return found;
}

async function metadataOf(
  files: readonly ArchiveFile[],
  folder: string,
  name: string,
  read: (text: string) => Promise<ReadResult>,
): Promise<{ name: string; version: string }> {
  const file = files.find(({ path }) => path === `${folder}/Chart.yaml`);
  if (!file) throw badArchive(`${name} has no Chart.yaml in its folder '${folder}'`);
  const result = await read(Buffer.from(file.bytes).toString("utf8"));
  const chart = result.kind === "read" ? result.documents[0]?.value : undefined;
  const [own, version] = chart ? [ownField(chart, "name"), ownField(chart, "version")] : [];
  if (typeof own !== "string" || (typeof version !== "string" && typeof version !== "number")) {
    throw new RefusalError(
      "BadArchive",
      `${name}: Chart.yaml has no name or no version`,
      "give the chart a name and a version, as 'helm lint' asks for",
    );
  }
  return { name: own, version: String(version) };
}

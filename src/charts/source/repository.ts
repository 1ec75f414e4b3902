import { type Clock, isJsonObject, type Json, ownField } from "../../runtime/index.ts";
import type { ChartLimits } from "../limits.ts";
import { readText } from "../read/thread.ts";
import { RefusalError } from "../refusal.ts";
import type { ChartLocation } from "../types.ts";
import { checkDigest } from "./digest.ts";
import { parsedUrl, type SourceAnswer, type SourceHttp, unavailable } from "./http.ts";
import { bestVersion, isRange } from "./versions.ts";

export interface SourceTools {
  readonly http: SourceHttp;
  readonly clock: Clock;
  readonly limits: ChartLimits;
}

type RepositoryLocation = Extract<ChartLocation, { repository: string }>;

/** A chart of a classic repository: index.yaml names archives and their digests, which no helm compares. */
export async function fetchFromRepository(
  { http, clock, limits }: SourceTools,
  location: RepositoryLocation,
  signal: AbortSignal,
): Promise<Buffer> {
  const base = parsedUrl(location.repository.replace(/\/*$/, "/"), "the repository");
  const common = { credentials: location.credentials, declaredHost: base.host };
  const indexUrl = new URL("index.yaml", base).href;
  const index = await http.get({ ...common, url: indexUrl, maxBytes: limits.indexBytes }, signal);
  const parsed = await readIndex(found(index, "index.yaml of the repository").toString("utf8"), clock, signal);
  const entry = entryFor(location, parsed, base.host);
  const url = new URL(entry.url, base).href;
  const archive = await http.get({ ...common, url, maxBytes: limits.archiveBytes }, signal);
  const what = `${location.chart}-${entry.version}`;
  const bytes = found(archive, what);
  if (entry.digest !== undefined) checkDigest(bytes, entry.digest, what, "the repository's index");
  return bytes;
}

/** The body of an answer that succeeded. */
export function found({ status, bytes }: SourceAnswer, what: string): Buffer {
  if (status === 200) return bytes;
  if (status === 401 || status === 403) throw unavailable(`${what}: the host refuses access (HTTP ${status})`);
  if (status === 404) throw unavailable(`${what}: not found (HTTP 404)`);
  throw unavailable(`${what}: the host answered HTTP ${status}`);
}

interface IndexEntry {
  readonly version: string;
  readonly url: string;
  readonly digest: string | undefined;
}

function entryFor({ chart, version }: RepositoryLocation, index: Json | undefined, host: string): IndexEntry {
  const charts = isJsonObject(index) ? ownField(index, "entries") : undefined;
  if (!isJsonObject(charts)) throw unavailable(`index.yaml of ${host} is not the index of a chart repository`);
  const versions = ownField(charts, chart);
  if (!Array.isArray(versions)) throw notThere(`the repository ${host} has no chart '${chart}'`, "correct 'chart'");
  if (!isRange(version))
    throw notThere(`'${version.slice(0, 100)}' is neither a version nor a range`, "correct 'version'");
  const entries = versions.flatMap(indexEntry);
  const best = bestVersion(
    version,
    entries.map((entry) => entry.version),
  );
  const entry = entries.find((candidate) => candidate.version === best);
  if (entry) return entry;
  const known = entries
    .slice(0, 5)
    .map((candidate) => candidate.version)
    .join(", ");
  throw notThere(
    `the repository ${host} has no version of '${chart}' that matches '${version}'; it has ${known}`,
    "correct 'version'",
  );
}

/** JSON first: it is parsed a hundred times faster than YAML, which takes seconds for a large index. */
async function readIndex(text: string, clock: Clock, signal: AbortSignal): Promise<Json | undefined> {
  try {
    return JSON.parse(text);
  } catch {
    const result = await readText(text, clock, signal);
    return result.kind === "read" ? result.documents[0]?.value : undefined;
  }
}

function indexEntry(entry: Json): IndexEntry[] {
  if (!isJsonObject(entry)) return [];
  const { version, urls, digest } = entry;
  const url = Array.isArray(urls) ? urls[0] : undefined;
  if (typeof version !== "string" || typeof url !== "string") return [];
  return [
    { version, url, digest: digest === undefined || digest === null || digest === "" ? undefined : String(digest) },
  ];
}

function notThere(message: string, remedy: string): RefusalError {
  return new RefusalError("SourceUnavailable", message, remedy, { isTransient: true });
}

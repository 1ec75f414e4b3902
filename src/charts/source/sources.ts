import { LruMap } from "../../runtime/index.ts";
import { badArchive } from "../archive/tar.ts";
import { Shared } from "../run/shared.ts";
import { Slots } from "../run/slots.ts";
import type { ArchiveLocation, ChartLocation, Credentials } from "../types.ts";
import { checkDigest, sha256 } from "./digest.ts";
import { parsedUrl } from "./http.ts";
import { fetchFromRegistry } from "./oci.ts";
import { fetchFromRepository, found, type SourceTools } from "./repository.ts";

export interface FetchedArchive {
  readonly bytes: Uint8Array;
  /** `sha256:...` */
  readonly digest: string;
  /** For messages. */
  readonly name: string;
}

export interface SourcesOptions extends SourceTools {
  /** How long an answer holds: several clusters and variants of one application ask at the same time. */
  readonly keepMs: number;
}

const KEPT_ARCHIVES = 64;
const KEPT_BYTES = 64 * 1024 * 1024;

/** Each may hold an archive in memory; a host that does not answer holds one for as long as a request may take. */
const CONCURRENT_FETCHES = 8;

interface Wanted {
  readonly parts: readonly string[];
  readonly credentials: Credentials | undefined;
  /** For messages. */
  readonly name: string;
  readonly isImmutable: boolean;
  readonly tenant: string;
}

interface Kept {
  readonly archive: FetchedArchive;
  readonly atMs: number;
}

/** Fetches archives. What has a digest is fetched once; the rest is asked for again after a while. */
export class Sources {
  readonly #options: SourcesOptions;
  readonly #running = new Shared<FetchedArchive>();
  readonly #slots = new Slots(CONCURRENT_FETCHES);
  readonly #kept = new LruMap<string, Kept>(KEPT_ARCHIVES, KEPT_BYTES);

  constructor(options: SourcesOptions) {
    this.#options = options;
  }

  /** `tenant`: who asks; tenants take turns. */
  async chart(location: ChartLocation, tenant: string, signal: AbortSignal): Promise<FetchedArchive> {
    if ("archive" in location) return this.archive(location.archive, tenant, signal);
    if ("oci" in location) return this.#fromRegistry(location, true, tenant, signal);
    const { repository, chart, version } = location;
    const name = `chart ${chart} ${version}`;
    const fetch = () => fetchFromRepository(this.#options, location, signal);
    const parts = ["repository", repository, chart, version];
    return this.#remember(
      { parts, credentials: location.credentials, name, isImmutable: false, tenant },
      signal,
      fetch,
    );
  }

  async archive(location: ArchiveLocation, tenant: string, signal: AbortSignal): Promise<FetchedArchive> {
    const { http, limits } = this.#options;
    if ("oci" in location) return this.#fromRegistry(location, false, tenant, signal);
    if ("bytes" in location) {
      if (location.bytes.length > limits.archiveBytes)
        throw badArchive(`the archive has more than ${limits.archiveBytes} bytes`, "make it smaller");
      return { bytes: location.bytes, digest: `sha256:${sha256(location.bytes)}`, name: "the archive" };
    }
    const url = parsedUrl(location.url, "the archive's address");
    const name = `the archive ${url.host}${url.pathname}`;
    const { credentials, sha256: stated } = location;
    const parts = ["url", location.url, stated];
    return this.#remember({ parts, credentials, name, isImmutable: true, tenant }, signal, async () => {
      const request = { url: url.href, maxBytes: limits.archiveBytes, credentials, declaredHost: url.host };
      const bytes = found(await http.get(request, signal), name);
      checkDigest(bytes, stated, name, "'sha256'");
      return bytes;
    });
  }

  #fromRegistry(
    location: Extract<ArchiveLocation, { oci: string }>,
    isChart: boolean,
    tenant: string,
    signal: AbortSignal,
  ): Promise<FetchedArchive> {
    const isImmutable = location.oci.includes("@sha256:");
    const fetch = () => fetchFromRegistry(this.#options, location, isChart, signal);
    const name = `${location.oci} ${location.version}`.trim();
    const parts = ["oci", location.oci, location.version, String(isChart)];
    return this.#remember({ parts, credentials: location.credentials, name, isImmutable, tenant }, signal, fetch);
  }

  /** Credentials are part of the key: who may not read a chart does not get another user's copy. */
  async #remember(
    { parts, credentials, name, isImmutable, tenant }: Wanted,
    signal: AbortSignal,
    fetch: () => Promise<Buffer>,
  ): Promise<FetchedArchive> {
    const { clock, keepMs } = this.#options;
    const key = sha256(JSON.stringify([...parts, credentials ?? null]));
    const kept = this.#kept.get(key);
    if (kept && (isImmutable || clock.monotonicMs() - kept.atMs < keepMs)) return kept.archive;
    return this.#running.do(key, signal, async () => {
      const bytes = await this.#slots.within(tenant, signal, fetch);
      const archive = { bytes, digest: `sha256:${sha256(bytes)}`, name };
      this.#kept.set(key, { archive, atMs: clock.monotonicMs() }, bytes.length);
      return archive;
    });
  }
}

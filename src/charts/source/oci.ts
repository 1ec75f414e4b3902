import { isJsonObject, type Json, ownField } from "../../runtime/index.ts";
import { RefusalError } from "../refusal.ts";
import type { OciLocation } from "../types.ts";
import { checkDigest } from "./digest.ts";
import { parsedUrl, type SourceAnswer, type SourceHttp, unavailable } from "./http.ts";
import { found, type SourceTools } from "./repository.ts";
import { bestVersion, isExact, isRange } from "./versions.ts";

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const MANIFEST_BYTES = 1024 * 1024;
const TAGS_BYTES = 4 * 1024 * 1024;
const MAX_TAG_PAGES = 20;

/** The layer that holds the files: Helm's charts, Flux' folders, or any other compressed tar. */
const CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const ARCHIVE_LAYERS = [
  CHART_LAYER,
  "application/vnd.cncf.flux.content.v1.tar+gzip",
  "application/vnd.oci.image.layer.v1.tar+gzip",
];

/** The archive in an OCI registry, each part compared with the digest that names it. */
export async function fetchFromRegistry(
  { http, limits }: SourceTools,
  location: OciLocation,
  isChart: boolean,
  signal: AbortSignal,
): Promise<Buffer> {
  const registry = new Registry(http, location, signal);
  const reference = registry.pinned ?? (await registry.tagFor(location.version));
  const manifest = await registry.get(`manifests/${reference}`, MANIFEST_BYTES, MANIFEST);
  const bytes = found(manifest, `${registry.name}:${reference}`);
  const stated = registry.pinned ?? manifest.header("docker-content-digest");
  if (stated?.startsWith("sha256:"))
    checkDigest(
      bytes,
      stated,
      `the manifest ${registry.name}:${reference}`,
      registry.pinned ? "'oci'" : "the registry",
    );
  const layer = layerOf(bytes, isChart ? [CHART_LAYER] : ARCHIVE_LAYERS, `${registry.name}:${reference}`);
  const blob = await registry.get(`blobs/${layer}`, limits.archiveBytes);
  const archive = found(blob, `${registry.name}@${layer}`);
  checkDigest(archive, layer, `the archive of ${registry.name}:${reference}`, "its manifest");
  return archive;
}

class Registry {
  /** With the host, for messages. */
  readonly name: string;
  readonly #path: string;
  /** The digest, if the address names one. */
  readonly pinned: string | undefined;
  readonly #http: SourceHttp;
  readonly #location: OciLocation;
  readonly #signal: AbortSignal;
  readonly #base: URL;
  #token: string | undefined;

  constructor(http: SourceHttp, location: OciLocation, signal: AbortSignal) {
    this.#http = http;
    this.#location = location;
    this.#signal = signal;
    const [, host, name = "", pinned] =
      /^oci:\/\/([^/]+)\/([a-z0-9][a-z0-9._/-]*?)(?:@(sha256:[0-9a-f]{64}))?\/?$/.exec(location.oci) ?? [];
    if (host === undefined) {
      throw new RefusalError(
        "SourceUnavailable",
        `${JSON.stringify(location.oci.slice(0, 200))} is not an OCI address`,
        "write oci://HOST/PATH, with the version in 'version'",
      );
    }
    this.#path = name;
    this.name = `${host.slice(host.lastIndexOf("@") + 1)}/${name}`;
    this.pinned = pinned;
    // TLS everywhere but on loopback, where tests have their registry and http.ts decides whether that is allowed.
    const scheme = /^(?:127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/.test(host) ? "http" : "https";
    this.#base = parsedUrl(`${scheme}://${host}/v2/${name}/`, "the registry");
  }

  async tagFor(version: string): Promise<string> {
    // A tag cannot contain '+'.
    if (isExact(version)) return version.replaceAll("+", "_");
    if (!isRange(version)) {
      // Any other tag, such as `latest`, for folders of manifests.
      if (/^[\w][\w.-]{0,127}$/.test(version)) return version;
      throw new RefusalError(
        "SourceUnavailable",
        `'${version.slice(0, 100)}' is neither a version, a range nor a tag`,
        "correct 'version'",
      );
    }
    const tags = await this.#tags();
    const best = bestVersion(
      version,
      tags.map((tag) => tag.replaceAll("_", "+")),
    );
    if (best !== undefined) return best.replaceAll("+", "_");
    throw unavailable(`${this.name} has no version that matches '${version}'`);
  }

  async #tags(): Promise<string[]> {
    const tags: string[] = [];
    let path: string | undefined = "tags/list";
    for (let page = 0; path !== undefined && page < MAX_TAG_PAGES; page++) {
      const answer: SourceAnswer = await this.get(path, TAGS_BYTES);
      const list = jsonOf(found(answer, `the tags of ${this.name}`));
      const names = isJsonObject(list) ? ownField(list, "tags") : undefined;
      if (Array.isArray(names)) tags.push(...names.filter((tag) => typeof tag === "string"));
      path = /<([^>]+)>;\s*rel="?next"?/.exec(answer.header("link") ?? "")?.[1];
    }
    return tags;
  }

  /** Asks once more with a token, if the registry wants one. */
  async get(path: string, maxBytes: number, accept?: string): Promise<SourceAnswer> {
    const url = new URL(path, this.#base).href;
    const ask = () =>
      this.#http.get({ ...this.#common(), url, maxBytes, ...(accept !== undefined && { accept }) }, this.#signal);
    const answer = await ask();
    if (answer.status !== 401 || this.#token !== undefined) return answer;
    this.#token = await this.#tokenFor(answer.header("www-authenticate") ?? "");
    return this.#token === undefined ? answer : ask();
  }

  #common() {
    return { credentials: this.#location.credentials, declaredHost: this.#base.host, token: this.#token };
  }

  /** The pair goes to a token service on the registry's own host only; another one is asked without it. */
  async #tokenFor(challenge: string): Promise<string | undefined> {
    const [, parameters] = /^Bearer\s+(.*)$/i.exec(challenge) ?? [];
    const at = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(parameters ?? "")?.[1];
    const realm = at("realm");
    if (realm === undefined) return undefined;
    const url = parsedUrl(realm, "the registry's token service");
    url.searchParams.set("service", at("service") ?? "");
    url.searchParams.set("scope", at("scope") ?? `repository:${this.#path}:pull`);
    const answer = await this.#http.get({ ...this.#common(), url: url.href, maxBytes: MANIFEST_BYTES }, this.#signal);
    if (answer.status !== 200) return undefined;
    const body = jsonOf(answer.bytes);
    const token = isJsonObject(body) ? (body.token ?? body.access_token) : undefined;
    return typeof token === "string" ? token : undefined;
  }
}

function layerOf(manifest: Buffer, mediaTypes: readonly string[], what: string): string {
  const parsed = jsonOf(manifest);
  const layers = isJsonObject(parsed) ? ownField(parsed, "layers") : undefined;
  const matching = Array.isArray(layers)
    ? layers.filter((layer) => isJsonObject(layer) && mediaTypes.includes(String(layer.mediaType)))
    : [];
  const [layer] = matching;
  const digest = isJsonObject(layer) ? layer.digest : undefined;
  if (matching.length !== 1 || typeof digest !== "string" || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
    throw new RefusalError(
      "BadArchive",
      `${what} is not a chart or an archive: it has ${matching.length} layers of such a type`,
      "push it with 'helm push', or with 'flux push artifact' for folders",
    );
  }
  return digest;
}

function jsonOf(bytes: Buffer): Json | undefined {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

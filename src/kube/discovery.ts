import { type Clock, isJsonObject, type JsonObject } from "../runtime/index.ts";
import { NotFoundError, ServerError, UnknownKindError } from "./errors.ts";
import { groupPath, type Resource, resource } from "./resource.ts";
import type { RequestOptions } from "./sender.ts";

/** A missing kind is requested again after this time: fast enough for a new CRD, without a flood of requests. */
const MISS_REFRESH_MS = 1_000;
/** Answers are cached for this long; a kind can change scope or plural only after it was deleted. */
const FRESH_MS = 10 * 60_000;

interface GroupVersion {
  readonly kinds: ReadonlyMap<string, Resource>;
  readonly readAtMs: number;
}

export interface DiscoveryOptions {
  readonly clock: Clock;
  readonly getJson: (path: string, options: RequestOptions) => Promise<JsonObject>;
}

/** Maps a kind to its REST path, as the server reports it. Caches answers, and asks again for unknown kinds. */
export class Discovery {
  readonly #clock: Clock;
  readonly #getJson: DiscoveryOptions["getJson"];
  readonly #known = new Map<string, GroupVersion>();
  #served: { readonly names: readonly string[]; readonly readAtMs: number } | undefined;
  readonly #underWay = new Map<string, Promise<GroupVersion>>();

  constructor(options: DiscoveryOptions) {
    this.#clock = options.clock;
    this.#getJson = options.getJson;
  }

  /** Throws UnknownKindError when the server does not serve the kind. */
  async resource(apiVersion: string, kind: string, options: RequestOptions = {}): Promise<Resource> {
    const known = this.#known.get(apiVersion);
    const ageMs = known ? this.#clock.monotonicMs() - known.readAtMs : Number.POSITIVE_INFINITY;
    const found = known?.kinds.get(kind);
    if (found && ageMs < FRESH_MS) return found;
    if (known && !found && ageMs < MISS_REFRESH_MS) throw new UnknownKindError(apiVersion, kind);
    const read = (await this.#read(apiVersion, options)).kinds.get(kind);
    if (!read) throw new UnknownKindError(apiVersion, kind);
    return read;
  }

  /** The cached answer for a kind, without a request. */
  known(apiVersion: string, kind: string): Resource | undefined {
    return this.#known.get(apiVersion)?.kinds.get(kind);
  }

  /** All kinds of one apiVersion; none if the server does not serve it. */
  async kinds(apiVersion: string, options: RequestOptions = {}): Promise<Resource[]> {
    return [...(await this.#read(apiVersion, options)).kinds.values()];
  }

  /** The versions of a group, the server's preferred one first; none if it does not serve the group. */
  async versions(group: string, options: RequestOptions = {}): Promise<string[]> {
    try {
      const answer = await this.#getJson(`/apis/${group}`, options);
      const preferred = isJsonObject(answer.preferredVersion) ? answer.preferredVersion.version : undefined;
      const all = (Array.isArray(answer.versions) ? answer.versions : [])
        .filter(isJsonObject)
        .map((version) => version.version)
        .filter((version) => typeof version === "string");
      return all.sort((a, b) => Number(b === preferred) - Number(a === preferred));
    } catch (error) {
      if (error instanceof NotFoundError) return [];
      throw error;
    }
  }

  /** The server's version, such as `v1.36.4`; undefined if it does not tell. */
  async serverVersion(options: RequestOptions = {}): Promise<string | undefined> {
    const { gitVersion } = await this.#getJson("/version", options);
    return typeof gitVersion === "string" && gitVersion !== "" ? gitVersion : undefined;
  }

  /**
   * Everything that the server serves, as `group/version` and `group/version/Kind`. A group of an extension API server
   * that does not answer has no kinds for now.
   */
  async served(options: RequestOptions = {}): Promise<readonly string[]> {
    const known = this.#served;
    if (known && this.#clock.monotonicMs() - known.readAtMs < FRESH_MS) return known.names;
    const [core, { groups }] = await Promise.all([this.#getJson("/api", options), this.#getJson("/apis", options)]);
    const names: string[] = [];
    let isComplete = true;
    for (const apiVersion of [...listOf(core.versions), ...listOf(groups).flatMap(groupVersions)]) {
      if (typeof apiVersion !== "string") continue;
      names.push(apiVersion);
      const kinds = await this.kinds(apiVersion, { ...options, maxAttempts: 2 }).catch((error: unknown) => {
        if (!(error instanceof ServerError)) throw error;
        isComplete = false;
        return [];
      });
      names.push(...kinds.map(({ kind }) => `${apiVersion}/${kind}`));
    }
    if (isComplete) this.#served = { names, readAtMs: this.#clock.monotonicMs() };
    return names;
  }

  forget(): void {
    this.#known.clear();
    this.#served = undefined;
  }

  /** Several callers share one request; one caller's abort must not fail the others, so no signal is passed on. */
  #read(apiVersion: string, options: RequestOptions): Promise<GroupVersion> {
    const running = this.#underWay.get(apiVersion);
    if (running) return running;
    const { signal: _notShared, ...shared } = options;
    const reading = this.#readNow(apiVersion, shared).finally(() => this.#underWay.delete(apiVersion));
    this.#underWay.set(apiVersion, reading);
    return reading;
  }

  async #readNow(apiVersion: string, options: RequestOptions): Promise<GroupVersion> {
    let kinds = new Map<string, Resource>();
    try {
      kinds = readKinds(apiVersion, await this.#getJson(groupPath(apiVersion), options));
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    const read = { kinds, readAtMs: this.#clock.monotonicMs() };
    this.#known.set(apiVersion, read);
    return read;
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function groupVersions(group: unknown): unknown[] {
  return isJsonObject(group) ? listOf(group.versions).map((each) => isJsonObject(each) && each.groupVersion) : [];
}

function readKinds(apiVersion: string, list: JsonObject): Map<string, Resource> {
  const kinds = new Map<string, Resource>();
  for (const entry of Array.isArray(list.resources) ? list.resources : []) {
    if (!isJsonObject(entry) || typeof entry.name !== "string" || typeof entry.kind !== "string") continue;
    // Subresources ('pods/status') repeat the kind of their parent, or have a kind of another group.
    if (entry.name.includes("/") || kinds.has(entry.kind)) continue;
    kinds.set(
      entry.kind,
      resource({ apiVersion, kind: entry.kind, plural: entry.name, namespaced: entry.namespaced === true }),
    );
  }
  return kinds;
}

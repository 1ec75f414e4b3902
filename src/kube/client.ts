import { type HttpStream, isJsonObject, type Json, type JsonObject, LIMITS } from "../runtime/index.ts";
import { Discovery } from "./discovery.ts";
import { ExpiredError, InvalidRequestError, NotFoundError, readStatus, statusError } from "./errors.ts";
import { type Call, Exchange, type ExchangeOptions, type Query } from "./exchange.ts";
import type { UnwantedKeys } from "./list-body.ts";
import type { KubeObject, ObjectName } from "./object.ts";
import {
  type AnyResource,
  checkedBasePath,
  describe,
  pathOf,
  pathOfSegments,
  type Resource,
  type Subresource,
} from "./resource.ts";
import { type RequestOptions, type Safety, unreachable, withRetryAfter } from "./sender.ts";
import { StreamBudget } from "./stream-budget.ts";
import { Turns } from "./turns.ts";

export interface KubeClientOptions extends ExchangeOptions {
  /** Prefix of every path: with Karmada's cluster proxy, a member is just another client. */
  readonly basePath?: string | undefined;
  /** How many watches may be open at once, over all clients `below` this one; absent: as in LIMITS. */
  readonly streams?: StreamBudget | undefined;
  /** Whose turn it is to read a page of a list, over all clients `below` this one. */
  readonly listTurns?: Turns | undefined;
}

/**
 * Pages of whole caches are megabytes each, as text and as objects. If all clusters' pages are read at the same time,
 * most of the memory at a start is pages that wait to be parsed.
 */
const LISTS_AT_ONCE = 4;

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends Selection, RequestOptions {
  /** Only the objects' metadata crosses the wire, as PartialObjectMetadata. */
  readonly metadataOnly?: boolean | undefined;
  /** Objects in one page; 0 requests all at once. */
  readonly limit?: number | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined;
  /** Keys whose texts the caller does not read: in a large list they may be empty. */
  readonly unwanted?: UnwantedKeys | undefined;
}

export interface ListPage<T> {
  readonly items: T[];
  readonly resourceVersion: string;
  /** Requests the next page; absent on the last one. */
  readonly continueToken: string | undefined;
}

export interface WatchOptions extends Selection {
  readonly metadataOnly?: boolean | undefined;
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

export interface WriteOptions extends RequestOptions {
  /** The server checks everything and changes nothing. */
  readonly dryRun?: boolean | undefined;
  readonly fieldManager?: string | undefined;
  /** A field that the kind does not have is an error, not a warning. */
  readonly strict?: boolean | undefined;
}

export interface DeleteOptions extends RequestOptions {
  /** Only exactly this object, in exactly this version: otherwise ConflictError. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly propagation?: "Foreground" | "Background" | "Orphan" | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly dryRun?: boolean | undefined;
}

export type Patch =
  | { readonly type: "json"; readonly operations: readonly JsonObject[] }
  | { readonly type: "merge" | "strategic"; readonly body: JsonObject };

export interface Scale {
  readonly specReplicas: number;
  readonly statusReplicas: number;
  readonly resourceVersion: string;
}

/** Talks to one API server, in raw JSON: unknown fields survive every round trip. */
export class KubeClient {
  readonly basePath: string;
  readonly discovery: Discovery;
  readonly streams: StreamBudget;
  readonly listTurns: Turns;
  readonly #options: KubeClientOptions;
  readonly #exchange: Exchange;

  constructor(options: KubeClientOptions) {
    this.streams = options.streams ?? new StreamBudget({ log: options.log });
    this.listTurns = options.listTurns ?? new Turns(LISTS_AT_ONCE);
    this.#options = { ...options, streams: this.streams, listTurns: this.listTurns };
    this.basePath = checkedBasePath(options.basePath ?? "");
    this.#exchange = new Exchange(this.basePath, options);
    this.discovery = new Discovery({ clock: options.clock, getJson: (path, request) => this.getJson(path, request) });
  }

  /** The same server below a further prefix, given segment by segment so that none can contain a '/'. */
  below(...segments: string[]): KubeClient {
    return new KubeClient({ ...this.#options, basePath: this.basePath + pathOfSegments(segments) });
  }

  async get<T extends KubeObject>(of: Resource<T>, name: ObjectName, options: RequestOptions = {}): Promise<T> {
    const call: Call = { method: "GET", path: pathOf(of, name), object: describe(of, name), safety: "read" };
    return this.#exchange.object(of, call, (await this.#exchange.send(call, options))?.body);
  }

  /** Like `get`, with undefined for an object that does not exist. */
  async find<T extends KubeObject>(
    of: Resource<T>,
    name: ObjectName,
    options: RequestOptions = {},
  ): Promise<T | undefined> {
    try {
      return await this.get(of, name, options);
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  async listPage<T extends KubeObject>(
    of: Resource<T>,
    options: ListOptions = {},
    continueToken?: string,
  ): Promise<ListPage<T>> {
    const limit = options.limit ?? LIMITS.listPageObjects;
    const call: Call = {
      method: "GET",
      path: pathOf(of, { namespace: options.namespace }),
      query: {
        limit: limit > 0 ? limit : undefined,
        continue: continueToken,
        // A continue token contains its version; the server refuses both together.
        resourceVersion: continueToken ? undefined : options.resourceVersion,
        resourceVersionMatch: continueToken ? undefined : options.resourceVersionMatch,
        ...selectionQuery(options),
      },
      ...(options.metadataOnly && { accept: METADATA_LIST }),
      object: describe(of, { ...(options.namespace && { namespace: options.namespace }) }),
      safety: "read",
    };
    const { list, items } = await this.#exchange.list(of, call, options, options.unwanted);
    const metadata = isJsonObject(list.metadata) ? list.metadata : {};
    return {
      items,
      resourceVersion: typeof metadata.resourceVersion === "string" ? metadata.resourceVersion : "",
      continueToken: typeof metadata.continue === "string" && metadata.continue ? metadata.continue : undefined,
    };
  }

  /**
   * All objects, page by page. Throws ExpiredError if reading takes longer than the server keeps the list's version.
   */
  async *list<T extends KubeObject>(of: Resource<T>, options: ListOptions = {}): AsyncGenerator<T, void, undefined> {
    let continueToken: string | undefined;
    do {
      const page: ListPage<T> = await this.listPage(of, options, continueToken);
      yield* page.items;
      continueToken = page.continueToken;
    } while (continueToken);
  }

  /** All objects at once, of one version. */
  async listAll<T extends KubeObject>(of: Resource<T>, options: ListOptions = {}): Promise<ListPage<T>> {
    try {
      const items: T[] = [];
      let page = await this.listPage(of, options);
      items.push(...page.items);
      while (page.continueToken) {
        page = await this.listPage(of, options, page.continueToken);
        for (const item of page.items) items.push(item);
      }
      return { items, resourceVersion: page.resourceVersion, continueToken: undefined };
    } catch (error) {
      if (!(error instanceof ExpiredError) || options.limit === 0) throw error;
      return this.listAll(of, { ...options, limit: 0 });
    }
  }

  /** Opens a watch. Not retried here: the Reflector decides from where to continue. */
  async watch(of: AnyResource, options: WatchOptions): Promise<HttpStream> {
    const path = pathOf(of, { namespace: options.namespace });
    const query = {
      watch: 1,
      allowWatchBookmarks: true,
      resourceVersion: options.resourceVersion,
      timeoutSeconds: options.timeoutSeconds,
      ...selectionQuery(options),
    };
    const accept = options.metadataOnly ? { accept: METADATA_ONLY } : {};
    const call: Call = { method: "GET", path, query, ...accept, object: `watch of ${of.plural}`, safety: "read" };
    const context = this.#exchange.context(call);
    let stream: HttpStream;
    try {
      stream = await this.#options.transport.stream({
        method: "GET",
        path: this.#exchange.target(call),
        headers: this.#exchange.headers(call),
        signal: options.signal,
      });
    } catch (error) {
      options.signal.throwIfAborted();
      throw unreachable(context, error);
    }
    if (stream.status === 200) return stream;
    let text = "";
    for await (const chunk of stream.chunks) {
      text += chunk;
      if (text.length > MAX_STATUS_LENGTH) break;
    }
    throw statusError(context, withRetryAfter(readStatus(stream.status, text), stream, this.#options.clock));
  }

  async create<T extends KubeObject>(
    of: Resource<T>,
    object: KubeObject | (JsonObject & { metadata: JsonObject }),
    options: WriteOptions = {},
  ): Promise<T> {
    const { name, namespace } = metadataNames(object);
    if (name === undefined && typeof object.metadata.generateName !== "string") {
      throw new InvalidRequestError(`the new ${of.kind} needs metadata.name or metadata.generateName`);
    }
    const call: Call = {
      method: "POST",
      path: pathOf(of, { namespace: this.#requiredNamespace(of, namespace) }),
      query: writeQuery(options),
      body: { ...withType(of, object) },
      object: describe(of, { name: name ?? `${object.metadata.generateName}*`, ...(namespace && { namespace }) }),
      safety: options.dryRun ? "read" : name === undefined ? "once" : "repeatable",
    };
    return this.#exchange.write(of, call, options);
  }

  /** Asks a question by posting an object that the server answers and does not store, such as a SubjectAccessReview. */
  async review(of: AnyResource, spec: JsonObject, options: RequestOptions = {}): Promise<JsonObject> {
    const body = { apiVersion: of.apiVersion, kind: of.kind, spec };
    const call: Call = { method: "POST", path: pathOf(of, {}), body, object: of.kind, safety: "read" };
    return this.#exchange.json(call, (await this.#exchange.send(call, options))?.body);
  }

  /** Compare-and-swap: replaces the object if it still has the resourceVersion of the given one. */
  async update<T extends KubeObject>(
    of: Resource<T>,
    object: KubeObject,
    options: WriteOptions & { subresource?: Subresource } = {},
  ): Promise<T> {
    if (!object.metadata.resourceVersion) {
      throw new InvalidRequestError(
        `the update of ${describe(of, object.metadata)} needs metadata.resourceVersion, so that no other change is lost: get the object first`,
      );
    }
    const call: Call = {
      method: "PUT",
      path: pathOf(of, namesOf(object), options.subresource),
      query: writeQuery(options),
      body: { ...withType(of, object) },
      object: describe(of, object.metadata),
      safety: options.dryRun ? "read" : "repeatable",
    };
    return this.#exchange.write(of, call, options);
  }

  /** With metadata.resourceVersion in the body (or a `test` of it, in a JSON patch) the patch is a compare-and-swap. */
  async patch<T extends KubeObject>(
    of: Resource<T>,
    name: ObjectName,
    patch: Patch,
    options: WriteOptions & { subresource?: Subresource } = {},
  ): Promise<T> {
    const call: Call = {
      method: "PATCH",
      path: pathOf(of, name, options.subresource),
      query: writeQuery(options),
      body: patch.type === "json" ? [...patch.operations] : patch.body,
      contentType: PATCH_TYPES[patch.type],
      object: describe(of, name),
      safety: options.dryRun ? "read" : patchSafety(patch),
    };
    return this.#exchange.write(of, call, options);
  }

  /**
   * Server-side apply: sets the fields that this manager owns. ConflictError names the owners of conflicting fields,
   * unless forced.
   */
  async apply<T extends KubeObject>(
    of: Resource<T>,
    object: KubeObject,
    options: WriteOptions & { fieldManager: string; force?: boolean; subresource?: Subresource },
  ): Promise<T> {
    const { managedFields: _refused, ...metadata } = object.metadata;
    const call: Call = {
      method: "PATCH",
      path: pathOf(of, namesOf(object), options.subresource),
      query: { ...writeQuery(options), force: options.force ?? false },
      body: { ...withType(of, object), metadata },
      contentType: "application/apply-patch+yaml",
      object: describe(of, object.metadata),
      safety: options.dryRun ? "read" : "repeatable",
    };
    return this.#exchange.write(of, call, options);
  }

  /**
   * Deletes. A returned object still exists and waits for its finalizers; undefined: it is gone. Throws NotFoundError
   * if there was none. Give the uid if it is known, so that a new object of the same name is safe.
   */
  async delete<T extends KubeObject>(
    of: Resource<T>,
    name: ObjectName,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const call: Call = {
      method: "DELETE",
      path: pathOf(of, name),
      body: {
        apiVersion: "v1",
        kind: "DeleteOptions",
        propagationPolicy: options.propagation,
        gracePeriodSeconds: options.gracePeriodSeconds,
        preconditions: options.preconditions && { ...options.preconditions },
        dryRun: options.dryRun ? ["All"] : undefined,
      },
      object: describe(of, name),
      safety: options.dryRun ? "read" : options.preconditions?.uid ? "repeatable" : "once",
      goneIsDone: true,
    };
    const response = await this.#exchange.sendWrite(call, options);
    if (!response) return undefined;
    const answer = this.#exchange.json(call, response.body);
    if (answer.kind === "Status") return undefined;
    const object = this.#exchange.object(of, call, response.body);
    return object.metadata.deletionTimestamp ? object : undefined;
  }

  async getScale(of: AnyResource, name: ObjectName, options: RequestOptions = {}): Promise<Scale> {
    const path = pathOf(of, name, "scale");
    const call: Call = { method: "GET", path, object: `scale of ${describe(of, name)}`, safety: "read" };
    return readScale(this.#exchange.json(call, (await this.#exchange.send(call, options))?.body));
  }

  /** With a resourceVersion, only if the object still has it. */
  async setScale(
    of: AnyResource,
    name: ObjectName,
    replicas: number,
    options: WriteOptions & { resourceVersion?: string } = {},
  ): Promise<Scale> {
    const metadata = options.resourceVersion ? { resourceVersion: options.resourceVersion } : {};
    const call: Call = {
      method: "PATCH",
      path: pathOf(of, name, "scale"),
      query: writeQuery(options),
      body: { metadata, spec: { replicas } },
      contentType: PATCH_TYPES.merge,
      object: `scale of ${describe(of, name)}`,
      safety: options.dryRun ? "read" : "repeatable",
    };
    return readScale(this.#exchange.json(call, (await this.#exchange.sendWrite(call, options))?.body));
  }

  /** Any JSON document of the server: `/version`, `/openapi/v3`. */
  async getJson(path: string, options: RequestOptions = {}): Promise<JsonObject> {
    const call: Call = { method: "GET", path: checkedDocumentPath(path), object: "document", safety: "read" };
    return this.#exchange.json(call, (await this.#exchange.send(call, options))?.body);
  }

  /** Resolves when no write is in progress: a clean shutdown waits for it. */
  settled(): Promise<void> {
    return this.#exchange.settled();
  }

  #requiredNamespace(of: AnyResource, namespace: string | undefined): string | undefined {
    if (of.namespaced && !namespace) throw new InvalidRequestError(`the new ${of.kind} needs metadata.namespace`);
    return namespace;
  }
}

/** Whole objects are accepted too, from a server that has no other form. */
/** An API server answers 406 if a list is requested as an object, and vice versa. */
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
const METADATA_ONLY = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";

/** A Status is small; a longer text is some other server's error page. */
const MAX_STATUS_LENGTH = 64 * 1024;

const PATCH_TYPES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

/** See the rule in sender.ts. */
function patchSafety(patch: Patch): Safety {
  if (patch.type === "merge") return "repeatable";
  if (patch.type === "json") {
    const testsVersion = patch.operations.some((op) => op.op === "test" && op.path === "/metadata/resourceVersion");
    return testsVersion ? "repeatable" : "once";
  }
  const metadata = patch.body.metadata;
  return isJsonObject(metadata) && typeof metadata.resourceVersion === "string" ? "repeatable" : "once";
}

function readScale(scale: JsonObject): Scale {
  const part = (value: Json | undefined) => (isJsonObject(value) ? value : {});
  return {
    specReplicas: Number(part(scale.spec).replicas ?? 0),
    statusReplicas: Number(part(scale.status).replicas ?? 0),
    resourceVersion: String(part(scale.metadata).resourceVersion ?? ""),
  };
}

function selectionQuery(selection: Selection): Query {
  return { labelSelector: selection.labelSelector, fieldSelector: selection.fieldSelector };
}

function writeQuery(options: WriteOptions): Query {
  const { dryRun, fieldManager, strict } = options;
  return { dryRun: dryRun ? "All" : undefined, fieldManager, fieldValidation: strict ? "Strict" : undefined };
}

function withType(of: AnyResource, object: JsonObject | KubeObject): JsonObject {
  return { ...object, apiVersion: of.apiVersion, kind: of.kind };
}

function namesOf(object: KubeObject): { namespace: string | undefined; name: string } {
  return { namespace: object.metadata.namespace, name: object.metadata.name };
}

function metadataNames(object: { metadata: JsonObject }): { namespace: string | undefined; name: string | undefined } {
  const { name, namespace } = object.metadata;
  return {
    name: typeof name === "string" && name ? name : undefined,
    namespace: typeof namespace === "string" && namespace ? namespace : undefined,
  };
}

function checkedDocumentPath(path: string): string {
  if (!path.startsWith("/") || /[?#\s]/.test(path) || path.split("/").some((part) => part === "." || part === "..")) {
    throw new InvalidRequestError(`'${path}' is not a path: it must begin with '/' and have no '.', '..', '?' or '#'`);
  }
  return path;
}

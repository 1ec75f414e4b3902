import {
  type Clock,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  isJsonObject,
  type Json,
  type JsonObject,
  LIMITS,
  type Log,
  type Random,
  silentLog,
  type Transport,
} from "../runtime/index.ts";
import { Breather } from "./breather.ts";
import { Discovery } from "./discovery.ts";
import {
  BadResponseError,
  ExpiredError,
  InvalidRequestError,
  NotFoundError,
  type RequestContext,
  readStatus,
  statusError,
  WriteOutcomeUnknownError,
} from "./errors.ts";
import { cutList } from "./list-body.ts";
import type { KubeObject, ObjectName } from "./object.ts";
import {
  type AnyResource,
  checkedBasePath,
  describe,
  pathOf,
  pathOfSegments,
  type Resource,
  readObject,
  type Subresource,
} from "./resource.ts";
import { type RequestOptions, type Safety, Sender, unreachable, withRetryAfter } from "./sender.ts";

export interface KubeClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  /** Goes before every path: Karmada's cluster proxy makes a member just another client. */
  readonly basePath?: string | undefined;
  readonly userAgent?: string | undefined;
}

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends Selection, RequestOptions {
  /** Objects in one page; 0 asks for all at once. */
  readonly limit?: number | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined;
}

export interface ListPage<T> {
  readonly items: T[];
  readonly resourceVersion: string;
  /** Asks for the next page; absent on the last one. */
  readonly continueToken: string | undefined;
}

export interface WatchOptions extends Selection {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

export interface WriteOptions extends RequestOptions {
  /** The server checks everything and changes nothing. */
  readonly dryRun?: boolean | undefined;
  readonly fieldManager?: string | undefined;
}

export interface DeleteOptions extends RequestOptions {
  /** Only this very object, in this very version: otherwise ConflictError. */
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

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

interface Call {
  method: HttpRequest["method"];
  path: string;
  query?: Query;
  body?: Json;
  contentType?: string;
  object: string;
  safety: Safety;
  goneIsDone?: boolean;
}

/** Talks to one API server, in raw JSON: fields that nobody here knows survive every round trip. */
export class KubeClient {
  readonly basePath: string;
  readonly discovery: Discovery;
  readonly #options: KubeClientOptions;
  readonly #sender: Sender;
  readonly #log: Log;
  readonly #writes = new Set<Promise<unknown>>();

  constructor(options: KubeClientOptions) {
    this.#options = options;
    this.basePath = checkedBasePath(options.basePath ?? "");
    this.#log = options.log ?? silentLog;
    this.#sender = new Sender({ ...options, log: this.#log });
    this.discovery = new Discovery({ clock: options.clock, getJson: (path, request) => this.getJson(path, request) });
  }

  /** The same server below a further prefix, given segment by segment so that none can contain a '/'. */
  below(...segments: string[]): KubeClient {
    return new KubeClient({ ...this.#options, basePath: this.basePath + pathOfSegments(segments) });
  }

  async get<T extends KubeObject>(of: Resource<T>, name: ObjectName, options: RequestOptions = {}): Promise<T> {
    const call: Call = { method: "GET", path: pathOf(of, name), object: describe(of, name), safety: "read" };
    return this.#readAs(of, call, await this.#send(call, options));
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
        ...selectionQuery(options),
        limit: limit > 0 ? limit : undefined,
        continue: continueToken,
        // A continue token carries its version; the server refuses both together.
        resourceVersion: continueToken ? undefined : options.resourceVersion,
        resourceVersionMatch: continueToken ? undefined : options.resourceVersionMatch,
      },
      object: describe(of, { ...(options.namespace && { namespace: options.namespace }) }),
      safety: "read",
    };
    const response = await this.#send(call, options);
    const { list, items } = await this.#parseList(of, call, response);
    const metadata = isJsonObject(list.metadata) ? list.metadata : {};
    return {
      items,
      resourceVersion: typeof metadata.resourceVersion === "string" ? metadata.resourceVersion : "",
      continueToken: typeof metadata.continue === "string" && metadata.continue ? metadata.continue : undefined,
    };
  }

  /** All objects, page by page. Throws ExpiredError when reading took longer than the server keeps the list's version. */
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

  /** Opens a watch. Not retried here: the Reflector decides from where to go on. */
  async watch(of: AnyResource, options: WatchOptions): Promise<HttpStream> {
    const path = pathOf(of, { namespace: options.namespace });
    const query = {
      ...selectionQuery(options),
      watch: 1,
      allowWatchBookmarks: true,
      resourceVersion: options.resourceVersion,
      timeoutSeconds: options.timeoutSeconds,
    };
    const call: Call = { method: "GET", path, query, object: `watch of ${of.plural}`, safety: "read" };
    const context = contextOf(this.basePath, call);
    let stream: HttpStream;
    try {
      stream = await this.#options.transport.stream({
        method: "GET",
        path: this.#target(call),
        headers: this.#headers(call),
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
    return this.#write(of, call, options);
  }

  /** Compare-and-swap: replaces the object if it still has the resourceVersion that the given one carries. */
  async update<T extends KubeObject>(
    of: Resource<T>,
    object: KubeObject,
    options: WriteOptions & { subresource?: Subresource } = {},
  ): Promise<T> {
    if (!object.metadata.resourceVersion) {
      throw new InvalidRequestError(
        `the update of ${describe(of, object.metadata)} needs metadata.resourceVersion, so that nobody's change is lost: get it first`,
      );
    }
    const call: Call = {
      method: "PUT",
      path: pathOf(of, { ...namesOf(object), subresource: options.subresource }),
      query: writeQuery(options),
      body: { ...withType(of, object) },
      object: describe(of, object.metadata),
      safety: options.dryRun ? "read" : "repeatable",
    };
    return this.#write(of, call, options);
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
      path: pathOf(of, { ...name, subresource: options.subresource }),
      query: writeQuery(options),
      body: patch.type === "json" ? [...patch.operations] : patch.body,
      contentType: PATCH_TYPES[patch.type],
      object: describe(of, name),
      safety: options.dryRun ? "read" : patchSafety(patch),
    };
    return this.#write(of, call, options);
  }

  /** Server-side apply: states the fields this manager wants. ConflictError names who owns them, unless forced. */
  async apply<T extends KubeObject>(
    of: Resource<T>,
    object: KubeObject,
    options: WriteOptions & { fieldManager: string; force?: boolean; subresource?: Subresource },
  ): Promise<T> {
    const { managedFields: _refused, ...metadata } = object.metadata;
    const call: Call = {
      method: "PATCH",
      path: pathOf(of, { ...namesOf(object), subresource: options.subresource }),
      query: { ...writeQuery(options), force: options.force ?? false },
      body: { ...withType(of, object), metadata },
      contentType: "application/apply-patch+yaml",
      object: describe(of, object.metadata),
      safety: options.dryRun ? "read" : "repeatable",
    };
    return this.#write(of, call, options);
  }

  /**
   * Deletes. The object that comes back still exists, waiting for its finalizers; undefined: it is gone. NotFoundError
   * when there was none. Give the uid wherever it is known, so that a new object of the same name is safe.
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
    const response = await this.#tracked(this.#send(call, options));
    if (!response) return undefined;
    const answer = this.#parse(call, response.body);
    if (answer.kind === "Status") return undefined;
    const object = this.#object(of, call, answer);
    return object.metadata.deletionTimestamp ? object : undefined;
  }

  async getScale(of: AnyResource, name: ObjectName, options: RequestOptions = {}): Promise<Scale> {
    const path = pathOf(of, { ...name, subresource: "scale" });
    const call: Call = { method: "GET", path, object: `scale of ${describe(of, name)}`, safety: "read" };
    return this.#readScale(call, await this.#send(call, options));
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
      path: pathOf(of, { ...name, subresource: "scale" }),
      query: writeQuery(options),
      body: { metadata, spec: { replicas } },
      contentType: PATCH_TYPES.merge,
      object: `scale of ${describe(of, name)}`,
      safety: options.dryRun ? "read" : "repeatable",
    };
    return this.#readScale(call, await this.#tracked(this.#send(call, options)));
  }

  /** Any JSON document of the server: `/version`, `/openapi/v3`. */
  async getJson(path: string, options: RequestOptions = {}): Promise<JsonObject> {
    const call: Call = { method: "GET", path: checkedDocumentPath(path), object: "document", safety: "read" };
    return this.#parse(call, (await this.#send(call, options))?.body);
  }

  /** Resolves when no write is under way any more: a clean shutdown waits for it. */
  async settled(): Promise<void> {
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
  }

  #send(call: Call, options: RequestOptions): Promise<HttpResponse | undefined> {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const context = contextOf(this.basePath, call);
    if (body !== undefined && body.length > LIMITS.requestBodyBytes) {
      throw new InvalidRequestError(
        `${context.method} ${context.object}: the body has ${body.length} bytes, the server takes ${LIMITS.requestBodyBytes}`,
      );
    }
    return this.#sender.send(
      {
        request: { method: call.method, path: this.#target(call), ...(body !== undefined && { body }) },
        headers: this.#headers(call),
        context,
        safety: call.safety,
        goneIsDone: call.goneIsDone ?? false,
      },
      options,
    );
  }

  async #write<T extends KubeObject>(of: Resource<T>, call: Call, options: WriteOptions): Promise<T> {
    const response = await this.#tracked(this.#send(call, options));
    try {
      return this.#readAs(of, call, response);
    } catch (error) {
      if (error instanceof BadResponseError) throw new WriteOutcomeUnknownError(error.request, error);
      throw error;
    }
  }

  #tracked<Value>(write: Promise<Value>): Promise<Value> {
    this.#writes.add(write);
    const done = () => this.#writes.delete(write);
    write.then(done, done);
    return write;
  }

  #target(call: Call): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && value !== "") query.set(name, String(value));
    }
    const text = query.toString();
    return this.basePath + call.path + (text ? `?${text}` : "");
  }

  #headers(call: Call): Record<string, string> {
    const headers: Record<string, string> = {
      accept: "application/json",
      "user-agent": this.#options.userAgent ?? "kubernetes-runtime",
    };
    if (call.body !== undefined) headers["content-type"] = call.contentType ?? "application/json";
    return headers;
  }

  #parse(call: Call, text: string | undefined): JsonObject {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text ?? "");
    } catch (error) {
      throw new BadResponseError(contextOf(this.basePath, call), "the answer is not JSON", { cause: error });
    }
    if (!isJsonObject(parsed))
      throw new BadResponseError(contextOf(this.basePath, call), "the answer is not an object");
    return parsed;
  }

  /** Large lists are parsed object by object, giving way to others in between. */
  async #parseList<T extends KubeObject>(
    of: Resource<T>,
    call: Call,
    response: HttpResponse | undefined,
  ): Promise<{ list: JsonObject; items: T[] }> {
    const text = response?.body ?? "";
    const cut = text.length > MAX_TEXT_PARSED_AT_ONCE ? cutList(text) : undefined;
    const list = this.#parse(call, cut ? cut.envelope : text);
    const whole = list.items ?? [];
    if (!Array.isArray(whole)) throw new BadResponseError(contextOf(this.basePath, call), "the answer is not a list");
    const items = whole.map((item) => this.#object(of, call, item));
    const breather = new Breather(this.#options.clock);
    for (const [start, end] of cut?.items ?? []) {
      items.push(this.#object(of, call, this.#parse(call, text.slice(start, end))));
      if (breather.isDue) await breather.rest();
    }
    return { list, items };
  }

  #readAs<T extends KubeObject>(of: Resource<T>, call: Call, response: HttpResponse | undefined): T {
    return this.#object(of, call, this.#parse(call, response?.body));
  }

  #object<T extends KubeObject>(of: Resource<T>, call: Call, value: unknown): T {
    try {
      return readObject(of, value);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new BadResponseError(contextOf(this.basePath, call), why, { cause: error });
    }
  }

  #readScale(call: Call, response: HttpResponse | undefined): Scale {
    const scale = this.#parse(call, response?.body);
    const part = (value: Json | undefined) => (isJsonObject(value) ? value : {});
    return {
      specReplicas: Number(part(scale.spec).replicas ?? 0),
      statusReplicas: Number(part(scale.status).replicas ?? 0),
      resourceVersion: String(part(scale.metadata).resourceVersion ?? ""),
    };
  }

  #requiredNamespace(of: AnyResource, namespace: string | undefined): string | undefined {
    if (of.namespaced && !namespace) throw new InvalidRequestError(`the new ${of.kind} needs metadata.namespace`);
    return namespace;
  }
}

/** Parsed in about two milliseconds. */
const MAX_TEXT_PARSED_AT_ONCE = 256 * 1024;

/** A Status is small; more text than this is somebody's error page. */
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

function contextOf(basePath: string, call: Call): RequestContext {
  return { method: call.method, path: basePath + call.path, object: call.object };
}

function selectionQuery(selection: Selection): Query {
  return { labelSelector: selection.labelSelector, fieldSelector: selection.fieldSelector };
}

function writeQuery(options: WriteOptions): Query {
  return { dryRun: options.dryRun ? "All" : undefined, fieldManager: options.fieldManager };
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

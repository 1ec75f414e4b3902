import type { Clock, Headers, HttpRequest, HttpResponse, HttpStream, Transport } from "../../runtime/index.ts";
import { isJsonObject, type JsonObject, TransportError } from "../../runtime/index.ts";
import { isKubeObject, type KubeObject } from "../object.ts";
import { type AnyResource, pathOf } from "../resource.ts";
import { Channel } from "./channel.ts";
import { FakeStore, matchesLabels, mergePatch, type StoredEvent } from "./fake-store.ts";

/** The fault of one request. */
export type Fault =
  /** Answers with this. The request is carried out only if `applied`. */
  | { kind: "answer"; status: number; body?: JsonObject | string; headers?: Headers; applied?: boolean }
  /** The connection is never made. */
  | { kind: "refuse" }
  /** The connection breaks, before the request is carried out or after it (then only the acknowledgement is lost). */
  | { kind: "lose"; applied: boolean }
  /** The request is carried out at once, its answer comes late. */
  | { kind: "slow"; delayMs: number }
  /** Never answers. */
  | { kind: "hang"; applied?: boolean }
  /** A list is served from a cache that stopped at this version. */
  | { kind: "stale"; version: number };

export interface SeenRequest {
  readonly method: HttpRequest["method"];
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: unknown;
}

/** One open watch, to be broken by a test. */
export interface OpenWatch {
  readonly request: SeenRequest;
  /** Sends raw text: half a line, invalid data. */
  sendText(text: string): void;
  sendEvent(type: string, object: unknown): void;
  sendBookmark(): void;
  /** Changes are no longer delivered; the test sends what it wants. */
  takeOver(): void;
  /** From now on nothing arrives, and the connection stays open: a half-open connection. */
  goSilent(): void;
  /** The server ends the watch, as it does after timeoutSeconds. */
  end(): void;
  /** The connection breaks; with text, in the middle of a line. */
  reset(unfinished?: string): void;
}

export interface FakeApiOptions {
  readonly clock: Clock;
  /** Called for every request; returns its fault. */
  readonly fault?: (request: SeenRequest) => Fault | undefined;
  /** How the text of a watch is cut into chunks. */
  readonly chunks?: (text: string) => readonly string[];
}

/**
 * A small API server in memory for tests of this room and of everything above it: lists in pages, watches, the usual
 * writes with optimistic concurrency, and every kind of fault. It is not the API server of `src/apiserver`: no schemas,
 * no admission, one version per kind, and apply is a merge patch.
 */
export class FakeApi implements Transport {
  readonly store = new FakeStore();
  readonly requests: SeenRequest[] = [];
  readonly watches = new Set<OpenWatch>();
  /** May be replaced during a test. */
  fault: (request: SeenRequest) => Fault | undefined;
  /** Versions up to this one are forgotten: watches from there and continue tokens get 410. */
  compactedVersion = 0;
  readonly #clock: Clock;
  readonly #chunks: (text: string) => readonly string[];
  readonly #continued = new Map<string, { objects: KubeObject[]; version: number }>();

  constructor(options: FakeApiOptions) {
    this.#clock = options.clock;
    this.fault = options.fault ?? (() => undefined);
    this.#chunks = options.chunks ?? ((text) => [text]);
  }

  /** A change by another client. */
  put(of: AnyResource, object: KubeObject): KubeObject {
    return this.store.put(pathOf(of, {}), object, this.#clock.now());
  }

  remove(of: AnyResource, name: { namespace?: string; name: string }): KubeObject | undefined {
    return this.store.remove(pathOf(of, {}), `${name.namespace ?? ""}/${name.name}`);
  }

  list(of: AnyResource): KubeObject[] {
    return this.store.list(pathOf(of, {}));
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    const seen = this.#see(request);
    const fault = this.fault(seen);
    if (request.signal?.aborted) throw aborted(request.signal, true);
    switch (fault?.kind) {
      case "refuse":
        throw new TransportError("connection refused", { neverSent: true });
      case "lose":
        if (fault.applied) this.#answer(seen);
        throw new TransportError("connection reset");
      case "hang":
        if (fault.applied) this.#answer(seen);
        return new Promise((_resolve, reject) => {
          request.signal?.addEventListener("abort", () => reject(aborted(request.signal, false)), { once: true });
        });
      case "slow": {
        const answer = this.#answer(seen);
        await this.#clock.sleep(fault.delayMs, request.signal);
        return answer;
      }
      case "answer": {
        if (fault.applied) this.#answer(seen);
        const body =
          typeof fault.body === "string" ? fault.body : JSON.stringify(fault.body ?? status(fault.status, ""));
        return { status: fault.status, headers: fault.headers ?? {}, body };
      }
      case "stale":
        return this.#answer(seen, fault.version);
      default:
        return this.#answer(seen);
    }
  }

  async stream(request: HttpRequest): Promise<HttpStream> {
    const seen = this.#see(request);
    const fault = this.fault(seen);
    if (fault?.kind === "refuse") throw new TransportError("connection refused", { neverSent: true });
    if (fault?.kind === "lose") throw new TransportError("connection reset");
    if (fault?.kind === "answer") {
      const channel = new Channel();
      channel.push(
        typeof fault.body === "string" ? fault.body : JSON.stringify(fault.body ?? status(fault.status, "")),
      );
      channel.end();
      return { status: fault.status, headers: fault.headers ?? {}, chunks: channel };
    }
    if (fault?.kind === "slow") await this.#clock.sleep(fault.delayMs, request.signal);
    if (fault?.kind === "hang") {
      await new Promise((_resolve, reject) => {
        request.signal?.addEventListener("abort", () => reject(aborted(request.signal, false)), { once: true });
      });
    }
    return this.#watch(seen, request.signal);
  }

  #see(request: HttpRequest): SeenRequest {
    const url = new URL(request.path, "http://fake");
    const body: unknown = request.body === undefined ? undefined : JSON.parse(request.body);
    const seen = {
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
    };
    this.requests.push(seen);
    return seen;
  }

  #watch(seen: SeenRequest, signal: AbortSignal | undefined): HttpStream {
    const target = parsePath(seen.path);
    const from = Number(seen.query.get("resourceVersion") ?? "0");
    const channel = new Channel();
    let silent = false;
    const write = (text: string) => {
      if (silent) return;
      for (const chunk of this.#chunks(text)) channel.push(chunk);
    };
    const line = (type: string, object: unknown) => write(`${JSON.stringify({ type, object })}\n`);
    const form = formOf(seen);
    const headers = { "content-type": "application/json" };
    if (from < this.compactedVersion) {
      line("ERROR", status(410, "too old resource version", "Expired"));
      channel.end();
      return { status: 200, headers, chunks: channel };
    }
    const selector = seen.query.get("labelSelector");
    const deliver = (event: StoredEvent) => {
      if (event.collection !== target.collection || event.version <= from) return;
      if (target.namespace !== undefined && event.object.metadata.namespace !== target.namespace) return;
      const matched = event.previous !== undefined && matchesLabels(event.previous, selector);
      const matches = event.type !== "DELETED" && matchesLabels(event.object, selector);
      if (matches) line(matched ? "MODIFIED" : "ADDED", form(event.object));
      else if (matched) line("DELETED", form(event.object));
    };
    const close = (failure?: unknown) => {
      this.store.onEvent.delete(deliver);
      this.watches.delete(watch);
      channel.end(failure);
    };
    const watch: OpenWatch = {
      request: seen,
      sendText: write,
      sendEvent: line,
      sendBookmark: () =>
        line("BOOKMARK", { ...target.type, metadata: { resourceVersion: String(this.store.version) } }),
      takeOver: () => {
        this.store.onEvent.delete(deliver);
      },
      goSilent: () => {
        silent = true;
      },
      end: () => close(),
      reset: (unfinished) => {
        if (unfinished) write(unfinished);
        close(new TransportError("connection reset"));
      },
    };
    for (const event of this.store.events) deliver(event);
    this.store.onEvent.add(deliver);
    this.watches.add(watch);
    signal?.addEventListener("abort", () => close(aborted(signal, false)), { once: true });
    return { status: 200, headers, chunks: channel };
  }

  #answer(seen: SeenRequest, staleVersion?: number): HttpResponse {
    try {
      const [code, body] = this.#perform(seen, staleVersion);
      return { status: code, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: error.code, headers: {}, body: JSON.stringify(status(error.code, error.message, error.reason)) };
    }
  }

  #perform(seen: SeenRequest, staleVersion: number | undefined): [number, unknown] {
    const target = parsePath(seen.path);
    if (seen.method === "GET" && target.name === undefined) return [200, this.#list(seen, target, staleVersion)];
    const body = isJsonObject(seen.body) ? seen.body : {};
    const metadata = isJsonObject(body.metadata) ? body.metadata : {};
    const name = target.name ?? String(metadata.name ?? `${metadata.generateName}${this.store.version}`);
    const key = `${target.namespace ?? ""}/${name}`;
    const current = this.store.get(target.collection, key);
    const save = (object: unknown) => {
      const named = { ...(isJsonObject(object) ? object : {}) };
      named.metadata = { ...(isJsonObject(named.metadata) ? named.metadata : {}), name };
      if (target.namespace) named.metadata.namespace = target.namespace;
      if (!isKubeObject(named)) throw new Refusal(400, "BadRequest", "not an object");
      return seen.query.get("dryRun") ? named : this.store.put(target.collection, named, this.#clock.now());
    };
    const checkVersion = () => {
      const version = metadata.resourceVersion;
      if (version !== undefined && current && version !== current.metadata.resourceVersion) {
        throw new Refusal(409, "Conflict", `the object has been modified: ${version} is not the latest version`);
      }
    };
    if (seen.method === "POST") {
      if (current) throw new Refusal(409, "AlreadyExists", `"${name}" already exists`);
      return [201, save(body)];
    }
    const isApply = seen.headers["content-type"] === "application/apply-patch+yaml";
    if (!current && isApply) return [201, save(body)];
    if (!current) throw new Refusal(404, "NotFound", `"${name}" not found`);
    switch (seen.method) {
      case "GET":
        return [200, formOf(seen)(current)];
      case "PUT": {
        checkVersion();
        return [200, save(target.subresource === "status" ? { ...current, status: body.status } : body)];
      }
      case "PATCH":
        checkVersion();
        return [200, save(mergePatch(current, body))];
      case "DELETE":
        return [200, this.#delete(target.collection, key, current, body)];
    }
  }

  #delete(collection: string, key: string, current: KubeObject, options: JsonObject): unknown {
    const wanted = isJsonObject(options.preconditions) ? options.preconditions : {};
    for (const field of ["uid", "resourceVersion"] as const) {
      if (wanted[field] !== undefined && wanted[field] !== current.metadata[field]) {
        throw new Refusal(409, "Conflict", `the precondition on ${field} does not hold`);
      }
    }
    const finalizers = current.metadata.finalizers;
    if (Array.isArray(finalizers) && finalizers.length > 0) {
      const deletionTimestamp = new Date(this.#clock.now()).toISOString();
      const metadata = { ...current.metadata, deletionTimestamp };
      return this.store.put(collection, { ...current, metadata }, this.#clock.now());
    }
    this.store.remove(collection, key);
    return { kind: "Status", apiVersion: "v1", status: "Success", details: { uid: current.metadata.uid } };
  }

  #list(seen: SeenRequest, target: Target, staleVersion: number | undefined): unknown {
    const token = seen.query.get("continue");
    let rest = token ? this.#continued.get(token) : undefined;
    if (token && (!rest || rest.version < this.compactedVersion)) {
      throw new Refusal(410, "Expired", "the continue token is too old");
    }
    if (!rest) {
      const version = staleVersion ?? this.store.version;
      const wanted = Number(seen.query.get("resourceVersion") ?? "0");
      if (wanted > this.store.version) throw new Refusal(504, "Timeout", "Too large resource version");
      const all =
        staleVersion === undefined ? this.store.list(target.collection) : this.store.listAt(target.collection, version);
      const selector = seen.query.get("labelSelector");
      const objects = all.filter(
        (object) =>
          (target.namespace === undefined || object.metadata.namespace === target.namespace) &&
          matchesLabels(object, selector),
      );
      rest = { objects, version };
    }
    const limit = Number(seen.query.get("limit") ?? "0") || rest.objects.length;
    const items = rest.objects.slice(0, limit);
    const metadata: JsonObject = { resourceVersion: String(rest.version) };
    if (limit < rest.objects.length) {
      metadata.continue = `page-${this.#continued.size}`;
      this.#continued.set(metadata.continue, { ...rest, objects: rest.objects.slice(limit) });
    }
    // As on a real server, the items of a list have neither apiVersion nor kind.
    return {
      ...target.type,
      kind: "List",
      metadata,
      items: items.map(formOf(seen)).map(({ apiVersion, kind, ...item }) => item),
    };
  }
}

/** Whole objects, or only their metadata, as requested. */
function formOf({ headers }: SeenRequest): (object: KubeObject) => KubeObject {
  if (!headers.accept?.includes("as=PartialObjectMetadata")) return (object) => object;
  return ({ metadata }) => ({ apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata });
}

interface Target {
  readonly collection: string;
  readonly type: { apiVersion: string };
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

function parsePath(path: string): Target {
  const match =
    /^\/(?:api\/(v1)|apis\/([^/]+\/[^/]+))(?:\/namespaces\/([^/]+)(?=\/))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(
      path,
    );
  if (!match) throw new Refusal(404, "NotFound", `no such path: ${path}`);
  const [, core, group, namespace, plural, name, subresource] = match;
  return {
    collection: `/${core ? `api/${core}` : `apis/${group}`}/${plural}`,
    type: { apiVersion: core ?? group ?? "" },
    namespace: namespace && decodeURIComponent(namespace),
    name: name && decodeURIComponent(name),
    subresource,
  };
}

class Refusal extends Error {
  readonly code: number;
  readonly reason: string;
  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

export function status(code: number, message: string, reason = ""): JsonObject {
  return { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message };
}

function aborted(signal: AbortSignal | undefined, neverSent: boolean): TransportError {
  return new TransportError("aborted", { neverSent, cause: signal?.reason });
}

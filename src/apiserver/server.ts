import {
  type HttpResponse,
  type HttpStream,
  isJsonObject,
  LIMITS,
  silentLog,
  type Transport,
} from "../runtime/index.ts";
import { Admission } from "./admission/admission.ts";
import type { Core, WriteContext } from "./core.ts";
import { CustomResources } from "./kinds/crd.ts";
import { apiVersionOf, Registry } from "./kinds/registry.ts";
import { SchemaCache } from "./kinds/schema-cache.ts";
import { openAPIDocuments } from "./openapi/index.ts";
import { answerForm, isWrongForm } from "./request/answer-form.ts";
import { authorize } from "./request/authorize.ts";
import { answerDiscovery } from "./request/discovery.ts";
import { type LogReader, logResponse } from "./request/logs.ts";
import { type PatchRequest, patchObject } from "./request/patches.ts";
import { parseTarget, type RequestTarget, type ResourcePath, resourcePath } from "./request/path.ts";
import { rbacAuthorizer } from "./request/rbac.ts";
import { type CollectionRead, listCollection, objectText, selection, watchCollection } from "./request/reads.ts";
import { type RequestOptions, readDeleteOptions, readOptions } from "./request/request.ts";
import { answerReview, isReview } from "./request/reviews.ts";
import { patchScale, putScale, readScale, scaleOf } from "./request/scale.ts";
import {
  badRequest,
  errorResponse,
  forbidden,
  jsonResponse,
  methodNotAllowed,
  noSuchResource,
  notFound,
  StatusError,
  successStatus,
} from "./request/status.ts";
import { createObject, keyOf, putObject } from "./request/writes.ts";
import { Collector } from "./store/collector.ts";
import { type DeleteOptions, deleteObject } from "./store/deletion.ts";
import { expireEvents } from "./store/event-expiry.ts";
import { loadSnapshot, takeSnapshot } from "./store/snapshot.ts";
import { Store, type StoredObject, type StoreEvent } from "./store/store.ts";
import { WatchHub } from "./store/watch.ts";
import type {
  ApiServerOptions,
  Authorizer,
  Commit,
  DocumentHandler,
  KubeObject,
  RegistryView,
  ResourceDefinition,
  Route,
  ServerLimits,
  ServerRequest,
  ServerSnapshot,
  User,
} from "./types.ts";

const DEFAULT_LIMITS: ServerLimits = {
  bodyBytes: LIMITS.requestBodyBytes,
  jsonDepth: LIMITS.jsonDepth,
  // Selectors of a few hundred names fit; more is an attack.
  urlCharacters: 64 * 1024,
  // Enough for a client that returns after a minute of heavy writing; each entry holds one old version of an object.
  historyEvents: 8_000,
  // A reader that is this far behind is faster with a new list.
  watchQueueEvents: 20_000,
  bookmarkEveryEvents: 500,
};

/** In-process callers without a user are the fleet itself. */
const SUPERUSER: User = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };

/** /apis/GROUP/VERSION/PLURAL/NAME/SUBRESOURCE of a cluster-scoped kind. */
const CONNECT_SEGMENTS = 6;

/** Created at the start, and never deleted: clients rely on them. */
const FIRST_NAMESPACES = ["default", "kube-system"];

/** One parsed request. */
interface Call {
  readonly request: ServerRequest;
  readonly target: RequestTarget;
  readonly path: ResourcePath;
  readonly definition: ResourceDefinition;
  readonly options: RequestOptions;
}

export class ApiServer {
  readonly registry: RegistryView;
  readonly name: string;
  readonly #core: Core;
  readonly #hub = new WatchHub();
  readonly #collector: Collector;
  readonly #authorizer: Authorizer | undefined;
  readonly #documents: DocumentHandler[] = [answerDiscovery, openAPIDocuments()];
  #routes: Route[] = [];
  #logs: LogReader | undefined;
  #commitListeners: ((commit: Commit) => void)[] = [];
  /** Commits that not all listeners know yet; the first is being delivered. */
  readonly #commits: Commit[] = [];

  constructor(options: ApiServerOptions) {
    const log = options.log ?? silentLog;
    this.name = options.name ?? "apiserver";
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    const schemas = options.schemas ?? new SchemaCache();
    const custom = new CustomResources(() => options.clock.now(), schemas);
    const registry = new Registry([...schemas.builtIn(), custom.definition()]);
    // Version 0 means "any" to clients, so an empty server is at 1.
    const store = new Store({ version: options.storage?.resourceVersion ?? 1, historyEvents: limits.historyEvents });
    const { authorizer = undefined } = options;
    this.#authorizer =
      authorizer === "RBAC"
        ? rbacAuthorizer((resource, namespace) => storedIn(store, resource, namespace))
        : authorizer;
    const admission = new Admission(store, this.#authorizer);
    this.#core = {
      store,
      registry,
      clock: options.clock,
      random: options.random,
      log: options.name === undefined ? log : log.with({ server: options.name }),
      limits,
      trackUpdates: options.trackUpdates ?? true,
      checkedBy: new WeakMap(),
      admit: (write, object, old) => admission.admit(write, object, old),
    };
    this.registry = registry;
    if (options.storage) loadSnapshot(store, options.storage);
    this.#collector = new Collector(this.#core);
    custom.attach(this.#core, this.#hub, this.#collector);
    expireEvents(this.#core, this.#collector);
    store.listen((event) => {
      this.#hub.publish(event);
      this.#tellListeners(event);
    });
    if (!options.storage) this.#createFirstNamespaces();
  }

  /** The version of the newest change. */
  get resourceVersion(): number {
    return this.#core.store.version;
  }

  /** Watches that are open now. */
  get openWatches(): number {
    return this.#hub.size;
  }

  /** Answers one request. Never rejects: an error is a Status. */
  async handle(request: ServerRequest): Promise<HttpResponse> {
    try {
      const target = parseTarget(request, this.#core.limits.urlCharacters);
      const route = this.#routeOf(target.path);
      if (route) {
        this.#authorizePath(request, target);
        return await route.handle(request);
      }
      return this.#answer(request, target);
    } catch (error) {
      return errorResponse(this.#statusOf(error));
    } finally {
      this.#collector.drain();
    }
  }

  /** Answers a watch; for anything else, handle()'s answer as one chunk. */
  async stream(request: ServerRequest): Promise<HttpStream> {
    try {
      const target = parseTarget(request, this.#core.limits.urlCharacters);
      const route = this.#routeOf(target.path);
      if (route?.stream) {
        this.#authorizePath(request, target);
        return await route.stream(request);
      }
      const watch = target.query.get("watch");
      if (!route && request.method === "GET" && (watch === "true" || watch === "1")) {
        const call = this.#understand(request, target);
        return watchCollection(this.#core, this.#hub, this.#readOf(call), request.signal);
      }
    } catch (error) {
      return oneChunk(errorResponse(this.#statusOf(error)));
    }
    return oneChunk(await this.handle(request));
  }

  /** For clients in this process. Without a user they are system:masters. */
  transport(user?: User): Transport {
    const withUser = <T extends ServerRequest>(request: T): ServerRequest => (user ? { ...request, user } : request);
    return {
      request: async (request) => {
        request.signal?.throwIfAborted();
        return this.handle(withUser(request));
      },
      stream: async (request) => {
        request.signal?.throwIfAborted();
        return this.stream(withUser(request));
      },
    };
  }

  snapshot(): ServerSnapshot {
    return takeSnapshot(this.#core.store);
  }

  /** Called after every stored change, in order, before the request is answered. Returns how to stop. */
  onCommit(listener: (commit: Commit) => void): () => void {
    this.#commitListeners = [...this.#commitListeners, listener];
    return () => {
      this.#commitListeners = this.#commitListeners.filter((each) => each !== listener);
    };
  }

  /** Lets `read` answer for pods' logs; undefined: there is none. Without it, the server has no such subresource. */
  serveLogs(read: LogReader): void {
    this.#logs = read;
  }

  /** Lets `route` answer for its prefix. Returns how to remove it. */
  addRoute(route: Route): () => void {
    this.#routes = [...this.#routes, route].sort((left, right) => right.prefix.length - left.prefix.length);
    return () => {
      this.#routes = this.#routes.filter((each) => each !== route);
    };
  }

  /** Ends every watch, as when a server stops. */
  closeWatches(): void {
    this.#hub.closeAll();
  }

  /** A listener may write too: its changes are delivered after the current one, to all listeners in the same order. */
  #tellListeners({ type, key, old, current, version }: StoreEvent): void {
    if (this.#commitListeners.length === 0) return;
    this.#commits.push({ type, key, object: current.object, old: old?.object, resourceVersion: version });
    if (this.#commits.length > 1) return;
    for (let commit = this.#commits[0]; commit; commit = this.#commits[0]) {
      for (const listener of this.#commitListeners) {
        try {
          listener(commit);
        } catch (error) {
          this.#core.log.error("a commit listener failed", { detail: error instanceof Error ? error.stack : error });
        }
      }
      this.#commits.shift();
    }
  }

  #routeOf(path: string): Route | undefined {
    return this.#routes.find(({ prefix }) => path.startsWith(prefix) || `${path}/` === prefix);
  }

  #answer(request: ServerRequest, target: RequestTarget): HttpResponse {
    const path = resourcePath(target.segments);
    if (!path) {
      this.#authorizePath(request, target);
      const { headers } = request;
      if (request.method === "GET") {
        for (const document of this.#documents) {
          const answer = document({ path: target.path, query: target.query, headers }, this.registry);
          if (answer) return answer;
        }
      }
      throw noSuchResource();
    }
    const call = this.#understand(request, target, path);
    const answer = this.#perform(call);
    const { warnings } = call.options;
    if (call.definition.deprecationWarning !== undefined) warnings.push(call.definition.deprecationWarning);
    return warnings.length === 0
      ? answer
      : { ...answer, headers: { ...answer.headers, warning: warningHeader(warnings) } };
  }

  #understand(request: ServerRequest, target: RequestTarget, known?: ResourcePath): Call {
    const path = known ?? resourcePath(target.segments);
    if (!path) throw noSuchResource();
    const definition = this.#core.registry.find(path.group, path.version, path.plural);
    if (!definition) throw noSuchResource();
    const { subresources } = definition;
    if (
      path.subresource === "status"
        ? !subresources.status
        : path.subresource === "scale"
          ? !subresources.scale
          : path.subresource !== "" && !this.#isLog(definition, path)
    ) {
      throw noSuchResource();
    }
    if (path.namespace !== "" && !definition.namespaced) throw noSuchResource();
    const options = readOptions(request, target);
    this.#authorize(request, target, path);
    if (request.body !== undefined && Buffer.byteLength(request.body) > this.#core.limits.bodyBytes) {
      throw new StatusError(
        413,
        "RequestEntityTooLarge",
        `Request entity too large: limit is ${this.#core.limits.bodyBytes}`,
      );
    }
    return { request, target, path, definition, options };
  }

  #perform(call: Call): HttpResponse {
    const { request, path, definition } = call;
    const isCollection = path.name === "";
    if (isReview(definition.resource)) {
      if (request.method !== "POST" || !isCollection) throw methodNotAllowed();
      const asking = { user: request.user ?? SUPERUSER, nowMs: this.#core.clock.now(), authorizer: this.#authorizer };
      const body = () => call.options.body(this.#core.limits);
      return jsonResponse(201, JSON.stringify(answerReview(definition.resource, body, asking)));
    }
    const needsNamespace = definition.namespaced && path.namespace === "";
    if (needsNamespace && (request.method !== "GET" || !isCollection)) {
      throw isCollection && request.method === "POST"
        ? badRequest("an empty namespace may not be set during creation")
        : noSuchResource();
    }
    if (path.subresource === "log") return this.#log(call);
    switch (request.method) {
      case "GET":
        return isCollection ? jsonResponse(200, listCollection(this.#core, this.#readOf(call))) : this.#get(call);
      case "POST": {
        if (!isCollection) throw methodNotAllowed();
        const { stored } = createObject(this.#core, this.#writeOf(call), call.options.body(this.#core.limits));
        return jsonResponse(201, stored.textFor(definition));
      }
      case "PUT": {
        if (isCollection) throw methodNotAllowed();
        const body = call.options.body(this.#core.limits);
        if (path.subresource === "scale") return this.#scale(call, putScale(this.#core, this.#writeOf(call), body));
        const { stored, created } = putObject(this.#core, this.#writeOf(call), body);
        return jsonResponse(created ? 201 : 200, stored.textFor(definition));
      }
      case "PATCH":
        return this.#patch(call);
      case "DELETE":
        if (path.subresource !== "") throw methodNotAllowed();
        return isCollection ? this.#deleteCollection(call) : this.#delete(call);
    }
  }

  #get(call: Call): HttpResponse {
    const stored = this.#find(call);
    if (call.path.subresource === "scale") return jsonResponse(200, JSON.stringify(readScale(call.definition, stored)));
    return jsonResponse(200, objectText(this.#core, this.#readOf(call), stored));
  }

  #isLog(definition: ResourceDefinition, { subresource, name }: ResourcePath): boolean {
    return this.#logs !== undefined && definition.resource === "/pods" && subresource === "log" && name !== "";
  }

  #log(call: Call): HttpResponse {
    if (call.request.method !== "GET") throw methodNotAllowed();
    const { namespace, name } = this.#find(call).key;
    return logResponse(this.#logs?.({ namespace, name }) ?? "", call.target.query);
  }

  #find({ path, definition }: Call): StoredObject {
    const key = { resource: definition.resource, namespace: path.namespace, name: path.name };
    const stored = this.#core.store.get(key);
    if (!stored) throw notFound(definition, path.name);
    return stored;
  }

  #scale(call: Call, stored: StoredObject): HttpResponse {
    return jsonResponse(200, JSON.stringify(scaleOf(call.definition, stored)));
  }

  #patch(call: Call): HttpResponse {
    if (call.path.name === "") throw methodNotAllowed();
    const patch: PatchRequest = call.options.patch();
    const write = this.#writeOf(call);
    if (call.path.subresource === "scale") return this.#scale(call, patchScale(this.#core, write, patch));
    const { stored, created } = patchObject(this.#core, write, patch);
    return jsonResponse(created ? 201 : 200, stored.textFor(call.definition));
  }

  #delete(call: Call): HttpResponse {
    const { definition, path } = call;
    const options = readDeleteOptions(call.request, call.target, this.#core.limits);
    if (definition.resource === "/namespaces" && FIRST_NAMESPACES.includes(path.name)) {
      throw forbidden(definition, path.name, "this namespace may not be deleted");
    }
    const write = this.#writeOf(call);
    const key = keyOf(write, path.name);
    const found = this.#core.store.get(key);
    if (found) this.#core.admit(write, undefined, found.objectFor(definition));
    const { removed, stored } = deleteObject(this.#core, definition, key, options);
    if (!removed) return jsonResponse(200, stored.textFor(definition));
    return jsonResponse(200, JSON.stringify(successStatus(definition, path.name, stored.object.metadata.uid)));
  }

  #deleteCollection(call: Call): HttpResponse {
    const { definition, path } = call;
    if (!definition.verbs.includes("deletecollection")) throw methodNotAllowed();
    const options: DeleteOptions = readDeleteOptions(call.request, call.target, this.#core.limits);
    const { matches, name } = selection(this.#readOf(call));
    const { store } = this.#core;
    const chosen = [...store.objects(definition.resource, path.namespace)].filter(
      ({ key, object }) => (name === undefined || key.name === name) && (!matches || matches(object)),
    );
    const write = this.#writeOf(call);
    for (const { key } of chosen) {
      const found = store.get(key);
      // Objects of one collection can own each other; what a cascade has already deleted is not an error.
      if (!found) continue;
      this.#core.admit({ ...write, namespace: key.namespace }, undefined, found.objectFor(definition));
      deleteObject(this.#core, definition, key, options);
    }
    const head = JSON.stringify({
      kind: definition.listKind,
      apiVersion: apiVersionOf(definition),
      metadata: { resourceVersion: String(store.version) },
    });
    const texts = chosen.map((stored) => stored.textFor(definition));
    return jsonResponse(200, `${head.slice(0, -1)},"items":[${texts.join(",")}]}`);
  }

  #readOf({ definition, path, target, request }: Call): CollectionRead {
    const isList = path.name === "" && !["1", "true"].includes(target.query.get("watch") ?? "");
    if (isWrongForm(request.headers.accept, isList)) {
      const what = isList ? "list" : "single object or a watch";
      throw new StatusError(406, "NotAcceptable", `the requested object is a ${what}; request it in that format`, {});
    }
    return {
      definition,
      namespace: path.namespace,
      name: path.name,
      query: target.query,
      form: answerForm(request.headers.accept),
    };
  }

  #writeOf({ definition, path, options, request }: Call): WriteContext {
    const { subresource } = path;
    return {
      definition,
      namespace: path.namespace,
      name: path.name,
      subresource: subresource === "status" || subresource === "scale" ? subresource : "",
      dryRun: options.dryRun,
      fieldManager: options.fieldManager,
      fieldValidation: options.fieldValidation,
      user: request.user ?? SUPERUSER,
      warnings: options.warnings,
    };
  }

  #authorizePath(request: ServerRequest, target: RequestTarget): void {
    const nothing = { group: "", version: "", plural: "", subresource: "", namespace: "", name: "" };
    // The path after a subresource such as clusters/NAME/proxy is for the server behind it.
    const connected = resourcePath(target.segments.slice(0, CONNECT_SEGMENTS));
    this.#authorize(request, target, connected?.subresource ? connected : nothing);
  }

  #authorize(request: ServerRequest, target: RequestTarget, path: ResourcePath): void {
    if (this.#authorizer) authorize(this.#authorizer, request.user ?? SUPERUSER, request.method, target, path);
  }

  /**
   * Any other error than a StatusError is a bug of this server: it is logged completely and answered without details.
   */
  #statusOf(error: unknown): StatusError {
    if (error instanceof StatusError) return error;
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#core.log.error("a request failed unexpectedly", { detail });
    return new StatusError(500, "InternalError", "Internal error occurred: see the server's log");
  }

  #createFirstNamespaces(): void {
    for (const name of FIRST_NAMESPACES) {
      const definition = this.#core.registry.find("", "v1", "namespaces");
      if (!definition) continue;
      const write: WriteContext = {
        definition,
        namespace: "",
        name: "",
        subresource: "",
        dryRun: false,
        fieldManager: "apiserver",
        fieldValidation: "Strict",
        user: SUPERUSER,
        warnings: [],
      };
      createObject(this.#core, write, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
  }
}

function* storedIn(store: Store, resource: string, namespace: string): Generator<KubeObject> {
  for (const { object } of store.objects(resource, namespace)) yield object;
}

function warningHeader(warnings: readonly string[]): string {
  return warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(", ");
}

function oneChunk(response: HttpResponse): HttpStream {
  const { status, headers, body } = response;
  return {
    status,
    headers,
    chunks: (async function* () {
      yield body;
    })(),
  };
}

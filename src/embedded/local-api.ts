import type { ApiServer, Commit, KubeObject, ServerRequest } from "../apiserver/index.ts";
import { type HttpResponse, isJsonObject, type JsonObject } from "../runtime/index.ts";
import { keyOf, textAt } from "./values.ts";

/** Thrown when the API server refused a write of one of the fleet's own controllers. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export type Send = (request: ServerRequest) => Promise<HttpResponse>;

/**
 * What a controller inside the fleet works with: every object of one API server, always as current as the server itself
 * (fed by its commits, without copies), and writes that go through the server's front door like any client's.
 */
export class LocalApi {
  readonly #server: ApiServer;
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #listeners = new Map<string, ((commit: Commit) => void)[]>();
  readonly #anyListeners: ((commit: Commit) => void)[] = [];

  constructor(server: ApiServer) {
    this.#server = server;
    for (const { resource, object } of server.snapshot().objects) this.#kind(resource).set(nameOf(object), object);
    server.onCommit((commit) => this.#observe(commit));
  }

  /** `resource` is `group/plural`, the core group empty: `/pods`. */
  get(resource: string, namespace: string, name: string): KubeObject | undefined {
    return this.#objects.get(resource)?.get(keyOf(namespace, name));
  }

  list(resource: string, namespace = ""): KubeObject[] {
    const all = [...(this.#objects.get(resource)?.values() ?? [])];
    return namespace === "" ? all : all.filter((object) => object.metadata.namespace === namespace);
  }

  /** The object of this kind and name, for any kind; undefined also if the kind is not served. */
  find(apiVersion: string, kind: string, namespace: string, name: string): KubeObject | undefined {
    const definition = this.#server.registry.findKind(apiVersion, kind);
    return definition && this.get(definition.resource, definition.namespaced ? namespace : "", name);
  }

  resourceOf(apiVersion: string, kind: string): { resource: string; plural: string; namespaced: boolean } | undefined {
    return this.#server.registry.findKind(apiVersion, kind);
  }

  on(resource: string, listener: (commit: Commit) => void): void {
    const listeners = this.#listeners.get(resource);
    if (listeners) listeners.push(listener);
    else this.#listeners.set(resource, [listener]);
  }

  onAny(listener: (commit: Commit) => void): void {
    this.#anyListeners.push(listener);
  }

  /** Writes return nothing: the stored object is then in `get`. */
  create(object: KubeObject, send?: Send): Promise<void> {
    return this.#write("POST", object, "", object, send);
  }

  /** With a resourceVersion in the object, a compare-and-swap. */
  update(object: KubeObject, send?: Send): Promise<void> {
    return this.#write("PUT", object, `/${object.metadata.name}`, object, send);
  }

  updateStatus(object: KubeObject, send?: Send): Promise<void> {
    return this.#write("PUT", object, `/${object.metadata.name}/status`, object, send);
  }

  /** Exactly this object: another one of the same name is not deleted. It is not an error if it is already gone. */
  async delete(object: KubeObject, options: JsonObject = {}, send?: Send): Promise<void> {
    const { uid } = object.metadata;
    const body = { kind: "DeleteOptions", apiVersion: "v1", ...(uid && { preconditions: { uid } }), ...options };
    try {
      await this.#write("DELETE", object, `/${object.metadata.name}`, body, send);
    } catch (error) {
      if (!(error instanceof RefusedError) || (error.status !== 404 && error.status !== 409)) throw error;
    }
  }

  async #write(
    method: "POST" | "PUT" | "DELETE",
    object: KubeObject,
    suffix: string,
    body: JsonObject,
    send: Send = (request) => this.#server.handle(request),
  ): Promise<void> {
    const path = this.#collection(object) + suffix;
    const headers = { "content-type": "application/json", accept: "application/json" };
    const { status, body: text } = await send({ method, path, headers, body: JSON.stringify(body) });
    if (status >= 300) throw refusal(status, text);
  }

  #collection(object: KubeObject): string {
    const { apiVersion, kind, metadata } = object;
    const definition = this.#server.registry.findKind(apiVersion, kind);
    if (!definition) {
      throw new RefusedError(404, "NotFound", `no matches for kind "${kind}" in version "${apiVersion}"`);
    }
    const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const namespace = definition.namespaced ? `/namespaces/${metadata.namespace}` : "";
    return `${group}${namespace}/${definition.plural}`;
  }

  #observe(commit: Commit): void {
    const objects = this.#kind(commit.key.resource);
    const name = keyOf(commit.key.namespace, commit.key.name);
    if (commit.type === "DELETED") objects.delete(name);
    else objects.set(name, commit.object);
    for (const listener of this.#listeners.get(commit.key.resource) ?? []) listener(commit);
    for (const listener of this.#anyListeners) listener(commit);
  }

  #kind(resource: string): Map<string, KubeObject> {
    let objects = this.#objects.get(resource);
    if (!objects) {
      objects = new Map();
      this.#objects.set(resource, objects);
    }
    return objects;
  }
}

function nameOf({ metadata }: KubeObject): string {
  return keyOf(metadata.namespace ?? "", metadata.name);
}

function refusal(status: number, text: string): RefusedError {
  const answer: unknown = JSON.parse(text);
  const body = isJsonObject(answer) ? answer : {};
  return new RefusedError(status, textAt(body, "reason"), textAt(body, "message") || `status ${status}`);
}

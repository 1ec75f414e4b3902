import { isJsonObject, type JsonObject, type Transport } from "../runtime/index.ts";

/** An object as the API server returns it. */
export interface MemberObject extends JsonObject {
  readonly metadata: JsonObject & {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    generation?: number;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  /** Of a ConfigMap. */
  readonly data?: Record<string, string>;
}

/** Thrown when the member's API server refused a request. 404 and 409 are part of everyday work. */
export class MemberApiError extends Error {
  override readonly name = "MemberApiError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** `/api/v1/namespaces/default/pods` for `v1` and `pods`; without a namespace, of all namespaces. */
export function apiPath(apiVersion: string, plural: string, namespace = ""): string {
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespace === "" ? `${group}/${plural}` : `${group}/namespaces/${namespace}/${plural}`;
}

/** What an operator needs of its own cluster's API server, and no more. Paths are those of `apiPath`. */
export class MemberClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async get(path: string): Promise<MemberObject | undefined> {
    try {
      return asObject(await this.#send("GET", path));
    } catch (error) {
      if (error instanceof MemberApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async list(path: string, labelSelector = ""): Promise<MemberObject[]> {
    const query = labelSelector === "" ? "" : `?labelSelector=${encodeURIComponent(labelSelector)}`;
    const { items } = await this.#send("GET", path + query);
    return Array.isArray(items) ? items.map(asObject) : [];
  }

  async create(path: string, object: JsonObject): Promise<MemberObject> {
    return asObject(await this.#send("POST", path, object));
  }

  /** A merge patch. With a resourceVersion in it, it is refused (409) if the object has changed since. */
  async patch(path: string, patch: JsonObject): Promise<MemberObject> {
    return asObject(await this.#send("PATCH", path, patch, "application/merge-patch+json"));
  }

  /** Exactly this object: another one of the same name stays. It is not an error if it is gone. */
  async delete(path: string, { metadata: { uid } }: MemberObject): Promise<void> {
    const options = { kind: "DeleteOptions", apiVersion: "v1", ...(uid !== undefined && { preconditions: { uid } }) };
    try {
      await this.#send("DELETE", path, options);
    } catch (error) {
      if (!(error instanceof MemberApiError) || (error.status !== 404 && error.status !== 409)) throw error;
    }
  }

  /** Calls `changed` whenever something below the path changes; returns or throws when the API server ends the watch. */
  async watch(path: string, changed: () => void, signal: AbortSignal): Promise<void> {
    const stream = await this.#transport.stream({ method: "GET", path: `${path}?watch=true`, headers: ACCEPT, signal });
    if (stream.status !== 200) throw new MemberApiError(stream.status, `the watch of ${path} was refused`);
    for await (const _chunk of stream.chunks) changed();
  }

  async #send(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    body?: JsonObject,
    type = "application/json",
  ): Promise<JsonObject> {
    const headers = body ? { ...ACCEPT, "content-type": type } : ACCEPT;
    const answer = await this.#transport.request({
      method,
      path,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const value: unknown = JSON.parse(answer.body);
    const object = isJsonObject(value) ? value : {};
    if (answer.status < 300) return object;
    const why = typeof object.message === "string" ? object.message : `status ${answer.status}`;
    throw new MemberApiError(answer.status, `${method} ${path}: ${why}`);
  }
}

const ACCEPT = { accept: "application/json" };

function asObject(value: unknown): MemberObject {
  if (isMemberObject(value)) return value;
  throw new Error("the API server returned something that is not an object");
}

/** The API server checks the rest. */
function isMemberObject(value: unknown): value is MemberObject {
  return isJsonObject(value) && isJsonObject(value.metadata) && typeof value.metadata.name === "string";
}

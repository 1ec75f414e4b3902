import type { HttpRequest, HttpResponse, HttpStream, JsonObject } from "../../runtime/index.ts";
import type { Backend } from "../world/wire.ts";
import { asStream, status } from "../world/wire.ts";

export interface StoredMeta extends JsonObject {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

export interface StoredObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: StoredMeta;
}

interface Change {
  readonly version: number;
  readonly plural: string;
  readonly name: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly text: string;
}

interface Reader {
  readonly plural: string;
  readonly push: (text: string) => void;
  readonly end: () => void;
}

/** A member's API server, as seen through the cluster proxy: lists, watches and gets of a few kinds. */
export class LeanStore implements Backend {
  readonly #objects = new Map<string, StoredObject>();
  readonly #log: Change[] = [];
  readonly #readers = new Set<Reader>();
  readonly #podDeleted: ((pod: StoredObject) => void)[] = [];
  readonly #changed: ((plural: string, name: string, type: Change["type"]) => void)[] = [];
  #version = 1;

  /** Called when a client deletes a pod, which is not gone then: pods take time to terminate. */
  onPodDeleted(told: (pod: StoredObject) => void): void {
    this.#podDeleted.push(told);
  }

  /** Called for every change of every object. */
  onChange(told: (plural: string, name: string, type: Change["type"]) => void): void {
    this.#changed.push(told);
  }

  get(plural: string, name: string): StoredObject | undefined {
    return this.#objects.get(`${plural}/${name}`);
  }

  list(plural: string): StoredObject[] {
    const found: StoredObject[] = [];
    for (const [key, object] of this.#objects) if (key.startsWith(`${plural}/`)) found.push(object);
    return found;
  }

  put(
    plural: string,
    object: Omit<StoredObject, "metadata"> & { metadata: Omit<StoredMeta, "resourceVersion"> },
  ): void {
    const name = String(object.metadata.name);
    const key = `${plural}/${name}`;
    const version = ++this.#version;
    const stored = {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(version) },
    } as StoredObject;
    const type = this.#objects.has(key) ? "MODIFIED" : "ADDED";
    this.#objects.set(key, stored);
    this.#publish({ version, plural, name, type, text: eventText(type, stored) });
  }

  remove(plural: string, name: string): void {
    const object = this.#objects.get(`${plural}/${name}`);
    if (!object) return;
    this.#objects.delete(`${plural}/${name}`);
    const version = ++this.#version;
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    this.#publish({ version, plural, name, type: "DELETED", text: eventText("DELETED", last) });
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const { plural, name } = pathOf(request.path);
    if (name === "") {
      const items = this.list(plural);
      const [first] = items;
      const kind = first ? `${first.kind}List` : "List";
      const apiVersion = first?.apiVersion ?? "v1";
      return json(200, { kind, apiVersion, metadata: { resourceVersion: String(this.#version) }, items });
    }
    const object = this.get(plural, name);
    if (!object) return status(404, "NotFound", `${plural} "${name}" not found`);
    if (request.method === "GET") return json(200, object);
    if (request.method !== "DELETE")
      return status(405, "MethodNotAllowed", "this member is only read and deleted from");
    const uid = /"uid":"([^"]+)"/.exec(request.body ?? "")?.[1];
    if (uid !== undefined && uid !== object.metadata.uid) {
      return status(409, "Conflict", `the UID in the precondition (${uid}) does not match (${object.metadata.uid})`);
    }
    const version = /"resourceVersion":"([^"]+)"/.exec(request.body ?? "")?.[1];
    if (version !== undefined && version !== object.metadata.resourceVersion) {
      const is = object.metadata.resourceVersion;
      return status(409, "Conflict", `the ResourceVersion in the precondition (${version}) does not match (${is})`);
    }
    if (plural === "pods") for (const told of this.#podDeleted) told(object);
    else this.remove(plural, name);
    return json(200, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" });
  }

  async stream(request: HttpRequest): Promise<HttpStream> {
    const { plural, name } = pathOf(request.path);
    if (name !== "" || !request.path.includes("watch=")) return asStream(await this.handle(request));
    const from = Number(/resourceVersion=(\d+)/.exec(request.path)?.[1] ?? 0);
    const headers = { "content-type": "application/json" };
    return { status: 200, headers, chunks: this.#watch(plural, from, request.signal) };
  }

  /** Ends every watch, as a server restart does. */
  closeWatches(): void {
    for (const reader of [...this.#readers]) reader.end();
  }

  async *#watch(plural: string, from: number, signal: AbortSignal | undefined): AsyncGenerator<string> {
    const waiting = this.#log.filter((change) => change.plural === plural && change.version > from).map(textOf);
    let wake: (() => void) | undefined;
    let ended = false;
    const reader: Reader = {
      plural,
      push: (text) => {
        waiting.push(text);
        wake?.();
      },
      end: () => {
        ended = true;
        wake?.();
      },
    };
    this.#readers.add(reader);
    signal?.addEventListener("abort", reader.end, { once: true });
    try {
      for (;;) {
        if (waiting.length > 0) yield waiting.splice(0).join("");
        else if (ended || signal?.aborted) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          wake = undefined;
        }
      }
    } finally {
      this.#readers.delete(reader);
      signal?.removeEventListener("abort", reader.end);
    }
  }

  #publish(change: Change): void {
    this.#log.push(change);
    for (const reader of this.#readers) if (reader.plural === change.plural) reader.push(change.text);
    for (const told of this.#changed) told(change.plural, change.name, change.type);
  }
}

function eventText(type: Change["type"], object: JsonObject): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function textOf({ text }: Change): string {
  return text;
}

/** `/apis/GROUP/VERSION[/namespaces/NS]/PLURAL[/NAME]`, or below `/api/v1`. */
function pathOf(path: string): { plural: string; name: string } {
  const [plain = ""] = path.split("?");
  const segments = plain.split("/").filter((segment) => segment !== "");
  let rest = segments.slice(segments[0] === "api" ? 2 : 3);
  if (rest[0] === "namespaces" && rest.length > 2) rest = rest.slice(2);
  return { plural: rest[0] ?? "", name: rest[1] ?? "" };
}

function json(code: number, body: JsonObject): HttpResponse {
  return { status: code, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

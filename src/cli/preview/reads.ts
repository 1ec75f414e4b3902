/** The hub as a preview reads it: files first, then one read for each object that is asked for. Writes nothing. */
import type { Found, HubReader, HubRef, Outline } from "../../controllers/index.ts";
import { type KubeObject, UnknownKindError } from "../../kube/index.ts";
import type { Hub } from "../hub/hub.ts";

type KindRef = Omit<HubRef, "name">;

/**
 * Answers as the controller's caches do: at once, and `unknown` where it has not been read yet. `read` reads what was
 * asked for meanwhile, so that the same question can be asked again.
 */
export class HubReads implements HubReader {
  readonly #hub: Hub | undefined;
  readonly #files: readonly KubeObject[];
  readonly #objects = new Map<string, Found>();
  readonly #lists = new Map<string, readonly KubeObject[]>();
  readonly #notServed = new Map<string, string>();
  readonly #wanted = new Map<string, () => Promise<void>>();

  constructor(hub: Hub | undefined, files: readonly KubeObject[]) {
    this.#hub = hub;
    this.#files = files;
  }

  get(_key: string, ref: HubRef): Found {
    const inFiles = this.#files.find((object) => isOf(object, ref) && object.metadata.name === ref.name);
    if (inFiles) return { kind: "present", object: inFiles };
    const hub = this.#hub;
    if (!hub) return { kind: "absent" };
    const id = `${kindKey(ref)}/${ref.name}`;
    const known = this.#objects.get(id);
    if (known) return known;
    const notServed = this.notServed(ref);
    if (notServed !== undefined) return { kind: "unknown", message: notServed, notServed };
    this.#wanted.set(id, async () => this.#ifServed(ref, async () => this.#objects.set(id, await find(hub, ref))));
    return { kind: "unknown", message: "it has not been read yet" };
  }

  list(_key: string, kind: KindRef): readonly Outline[] | undefined {
    const inFiles = this.#files.filter((object) => isOf(object, kind));
    const hub = this.#hub;
    if (!hub) return inFiles;
    const id = kindKey(kind);
    const onHub = this.#lists.get(id);
    if (onHub) return overlay(onHub, inFiles);
    if (this.notServed(kind) === undefined) {
      this.#wanted.set(id, async () => this.#ifServed(kind, async () => this.#lists.set(id, await list(hub, kind))));
    }
    return undefined;
  }

  notServed({ apiVersion, kind }: Pick<HubRef, "apiVersion" | "kind">): string | undefined {
    return this.#notServed.get(`${apiVersion}/${kind}`);
  }

  /** Reads what was asked for and is not known; false: everything is. */
  async read(): Promise<boolean> {
    const wanted = [...this.#wanted.values()];
    this.#wanted.clear();
    await Promise.all(wanted.map((read) => read()));
    return wanted.length > 0;
  }

  async #ifServed({ apiVersion, kind }: Pick<HubRef, "apiVersion" | "kind">, read: () => Promise<unknown>) {
    try {
      await read();
    } catch (error) {
      if (!(error instanceof UnknownKindError)) throw error;
      this.#notServed.set(`${apiVersion}/${kind}`, error.message);
    }
  }
}

async function find({ client, request }: Hub, { apiVersion, kind, namespace, name }: HubRef): Promise<Found> {
  const resource = await client.discovery.resource(apiVersion, kind, request);
  const object = await client.find(resource, { ...(namespace !== "" && { namespace }), name }, request);
  return object ? { kind: "present", object } : { kind: "absent" };
}

async function list({ client, request }: Hub, { apiVersion, kind, namespace }: KindRef): Promise<KubeObject[]> {
  const resource = await client.discovery.resource(apiVersion, kind, request);
  return (await client.listAll(resource, { namespace, ...request })).items;
}

/** Versions of one kind are the same objects. */
function isOf({ apiVersion, kind, metadata }: KubeObject, of: KindRef): boolean {
  if (kind !== of.kind || groupOf(apiVersion) !== groupOf(of.apiVersion)) return false;
  return of.namespace === "" || metadata.namespace === of.namespace;
}

function kindKey({ apiVersion, kind, namespace }: KindRef): string {
  return `${apiVersion}/${kind}/${namespace}`;
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

/** A file's object stands for the hub's of the same kind and name. */
export function overlay(onHub: readonly KubeObject[], inFiles: readonly KubeObject[]): KubeObject[] {
  const same = (a: KubeObject, b: KubeObject) =>
    a.kind === b.kind &&
    a.metadata.name === b.metadata.name &&
    (a.metadata.namespace ?? "") === (b.metadata.namespace ?? "");
  return [...onHub.filter((object) => !inFiles.some((file) => same(file, object))), ...inFiles];
}

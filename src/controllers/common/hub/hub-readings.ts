import {
  compareVersions,
  type KubeClient,
  type KubeObject,
  type ObjectMeta,
  type Resource,
  withoutManagedFields,
} from "../../../kube/index.ts";
import { type Log, sameJson } from "../../../runtime/index.ts";
import type { HubRead } from "./hub-reads.ts";

export type Found =
  | { readonly kind: "present"; readonly object: KubeObject }
  | { readonly kind: "absent" }
  /** Not listed yet, being read, or of a kind that the hub does not serve: it may be there or not. */
  | { readonly kind: "unknown"; readonly message: string; readonly notServed?: string };

/** What is known of an object that was not asked for by name. */
export interface Outline {
  readonly metadata: Pick<ObjectMeta, "name" | "labels">;
}

/** What the watch last told of an object. */
interface Told {
  readonly version: string;
  readonly exists: boolean;
}

export interface ReadingOptions {
  readonly client: KubeClient;
  readonly log: Log;
  readonly kind: string;
  readonly namespace: string;
  /** Asked when something is read, which is not before the kind has been discovered. */
  readonly resource: () => Resource | undefined;
  readonly changed: (appKey: string) => void;
  /** No application reads it any more. */
  readonly unused: () => void;
}

/** A label selector is not meant for more objects than this in one namespace. */
const MAX_OUTLINES = 2_000;

/** Retried by HubReads, with others in between. */
const ONE_ATTEMPT = { maxAttempts: 1, timeoutMs: 10_000 };

/** Something of one kind that applications read. */
export abstract class Reading implements HubRead {
  readonly namespace: string;
  protected readonly options: ReadingOptions;
  readonly #readers = new Set<string>();

  constructor(options: ReadingOptions) {
    this.options = options;
    this.namespace = options.namespace;
  }

  enter(appKey: string): void {
    this.#readers.add(appKey);
  }

  leave(appKey: string): void {
    if (this.#readers.delete(appKey) && this.#readers.size === 0) this.options.unused();
  }

  tell(): void {
    for (const appKey of [...this.#readers]) this.options.changed(appKey);
  }

  async read(signal: AbortSignal): Promise<boolean> {
    const of = this.options.resource();
    return of !== undefined && this.readOf(of, signal);
  }

  abstract failed(message: string): void;
  protected abstract readOf(of: Resource, signal: AbortSignal): Promise<boolean>;
}

/** One object that applications name. */
export class NamedObject extends Reading {
  readonly name: string;
  #found: Found;
  #told: Told | undefined;

  constructor(options: ReadingOptions, name: string) {
    super(options);
    this.name = name;
    this.#found = this.#unread();
  }

  get found(): Found {
    return this.#found;
  }

  /** A list showed it with this version, or not at all. Whether it has to be read. */
  wasListed(version: string | undefined): boolean {
    this.#told = version === undefined ? undefined : { version, exists: true };
    const { kind } = this.#found;
    const isKnown = kind === "present" ? this.#version === version : kind === "absent" && version === undefined;
    if (!isKnown) this.#found = this.#unread();
    return !isKnown;
  }

  /** The watch brought an event of it. Whether it has to be read. */
  wasTold(told: Told): boolean {
    this.#told = told;
    const { kind } = this.#found;
    // If the watch lags behind the last read, its event contains nothing new.
    if (kind === "present" && (compareVersions(this.#version, told.version) ?? -1) >= 0) return false;
    if (kind === "absent" && !told.exists) return false;
    this.#found = this.#unread();
    return true;
  }

  override failed(message: string): void {
    this.#set({ kind: "unknown", message });
  }

  protected override async readOf(of: Resource, signal: AbortSignal): Promise<boolean> {
    const { client } = this.options;
    // An object of the whole hub is found only by a caller that asks for no namespace's: templates always do.
    const isPossible = of.namespaced === (this.namespace !== "");
    const at = of.namespaced ? this : { name: this.name };
    const object = isPossible ? await client.find(of, at, { signal, ...ONE_ATTEMPT }) : undefined;
    // The watch still shows the object: either its deletion event has not arrived yet, or this response is outdated.
    if (object ? isBehind(object.metadata.resourceVersion, this.#told?.version) : this.#told?.exists) return false;
    this.#set(object ? { kind: "present", object: withoutManagedFields(object) } : { kind: "absent" });
    return true;
  }

  get #version(): string {
    return (this.#found.kind === "present" && this.#found.object.metadata.resourceVersion) || "";
  }

  #set(found: Found): void {
    const isSame = found.kind === "unknown" && this.#found.kind === "unknown" && found.message === this.#found.message;
    this.#found = found;
    if (!isSame) this.tell();
  }

  #unread(): Found {
    return { kind: "unknown", message: `${this.options.kind} ${this.namespace}/${this.name} is being read` };
  }
}

/** Names and labels of everything of a kind in one namespace, for applications that choose by label. */
export class NamespaceOutlines extends Reading {
  #outlines: ReadonlyMap<string, Outline> | undefined;
  #told: string | undefined;

  /** As they were when they were last read: what a label says may be late, as with any watch. */
  get known(): readonly Outline[] | undefined {
    return this.#outlines && [...this.#outlines.values()];
  }

  /** The watch brought an event of one of them. Whether they have to be read. */
  wasTold({ name, labels, resourceVersion }: ObjectMeta, isDeleted: boolean): boolean {
    const known = this.#outlines?.get(name);
    if (known && !isDeleted && sameJson(known.metadata.labels ?? {}, labels ?? {})) return false;
    this.#told = resourceVersion;
    return true;
  }

  override failed(): void {
    const isNews = this.#outlines !== undefined;
    this.#outlines = undefined;
    if (isNews) this.tell();
  }

  protected override async readOf(of: Resource, signal: AbortSignal): Promise<boolean> {
    const { client, kind, log } = this.options;
    const namespace = of.namespaced ? this.namespace : undefined;
    const outlines = new Map<string, Outline>();
    let token: string | undefined;
    let version: string;
    do {
      const page = await client.listPage(of, { namespace, metadataOnly: true, signal, ...ONE_ATTEMPT }, token);
      for (const { metadata } of page.items) outlines.set(metadata.name, outlineOf(metadata));
      if (outlines.size > MAX_OUTLINES) {
        log.warn("too many objects to choose one by label", { kind, namespace, limit: MAX_OUTLINES });
        throw new Error(`${namespace} holds more than ${MAX_OUTLINES} objects of kind ${kind}`);
      }
      version = page.resourceVersion;
      token = page.continueToken;
    } while (token !== undefined);
    if (isBehind(version, this.#told)) return false;
    this.#outlines = outlines;
    this.tell();
    return true;
  }
}

function outlineOf({ name, labels }: ObjectMeta): Outline {
  return { metadata: labels ? { name, labels } : { name } };
}

/** Whether what was read is older than what the watch has told of. */
function isBehind(read: string | undefined, told: string | undefined): boolean {
  return (compareVersions(read ?? "", told ?? "") ?? 0) < 0;
}

import {
  explainMissingKind,
  type KubeClient,
  type KubeObject,
  keyOf,
  Reflector,
  type ReflectorFeed,
  type Resource,
  resource,
  UnknownKindError,
} from "../../../kube/index.ts";
import { type Clock, type Log, type Random, retryDelayMs } from "../../../runtime/index.ts";
import { NamedObject, NamespaceOutlines, type Reading } from "./hub-readings.ts";
import type { HubReads } from "./hub-reads.ts";

export interface HubKindOptions {
  readonly apiVersion: string;
  readonly kind: string;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly reads: HubReads;
  readonly changed: (appKey: string) => void;
  /** No application reads anything of this kind any more. */
  readonly unused: () => void;
}

const KIND_RETRY_BASE_MS = 1_000;
const KIND_RETRY_MAX_MS = 30_000;

/**
 * One kind on the hub, in all namespaces: a single watch that brings metadata and keeps none of it. It tells that an
 * object changed; what the object is now, a `get` says. So a kind takes as much memory as the objects that applications
 * name, whatever else the hub holds, and no other object's content is ever sent here.
 */
export class HubKind {
  readonly #options: HubKindOptions;
  readonly #objects = new Map<string, NamedObject>();
  readonly #outlines = new Map<string, NamespaceOutlines>();
  #resource: Resource | undefined;
  #reflector: Reflector<KubeObject> | undefined;
  #failure: string | undefined;
  #notServed: string | undefined;

  constructor(options: HubKindOptions) {
    this.#options = options;
  }

  /** How many objects applications name. */
  get size(): number {
    return this.#objects.size;
  }

  object(namespace: string, name: string): NamedObject {
    const key = keyOf({ namespace, name });
    const known = this.#objects.get(key);
    if (known) return known;
    const options = this.#readingOptions(namespace, () => this.#drop(this.#objects, key));
    return this.#added(this.#objects, key, new NamedObject(options, name));
  }

  outlines(namespace: string): NamespaceOutlines {
    const known = this.#outlines.get(namespace);
    if (known) return known;
    const options = this.#readingOptions(namespace, () => this.#drop(this.#outlines, namespace));
    return this.#added(this.#outlines, namespace, new NamespaceOutlines(options));
  }

  /** Why nothing of this kind is known yet; undefined once it has been listed. */
  get whyUnknown(): string | undefined {
    if (this.#isSynced) return undefined;
    return this.#failure ?? this.#reflector?.health.failure ?? `${this.#options.kind} has not been listed yet`;
  }

  /** That the hub does not serve the kind, with the nearest that it does; undefined: it does, or that is not known. */
  get notServed(): string | undefined {
    return this.#notServed;
  }

  /** Runs until aborted; resolves then, and never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { apiVersion, kind, client, clock, random, log } = this.#options;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        this.#resource = await client.discovery.resource(apiVersion, kind, { signal });
        this.#failure = undefined;
        this.#notServed = undefined;
        this.#reflector = new Reflector<KubeObject>({
          client,
          resource: resource(this.#resource),
          clock,
          random,
          log,
          metadataOnly: true,
          feed: this.#feed(),
          stream: { lane: "objects", weight: () => this.#namespaces() },
          healthChanged: () => this.#whyUnknownChanged(),
        });
        return await this.#reflector.run(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#failure = error instanceof Error ? error.message : String(error);
        this.#notServed = error instanceof UnknownKindError ? await this.#explained(signal) : undefined;
        this.#whyUnknownChanged();
        await clock.sleep(retryDelayMs(attempt, KIND_RETRY_BASE_MS, KIND_RETRY_MAX_MS, random), signal).catch(() => {});
      }
    }
  }

  #explained(signal: AbortSignal): Promise<string | undefined> {
    const { apiVersion, kind, client } = this.#options;
    return explainMissingKind(client.discovery, apiVersion, kind, { signal }).catch(() => undefined);
  }

  get #isSynced(): boolean {
    return this.#reflector?.cache.hasSynced === true;
  }

  #feed(): ReflectorFeed<KubeObject> {
    const { reads } = this.#options;
    let versions = new Map<string, string>();
    return {
      listBegins: () => {
        versions = new Map();
      },
      listed: ({ metadata }) => {
        const key = keyOf(metadata);
        if (this.#objects.has(key)) versions.set(key, metadata.resourceVersion ?? "");
      },
      listEnded: () => {
        for (const [key, object] of this.#objects) if (object.wasListed(versions.get(key))) reads.add(object);
        // Listed objects are not kept, so a change cannot be detected: read all of them again.
        for (const outlines of this.#outlines.values()) reads.add(outlines);
      },
      changed: ({ metadata }, isDeleted) => {
        const object = this.#objects.get(keyOf(metadata));
        const told = { version: metadata.resourceVersion ?? "", exists: !isDeleted };
        if (object?.wasTold(told)) reads.add(object);
        const outlines = this.#outlines.get(metadata.namespace ?? "");
        if (outlines?.wasTold(metadata, isDeleted)) reads.add(outlines);
      },
    };
  }

  #readingOptions(namespace: string, unused: () => void) {
    const { client, log, kind, changed } = this.#options;
    return { client, log, kind, namespace, resource: () => this.#resource, changed, unused };
  }

  /** The watch is already open, so it reports every change after this read. Nothing is read before the first list. */
  #added<Kept extends Reading>(to: Map<string, Kept>, key: string, reading: Kept): Kept {
    to.set(key, reading);
    if (this.#isSynced) this.#options.reads.add(reading);
    return reading;
  }

  #drop(from: Map<string, Reading>, key: string): void {
    const reading = from.get(key);
    if (reading) this.#options.reads.drop(reading);
    from.delete(key);
    if (this.#objects.size === 0 && this.#outlines.size === 0) this.#options.unused();
  }

  /** Nothing is read before the first list, but the reason for that can change. */
  #whyUnknownChanged(): void {
    if (this.#isSynced) return;
    for (const reading of this.#readings()) reading.tell();
  }

  #namespaces(): number {
    return new Set(this.#readings().map(({ namespace }) => namespace)).size;
  }

  #readings(): Reading[] {
    return [...this.#objects.values(), ...this.#outlines.values()];
  }
}

import {
  type AnyResource,
  type Cache,
  type KubeClient,
  type KubeObject,
  Reflector,
  resource,
} from "../../kube/index.ts";
import { type Clock, type Log, type Random, retryDelayMs } from "../../runtime/index.ts";
import { OWNER_LABEL } from "../marks.ts";
import type { EngineOwner, ObjectRef } from "../port.ts";
import { SharedTexts } from "./shared-texts.ts";

export const PODS = resource({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true });

/** Kubernetes puts this label on every pod of a StatefulSet; other pods are not needed. */
const STATEFULSET_POD_LABEL = "statefulset.kubernetes.io/pod-name";

export interface StreamOptions {
  /** The client for a cluster's own API server. */
  readonly client: (cluster: string) => KubeClient;
  readonly findKind: (cluster: string, apiVersion: string, kind: string, signal?: AbortSignal) => Promise<AnyResource>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A member's object, or a stream's state, changed; `ref` absent: any object of that cluster may have changed. */
  readonly changed: (cluster: string, ref: ObjectRef | undefined) => void;
}

/** The current state of one stream from a member. */
export type StreamState =
  | { readonly kind: "live"; readonly cache: Cache<KubeObject> }
  /**
   * It worked before and does not now, or its first list is in progress, or it waits for a free stream: it will
   * recover.
   */
  | { readonly kind: "broken"; readonly message: string; readonly isForbidden: boolean; readonly isStarved: boolean }
  /** It has never worked: this cluster is unreachable, or the controller has no right to read this kind there. */
  | { readonly kind: "never"; readonly message: string; readonly isForbidden: boolean };

interface Stream {
  readonly abort: AbortController;
  reflector: Reflector<KubeObject> | undefined;
  failure: string | undefined;
  /** Set while it waits for its kind to be served: ends the wait. */
  wake?: () => void;
}

/** A kind that is watched in every member. `isOwned`: only objects with the label of bundles, without their data. */
export interface StreamKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly isOwned?: boolean;
}

interface WantedKind {
  readonly of: StreamKind;
  /** How many applications of each namespace need it. */
  readonly users: Map<string, number>;
  /** Set while no application needs it: cancels the timer that closes its streams. */
  closing: AbortController | undefined;
}

/** Streams of a kind that no application needs any more stay open for this long: an edit may bring its users back. */
const UNUSED_KIND_MS = 60_000;
/** A kind is served within a moment of its definition: it is asked for again after each of these. */
const KIND_SERVED_MS = [500, 1_500, 3_000];
const KIND_RETRY_BASE_MS = 1_000;
const KIND_RETRY_MAX_MS = 30_000;

/** One watch per cluster and kind, for any number of applications. */
export class MemberStreams {
  readonly #options: StreamOptions;
  readonly #streams = new Map<string, Map<string, Stream>>();
  readonly #kinds = new Map<string, WantedKind>();
  readonly #running = new Set<Promise<void>>();
  readonly #texts = new SharedTexts();
  #signal: AbortSignal | undefined;

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  /** Streams run until the signal aborts. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
  }

  async stopped(): Promise<void> {
    for (const { closing } of this.#kinds.values()) closing?.abort();
    await Promise.all(this.#running);
  }

  get count(): number {
    return [...this.#streams.values()].reduce((sum, kinds) => sum + kinds.size, 0);
  }

  wantKind(of: StreamKind, namespace: string): void {
    const id = kindId(of);
    const wanted = this.#kinds.get(id) ?? { of, users: new Map(), closing: undefined };
    this.#kinds.set(id, wanted);
    wanted.users.set(namespace, (wanted.users.get(namespace) ?? 0) + 1);
    wanted.closing?.abort();
    wanted.closing = undefined;
    for (const cluster of this.#streams.keys()) this.#open(cluster);
  }

  unwantKind(of: StreamKind, namespace: string): void {
    const id = kindId(of);
    const wanted = this.#kinds.get(id);
    const left = (wanted?.users.get(namespace) ?? 0) - 1;
    if (!wanted || left < 0) return;
    if (left > 0) wanted.users.set(namespace, left);
    else wanted.users.delete(namespace);
    if (wanted.users.size === 0) this.#closeLater(id, wanted);
  }

  addCluster(cluster: string): void {
    if (!this.#streams.has(cluster)) this.#streams.set(cluster, new Map());
    this.#open(cluster);
  }

  removeCluster(cluster: string): void {
    for (const stream of this.#streams.get(cluster)?.values() ?? []) {
      stream.abort.abort(new Error("the cluster left the fleet"));
    }
    this.#streams.delete(cluster);
  }

  /** Reads all of a cluster again; until then, nothing that was seen of it counts. */
  listAnew(cluster: string, why: string): void {
    for (const { reflector } of this.#streams.get(cluster)?.values() ?? []) reflector?.listAnew(why);
  }

  state(cluster: string, of: StreamKind): StreamState {
    const { kind } = of;
    const stream = this.#streams.get(cluster)?.get(kindId(of));
    if (!stream) return { kind: "never", message: `cluster ${cluster} is not in the fleet`, isForbidden: false };
    const { reflector } = stream;
    const health = reflector?.health;
    const isForbidden = health?.isForbidden === true;
    const isStarved = health?.isStarved === true;
    const failure = health?.failure ?? stream.failure;
    if (reflector && health?.hasSynced && failure === undefined) return { kind: "live", cache: reflector.cache };
    if (failure === undefined) {
      return { kind: "broken", message: `${kind} has not been listed yet in ${cluster}`, isForbidden, isStarved };
    }
    return health?.hasSynced || isStarved
      ? { kind: "broken", message: failure, isForbidden, isStarved }
      : { kind: "never", message: failure, isForbidden };
  }

  client(cluster: string): KubeClient {
    return this.#options.client(cluster);
  }

  #closeLater(id: string, wanted: WantedKind): void {
    const closing = new AbortController();
    wanted.closing = closing;
    const close = () => {
      this.#kinds.delete(id);
      for (const kinds of this.#streams.values()) {
        kinds.get(id)?.abort.abort(new Error("no application needs this kind any more"));
        kinds.delete(id);
      }
    };
    void this.#options.clock.sleep(UNUSED_KIND_MS, closing.signal).then(close, () => {});
  }

  #open(cluster: string): void {
    const streams = this.#streams.get(cluster);
    const parent = this.#signal;
    if (!streams || !parent || parent.aborted) return;
    for (const [id, wanted] of this.#kinds) {
      if (streams.has(id)) continue;
      const abort = new AbortController();
      const stop = () => abort.abort(parent.reason);
      parent.addEventListener("abort", stop, { once: true });
      const stream: Stream = { abort, reflector: undefined, failure: undefined };
      streams.set(id, stream);
      const running = this.#run(cluster, wanted.of, stream).finally(() => {
        parent.removeEventListener("abort", stop);
        this.#running.delete(running);
      });
      this.#running.add(running);
    }
  }

  async #run(cluster: string, of: StreamKind, stream: Stream): Promise<void> {
    const { signal } = stream.abort;
    const found = await this.#findResource(cluster, of, stream);
    // The way to a cluster that has left is gone with it.
    if (!found || signal.aborted) return;
    const isPods = found.apiVersion === PODS.apiVersion && found.kind === PODS.kind;
    const reflector = new Reflector<KubeObject>({
      client: this.client(cluster),
      resource: resource(found),
      clock: this.#options.clock,
      random: this.#options.random,
      log: this.#options.log.with({ cluster }),
      ...(of.isOwned
        ? { selection: { labelSelector: OWNER_LABEL }, selects: hasOwner, transform: withoutData }
        : isPods
          ? {
              selection: { labelSelector: STATEFULSET_POD_LABEL },
              indexes: { owner: podOwners },
              transform: withoutPodSpec,
            }
          : { transform: (object) => this.#texts.shared(object) }),
      stream: { lane: "members", weight: () => this.#kinds.get(kindId(of))?.users.size ?? 1 },
      healthChanged: () => this.#options.changed(cluster, undefined),
    });
    stream.reflector = reflector;
    stream.failure = undefined;
    const tell = (object: KubeObject) => {
      if (object.kind === "CustomResourceDefinition") void this.#definitionChanged(cluster, signal);
      for (const ref of isPods && !of.isOwned ? podOwnerRefs(object) : [refOfMember(object)])
        this.#options.changed(cluster, ref);
    };
    const gone = (object: KubeObject) => {
      this.#texts.forget(object);
      tell(object);
    };
    reflector.cache.subscribe({ added: tell, updated: tell, deleted: gone });
    await reflector.run(signal);
  }

  /** A kind that was waited for may be served now: a chart's objects follow its CRD within seconds, not after a backoff. */
  async #definitionChanged(cluster: string, signal: AbortSignal): Promise<void> {
    for (const ms of KIND_SERVED_MS) {
      await this.#options.clock.sleep(ms, signal).catch(() => {});
      for (const { reflector, wake } of this.#streams.get(cluster)?.values() ?? []) {
        if (reflector?.health.hasSynced === false) reflector.listAnew("a kind may be served now");
        wake?.();
      }
    }
  }

  /** If a kind is not served yet (its CRD may come later), it is requested again, with backoff. */
  async #findResource(
    cluster: string,
    { apiVersion, kind }: StreamKind,
    stream: Stream,
  ): Promise<AnyResource | undefined> {
    const { clock, findKind, random } = this.#options;
    const { signal } = stream.abort;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        return await findKind(cluster, apiVersion, kind, signal);
      } catch (error) {
        if (signal.aborted) break;
        stream.failure = error instanceof Error ? error.message : String(error);
        this.#options.changed(cluster, undefined);
        const pauseMs = retryDelayMs(attempt, KIND_RETRY_BASE_MS, KIND_RETRY_MAX_MS, random);
        const pause = new AbortController();
        const stop = () => pause.abort();
        signal.addEventListener("abort", stop, { once: true });
        stream.wake = () => {
          attempt = -1;
          pause.abort();
        };
        await clock.sleep(pauseMs, pause.signal).catch(() => {});
        signal.removeEventListener("abort", stop);
        delete stream.wake;
      }
    }
    return undefined;
  }
}

function kindId({ apiVersion, kind, isOwned }: StreamKind): string {
  return `${apiVersion}/${kind}${isOwned ? " of bundles" : ""}`;
}

/** The kinds that are watched for an owner, each once. */
export function streamKindsOf(owner: EngineOwner): readonly StreamKind[] {
  if (owner.kind === undefined)
    return owner.template.kind === "StatefulSet" ? [owner.template, PODS] : [owner.template];
  const kinds = new Map(owner.objects.map(({ apiVersion, kind }) => [`${apiVersion}/${kind}`, { apiVersion, kind }]));
  return [...kinds.values()].map((of) => ({ ...of, isOwned: true }));
}

function hasOwner({ metadata }: KubeObject): boolean {
  return metadata.labels?.[OWNER_LABEL] !== undefined;
}

/** What a Secret or ConfigMap contains is never read from a member, and a Secret's data must not stay in memory. */
function withoutData(object: KubeObject): KubeObject {
  if (object.apiVersion !== "v1" || (object.kind !== "Secret" && object.kind !== "ConfigMap")) return object;
  const { data: _data, binaryData: _binary, stringData: _text, ...rest } = object;
  return rest as KubeObject;
}

function refOfMember(object: KubeObject): ObjectRef {
  const { apiVersion, kind, metadata } = object;
  return { apiVersion, kind, namespace: metadata.namespace ?? "", name: metadata.name };
}

/** The controllers a pod belongs to, as `apiVersion/kind/namespace/name`. */
function podOwners(pod: KubeObject): string[] {
  return podOwnerRefs(pod).map(ownerIndexValue);
}

export function ownerIndexValue(ref: ObjectRef): string {
  return `${ref.apiVersion}/${ref.kind}/${ref.namespace}/${ref.name}`;
}

function podOwnerRefs(pod: KubeObject): ObjectRef[] {
  const owners = Array.isArray(pod.metadata.ownerReferences) ? pod.metadata.ownerReferences : [];
  return owners.flatMap((owner) => {
    if (typeof owner !== "object" || owner === null || Array.isArray(owner) || owner.controller !== true) return [];
    const { apiVersion, kind, name } = owner;
    if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string") return [];
    return [{ apiVersion, kind, namespace: pod.metadata.namespace ?? "", name }];
  });
}

/**
 * The spec is most of a pod, and nothing here reads it: without it, a thousand pods take one megabyte instead of ten.
 */
function withoutPodSpec(pod: KubeObject): KubeObject {
  const { spec: _dropped, ...rest } = pod;
  return rest as KubeObject;
}

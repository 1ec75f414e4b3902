/** The interpreter: answers one question about one object without waiting; webhooks are called in the background. */
import { createHash } from "node:crypto";
import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type Log,
  LruMap,
  type Random,
  retryDelayMs,
} from "../runtime/index.ts";
import { BUNDLED } from "./bundled/generated.ts";
import { describeObject, presentAt } from "./fields.ts";
import { Layers, type Source } from "./layers.ts";
import type { Inputs, Operation } from "./operations.ts";
import { type Failed, failureOf, noInterpreter, type Outcome, type Pending, type Settled } from "./outcome.ts";
import type { ObjectReport } from "./problem.ts";
import { WebhookCaller, type WebhookLimits, type WebhookTransports } from "./webhook/caller.ts";
import { type ServiceResolver, serviceByDnsName, type Webhook } from "./webhook/configuration.ts";
import type { ResourceMapper } from "./webhook/matching.ts";

/** One answer per object and operation: more objects than a large hub manages, with bounded memory. */
const DEFAULT_ENTRIES_PER_OPERATION = 10_000;
/** A failed webhook is retried after this time, doubling up to the maximum, while the answer is read. */
const RETRY_BASE_MS = 1_000;
const RETRY_MAX_MS = 60_000;

export interface InterpreterOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The transports to webhooks: production uses httpWebhookTransports. */
  readonly transports: WebhookTransports;
  readonly webhookLimits?: Partial<WebhookLimits>;
  /** From discovery; for unknown kinds the plural is guessed from the kind's name. */
  readonly resources?: ResourceMapper;
  /** From the hub's Services; without it, by DNS name. */
  readonly resolveService?: ServiceResolver;
  readonly entriesPerOperation?: number;
  /** Customizations below webhooks and above native code: by default Lockstep's own. */
  readonly bundled?: readonly JsonObject[];
}

/** Called when a pending or failed answer has been computed: read it again. */
export type CompletionListener = (event: { operation: Operation; object: JsonObject }) => void;

interface Entry<O extends Operation> {
  outcome: Outcome<O>;
  /** The call in progress, shared by all readers. */
  inFlight?: Promise<Settled<O>>;
  /** How often in a row the webhook failed, also if its failure policy let another layer answer. */
  failures: number;
  retryScheduled: boolean;
}

type NativeAnswers = { [O in Operation]?: Outcome<O> };
type Caches = { readonly [O in Operation]: LruMap<string, Entry<O>> };

export class Interpreter {
  readonly #options: InterpreterOptions;
  readonly #layers: Layers;
  readonly #caller: WebhookCaller;
  readonly #caches: Caches;
  /** Native code's answers about an object, for as long as the object is in use. */
  readonly #natively = new WeakMap<JsonObject, NativeAnswers>();
  readonly #listeners = new Set<CompletionListener>();
  readonly #stopped = new AbortController();

  constructor(options: InterpreterOptions) {
    const { clock, random, transports, webhookLimits: limits } = options;
    this.#options = options;
    this.#layers = new Layers({
      clock,
      bundled: options.bundled ?? BUNDLED,
      resources: options.resources,
      resolveService: options.resolveService ?? serviceByDnsName,
    });
    this.#caller = new WebhookCaller({ transports, clock, random, ...(limits && { limits }) });
    this.#caches = emptyCaches(options.entriesPerOperation ?? DEFAULT_ENTRIES_PER_OPERATION);
  }

  /** Sets the current list of ResourceInterpreterCustomization objects. */
  setCustomizations(objects: readonly JsonObject[]): void {
    this.#layers.customizations.set(objects);
  }

  /** Sets the current list of webhook configurations, of both kinds. */
  setWebhooks(objects: readonly JsonObject[]): void {
    this.#layers.webhooks.set(objects);
    this.#caller.keepOnly(this.#layers.webhooks.inForce);
  }

  /** The errors of each configuration object, to be shown on it; objects without errors are listed too. */
  reports(): ObjectReport[] {
    return this.#layers.reports();
  }

  /** Returns a function that ends the subscription. */
  onComplete(listener: CompletionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends waiting retries and notifications, and closes connections. */
  stop(): void {
    this.#stopped.abort();
    this.#listeners.clear();
    this.#caller.keepOnly([]);
  }

  /**
   * The current answer. Scripts and native code answer at once; a webhook is called in the background, and the answer
   * is `pending` until the listeners are called. A script that took long is suspended first, and is pending too.
   * Objects must be as read from an API server: the same uid and resourceVersion mean the same content.
   */
  interpret<O extends Operation>(operation: O, input: Inputs[O]): Outcome<O> {
    const sources = this.#layers.sources(operation, input);
    const [first] = sources;
    if (first === undefined) return noInterpreter(operation, input.object);
    if (first.layer === "native") return this.#nativeAnswer(operation, input, first);
    const cache: LruMap<string, Entry<O>> = this.#caches[operation];
    const key = keyOf(operation, input, sources);
    if (typeof key !== "string") return key;
    const known = cache.get(key);
    if (known !== undefined) {
      if (known.failures > 0) this.#retryLater(operation, input, key, known);
      return known.outcome;
    }
    const mustWait = first.layer === "webhook" || first.restMs() > 0;
    const outcome: Outcome<O> = mustWait ? pending(first) : first.answer(input);
    const entry: Entry<O> = { outcome, failures: 0, retryScheduled: false };
    cache.set(key, entry);
    if (mustWait) void this.#ask(operation, input, sources, entry);
    return outcome;
  }

  /**
   * Changes if and only if the answers about the same object may change: which source answers, and the version of its
   * rules.
   */
  sourcesOf<O extends Operation>(operation: O, input: Inputs[O]): string {
    return versionsOf(this.#layers.sources(operation, input));
  }

  /** Whether a customization, a webhook or a bundled script answers about this object, and not native code alone. */
  isCustom<O extends Operation>(operation: O, input: Inputs[O]): boolean {
    return this.#layers.sources(operation, input).some(({ layer }) => layer !== "native");
  }

  #nativeAnswer<O extends Operation>(
    operation: O,
    input: Inputs[O],
    source: { answer: (input: Inputs[O]) => Settled<O> },
  ): Outcome<O> {
    const { object, ...others } = input;
    if (!isStored(operation, object) || Object.keys(others).length > 0) return source.answer(input);
    const answers: NativeAnswers = this.#natively.get(object) ?? {};
    this.#natively.set(object, answers);
    const known: Outcome<O> | undefined = answers[operation];
    if (known !== undefined) return known;
    const outcome = source.answer(input);
    const answer: { [K in O]?: Outcome<O> } = answers;
    answer[operation] = outcome;
    return outcome;
  }

  /** Waits for the answer: for commands and rendering, never inside a reconcile. A failed webhook is retried. */
  async interpretNow<O extends Operation>(operation: O, input: Inputs[O]): Promise<Settled<O>> {
    const sources = this.#layers.sources(operation, input);
    const [first] = sources;
    if (first?.layer !== "webhook") {
      const outcome = this.interpret(operation, input);
      return outcome.state === "pending" ? this.#inFlight(operation, input, sources) : outcome;
    }
    const cache: LruMap<string, Entry<O>> = this.#caches[operation];
    const key = keyOf(operation, input, sources);
    if (typeof key !== "string") return key;
    const known = cache.get(key);
    if (known?.outcome.state === "known" && known.failures === 0) return known.outcome;
    const entry: Entry<O> = known ?? { outcome: pending(first), failures: 0, retryScheduled: false };
    if (known === undefined) cache.set(key, entry);
    return entry.inFlight ?? this.#ask(operation, input, sources, entry);
  }

  #ask<O extends Operation>(
    operation: O,
    input: Inputs[O],
    sources: readonly Source<O>[],
    entry: Entry<O>,
  ): Promise<Settled<O>> {
    const call = this.#answerInOrder(operation, input, sources).then(({ outcome, webhookFailed }) => {
      entry.outcome = outcome;
      delete entry.inFlight;
      entry.failures = webhookFailed ? entry.failures + 1 : 0;
      for (const listener of this.#listeners) listener({ operation, object: input.object });
      return outcome;
    });
    entry.inFlight = call;
    return call;
  }

  /** The webhook and, if its failure policy allows it, the layers below it. */
  async #answerInOrder<O extends Operation>(
    operation: O,
    input: Inputs[O],
    sources: readonly Source<O>[],
  ): Promise<{ outcome: Settled<O>; webhookFailed: boolean }> {
    let passedOver: string | undefined;
    const instead = (outcome: Settled<O>) =>
      passedOver === undefined
        ? { outcome, webhookFailed: false }
        : { outcome: { ...outcome, passedOver }, webhookFailed: true };
    for (const source of sources) {
      if (source.layer !== "webhook") {
        await this.#rested(source);
        return instead(source.answer(input));
      }
      const outcome = await this.#callWebhook(operation, input, source.webhook);
      if (outcome.state === "known") return { outcome, webhookFailed: false };
      if (source.webhook.failurePolicy === "Fail") return { outcome, webhookFailed: true };
      passedOver = outcome.reason;
      this.#options.log.warn("a webhook failed and its failure policy is Ignore", {
        operation,
        object: describeObject(input.object),
        reason: outcome.reason,
      });
    }
    return instead(noInterpreter(operation, input.object));
  }

  /** Waits until a script may run again. Another reader may be faster and suspend it once more. */
  async #rested(source: { restMs: () => number }): Promise<void> {
    const { signal } = this.#stopped;
    for (let ms = source.restMs(); ms > 0 && !signal.aborted; ms = source.restMs()) {
      await this.#options.clock.sleep(ms, signal).catch(() => {});
    }
  }

  #inFlight<O extends Operation>(operation: O, input: Inputs[O], sources: readonly Source<O>[]): Promise<Settled<O>> {
    const key = keyOf(operation, input, sources);
    const cache: LruMap<string, Entry<O>> = this.#caches[operation];
    const entry = typeof key === "string" ? cache.peek(key) : undefined;
    return entry?.inFlight ?? Promise.resolve(noInterpreter(operation, input.object));
  }

  async #callWebhook<O extends Operation>(operation: O, input: Inputs[O], webhook: Webhook): Promise<Settled<O>> {
    try {
      const value = await this.#caller.call(webhook, operation, input);
      return { state: "known", value, layer: "webhook", source: webhook.id };
    } catch (error) {
      return failureOf(error, "webhook", webhook.id);
    }
  }

  /** Only answers that are still read are retried: after each retry, the listeners read again or do not. */
  #retryLater<O extends Operation>(operation: O, input: Inputs[O], key: string, entry: Entry<O>): void {
    if (entry.retryScheduled || entry.inFlight !== undefined) return;
    entry.retryScheduled = true;
    const { clock, random } = this.#options;
    const delayMs = retryDelayMs(entry.failures - 1, RETRY_BASE_MS, RETRY_MAX_MS, random);
    const cache: LruMap<string, Entry<O>> = this.#caches[operation];
    clock.sleep(delayMs, this.#stopped.signal).then(
      () => {
        entry.retryScheduled = false;
        const sources = this.#layers.sources(operation, input);
        const isCurrent = cache.peek(key) === entry && keyOf(operation, input, sources) === key;
        if (isCurrent && entry.inFlight === undefined) void this.#ask(operation, input, sources, entry);
      },
      () => {}, // stopped
    );
  }
}

/** The identity of objects from an API server. Operations that change an object may get one that is not stored yet. */
const READING: ReadonlySet<Operation> = new Set<Operation>([
  "InterpretReplica",
  "InterpretStatus",
  "InterpretHealth",
  "InterpretDependency",
  "InterpretComponent",
  "InterpretProgress",
  "InterpretLeader",
  "InterpretCompletion",
]);

/**
 * These answers depend only on the object's spec. A webhook is not called again because the hub wrote a status: until
 * it answered, a known answer would become unknown.
 */
const OF_WHAT_IS_ASKED_FOR: ReadonlySet<Operation> = new Set<Operation>([
  "InterpretDependency",
  "Prune",
  "ReviseReplica",
]);

/** Or the reason why there is none. */
function keyOf<O extends Operation>(operation: O, input: Inputs[O], sources: readonly Source<O>[]): string | Failed {
  const { object, ...others } = input;
  try {
    const isAskedFor = OF_WHAT_IS_ASKED_FOR.has(operation) && sources[0]?.layer === "webhook";
    const content = isAskedFor
      ? digest(whatIsAskedFor(object))
      : isStored(operation, object)
        ? storedVersion(object)
        : digest(object);
    const rest = Object.keys(others).length === 0 ? "" : digest(others);
    return [content, rest, versionsOf(sources)].join("\n");
  } catch (error) {
    return failureOf(error, sources[0]?.layer ?? "native", undefined);
  }
}

function versionsOf<O extends Operation>(sources: readonly Source<O>[]): string {
  return sources.map(({ layer, version }) => `${layer}:${version}`).join("\n");
}

function isStored(operation: Operation, object: JsonObject): boolean {
  return READING.has(operation) && storedVersion(object) !== undefined;
}

/** The identity of its content; undefined for an object that does not come from an API server. */
function storedVersion(object: JsonObject): string | undefined {
  const uid = presentAt(object, "metadata", "uid");
  const resourceVersion = presentAt(object, "metadata", "resourceVersion");
  return typeof uid === "string" && typeof resourceVersion === "string" ? `${uid}\n${resourceVersion}` : undefined;
}

/** Without the API server's counters, and without status. */
function whatIsAskedFor({ status: _status, metadata, ...rest }: JsonObject): JsonObject {
  const {
    resourceVersion: _version,
    generation: _generation,
    managedFields: _fields,
    ...kept
  } = isJsonObject(metadata) ? metadata : {};
  return { ...rest, metadata: kept };
}

function pending<O extends Operation>(first: Source<O>): Pending {
  return { state: "pending", source: first.layer === "webhook" ? first.webhook.id : "a suspended script" };
}

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url");
}

function emptyCaches(capacity: number): Caches {
  return {
    InterpretReplica: new LruMap(capacity),
    ReviseReplica: new LruMap(capacity),
    InterpretStatus: new LruMap(capacity),
    Prune: new LruMap(capacity),
    Retain: new LruMap(capacity),
    AggregateStatus: new LruMap(capacity),
    InterpretHealth: new LruMap(capacity),
    InterpretDependency: new LruMap(capacity),
    InterpretComponent: new LruMap(capacity),
    InterpretProgress: new LruMap(capacity),
    InterpretLeader: new LruMap(capacity),
    InterpretCompletion: new LruMap(capacity),
  };
}

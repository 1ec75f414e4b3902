/** The interpreter: one question about one object, answered without waiting; webhooks are asked in the background. */
import { createHash } from "node:crypto";
import { type Clock, type JsonObject, type Log, type Random, retryDelayMs } from "../runtime/index.ts";
import { BUNDLED } from "./bundled/generated.ts";
import { LruMap } from "./cache.ts";
import { describeObject, valueAt } from "./fields.ts";
import { Layers, type Source } from "./layers.ts";
import type { Inputs, Operation } from "./operations.ts";
import { type Failed, failureOf, noInterpreter, type Outcome, type Settled } from "./outcome.ts";
import type { ObjectReport } from "./problem.ts";
import { WebhookCaller, type WebhookLimits, type WebhookTransports } from "./webhook/caller.ts";
import { type ServiceResolver, serviceByDnsName, type Webhook } from "./webhook/configuration.ts";
import type { ResourceMapper } from "./webhook/matching.ts";

/** One answer per object and operation: more objects than a large hub manages, and bounded memory. */
const DEFAULT_ENTRIES_PER_OPERATION = 10_000;
/** A failed webhook is asked again after this long, doubling up to the maximum, while somebody reads the answer. */
const RETRY_BASE_MS = 1_000;
const RETRY_MAX_MS = 60_000;

export interface InterpreterOptions {
  clock: Clock;
  random: Random;
  log: Log;
  /** The way to webhooks: production's is httpWebhookTransports. */
  transports: WebhookTransports;
  webhookLimits?: Partial<WebhookLimits>;
  /** From discovery; what it does not know is guessed from the kind's name. */
  resources?: ResourceMapper;
  /** From the hub's Services; by DNS name without it. */
  resolveService?: ServiceResolver;
  entriesPerOperation?: number;
  /** Customizations below webhooks and above native code: Lockstep's own, unless told otherwise. */
  bundled?: readonly JsonObject[];
}

/** Called when an answer that was pending or had failed has been computed: read it again. */
export type CompletionListener = (event: { operation: Operation; object: JsonObject }) => void;

interface Entry<O extends Operation> {
  outcome: Outcome<O>;
  /** The call under way, shared by everybody who asks. */
  inFlight?: Promise<Settled<O>>;
  /** How often in a row the webhook failed, also when its failure policy let another layer answer. */
  failures: number;
  retryScheduled: boolean;
}

type NativeAnswers = { [O in Operation]?: Outcome<O> };
type Caches = { readonly [O in Operation]: LruMap<Entry<O>> };

export class Interpreter {
  readonly #options: InterpreterOptions;
  readonly #layers: Layers;
  readonly #caller: WebhookCaller;
  readonly #caches: Caches;
  /** Native code's answers about an object that was read, for as long as somebody holds the object. */
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

  /** The whole list of ResourceInterpreterCustomization objects as it is now. */
  setCustomizations(objects: readonly JsonObject[]): void {
    this.#layers.customizations.set(objects);
  }

  /** The whole list of webhook configurations, of both kinds, as it is now. */
  setWebhooks(objects: readonly JsonObject[]): void {
    this.#layers.webhooks.set(objects);
    this.#caller.keepOnly(this.#layers.webhooks.inForce);
  }

  /** What is wrong with each configuration object, to be shown on it; objects without problems are listed too. */
  reports(): ObjectReport[] {
    return this.#layers.reports();
  }

  /** Returns what ends the listening. */
  onComplete(listener: CompletionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends waiting retries and notifications, and lets go of connections. */
  stop(): void {
    this.#stopped.abort();
    this.#listeners.clear();
    this.#caller.keepOnly([]);
  }

  /**
   * What is known now. Scripts and native code answer at once; a webhook is asked in the background, and the answer is
   * `pending` until the listeners are called. Objects are taken as they were read from an API server: the same uid and
   * resourceVersion mean the same content.
   */
  interpret<O extends Operation>(operation: O, input: Inputs[O]): Outcome<O> {
    const sources = this.#layers.sources(operation, input);
    const [first] = sources;
    if (first === undefined) return noInterpreter(operation, input.object);
    if (first.layer === "native") return this.#nativeAnswer(operation, input, first);
    const cache: LruMap<Entry<O>> = this.#caches[operation];
    const key = keyOf(operation, input, sources);
    if (typeof key !== "string") return key;
    const known = cache.get(key);
    if (known !== undefined) {
      if (known.failures > 0) this.#retryLater(operation, input, key, known);
      return known.outcome;
    }
    const outcome: Outcome<O> = first.layer === "webhook" ? { state: "pending" } : first.answer(input);
    const entry: Entry<O> = { outcome, failures: 0, retryScheduled: false };
    cache.set(key, entry);
    if (first.layer === "webhook") void this.#ask(operation, input, sources, entry);
    return outcome;
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

  /** The answer, waited for: for commands and rendering, never inside a reconcile. A failed webhook is asked again. */
  async interpretNow<O extends Operation>(operation: O, input: Inputs[O]): Promise<Settled<O>> {
    const sources = this.#layers.sources(operation, input);
    if (sources[0]?.layer !== "webhook") {
      const outcome = this.interpret(operation, input);
      return outcome.state === "pending" ? noInterpreter(operation, input.object) : outcome;
    }
    const cache: LruMap<Entry<O>> = this.#caches[operation];
    const key = keyOf(operation, input, sources);
    if (typeof key !== "string") return key;
    const known = cache.get(key);
    if (known?.outcome.state === "known" && known.failures === 0) return known.outcome;
    const entry: Entry<O> = known ?? { outcome: { state: "pending" }, failures: 0, retryScheduled: false };
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

  /** The webhook in front and, where its failure policy says so, the layers below it. */
  async #answerInOrder<O extends Operation>(
    operation: O,
    input: Inputs[O],
    sources: readonly Source<O>[],
  ): Promise<{ outcome: Settled<O>; webhookFailed: boolean }> {
    let webhookFailed = false;
    for (const source of sources) {
      if (source.layer !== "webhook") return { outcome: source.answer(input), webhookFailed };
      const outcome = await this.#callWebhook(operation, input, source.webhook);
      webhookFailed = outcome.state === "failed";
      if (!webhookFailed || source.webhook.failurePolicy === "Fail") return { outcome, webhookFailed };
      this.#options.log.warn("a webhook failed and its failure policy is Ignore", {
        operation,
        object: describeObject(input.object),
        reason: outcome.state === "failed" ? outcome.reason : "",
      });
    }
    return { outcome: noInterpreter(operation, input.object), webhookFailed };
  }

  async #callWebhook<O extends Operation>(operation: O, input: Inputs[O], webhook: Webhook): Promise<Settled<O>> {
    try {
      const value = await this.#caller.call(webhook, operation, input);
      return { state: "known", value, layer: "webhook", source: webhook.id };
    } catch (error) {
      return failureOf(error, "webhook", webhook.id);
    }
  }

  /** Only what is still read is asked again: each retry ends with the listeners, who read anew or do not. */
  #retryLater<O extends Operation>(operation: O, input: Inputs[O], key: string, entry: Entry<O>): void {
    if (entry.retryScheduled || entry.inFlight !== undefined) return;
    entry.retryScheduled = true;
    const { clock, random } = this.#options;
    const delayMs = retryDelayMs(entry.failures - 1, RETRY_BASE_MS, RETRY_MAX_MS, random);
    const cache: LruMap<Entry<O>> = this.#caches[operation];
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

/** What objects from an API server are known by. Those that change an object may be given one that is not stored yet. */
const READING: ReadonlySet<Operation> = new Set<Operation>([
  "InterpretReplica",
  "InterpretStatus",
  "InterpretHealth",
  "InterpretDependency",
  "InterpretComponent",
  "InterpretProgress",
  "InterpretLeader",
]);

/** Or why there is none. */
function keyOf<O extends Operation>(operation: O, input: Inputs[O], sources: readonly Source<O>[]): string | Failed {
  const { object, ...others } = input;
  try {
    const content = isStored(operation, object) ? storedVersion(object) : digest(object);
    const rest = Object.keys(others).length === 0 ? "" : digest(others);
    return [content, rest, ...sources.map(({ layer, version }) => `${layer}:${version}`)].join("\n");
  } catch (error) {
    return failureOf(error, sources[0]?.layer ?? "native", undefined);
  }
}

function isStored(operation: Operation, object: JsonObject): boolean {
  return READING.has(operation) && storedVersion(object) !== undefined;
}

/** What its content is known by; undefined for an object that does not come from an API server. */
function storedVersion(object: JsonObject): string | undefined {
  const uid = valueAt(object, "metadata", "uid");
  const resourceVersion = valueAt(object, "metadata", "resourceVersion");
  return typeof uid === "string" && typeof resourceVersion === "string" ? `${uid}\n${resourceVersion}` : undefined;
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
  };
}

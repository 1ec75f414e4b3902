import {
  type Clock,
  type HttpRequest,
  type HttpResponse,
  isJsonObject,
  type Json,
  type JsonObject,
  LIMITS,
  type Log,
  type Random,
  silentLog,
  type Transport,
} from "../runtime/index.ts";
import { Breather } from "./breather.ts";
import { BadResponseError, InvalidRequestError, type RequestContext, WriteOutcomeUnknownError } from "./errors.ts";
import { cutList, itemText, type UnwantedKeys } from "./list-body.ts";
import type { KubeObject } from "./object.ts";
import { type Resource, readObject } from "./resource.ts";
import { type RequestOptions, type Safety, Sender } from "./sender.ts";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** One operation on the server, before it is a request. */
export interface Call {
  readonly method: HttpRequest["method"];
  readonly path: string;
  readonly query?: Query;
  readonly body?: Json;
  readonly contentType?: string;
  /** Absent: JSON. */
  readonly accept?: string;
  /** For messages. */
  readonly object: string;
  readonly safety: Safety;
  readonly goneIsDone?: boolean;
}

export interface ExchangeOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  readonly userAgent?: string | undefined;
}

/** Parsed in about two milliseconds. */
const MAX_TEXT_PARSED_AT_ONCE = 256 * 1024;

/** Turns calls into requests and answers into objects, and tracks writes in progress. */
export class Exchange {
  readonly #basePath: string;
  readonly #userAgent: string;
  readonly #clock: Clock;
  readonly #sender: Sender;
  readonly #writes = new Set<Promise<unknown>>();

  constructor(basePath: string, options: ExchangeOptions) {
    this.#basePath = basePath;
    this.#userAgent = options.userAgent ?? "kubernetes-runtime";
    this.#clock = options.clock;
    this.#sender = new Sender({ ...options, log: options.log ?? silentLog });
  }

  send(call: Call, options: RequestOptions): Promise<HttpResponse | undefined> {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const context = this.context(call);
    const bytes = body === undefined ? 0 : Buffer.byteLength(body);
    if (bytes > LIMITS.requestBodyBytes) {
      throw new InvalidRequestError(
        `${context.method} ${context.object}: the body has ${bytes} bytes, the server accepts ${LIMITS.requestBodyBytes}`,
      );
    }
    return this.#sender.send(
      {
        request: { method: call.method, path: this.target(call), ...(body !== undefined && { body }) },
        headers: this.headers(call),
        context,
        safety: call.safety,
        goneIsDone: call.goneIsDone ?? false,
      },
      options,
    );
  }

  sendWrite(call: Call, options: RequestOptions): Promise<HttpResponse | undefined> {
    const write = this.send(call, options);
    this.#writes.add(write);
    const done = () => this.#writes.delete(write);
    write.then(done, done);
    return write;
  }

  async write<T extends KubeObject>(of: Resource<T>, call: Call, options: RequestOptions): Promise<T> {
    const response = await this.sendWrite(call, options);
    try {
      return this.object(of, call, response?.body);
    } catch (error) {
      // The write succeeded, but the answer cannot be read.
      if (error instanceof BadResponseError) throw new WriteOutcomeUnknownError(error.request, error);
      throw error;
    }
  }

  /**
   * A list and its items. Large ones are parsed object by object, and yield to other work in between; the texts of
   * unwanted keys are then empty.
   */
  async list<T extends KubeObject>(
    of: Resource<T>,
    call: Call,
    options: RequestOptions,
    unwanted?: UnwantedKeys,
  ): Promise<{ list: JsonObject; items: T[] }> {
    const text = (await this.send(call, options))?.body ?? "";
    const cut = text.length > MAX_TEXT_PARSED_AT_ONCE ? cutList(text, unwanted) : undefined;
    const list = this.json(call, cut ? cut.envelope : text);
    const whole = list.items ?? [];
    if (!Array.isArray(whole)) throw new BadResponseError(this.context(call), "the answer is not a list");
    const items = whole.map((item) => this.#read(of, call, item));
    const breather = new Breather(this.#clock);
    for (const item of cut?.items ?? []) {
      items.push(this.object(of, call, itemText(text, item)));
      if (breather.isDue) await breather.rest();
    }
    return { list, items };
  }

  object<T extends KubeObject>(of: Resource<T>, call: Call, text: string | undefined): T {
    return this.#read(of, call, this.json(call, text));
  }

  json(call: Call, text: string | undefined): JsonObject {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text ?? "");
    } catch (error) {
      throw new BadResponseError(this.context(call), "the answer is not JSON", { cause: error });
    }
    if (!isJsonObject(parsed)) throw new BadResponseError(this.context(call), "the answer is not an object");
    return parsed;
  }

  /** Resolves when no write is in progress. */
  async settled(): Promise<void> {
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
  }

  context(call: Call): RequestContext {
    return { method: call.method, path: this.#basePath + call.path, object: call.object };
  }

  target(call: Call): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && value !== "") query.set(name, String(value));
    }
    const text = query.toString();
    return this.#basePath + call.path + (text ? `?${text}` : "");
  }

  headers(call: Call): Record<string, string> {
    const headers: Record<string, string> = {
      accept: call.accept ?? "application/json",
      "user-agent": this.#userAgent,
    };
    if (call.body !== undefined) headers["content-type"] = call.contentType ?? "application/json";
    return headers;
  }

  #read<T extends KubeObject>(of: Resource<T>, call: Call, value: unknown): T {
    try {
      return readObject(of, value);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new BadResponseError(this.context(call), why, { cause: error });
    }
  }
}

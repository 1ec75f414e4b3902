import {
  type CancelTimer,
  type Clock,
  type HttpRequest,
  isJsonObject,
  type JsonObject,
  seededRandom,
} from "../../runtime/index.ts";
import { ApiServer } from "../server.ts";
import type { ApiServerOptions, KubeObject } from "../types.ts";

/** A clock that only advances on request; sleepers wake when it passes their time. */
export class ManualClock implements Clock {
  #nowMs = Date.UTC(2030, 0, 1);
  #sleepers: { at: number; wake: () => void }[] = [];

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      this.#sleepers.push({ at: this.#nowMs + durationMs, wake: resolve });
    });
  }

  after(durationMs: number, run: () => void): CancelTimer {
    const sleeper = { at: this.#nowMs + durationMs, wake: run };
    this.#sleepers.push(sleeper);
    return () => {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
    };
  }

  advance(durationMs: number): void {
    this.#nowMs += durationMs;
    const due = this.#sleepers.filter(({ at }) => at <= this.#nowMs);
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#nowMs);
    for (const { wake } of due) wake();
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as an object, for tests that read single fields. */
  readonly body: JsonObject;
  readonly text: string;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: KubeObject;
}

/** A server with a stopped clock and fixed randomness, and short request functions. */
export class TestServer {
  readonly clock = new ManualClock();
  readonly server: ApiServer;

  constructor(options: Partial<ApiServerOptions> = {}) {
    this.server = new ApiServer({ clock: this.clock, random: seededRandom(1), ...options });
  }

  async ask(
    method: HttpRequest["method"],
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const text = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    const response = await this.server.handle({
      method,
      path,
      headers: { "user-agent": "tester/1", ...headers },
      ...text,
    });
    const parsed: unknown = response.body === "" ? {} : JSON.parse(response.body);
    if (!isJsonObject(parsed)) throw new TypeError("every answer is an object");
    return { status: response.status, headers: response.headers, body: parsed, text: response.body };
  }

  get(path: string): Promise<Answer> {
    return this.ask("GET", path);
  }

  /** Like the following ones, fails the test if the request fails. */
  async create(path: string, object: unknown): Promise<KubeObject> {
    return this.#done(await this.ask("POST", path, object));
  }

  async read(path: string): Promise<KubeObject> {
    return this.#done(await this.ask("GET", path));
  }

  async put(path: string, object: unknown): Promise<KubeObject> {
    return this.#done(await this.ask("PUT", path, object));
  }

  async merge(path: string, patch: unknown): Promise<KubeObject> {
    return this.#done(await this.ask("PATCH", path, patch, { "content-type": "application/merge-patch+json" }));
  }

  async remove(path: string, options?: unknown): Promise<Answer> {
    const answer = await this.ask("DELETE", path, options);
    if (answer.status >= 300) throw new Error(answer.text);
    return answer;
  }

  apply(path: string, manager: string, config: unknown, more = ""): Promise<Answer> {
    return this.ask("PATCH", `${path}?fieldManager=${manager}${more}`, config, {
      "content-type": "application/apply-patch+yaml",
    });
  }

  async names(path: string): Promise<string[]> {
    return (await this.items(path)).map((item) => item.metadata.name);
  }

  async items(path: string): Promise<KubeObject[]> {
    const answer = await this.ask("GET", path);
    if (answer.status !== 200) throw new Error(answer.text);
    return (answer.body.items ?? []) as KubeObject[];
  }

  #done(answer: Answer): KubeObject {
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.body as KubeObject;
  }

  watch(path: string): TestWatch {
    return new TestWatch(this.server, path);
  }
}

/** An open watch whose events are read one by one. */
export class TestWatch {
  readonly #abort = new AbortController();
  readonly #lines: AsyncGenerator<WatchEvent>;

  constructor(server: ApiServer, path: string) {
    const opened = server.stream({ method: "GET", path, headers: {}, signal: this.#abort.signal });
    this.#lines = (async function* () {
      let rest = "";
      for await (const chunk of (await opened).chunks) {
        rest += chunk;
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line) as WatchEvent;
      }
    })();
  }

  /** The next events, this many. */
  async take(count: number): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    while (events.length < count) {
      const next = await this.#lines.next();
      if (next.done) throw new Error(`the watch ended after ${events.length} of ${count} events`);
      events.push(next.value);
    }
    return events;
  }

  /** Everything until the server ends the watch. */
  async rest(): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    for await (const event of this.#lines) events.push(event);
    return events;
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#lines.return(undefined);
  }
}

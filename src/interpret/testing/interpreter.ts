/** An interpreter on virtual time, with webhooks that answer in memory. */
import {
  type HttpRequest,
  type Json,
  type JsonObject,
  type Log,
  seededRandom,
  silentLog,
  type Transport,
} from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { Interpreter, type InterpreterOptions } from "../interpreter.ts";
import type { Operation, Results } from "../operations.ts";
import type { Outcome } from "../outcome.ts";

export interface FakeAnswer {
  readonly status?: number;
  /** A text is sent unchanged, anything else as JSON. */
  readonly body: string | Json;
}

/** The requests of a webhook, and its answer as a function of the review. */
export type FakeWebhook = (review: JsonObject, request: HttpRequest) => FakeAnswer | Promise<FakeAnswer>;

export function webhookTransport(answer: FakeWebhook): Transport {
  return {
    request: () => Promise.reject(new Error("webhooks are read as streams, to bound them")),
    async stream(request) {
      const { status = 200, body } = await answer(JSON.parse(request.body ?? "{}"), request);
      const text = typeof body === "string" ? body : JSON.stringify(body);
      return { status, headers: {}, chunks: chunksOf(text) };
    },
  };
}

async function* chunksOf(text: string): AsyncGenerator<string> {
  const size = 64 * 1024;
  for (let start = 0; start < text.length || start === 0; start += size) yield text.slice(start, start + size);
}

export interface TestBench {
  readonly interpreter: Interpreter;
  readonly clock: VirtualClock;
  /** Reviews that webhooks got, in order. */
  readonly asked: JsonObject[];
  readonly warnings: string[];
}

export function bench(options: Partial<InterpreterOptions> & { webhook?: FakeWebhook } = {}): TestBench {
  const { webhook, ...others } = options;
  const clock = new VirtualClock();
  const asked: JsonObject[] = [];
  const warnings: string[] = [];
  const log: Log = {
    ...silentLog,
    warn: (message, fields) => warnings.push(`${message}: ${String(fields?.reason ?? "")}`),
  };
  const interpreter = new Interpreter({
    clock,
    random: seededRandom(1),
    log,
    bundled: [],
    transports: () =>
      webhookTransport((review, request) => {
        asked.push(review);
        if (webhook === undefined) throw new Error("no webhook was expected to be called");
        return webhook(review, request);
      }),
    ...others,
  });
  return { interpreter, clock, asked, warnings };
}

/** The value of a known outcome; fails the test otherwise. */
export function known<O extends Operation>(outcome: Outcome<O>): Results[O] {
  if (outcome.state === "known") return outcome.value;
  throw new Error(outcome.state === "failed" ? `failed ${outcome.code}: ${outcome.reason}` : "still pending");
}

export function customization(
  name: string,
  target: string,
  scripts: Record<string, string>,
  extra: JsonObject = {},
): JsonObject {
  const slash = target.lastIndexOf("/");
  return {
    apiVersion: "config.karmada.io/v1alpha1",
    kind: "ResourceInterpreterCustomization",
    metadata: { name, ...extra },
    spec: {
      target: { apiVersion: target.slice(0, slash), kind: target.slice(slash + 1) },
      customizations: Object.fromEntries(Object.entries(scripts).map(([key, luaScript]) => [key, { luaScript }])),
    },
  };
}

/** The proposal's configuration for foos of foo.example.com. */
export function exploring(name: string, webhook: JsonObject = {}, rule: JsonObject = {}): JsonObject {
  return {
    apiVersion: "config.karmada.io/v1alpha1",
    kind: "ResourceExploringWebhookConfiguration",
    metadata: { name },
    webhooks: [
      {
        name: "foo.example.com",
        rules: [
          {
            operations: ["*"],
            apiGroups: ["foo.example.com"],
            apiVersions: ["*"],
            resources: ["foos"],
            scope: "Namespaced",
            ...rule,
          },
        ],
        clientConfig: { url: "https://hooks.test:443/explore-foo" },
        exploreReviewVersions: ["v1alpha1"],
        timeoutSeconds: 3,
        ...webhook,
      },
    ],
  };
}

/** Karmada's configuration for the same. */
export function interpreting(name: string, webhook: JsonObject = {}, rule: JsonObject = {}): JsonObject {
  return {
    apiVersion: "config.karmada.io/v1alpha1",
    kind: "ResourceInterpreterWebhookConfiguration",
    metadata: { name },
    webhooks: [
      {
        name: "foo.example.com",
        rules: [{ operations: ["*"], apiGroups: ["foo.example.com"], apiVersions: ["*"], kinds: ["Foo"], ...rule }],
        clientConfig: { url: "https://hooks.test:443/interpret-foo" },
        interpreterContextVersions: ["v1alpha1"],
        ...webhook,
      },
    ],
  };
}

export function foo(resourceVersion = "1", extra: JsonObject = {}): JsonObject {
  return {
    apiVersion: "foo.example.com/v1alpha1",
    kind: "Foo",
    metadata: { name: "foo", namespace: "default", uid: "11111111-2222-4333-8444-555555555555", resourceVersion },
    ...extra,
  };
}

/** A well-formed answer of either protocol. */
export function answering(fields: JsonObject): FakeWebhook {
  return (review) => {
    const { request, ...head } = review;
    const uid = (request as JsonObject).uid;
    const successful = head.kind === "ResourceInterpreterContext" ? { successful: true } : {};
    return { body: { ...head, response: { uid, ...successful, ...fields } } };
  };
}

import { describe, expect, it } from "vitest";
import { Interpreter } from "../interpret/index.ts";
import { exploring, foo, interpreting, webhookTransport } from "../interpret/testing/interpreter.ts";
import type { JsonObject } from "../runtime/index.ts";
import { seededRandom, silentLog } from "../runtime/index.ts";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { createInterpreterWebhook, type KindHandlers } from "./index.ts";

const everything: KindHandlers = {
  ExploreReplica: () => ({ replicas: 3, requirements: { resourceRequest: { cpu: "1" } } }),
  ExploreReplicaRevising: ({ object, replicas }) => ({ ...object, spec: { replicas } }),
  ExploreStatus: ({ object }) => object.status ?? null,
  ExplorePacking({ object }) {
    delete object.status; // a handler may change its argument
    return object;
  },
  ExploreRetaining: ({ desired, observed }) => ({ ...desired, spec: observed?.spec ?? {} }),
  ExploreStatusAggregating: ({ object, items }) => ({
    ...object,
    status: { clusters: items.map(({ clusterName }) => clusterName) },
  }),
  ExploreHealthy: async ({ object }) => object.status !== undefined,
  ExploreDependencies: () => [{ apiVersion: "v1", kind: "Secret", namespace: "default", name: "s" }],
  ExploreCompletion: ({ object }) => ({ state: object.status ? "failed" : "running", reason: "Told" }),
  InterpretComponent: () => [{ name: "worker", replicas: 2 }],
};

function interpreterFor(handlers: KindHandlers, configuration: (name: string) => JsonObject): Interpreter {
  const webhook = createInterpreterWebhook({ "foo.example.com/v1alpha1/Foo": handlers });
  const interpreter = new Interpreter({
    clock: new VirtualClock(),
    random: seededRandom(1),
    log: silentLog,
    transports: () => webhookTransport((_, { body = "" }) => webhook.handle(body)),
  });
  interpreter.setWebhooks([configuration("sdk")]);
  return interpreter;
}

describe("a webhook written with the SDK", () => {
  it.each([
    ["ExploreReview", exploring],
    ["ResourceInterpreterContext", interpreting],
  ])("answers every operation of %s as the interpreter expects", async (_, configuration) => {
    const interpreter = interpreterFor(everything, configuration);
    const object = foo("1", { spec: { a: 1 }, status: { b: 1 } });
    const value = { state: "known", layer: "webhook" };
    expect(await interpreter.interpretNow("InterpretReplica", { object })).toMatchObject({
      ...value,
      value: { replicas: 3, requirements: { resourceRequest: { cpu: "1" } } },
    });
    expect(await interpreter.interpretNow("ReviseReplica", { object, replicas: 7 })).toMatchObject({
      value: { spec: { replicas: 7 } },
    });
    expect(await interpreter.interpretNow("InterpretStatus", { object })).toMatchObject({ ...value, value: { b: 1 } });
    const packed = await interpreter.interpretNow("Prune", { object });
    expect(packed).toMatchObject(value);
    expect(packed.state === "known" && packed.value).not.toHaveProperty("status");
    const observed = foo("2", { spec: { kept: true } });
    expect(await interpreter.interpretNow("Retain", { object, observed })).toMatchObject({
      value: { spec: { kept: true } },
    });
    expect(
      await interpreter.interpretNow("AggregateStatus", { object, items: [{ clusterName: "east" }] }),
    ).toMatchObject({ value: { status: { clusters: ["east"] } } });
    expect(await interpreter.interpretNow("InterpretHealth", { object })).toMatchObject({ ...value, value: true });
    expect(await interpreter.interpretNow("InterpretDependency", { object })).toMatchObject({ value: [{ name: "s" }] });
    expect(await interpreter.interpretNow("InterpretCompletion", { object })).toMatchObject({
      ...value,
      value: { state: "failed", reason: "Told" },
    });
  });

  it("accepts the kind's own type, and treats a field set to undefined as absent", async () => {
    interface Foo {
      spec?: { shard?: number | undefined };
    }
    const webhook = createInterpreterWebhook<{ "foo.example.com/*/Foo": Foo }>({
      "foo.example.com/*/Foo": { ExploreRetaining: ({ desired }) => ({ ...desired, spec: { shard: undefined } }) },
    });
    const request = { uid: "1", operation: "Retain", kind: { group: "foo.example.com", version: "v1", kind: "Foo" } };
    const review = { apiVersion: "config.karmada.io/v1alpha1", kind: "ResourceInterpreterContext" };
    const { body } = await webhook.handle(
      JSON.stringify({ ...review, request: { ...request, object: { spec: { shard: 1 } } } }),
    );
    const { patch } = JSON.parse(body).response;
    expect(JSON.parse(Buffer.from(patch, "base64").toString())).toEqual([{ op: "remove", path: "/spec/shard" }]);
  });

  it("returns components in Karmada's protocol", async () => {
    const interpreter = interpreterFor(everything, interpreting);
    expect(await interpreter.interpretNow("InterpretComponent", { object: foo() })).toMatchObject({
      value: [{ name: "worker", replicas: 2 }],
    });
  });

  it("fails with a reason for the caller: an error, a missing operation, another kind", async () => {
    const broken: KindHandlers = {
      ExploreHealthy() {
        throw new Error("database is unreachable");
      },
    };
    expect(await interpreterFor(broken, interpreting).interpretNow("InterpretHealth", { object: foo() })).toMatchObject(
      {
        code: "Unsuccessful",
        reason: expect.stringContaining("database is unreachable"),
      },
    );
    expect(await interpreterFor(broken, exploring).interpretNow("InterpretHealth", { object: foo() })).toMatchObject({
      code: "BadStatus",
    });
    expect(await interpreterFor({}, interpreting).interpretNow("InterpretHealth", { object: foo() })).toMatchObject({
      reason: expect.stringContaining("InterpretHealth of Foo is not interpreted here"),
    });
    const other = { ...foo(), apiVersion: "foo.example.com/v2" };
    expect(
      await interpreterFor(everything, interpreting).interpretNow("InterpretHealth", { object: other }),
    ).toMatchObject({
      reason: expect.stringContaining("foo.example.com/v2 Foo is not interpreted here"),
    });
  });

  it("reads any version under *, and the core group without a group", async () => {
    const webhook = createInterpreterWebhook({ "*/Pod": { ExploreHealthy: () => true } });
    const request = {
      uid: "1",
      operation: "ExploreHealthy",
      kind: { group: "", version: "v1", kind: "Pod" },
      object: {},
    };
    const body = JSON.stringify({ apiVersion: "config.karmada.io/v1alpha1", kind: "ExploreReview", request });
    expect(JSON.parse((await webhook.handle(body)).body)).toEqual({
      apiVersion: "config.karmada.io/v1alpha1",
      kind: "ExploreReview",
      response: { uid: "1", healthy: true },
    });
  });

  it.each([
    "",
    "[]",
    "null",
    "{}",
    '{"kind":"ExploreReview"}',
    '{"apiVersion":"config.karmada.io/v1alpha1","kind":"ExploreReview"}',
    '{"apiVersion":"config.karmada.io/v1alpha1","kind":"constructor","request":{}}',
  ])("refuses %j", async (body) => {
    const { status } = await createInterpreterWebhook({}).handle(body);
    expect(status).toBe(400);
  });
});

import { expect, it } from "vitest";
import { seededRandom } from "../runtime/index.ts";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { KubeClient } from "./client.ts";
import {
  AlreadyExistsError,
  BadResponseError,
  ConflictError,
  ForbiddenError,
  InvalidObjectError,
  InvalidRequestError,
  NotFoundError,
  RequestTimeoutError,
  ServerError,
  TooManyRequestsError,
  UnknownKindError,
  UnreachableError,
  WriteOutcomeUnknownError,
} from "./errors.ts";
import { FakeApi, type Fault, status } from "./testing/fake-api.ts";
import { configMap, configMaps, nodes } from "./testing/resources.ts";

function setUp() {
  const clock = new VirtualClock();
  const api = new FakeApi({ clock });
  const client = new KubeClient({ transport: api, clock, random: seededRandom(1) });
  const faults = (...list: (Fault | undefined)[]) => {
    api.fault = () => list.shift();
  };
  return { clock, api, client, faults };
}

const failing = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (error: unknown) => error,
  );

it("the client creates, reads, replaces, patches, applies and deletes", async () => {
  const { client } = setUp();
  const created = await client.create(configMaps, configMap("a", { x: "1" }));
  expect(created.metadata.uid).toBeDefined();
  expect(await client.get(configMaps, { namespace: "default", name: "a" })).toEqual(created);
  const updated = await client.update(configMaps, { ...created, data: { x: "2" } });
  expect(updated.data).toEqual({ x: "2" });
  const patched = await client.patch(configMaps, updated.metadata, { type: "merge", body: { data: { y: "3" } } });
  expect(patched.data).toEqual({ x: "2", y: "3" });
  const applied = await client.apply(configMaps, configMap("b", { z: "1" }), { fieldManager: "me", force: true });
  expect(applied.metadata.name).toBe("b");
  expect(await client.delete(configMaps, applied.metadata, { preconditions: { uid: "uid-2" } })).toBeUndefined();
  expect(await client.find(configMaps, applied.metadata)).toBeUndefined();
});

it("a write with an old resourceVersion loses", async () => {
  const { client } = setUp();
  const first = await client.create(configMaps, configMap("a"));
  await client.update(configMaps, { ...first, data: { by: "one" } });
  const error = await failing(client.update(configMaps, { ...first, data: { by: "two" } }));
  expect(error).toBeInstanceOf(ConflictError);
  expect(String(error)).toContain("PUT ConfigMap default/a (/api/v1/namespaces/default/configmaps/a)");
});

it("an update without a resourceVersion is refused before it is sent", async () => {
  const { client, api } = setUp();
  await expect(client.update(configMaps, configMap("a"))).rejects.toThrow(InvalidRequestError);
  expect(api.requests).toHaveLength(0);
});

it("an object that waits for its finalizers comes back from the delete", async () => {
  const { client } = setUp();
  const object = configMap("a");
  await client.create(configMaps, { ...object, metadata: { ...object.metadata, finalizers: ["x/y"] } });
  const left = await client.delete(configMaps, object.metadata);
  expect(left?.metadata.deletionTimestamp).toBeDefined();
});

it("the client lists in pages, and adds the kind that list items lack", async () => {
  const { client, api } = setUp();
  for (let index = 0; index < 5; index++) api.put(configMaps, configMap(`c${index}`));
  const seen = [];
  for await (const item of client.list(configMaps, { limit: 2 })) seen.push(`${item.kind} ${item.metadata.name}`);
  expect(seen).toEqual(["ConfigMap c0", "ConfigMap c1", "ConfigMap c2", "ConfigMap c3", "ConfigMap c4"]);
  expect(api.requests).toHaveLength(3);
});

it("a large list is parsed with pauses, so that other work gets the event loop", async () => {
  const { clock, api } = setUp();
  const text = "x".repeat(1_000);
  for (let index = 0; index < 400; index++) api.put(configMaps, configMap(`c${index}`, { text }));
  let workMs = 0;
  let pauses = 0;
  const busyClock = {
    now: () => clock.now(),
    // Every read of the clock advances it by a millisecond, as if each object took that long.
    monotonicMs: () => workMs++,
    sleep: (ms: number, signal?: AbortSignal) => {
      if (ms > 0) return clock.sleep(ms, signal);
      pauses++;
      return Promise.resolve();
    },
    after: (ms: number, run: () => void) => clock.after(ms, run),
  };
  const client = new KubeClient({ transport: api, clock: busyClock, random: seededRandom(1) });
  const page = await client.listPage(configMaps);
  expect(page.items).toHaveLength(400);
  expect(page.items[399]?.data).toEqual({ text });
  expect(pauses).toBeGreaterThan(20);
});

it("a list whose continue token expired is read again at once, without pages", async () => {
  const { client, api } = setUp();
  for (let index = 0; index < 4; index++) api.put(configMaps, configMap(`c${index}`));
  api.fault = (request) =>
    request.query.get("continue") ? { kind: "answer", status: 410, body: status(410, "", "Expired") } : undefined;
  expect((await client.listAll(configMaps, { limit: 2 })).items).toHaveLength(4);
});

it.each([
  [401, "", "UnauthorizedError"],
  [403, "Forbidden", ForbiddenError.name],
  [404, "NotFound", NotFoundError.name],
  [409, "Conflict", ConflictError.name],
  [409, "AlreadyExists", AlreadyExistsError.name],
  [410, "Expired", "ExpiredError"],
  [422, "Invalid", InvalidObjectError.name],
  [400, "BadRequest", "BadRequestError"],
  [501, "", ServerError.name],
])("an answer %i %s becomes %s", async (code, reason, name) => {
  const { client, faults } = setUp();
  faults({ kind: "answer", status: code, body: status(code, "because", reason) });
  const error = await failing(client.get(configMaps, { namespace: "n", name: "a" }));
  expect(error).toMatchObject({ name, status: { code, reason, message: "because" } });
});

it("an invalid object's error names the fields", async () => {
  const { client, faults } = setUp();
  const causes = [{ field: "spec.replicas", reason: "FieldValueInvalid", message: "must be positive" }];
  faults({ kind: "answer", status: 422, body: { ...status(422, "no", "Invalid"), details: { causes } } });
  const error = await failing(client.create(configMaps, configMap("a")));
  expect(error).toBeInstanceOf(InvalidObjectError);
  expect(error).toMatchObject({ causes });
});

it("an error names a proxy's page that arrives instead of JSON", async () => {
  const { client, faults } = setUp();
  faults({ kind: "answer", status: 200, body: "<html>login</html>" });
  expect(await failing(client.get(configMaps, { namespace: "n", name: "a" }))).toBeInstanceOf(BadResponseError);
});

it("a read is retried after resets, refusals and server errors", async () => {
  const { client, api, clock, faults } = setUp();
  api.put(configMaps, configMap("a"));
  faults({ kind: "lose", applied: false }, { kind: "refuse" }, { kind: "answer", status: 500 }, undefined);
  const read = await clock.run(client.get(configMaps, { namespace: "default", name: "a" }));
  expect(read.metadata.name).toBe("a");
  expect(api.requests).toHaveLength(4);
});

it("a read that keeps failing ends with the last failure, after a limited number of attempts", async () => {
  const { client, api, clock } = setUp();
  api.fault = () => ({ kind: "answer", status: 503 });
  expect(await clock.run(failing(client.get(nodes, { name: "a" })))).toBeInstanceOf(ServerError);
  expect(api.requests).toHaveLength(6);
  api.fault = () => ({ kind: "refuse" });
  expect(await clock.run(failing(client.get(nodes, { name: "a" })))).toBeInstanceOf(UnreachableError);
});

it("a slow answer times out, and nothing is left behind", async () => {
  const { client, api, clock } = setUp();
  api.fault = () => ({ kind: "slow", delayMs: 10_000 });
  const error = await clock.run(failing(client.get(nodes, { name: "a" }, { timeoutMs: 3_000 })));
  expect(error).toBeInstanceOf(RequestTimeoutError);
  expect(clock.monotonicMs()).toBe(3_000);
  expect(clock.sleeping).toBe(0);
});

it("Retry-After is honoured, and an excessive one is shortened", async () => {
  const { client, api, clock, faults } = setUp();
  api.put(nodes, { apiVersion: "v1", kind: "Node", metadata: { name: "a" } });
  faults({ kind: "answer", status: 429, headers: { "retry-after": "7" } });
  await clock.run(client.get(nodes, { name: "a" }));
  expect(clock.monotonicMs()).toBeGreaterThanOrEqual(7_000);
  const before = clock.monotonicMs();
  faults({ kind: "answer", status: 429, headers: { "retry-after": "86400" } });
  await clock.run(client.get(nodes, { name: "a" }));
  expect(clock.monotonicMs() - before).toBeLessThan(35_000);
  faults({ kind: "answer", status: 429, headers: { "retry-after": "20" } });
  const error = await failing(client.get(nodes, { name: "a" }, { timeoutMs: 10_000 }));
  expect(error).toBeInstanceOf(TooManyRequestsError);
  expect(error).toMatchObject({ status: { retryAfterMs: 20_000 } });
});

it("any write is retried when it certainly was not applied", async () => {
  const { client, api, clock, faults } = setUp();
  faults({ kind: "refuse" }, { kind: "answer", status: 429 });
  const object = { metadata: { generateName: "a-", namespace: "default" } };
  await clock.run(client.create(configMaps, object));
  expect(api.list(configMaps)).toHaveLength(1);
});

it("a write that cannot be repeated safely is not retried when its outcome is unknown", async () => {
  const lost: Fault = { kind: "lose", applied: true };
  const { client, api, faults } = setUp();
  faults(lost);
  const generated = client.create(configMaps, { metadata: { generateName: "a-", namespace: "default" } });
  expect(await failing(generated)).toBeInstanceOf(WriteOutcomeUnknownError);
  expect(api.list(configMaps)).toHaveLength(1);

  api.put(configMaps, configMap("b"));
  faults({ kind: "answer", status: 500, applied: true });
  expect(await failing(client.delete(configMaps, configMap("b").metadata))).toBeInstanceOf(WriteOutcomeUnknownError);
  faults(lost);
  const patch = { type: "json", operations: [{ op: "add", path: "/data/-", value: "x" }] } as const;
  expect(await failing(client.patch(configMaps, configMap("b").metadata, patch))).toBeInstanceOf(
    WriteOutcomeUnknownError,
  );
  expect(api.requests).toHaveLength(3);
});

it("a conflict after a lost acknowledgement may be a conflict with our own write: the outcome is unknown", async () => {
  const { client, api, clock, faults } = setUp();
  const object = api.put(configMaps, configMap("a"));
  faults({ kind: "lose", applied: true });
  const error = await clock.run(failing(client.update(configMaps, { ...object, data: { x: "1" } })));
  expect(error).toBeInstanceOf(WriteOutcomeUnknownError);
  expect(error).toMatchObject({ cause: { name: "ConflictError" } });
  faults({ kind: "lose", applied: true });
  const created = await clock.run(failing(client.create(configMaps, configMap("new"))));
  expect(created).toMatchObject({ name: "WriteOutcomeUnknownError", cause: { name: "AlreadyExistsError" } });
});

it("a delete by uid whose acknowledgement was lost has succeeded when the object is gone", async () => {
  const { client, api, clock, faults } = setUp();
  const object = api.put(configMaps, configMap("a"));
  faults({ kind: "lose", applied: true });
  const uid = object.metadata.uid ?? "";
  await expect(
    clock.run(client.delete(configMaps, object.metadata, { preconditions: { uid } })),
  ).resolves.toBeUndefined();
  expect(await failing(client.delete(configMaps, object.metadata, { preconditions: { uid } }))).toBeInstanceOf(
    NotFoundError,
  );
});

it("an apply is retried until it is acknowledged", async () => {
  const { client, api, clock, faults } = setUp();
  faults({ kind: "lose", applied: true }, { kind: "answer", status: 502 });
  const object = await clock.run(client.apply(configMaps, configMap("a", { x: "1" }), { fieldManager: "me" }));
  expect(object.data).toEqual({ x: "1" });
  expect(api.requests).toHaveLength(3);
});

it("an abort ends a read at once, but lets a write that was sent finish", async () => {
  const { client, api, clock } = setUp();
  const abort = new AbortController();
  api.fault = () => ({ kind: "slow", delayMs: 1_000 });
  const reading = failing(client.get(nodes, { name: "a" }, { signal: abort.signal }));
  const writing = client.create(configMaps, configMap("a"), { signal: abort.signal });
  const settled = client.settled().then(() => clock.monotonicMs());
  await clock.advance(100);
  abort.abort(new Error("shutting down"));
  expect(await reading).toMatchObject({ message: "shutting down" });
  expect((await clock.run(writing)).metadata.name).toBe("a");
  expect(await settled).toBe(1_000);
  await expect(client.create(configMaps, configMap("b"), { signal: abort.signal })).rejects.toThrow("shutting down");
  expect(api.list(configMaps)).toHaveLength(1);
});

it("an abort stops the retries of a write, whose outcome is then unknown", async () => {
  const { client, api, clock } = setUp();
  const abort = new AbortController();
  api.fault = () => ({ kind: "lose", applied: true });
  const writing = failing(client.apply(configMaps, configMap("a"), { fieldManager: "me", signal: abort.signal }));
  await clock.settle();
  abort.abort(new Error("shutting down"));
  expect(await clock.run(writing)).toBeInstanceOf(WriteOutcomeUnknownError);
  expect(api.requests).toHaveLength(1);
});

it.each(["", ".", "..", "a/b", "a%2fb", "x?y", "a b", "x".repeat(254)])(
  "the name '%s' cannot change the path",
  async (name) => {
    const { client, api } = setUp();
    await expect(client.get(nodes, { name })).rejects.toThrow(InvalidRequestError);
    await expect(client.get(configMaps, { namespace: name, name: "a" })).rejects.toThrow(InvalidRequestError);
    expect(() => client.below("clusters", name, "proxy")).toThrow(InvalidRequestError);
    expect(api.requests).toHaveLength(0);
  },
);

it("a client below a prefix works like any other client", async () => {
  const { client, api } = setUp();
  const member = client.below("apis", "cluster.karmada.io", "v1alpha1", "clusters", "member1", "proxy");
  api.fault = () => ({ kind: "answer", status: 200, body: configMap("a") });
  await member.get(configMaps, { namespace: "default", name: "a" });
  expect(api.requests[0]?.path).toBe(
    "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy/api/v1/namespaces/default/configmaps/a",
  );
});

it("scale is read and set through its subresource", async () => {
  const { client, api } = setUp();
  const scale = { metadata: { resourceVersion: "7" }, spec: { replicas: 3 }, status: { replicas: 2 } };
  api.fault = () => ({ kind: "answer", status: 200, body: scale });
  const name = { namespace: "n", name: "db" };
  expect(await client.getScale(configMaps, name)).toEqual({
    specReplicas: 3,
    statusReplicas: 2,
    resourceVersion: "7",
  });
  await client.setScale(configMaps, name, 3, { resourceVersion: "6" });
  expect(api.requests[1]).toMatchObject({
    path: "/api/v1/namespaces/n/configmaps/db/scale",
    body: { metadata: { resourceVersion: "6" }, spec: { replicas: 3 } },
  });
});

it("a kind is found by discovery, cached, and requested again if it was missing", async () => {
  const { client, api, clock } = setUp();
  const resources = [
    { name: "things", kind: "Thing", namespaced: true },
    { name: "things/status", kind: "Thing", namespaced: true },
  ];
  api.fault = () => ({ kind: "answer", status: 200, body: { kind: "APIResourceList", resources } });
  const [first, second] = await Promise.all([
    client.discovery.resource("x.io/v1", "Thing"),
    client.discovery.resource("x.io/v1", "Thing"),
  ]);
  expect(first).toMatchObject({ plural: "things", namespaced: true });
  expect(second).toBe(first);
  expect(api.requests).toHaveLength(1);
  expect(await failing(client.discovery.resource("x.io/v1", "Other"))).toBeInstanceOf(UnknownKindError);
  expect(api.requests).toHaveLength(1);
  resources.push({ name: "others", kind: "Other", namespaced: false });
  await clock.advance(1_000);
  expect((await client.discovery.resource("x.io/v1", "Other")).namespaced).toBe(false);
});

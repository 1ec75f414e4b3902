import { describe, expect, it } from "vitest";
import type { JsonObject } from "../runtime/index.ts";
import {
  answering,
  bench,
  customization,
  exploring,
  foo,
  interpreting,
  known,
  webhookTransport,
} from "./testing/interpreter.ts";

const FOO = "foo.example.com/v1alpha1/Foo";
const healthScript = (answer: string) => `function InterpretHealth(obj) return ${answer} end`;

describe("the layers", () => {
  const deployment: JsonObject = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default", generation: 1 },
    spec: { replicas: 1 },
    status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
  };
  const bundled = [customization("own", "apps/v1/Deployment", { healthInterpretation: healthScript("false") })];
  const hook = exploring("hook", {}, { apiGroups: ["apps"], resources: ["deployments"] });

  it("answer in order: customization, webhook, bundled, native", async () => {
    const { interpreter } = bench({ bundled, webhook: answering({ healthy: true }) });
    const ask = () => interpreter.interpretNow("InterpretHealth", { object: deployment });
    expect(await ask()).toEqual({ state: "known", value: false, layer: "bundled", source: "own" });
    interpreter.setWebhooks([hook]);
    expect(await ask()).toEqual({ state: "known", value: true, layer: "webhook", source: "hook/foo.example.com" });
    interpreter.setCustomizations([
      customization("mine", "apps/v1/Deployment", { healthInterpretation: healthScript("false") }),
    ]);
    expect(await ask()).toEqual({ state: "known", value: false, layer: "customization", source: "mine" });
    expect(await bench().interpreter.interpretNow("InterpretHealth", { object: deployment })).toEqual({
      state: "known",
      value: true,
      layer: "native",
    });
  });

  it("are chosen for each operation separately", async () => {
    const { interpreter } = bench({ bundled, webhook: answering({ healthy: true }) });
    interpreter.setCustomizations([
      customization("mine", "apps/v1/Deployment", { replicaResource: "function GetReplicas(o) return 7, nil end" }),
    ]);
    expect(interpreter.interpret("InterpretReplica", { object: deployment })).toMatchObject({
      layer: "customization",
      value: { replicas: 7 },
    });
    expect(interpreter.interpret("InterpretHealth", { object: deployment })).toMatchObject({ layer: "bundled" });
    expect(interpreter.interpret("InterpretStatus", { object: deployment })).toMatchObject({ layer: "native" });
  });

  it("that cannot read a kind return an error with a remedy", () => {
    const outcome = bench().interpreter.interpret("InterpretHealth", { object: foo() });
    expect(outcome).toMatchObject({ state: "failed", code: "NoInterpreter" });
    expect(outcome.state === "failed" && outcome.reason).toContain("Foo default/foo");
    expect(outcome.state === "failed" && outcome.reason).toContain("ResourceInterpreterCustomization");
  });

  it("a failed customization is not replaced by a lower layer", () => {
    const { interpreter } = bench({ bundled });
    interpreter.setCustomizations([
      customization("mine", "apps/v1/Deployment", {
        healthInterpretation: 'function InterpretHealth(o)\n  error("no")\nend',
        retention: "function Retain(d, o) return 1 end",
      }),
    ]);
    expect(interpreter.interpret("InterpretHealth", { object: deployment })).toMatchObject({
      state: "failed",
      code: "ScriptError",
      layer: "customization",
      source: "mine",
      line: 2,
    });
    expect(interpreter.interpret("Retain", { object: deployment, observed: deployment })).toMatchObject({
      code: "BadAnswer",
    });
  });
});

describe("a webhook", () => {
  it("never blocks: the answer is pending, then the listeners are called, then it is known", async () => {
    const { interpreter, clock, asked } = bench({ webhook: answering({ healthy: true }) });
    interpreter.setWebhooks([exploring("hook")]);
    const completed: unknown[] = [];
    interpreter.onComplete(({ operation, object }) => completed.push([operation, object.metadata]));
    expect(interpreter.interpret("InterpretHealth", { object: foo() })).toEqual({
      state: "pending",
      source: "hook/foo.example.com",
    });
    expect(interpreter.interpret("InterpretHealth", { object: foo() })).toEqual({
      state: "pending",
      source: "hook/foo.example.com",
    });
    await clock.advance(0);
    expect(completed).toEqual([["InterpretHealth", foo().metadata]]);
    expect(known(interpreter.interpret("InterpretHealth", { object: foo() }))).toBe(true);
    expect(asked).toHaveLength(1);
  });

  it("is called again only for a new version of the object or of its configuration", async () => {
    const { interpreter, clock, asked } = bench({ webhook: answering({ healthy: true }) });
    const ask = async (version: string) => {
      interpreter.interpret("InterpretHealth", { object: foo(version) });
      await clock.advance(0);
      return asked.length;
    };
    interpreter.setWebhooks([exploring("hook")]);
    expect(await ask("1")).toBe(1);
    expect(await ask("1")).toBe(1);
    interpreter.setCustomizations([customization("other", "v1/Pod", { healthInterpretation: healthScript("true") })]);
    interpreter.setWebhooks([exploring("hook"), exploring("unrelated", {}, { resources: ["bars"] })]);
    expect(await ask("1")).toBe(1);
    expect(await ask("2")).toBe(2);
    interpreter.setWebhooks([exploring("hook", { timeoutSeconds: 4 })]);
    expect(await ask("2")).toBe(3);
  });

  it("is not called again about an object's spec if only its status and version have changed", async () => {
    const { interpreter, clock, asked } = bench({ webhook: answering({ dependencies: [] }) });
    interpreter.setWebhooks([exploring("hook")]);
    const ask = async (object: JsonObject) => {
      interpreter.interpret("InterpretDependency", { object });
      await clock.advance(0);
      return asked.length;
    };
    expect(await ask(foo("1", { spec: { size: 1 } }))).toBe(1);
    expect(await ask(foo("2", { spec: { size: 1 }, status: { phase: "Running" } }))).toBe(1);
    expect(await ask(foo("3", { spec: { size: 2 } }))).toBe(2);
  });

  it("gets exactly the request of its protocol", async () => {
    const { interpreter, asked } = bench({ webhook: answering({}) });
    const observed = foo("9", { status: { phase: "Running" } });
    const items = [{ clusterName: "east", status: { ready: 1 }, applied: true }];
    const object = foo();
    const head = {
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      kind: { group: "foo.example.com", version: "v1alpha1", kind: "Foo" },
      name: "foo",
      namespace: "default",
      object,
    };
    interpreter.setWebhooks([exploring("hook")]);
    await interpreter.interpretNow("Retain", { object, observed });
    await interpreter.interpretNow("ReviseReplica", { object, replicas: 3 });
    await interpreter.interpretNow("AggregateStatus", { object, items });
    interpreter.setWebhooks([interpreting("hook")]);
    await interpreter.interpretNow("Prune", { object });
    const apiVersion = "config.karmada.io/v1alpha1";
    expect(asked).toEqual([
      {
        apiVersion,
        kind: "ExploreReview",
        request: { ...head, operation: "ExploreRetaining", observedObject: observed },
      },
      { apiVersion, kind: "ExploreReview", request: { ...head, operation: "ExploreReplicaRevising", replicas: 3 } },
      {
        apiVersion,
        kind: "ExploreReview",
        request: { ...head, operation: "ExploreStatusAggregating", aggregatedStatus: items },
      },
      { apiVersion, kind: "ResourceInterpreterContext", request: { ...head, operation: "Prune" } },
    ]);
    expect(new Set(asked.map(({ request }) => (request as JsonObject).uid)).size).toBe(4);
  });

  it("that is late fails at its timeout, with that reason", async () => {
    const { interpreter, clock } = bench({ webhook: () => new Promise(() => {}) });
    interpreter.setWebhooks([exploring("hook", { timeoutSeconds: 3 })]);
    interpreter.interpret("InterpretHealth", { object: foo() });
    await clock.advance(2_999);
    expect(interpreter.interpret("InterpretHealth", { object: foo() })).toEqual({
      state: "pending",
      source: "hook/foo.example.com",
    });
    await clock.advance(1);
    expect(interpreter.interpret("InterpretHealth", { object: foo() })).toMatchObject({
      state: "failed",
      code: "Timeout",
      reason: "webhook hook/foo.example.com: no answer within 3 s",
    });
    interpreter.stop();
  });

  it("waits 10 s without timeoutSeconds", async () => {
    const { interpreter, clock } = bench({ webhook: () => new Promise(() => {}) });
    interpreter.setWebhooks([interpreting("hook")]);
    interpreter.interpret("InterpretHealth", { object: foo() });
    await clock.advance(9_999);
    expect(interpreter.interpret("InterpretHealth", { object: foo() }).state).toBe("pending");
    await clock.advance(1);
    expect(interpreter.interpret("InterpretHealth", { object: foo() }).state).toBe("failed");
    interpreter.stop();
  });

  it("that failed is retried with backoff while the answer is read; then it recovers", async () => {
    let down = true;
    const answer = answering({ healthy: true });
    const { interpreter, clock, asked } = bench({
      webhook: (review, request) => (down ? { status: 503, body: "" } : answer(review, request)),
    });
    interpreter.setWebhooks([exploring("hook")]);
    const read = () => interpreter.interpret("InterpretHealth", { object: foo() });
    interpreter.onComplete(() => read());
    read();
    await clock.advance(30_000);
    const afterHalfAMinute = asked.length;
    expect(afterHalfAMinute).toBeGreaterThanOrEqual(5);
    expect(afterHalfAMinute).toBeLessThanOrEqual(8);
    expect(read()).toMatchObject({ state: "failed", code: "BadStatus" });
    down = false;
    await clock.advance(60_000);
    expect(known(read())).toBe(true);
    const afterRecovery = asked.length;
    await clock.advance(600_000);
    expect(asked.length).toBe(afterRecovery);
  });

  it("that failed is retried once, however often its answer is read meanwhile", async () => {
    const { interpreter, clock, asked } = bench({ webhook: () => ({ status: 503, body: "" }) });
    interpreter.setWebhooks([exploring("hook")]);
    interpreter.interpret("InterpretHealth", { object: foo() });
    await clock.advance(0);
    for (let read = 0; read < 5; read++) interpreter.interpret("InterpretHealth", { object: foo() });
    await clock.advance(600_000);
    expect(asked).toHaveLength(2);
  });

  it("that failed is not retried when its answer is no longer read", async () => {
    const { interpreter, clock, asked } = bench({ webhook: () => ({ status: 503, body: "" }) });
    interpreter.setWebhooks([exploring("hook")]);
    interpreter.interpret("InterpretHealth", { object: foo() });
    await clock.advance(600_000);
    expect(asked).toHaveLength(1);
    expect(clock.sleeping).toBe(0);
  });

  it("with failurePolicy Ignore leaves the answer to the layers below, and is retried", async () => {
    let down = true;
    const good = answering({ status: { from: "webhook" } });
    const { interpreter, clock, warnings } = bench({
      webhook: (review, request) => (down ? { body: "nonsense" } : good(review, request)),
    });
    interpreter.setWebhooks([exploring("hook", { failurePolicy: "Ignore" })]);
    const object = foo("1", { status: { from: "object" } });
    expect(await interpreter.interpretNow("InterpretStatus", { object })).toEqual({
      state: "known",
      value: { from: "object" },
      layer: "native",
      passedOver: expect.stringContaining("webhook hook/foo.example.com: "),
    });
    expect(warnings).toEqual([expect.stringContaining("not JSON")]);
    expect(await interpreter.interpretNow("InterpretHealth", { object })).toMatchObject({ code: "NoInterpreter" });
    down = false;
    interpreter.interpret("InterpretStatus", { object });
    await clock.advance(60_000);
    expect(interpreter.interpret("InterpretStatus", { object })).toMatchObject({ layer: "webhook" });
    interpreter.stop();
  });

  it("that changed or is gone loses its connections, and one that cannot be opened is retried", async () => {
    const opened: string[] = [];
    let retired = 0;
    const { interpreter } = bench({
      transports: async ({ origin, caPem, servername }) => {
        opened.push(`${origin} ${caPem ?? "-"} ${servername ?? "-"}`);
        if (opened.length === 1) throw new Error("no socket left");
        return { ...webhookTransport(answering({ healthy: true })), retire: async () => void retired++ };
      },
      resolveService: () => ({ origin: "https://10.0.0.7:8443", servername: "reader.ops.svc" }),
    });
    const service = { namespace: "ops", name: "reader" };
    interpreter.setWebhooks([exploring("hook", { clientConfig: { service } })]);
    const ask = (version: string) => interpreter.interpretNow("InterpretHealth", { object: foo(version) });
    expect(await ask("1")).toMatchObject({ code: "Unreachable", reason: expect.stringContaining("no socket left") });
    expect(await ask("1")).toMatchObject({ state: "known" });
    expect(await ask("2")).toMatchObject({ state: "known" });
    expect(opened).toEqual(Array(2).fill("https://10.0.0.7:8443 - reader.ops.svc"));
    interpreter.setWebhooks([exploring("hook", { clientConfig: { service }, timeoutSeconds: 5 })]);
    expect(await ask("3")).toMatchObject({ state: "known" });
    expect([opened.length, retired]).toEqual([3, 1]);
    interpreter.stop();
    await Promise.resolve();
    expect(retired).toBe(2);
  });

  it("is called once for all readers of the same answer, and never more often at once than allowed", async () => {
    let atOnce = 0;
    let most = 0;
    const answer = answering({ healthy: true });
    const { interpreter, clock, asked } = bench({
      webhookLimits: { callsAtOnce: 2 },
      webhook: async (review, request) => {
        most = Math.max(most, ++atOnce);
        await clock.sleep(100);
        atOnce--;
        return answer(review, request);
      },
    });
    interpreter.setWebhooks([exploring("hook")]);
    const ask = (version: number) => interpreter.interpretNow("InterpretHealth", { object: foo(String(version)) });
    const waiting = [0, 1, 2, 3, 4, 0, 1, 2, 3, 4].map(ask);
    await clock.advance(150);
    waiting.push(...[5, 6, 7, 8, 9].map(ask));
    const outcomes = await clock.run(Promise.all(waiting));
    expect(outcomes.every(({ state }) => state === "known")).toBe(true);
    expect(asked).toHaveLength(10);
    expect(most).toBe(2);
  });

  it("with too many waiting calls fails at once instead of queueing more", async () => {
    const { interpreter, clock } = bench({
      webhookLimits: { callsAtOnce: 1, callsWaiting: 1 },
      webhook: () => new Promise(() => {}),
    });
    interpreter.setWebhooks([exploring("hook")]);
    for (const version of ["1", "2"]) interpreter.interpret("InterpretHealth", { object: foo(version) });
    expect(await interpreter.interpretNow("InterpretHealth", { object: foo("3") })).toMatchObject({
      code: "Overloaded",
    });
    await clock.advance(0);
    interpreter.stop();
  });
});

it("an object that nests deeper than any API server allows is refused by every layer", async () => {
  let deep: JsonObject = {};
  for (let level = 0; level < 100_000; level++) deep = { deep };
  const object = {
    apiVersion: "foo.example.com/v1alpha1",
    kind: "Foo",
    metadata: { name: "foo", namespace: "x" },
    spec: deep,
  };
  const { interpreter } = bench({ webhook: answering({ healthy: true }) });
  interpreter.setWebhooks([exploring("hook")]);
  expect(await interpreter.interpretNow("InterpretHealth", { object })).toMatchObject({
    state: "failed",
    code: "BadObject",
  });
  interpreter.setCustomizations([customization("mine", FOO, { healthInterpretation: healthScript("true") })]);
  expect(interpreter.interpret("InterpretHealth", { object })).toMatchObject({ state: "failed" });
});

describe("the cache", () => {
  it("is bounded: the least recently used answer is computed again", async () => {
    const { interpreter, clock, asked } = bench({ entriesPerOperation: 2, webhook: answering({ healthy: true }) });
    interpreter.setWebhooks([exploring("hook")]);
    for (const version of ["1", "2", "1", "3", "1", "2"]) {
      interpreter.interpret("InterpretHealth", { object: foo(version) });
      await clock.advance(0);
    }
    expect(asked).toHaveLength(4);
  });

  it("of operations that change an object is keyed by content, because the object may not be stored yet", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([
      customization("mine", FOO, {
        replicaRevision: "function ReviseReplica(o, n) o.spec.replicas = n return o end",
      }),
    ]);
    const revise = (image: string) =>
      known(interpreter.interpret("ReviseReplica", { object: foo("1", { spec: { image } }), replicas: 3 })).spec;
    expect(revise("a")).toEqual({ image: "a", replicas: 3 });
    expect(revise("b")).toEqual({ image: "b", replicas: 3 });
  });
});

describe("the leader", () => {
  const object = (status: JsonObject) => foo("1", { status });
  const leader = (status: JsonObject, fieldPath: string) =>
    known(bench().interpreter.interpret("InterpretLeader", { object: object(status), rule: { fieldPath } }));

  it("is read at the user's field path, as a name or a boolean", () => {
    expect(leader({ leader: "xline-1" }, "status.leader")).toEqual({ claim: "named", name: "xline-1" });
    expect(leader({ members: [{ name: "a" }, { name: "b" }] }, "status.members[1].name")).toEqual({
      claim: "named",
      name: "b",
    });
    expect(leader({ "io.example/lead": true }, "{.status['io.example/lead']}")).toEqual({ claim: "here" });
    expect(leader({ leads: false }, "$.status.leads")).toEqual({ claim: "elsewhere" });
    expect(leader({}, "status.leader")).toEqual({ claim: "unknown" });
    expect(leader({ leader: "" }, "status.leader")).toEqual({ claim: "unknown" });
  });

  it("at an invalid path, or with an invalid value, is a failure", () => {
    const { interpreter } = bench();
    const ask = (fieldPath: string) =>
      interpreter.interpret("InterpretLeader", { object: object({ leader: { x: 1 } }), rule: { fieldPath } });
    expect(ask("status[")).toMatchObject({ state: "failed", code: "BadAnswer", layer: "rule" });
    expect(ask("status.leader")).toMatchObject({ state: "failed", code: "BadAnswer" });
  });

  it("is found by the user's own script before any other layer", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([
      customization("mine", FOO, { leaderInterpretation: "function GetLeader(o) return 'x' end" }),
    ]);
    const ask = (luaScript?: string) =>
      interpreter.interpret("InterpretLeader", {
        object: object({ who: "y" }),
        ...(luaScript !== undefined && { rule: { luaScript } }),
      });
    expect(known(ask())).toEqual({ claim: "named", name: "x" });
    expect(known(ask("function GetLeader(o) return o.status.who end"))).toEqual({ claim: "named", name: "y" });
    expect(ask("function GetLeader(")).toMatchObject({ state: "failed", code: "BadCustomization", line: 1 });
  });

  it("is read from the report of an operator on the contract", () => {
    const report = { epoch: 4, revision: "r1", phase: "Done", desired: 2, updated: 2, ready: 2 };
    const ask = (crossCluster: JsonObject) =>
      known(bench().interpreter.interpret("InterpretLeader", { object: object({ crossCluster }) }));
    expect(ask({ ...report, leader: "xline-0" })).toEqual({ claim: "named", name: "xline-0" });
    expect(ask(report)).toEqual({ claim: "unknown" });
    const none = bench().interpreter.interpret("InterpretLeader", { object: object({}) });
    expect(none).toMatchObject({ state: "failed", code: "NoInterpreter" });
  });
});

import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../runtime/index.ts";
import type { Inputs, Operation } from "../operations.ts";
import { answering, bench, exploring, type FakeWebhook, foo, interpreting } from "../testing/interpreter.ts";

async function ask<O extends Operation>(
  operation: O,
  input: Inputs[O],
  webhook: FakeWebhook,
  configuration = interpreting,
) {
  const { interpreter } = bench({ webhook });
  interpreter.setWebhooks([configuration("h")]);
  return interpreter.interpretNow(operation, input);
}

const patch = (operations: unknown) => ({
  patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
  patchType: "JSONPatch",
});
const input = { object: foo("1", { spec: { size: 1, list: ["a"] } }) };

describe("an answer", () => {
  it("gives each operation its result, in both protocols", async () => {
    for (const configuration of [interpreting, exploring]) {
      const of = <O extends Operation>(operation: O, given: Inputs[O], fields: JsonObject) =>
        ask(operation, given, answering(fields), configuration);
      expect(await of("InterpretHealth", input, { healthy: false })).toMatchObject({ value: false });
      expect(
        await of("InterpretReplica", input, { replicas: 0, replicaRequirements: { resourceRequest: { cpu: "1" } } }),
      ).toMatchObject({ value: { replicas: 0, requirements: { resourceRequest: { cpu: "1" } } } });
      const secret = { apiVersion: "v1", kind: "Secret", namespace: "default", name: "s" };
      expect(await of("InterpretDependency", input, { dependencies: [secret, secret] })).toMatchObject({
        value: [secret],
      });
      const changed = patch([
        { op: "test", path: "/spec/size", value: 1 },
        { op: "replace", path: "/spec/size", value: 2 },
        { op: "add", path: "/spec/list/-", value: "b" },
      ]);
      const wanted = { state: "known", value: { spec: { size: 2, list: ["a", "b"] } } };
      expect(await of("Prune", input, changed)).toMatchObject(wanted);
      expect(await of("Retain", { ...input, observed: foo() }, changed)).toMatchObject(wanted);
      expect(await of("ReviseReplica", { ...input, replicas: 2 }, changed)).toMatchObject(wanted);
      expect(await of("AggregateStatus", { ...input, items: [] }, changed)).toMatchObject(wanted);
      expect(await of("Prune", input, {})).toMatchObject({ state: "known", value: input.object });
    }
    expect(input.object.spec).toEqual({ size: 1, list: ["a"] });
  });

  it("contains the status under each protocol's own name", async () => {
    expect(await ask("InterpretStatus", input, answering({ rawStatus: { a: 1 } }))).toMatchObject({ value: { a: 1 } });
    expect(await ask("InterpretStatus", input, answering({ status: { a: 1 } }), exploring)).toMatchObject({
      value: { a: 1 },
    });
    expect(await ask("InterpretStatus", input, answering({}), exploring)).toMatchObject({ value: null });
    expect(await ask("InterpretStatus", input, answering({}))).toMatchObject({ code: "BadAnswer" });
    const components = [{ name: "worker", replicas: 2 }];
    expect(await ask("InterpretComponent", input, answering({ components }))).toMatchObject({ value: components });
  });

  it("with components is only in Karmada's protocol", async () => {
    expect(await ask("InterpretComponent", input, answering({}), exploring)).toMatchObject({ code: "NoInterpreter" });
  });
});

describe("an invalid answer of a webhook is refused", () => {
  const body =
    (change: (review: JsonObject) => Json): FakeWebhook =>
    (review, request) => {
      const good = answering({ healthy: true })(review, request);
      if (good instanceof Promise || typeof good.body === "string") throw new Error("the fake answers at once");
      return { body: change(good.body as JsonObject) };
    };

  it.each<[string, FakeWebhook, string]>([
    [
      "another uid",
      body((good) => ({ ...good, response: { ...(good.response as JsonObject), uid: "x" } })),
      "WrongUid",
    ],
    ["another kind", body((good) => ({ ...good, kind: "AdmissionReview" })), "WrongKind"],
    ["another version", body((good) => ({ ...good, apiVersion: "config.karmada.io/v1" })), "WrongKind"],
    ["no response", body(({ response: _, ...good }) => good), "Malformed"],
    ["a list", body(() => []), "Malformed"],
    ["null", body(() => null), "Malformed"],
    ["no JSON", () => ({ body: "OK" }), "Malformed"],
    ["nothing", () => ({ body: "" }), "Malformed"],
    ["half of it", () => ({ body: '{"apiVersion":"config' }), "Malformed"],
    [
      "too deep",
      answering({ healthy: true, rawStatus: JSON.parse(`${"[".repeat(300)}${"]".repeat(300)}`) }),
      "Malformed",
    ],
    ["far too deep", () => ({ body: `${"[".repeat(100_000)}${"]".repeat(100_000)}` }), "Malformed"],
    ["too long", () => ({ body: `"${"x".repeat(4 * 1024 * 1024)}"` }), "TooLarge"],
    ["a redirect", () => ({ status: 307, body: "" }), "Redirect"],
    ["no content", () => ({ status: 204, body: "" }), "BadStatus"],
    ["a server error", () => ({ status: 500, body: "" }), "BadStatus"],
    ["a text for a boolean", answering({ healthy: "true" }), "BadAnswer"],
    ["nothing for a boolean", answering({}), "BadAnswer"],
    ["not successful", answering({ successful: false, status: { code: 418, message: "teapot" } }), "Unsuccessful"],
  ])("if it has or is %s", async (_, webhook, code) => {
    expect(await ask("InterpretHealth", input, webhook)).toMatchObject({ state: "failed", code, layer: "webhook" });
  });

  it.each<[string, JsonObject]>([
    ["no type", { patch: patch([]).patch }],
    ["another type", { ...patch([]), patchType: "MergePatch" }],
    ["no patch", { patchType: "JSONPatch" }],
    ["no base64 JSON", { patch: "!!!", patchType: "JSONPatch" }],
    ["no list", patch({ op: "add" })],
    ["an unknown operation", patch([{ op: "swap", path: "/spec" }])],
    ["no value", patch([{ op: "add", path: "/spec/x" }])],
    ["a failing test", patch([{ op: "test", path: "/spec/size", value: 9 }])],
    ["a missing path", patch([{ op: "remove", path: "/spec/none" }])],
    ["a path beside the object", patch([{ op: "replace", path: "/nowhere/deep", value: 1 }])],
    ["an index beyond the list", patch([{ op: "add", path: "/spec/list/9", value: 1 }])],
    ["an attack on the prototype", patch([{ op: "add", path: "/__proto__/polluted", value: true }])],
    ["copies of copies", patch(Array.from({ length: 30 }, (_, at) => ({ op: "copy", from: "", path: `/x${at}` })))],
    ["ten thousand operations and one", patch(Array(10_001).fill({ op: "test", path: "/spec/size", value: 1 }))],
  ])("if it is a patch with %s", async (_, fields) => {
    expect(await ask("Prune", input, answering(fields))).toMatchObject({ state: "failed", code: "BadPatch" });
    expect({}).not.toHaveProperty("polluted");
  });

  it("if it is a patch that changes the object's identity, or removes the object", async () => {
    const rename = patch([{ op: "replace", path: "/metadata/name", value: "other" }]);
    expect(await ask("Prune", input, answering(rename))).toMatchObject({ code: "BadAnswer" });
    expect(await ask("Prune", input, answering(patch([{ op: "replace", path: "", value: 1 }])))).toMatchObject({
      state: "failed",
    });
  });
});

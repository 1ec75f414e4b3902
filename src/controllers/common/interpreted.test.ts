import { describe, expect, it } from "vitest";
import { bench, customization, exploring, foo } from "../../interpret/testing/interpreter.ts";
import { answerOf, packed, replicaSource } from "./interpreted.ts";

const FOO = "foo.example.com/v1alpha1/Foo";
const HOOK = "hook/foo.example.com";
const never = () => new Promise<never>(() => {});

describe("an answer that decides what members get", () => {
  it("is pending, with the webhook's name, while the webhook is asked and after it has failed", async () => {
    const { interpreter, clock } = bench({ webhook: never });
    interpreter.setWebhooks([exploring("hook")]);
    const ask = () => packed(interpreter, foo());
    expect(ask()).toMatchObject({ kind: "pending", message: expect.stringContaining(HOOK) });
    await clock.advance(3_000);
    expect(ask()).toMatchObject({ kind: "pending", message: `Prune: webhook ${HOOK}: no answer within 3 s` });
    interpreter.stop();
  });

  it("is not another layer's where a webhook with failurePolicy Ignore has failed", async () => {
    const { interpreter, clock } = bench({ webhook: never });
    interpreter.setWebhooks([exploring("hook", { failurePolicy: "Ignore" })]);
    packed(interpreter, foo());
    await clock.advance(3_000);
    expect(packed(interpreter, foo())).toMatchObject({
      kind: "pending",
      message: expect.stringContaining("no answer within 3 s"),
      remedy: expect.stringContaining("failurePolicy Ignore does not apply"),
    });
    interpreter.stop();
  });

  it("is refused where a script fails: only an edit can change that", () => {
    const { interpreter } = bench();
    const broken = 'function ReviseReplica(obj, desiredReplica)\n  error("no")\nend';
    interpreter.setCustomizations([customization("mine", FOO, { replicaRevision: broken })]);
    expect(replicaSource(interpreter, foo(), 2)).toMatchObject({
      kind: "refused",
      message: expect.stringMatching(/^ReviseReplica: customization mine: line 2: /),
    });
  });

  it("falls back to the object as it is where no interpreter reads its kind at all", () => {
    const { interpreter } = bench();
    const outcome = interpreter.interpret("ReviseReplica", { object: foo(), replicas: 2 });
    expect(answerOf("ReviseReplica", outcome)).toEqual({ kind: "none" });
    expect(replicaSource(interpreter, foo(), 2)).toEqual({ kind: "native" });
  });
});

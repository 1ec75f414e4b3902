import { describe, expect, it } from "vitest";
import type { JsonObject } from "../runtime/index.ts";
import type { Outcome } from "./outcome.ts";
import { bench, customization, foo } from "./testing/interpreter.ts";

const LONG = "function GetLeader(o) while true do end end";
const NEARLY_AS_LONG = "function GetLeader(o) for i = 1, 150000 do end return o.metadata.uid end";

/** The member's object in one of many clusters. */
function member(cluster: number): JsonObject {
  return { ...foo(), metadata: { name: "a", uid: `uid-${cluster}`, resourceVersion: "1" } };
}

function asking(luaScript: string) {
  const { interpreter, clock } = bench();
  const completed: JsonObject[] = [];
  interpreter.onComplete(({ object }) => completed.push(object));
  const ask = (cluster: number): Outcome<"InterpretLeader"> =>
    interpreter.interpret("InterpretLeader", { object: member(cluster), rule: { luaScript } });
  return { interpreter, clock, completed, ask };
}

describe("an application's own script", () => {
  it("that is fast answers for a hundred clusters at once", () => {
    const { ask } = asking("function GetLeader(o) return o.metadata.uid end");
    for (let cluster = 0; cluster < 100; cluster++) {
      expect(ask(cluster)).toMatchObject({ state: "known", value: { claim: "named", name: `uid-${cluster}` } });
    }
  });

  it("that takes long runs once, is suspended for ten times as long, and is pending for all other clusters meanwhile", async () => {
    const { ask, clock, completed } = asking(NEARLY_AS_LONG);
    const outcomes = Array.from({ length: 10 }, (_, cluster) => ask(cluster).state);
    expect(outcomes).toEqual(["known", ...Array(9).fill("pending")]);
    await clock.advance(20);
    expect(completed).toEqual([]);
    for (let second = 0; second < 3; second++) await clock.advance(1_000);
    expect(completed).toHaveLength(9);
    expect(ask(9)).toMatchObject({ state: "known", value: { claim: "named", name: "uid-9" } });
  });

  it("that never ends fails for each cluster, and never runs twice without a suspension", async () => {
    const { ask, clock } = asking(LONG);
    expect(ask(0)).toMatchObject({ state: "failed", code: "ScriptLimit" });
    expect(ask(1)).toMatchObject({ state: "pending" });
    expect(ask(2)).toMatchObject({ state: "pending" });
    await clock.advance(160);
    expect([ask(1).state, ask(2).state].sort()).toEqual(["failed", "pending"]);
    await clock.advance(160);
    expect([ask(1).state, ask(2).state]).toEqual(["failed", "failed"]);
  });

  it("does not suspend another application's script", () => {
    const { ask, interpreter } = asking(LONG);
    ask(0);
    const rule = { luaScript: "function GetLeader(o) return 'x' end" };
    expect(interpreter.interpret("InterpretLeader", { object: member(1), rule })).toMatchObject({ state: "known" });
  });

  it("that is suspended is waited for if the answer is needed", async () => {
    const { ask, clock, interpreter } = asking(NEARLY_AS_LONG);
    ask(0);
    const rule = { luaScript: NEARLY_AS_LONG };
    const answer = interpreter.interpretNow("InterpretLeader", { object: member(1), rule });
    await clock.advance(1_000);
    expect(await answer).toMatchObject({ state: "known", value: { claim: "named", name: "uid-1" } });
  });

  it("that is suspended when the interpreter stops leaves nothing behind", async () => {
    const { ask, clock, interpreter } = asking(LONG);
    ask(0);
    ask(1);
    interpreter.stop();
    await clock.advance(1_000);
    expect(ask(1).state).not.toBe("known");
  });

  it("that is large to compile answers after a suspension", async () => {
    const { ask, clock } = asking(`${"local x = 1 ".repeat(900)} function GetLeader(o) return true end`);
    expect(ask(0)).toMatchObject({ state: "pending" });
    await clock.advance(100);
    expect(ask(0)).toMatchObject({ state: "known", value: { claim: "here" } });
  });

  it.each([
    ["is too large", "x = 1 ".repeat(10_000), /is too large: compiling takes more than \d+ steps/],
    ["is far too long", `-- ${"x".repeat(200_000)}`, /is longer than \d+ characters/],
    ["runs long before it defines anything", `while true do end ${LONG}`, /ran longer than/],
  ])("that %s is refused with the name of its field", (_what, luaScript, reason) => {
    expect(asking(luaScript).ask(0)).toMatchObject({
      state: "failed",
      code: "BadCustomization",
      reason: expect.stringMatching(reason),
    });
  });

  it("that returns a leader longer than any name is refused, because the answer would be cached", () => {
    const { ask } = asking("function GetLeader(o) local s = 'x' for i = 1, 16 do s = s .. s end return s end");
    const reason = expect.stringContaining("a name of at most 253 characters, found 65536");
    expect(ask(0)).toMatchObject({ state: "failed", code: "BadAnswer", reason });
  });
});

it("a customization's script answers for large objects one after the other, without a suspension", () => {
  const { interpreter } = bench();
  const luaScript = "function InterpretHealth(o) for i = 1, 100000 do end return true end";
  interpreter.setCustomizations([
    customization("a", "foo.example.com/v1alpha1/Foo", { healthInterpretation: luaScript }),
  ]);
  for (let cluster = 0; cluster < 3; cluster++) {
    expect(interpreter.interpret("InterpretHealth", { object: member(cluster) })).toMatchObject({ state: "known" });
  }
});

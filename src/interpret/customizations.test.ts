import { describe, expect, it } from "vitest";
import type { JsonObject } from "../runtime/index.ts";
import { bench, customization, foo, known } from "./testing/interpreter.ts";

const FOO = "foo.example.com/v1alpha1/Foo";
const health = (answer: string) => ({ healthInterpretation: `function InterpretHealth(o) return ${answer} end` });
const broken = { healthInterpretation: "function InterpretHealth(o)\n  return true\n" };
const dependencies = (...names: string[]) => ({
  dependencyInterpretation: `function GetDependencies(o)
    local found = {}
    for _, name in ipairs({${names.map((name) => `"${name}"`).join()}}) do
      found[#found + 1] = {apiVersion = "v1", kind = "Secret", namespace = "default", name = name}
    end
    return found
  end`,
});

describe("several customizations of one kind", () => {
  it("the first by name that has the operation wins, regardless of the order in the list", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([customization("b", FOO, health("false")), customization("a", FOO, health("true"))]);
    expect(interpreter.interpret("InterpretHealth", { object: foo() })).toMatchObject({ value: true, source: "a" });
    expect(interpreter.reports()).toMatchObject([
      { name: "a", problems: [] },
      {
        name: "b",
        problems: [{ severity: "warning", reason: expect.stringContaining("customization a also has it") }],
      },
    ]);
  });

  it("each operation comes from the customization that has it", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([
      customization("a", FOO, { ...health(""), replicaResource: "" }),
      customization("b", FOO, { replicaResource: "function GetReplicas(o) return 2 end" }),
    ]);
    expect(interpreter.interpret("InterpretReplica", { object: foo() })).toMatchObject({ value: { replicas: 2 } });
  });

  it("dependencies are collected from all, each once, in a fixed order", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([
      customization("b", FOO, dependencies("z", "m")),
      customization("a", FOO, dependencies("m", "a")),
    ]);
    const found = known(interpreter.interpret("InterpretDependency", { object: foo() }));
    expect(found.map(({ name }) => name)).toEqual(["a", "m", "z"]);
    expect(interpreter.reports().flatMap(({ problems }) => problems)).toEqual([]);
  });
});

describe("a customization that does not compile", () => {
  it("is reported with field, line and reason, and its operation fails instead of being guessed", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([customization("a", FOO, broken)]);
    const [report] = interpreter.reports();
    expect(report).toMatchObject({ name: "a", inForce: "part" });
    expect(report?.problems).toEqual([
      {
        severity: "error",
        field: "spec.customizations.healthInterpretation.luaScript",
        line: 3,
        reason: expect.stringMatching(/end/),
      },
    ]);
    expect(interpreter.interpret("InterpretHealth", { object: foo() })).toMatchObject({
      state: "failed",
      code: "BadCustomization",
      line: 3,
    });
  });

  it("leaves its last valid version in force until a valid one arrives", () => {
    const { interpreter } = bench();
    const ask = () => known(interpreter.interpret("InterpretHealth", { object: foo() }));
    interpreter.setCustomizations([customization("a", FOO, health("true"), { resourceVersion: "1" })]);
    expect(ask()).toBe(true);
    const bad = customization("a", FOO, broken, { resourceVersion: "2", generation: 2 });
    interpreter.setCustomizations([bad]);
    expect(ask()).toBe(true);
    expect(interpreter.reports()).toMatchObject([{ generation: 2, inForce: "old", problems: [{ severity: "error" }] }]);
    interpreter.setCustomizations([bad]);
    expect(ask()).toBe(true);
    expect(interpreter.reports()).toMatchObject([{ inForce: "old" }]);
    interpreter.setCustomizations([customization("a", FOO, health("false"), { resourceVersion: "3" })]);
    expect(ask()).toBe(false);
    expect(interpreter.reports()).toMatchObject([{ inForce: "this", problems: [] }]);
    interpreter.setCustomizations([]);
    expect(interpreter.interpret("InterpretHealth", { object: foo() })).toMatchObject({ code: "NoInterpreter" });
  });

  it("is not in force again after it was deleted", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([customization("a", FOO, health("true"))]);
    interpreter.setCustomizations([]);
    interpreter.setCustomizations([customization("a", FOO, broken)]);
    expect(interpreter.interpret("InterpretHealth", { object: foo() })).toMatchObject({ code: "BadCustomization" });
  });

  it("is the one that is reported if the version before it did not compile either", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([customization("a", FOO, broken)]);
    interpreter.setCustomizations([customization("a", FOO, { healthInterpretation: "return" })]);
    expect(interpreter.reports()).toMatchObject([{ inForce: "part" }]);
    expect(interpreter.interpret("InterpretHealth", { object: foo() })).toMatchObject({
      code: "BadCustomization",
      reason: expect.stringContaining("does not define InterpretHealth"),
    });
  });

  it("affects neither another kind, nor another operation of its own", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([
      customization("a", FOO, { ...broken, replicaResource: "function GetReplicas(o) return 2 end" }),
      customization("b", "bar.example.com/v1/Bar", health("true")),
      { kind: "ResourceInterpreterCustomization" },
      { metadata: { name: "c" }, spec: { target: "no", customizations: [] } },
      { metadata: { name: "d" }, spec: { target: { apiVersion: 1, kind: {} }, customizations: 1 } } as JsonObject,
    ]);
    const bar = { apiVersion: "bar.example.com/v1", kind: "Bar", metadata: { name: "bar" } };
    expect(known(interpreter.interpret("InterpretHealth", { object: bar }))).toBe(true);
    expect(known(interpreter.interpret("InterpretReplica", { object: foo() }))).toEqual({ replicas: 2 });
    const errors = interpreter.reports().map(({ name, problems }) => [name, problems.map(({ field }) => field)]);
    expect(errors).toEqual([
      ["", ["metadata.name", "spec.target.apiVersion", "spec.target.kind", "spec.customizations"]],
      ["a", ["spec.customizations.healthInterpretation.luaScript"]],
      ["b", []],
      ["c", ["spec.target.apiVersion", "spec.target.kind", "spec.customizations"]],
      ["d", ["spec.target.apiVersion", "spec.target.kind", "spec.customizations"]],
    ]);
  });

  it("the error for a script without its function shows how to write it", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([customization("a", FOO, { retention: "function Keep(a, b) return a end" })]);
    expect(interpreter.reports()[0]?.problems).toEqual([
      expect.objectContaining({ reason: expect.stringContaining("function Retain(desiredObj, observedObj)") }),
    ]);
  });

  it("the error for a script that fails while loading names the line; a script may read the time", () => {
    const { interpreter } = bench();
    interpreter.setCustomizations([
      customization("a", FOO, {
        healthInterpretation: "local started = os.time()\nfunction InterpretHealth(o) return o.status.at < started end",
        retention: "local x = nil\nlocal y = x.z\nfunction Retain(d) return d end",
      }),
    ]);
    expect(interpreter.reports()[0]?.problems).toEqual([
      expect.objectContaining({ field: "spec.customizations.retention.luaScript", line: 2 }),
    ]);
    expect(known(interpreter.interpret("InterpretHealth", { object: foo("1", { status: { at: 1 } }) }))).toBe(true);
  });

  it("an unknown key is reported, and the rest is used", () => {
    const { interpreter } = bench();
    const typo = customization("a", FOO, { ...health("true"), healthInterpretaton: "x" }, { resourceVersion: "1" });
    interpreter.setCustomizations([typo]);
    expect(known(interpreter.interpret("InterpretHealth", { object: foo() }))).toBe(true);
    const wanted = [
      { inForce: "this", problems: [{ severity: "warning", field: "spec.customizations.healthInterpretaton" }] },
    ];
    expect(interpreter.reports()).toMatchObject(wanted);
    interpreter.setCustomizations([typo]);
    expect(interpreter.reports()).toMatchObject(wanted);
  });
});

describe("answers of scripts", () => {
  const answer = (scripts: Record<string, string>) => {
    const { interpreter } = bench();
    interpreter.setCustomizations([customization("a", FOO, scripts)]);
    return interpreter;
  };

  it("must be of the operation's type", () => {
    expect(answer(health("1")).interpret("InterpretHealth", { object: foo() })).toMatchObject({
      code: "BadAnswer",
      reason: "customization a: the result of InterpretHealth must be true or false, found the number 1",
    });
    const replicas = (text: string) =>
      answer({ replicaResource: `function GetReplicas(o) return ${text} end` }).interpret("InterpretReplica", {
        object: foo(),
      });
    expect(replicas('"3"')).toMatchObject({ code: "BadAnswer" });
    expect(replicas("-1")).toMatchObject({ code: "BadAnswer" });
    expect(replicas("2.9")).toMatchObject({ value: { replicas: 2 } });
    expect(replicas("1, 5")).toMatchObject({ code: "BadAnswer" });
    expect(replicas('1, {resourceRequest = {cpu = "much"}}')).toMatchObject({
      code: "BadAnswer",
      reason: expect.stringContaining("resourceRequest.cpu must be a quantity"),
    });
    expect(replicas('1, {resourceRequest = {cpu = 0.5, memory = "1024Mi"}}')).toMatchObject({
      value: { requirements: { resourceRequest: { cpu: "500m", memory: "1Gi" } } },
    });
  });

  it("may change an object, but not its identity", () => {
    const retain = (body: string) =>
      answer({ retention: `function Retain(d, o) ${body} return d end` }).interpret("Retain", {
        object: foo(),
        observed: foo(),
      });
    expect(retain("d.spec = {a = 1}")).toMatchObject({ state: "known", value: { spec: { a: 1 } } });
    expect(retain('d.metadata.name = "other"')).toMatchObject({
      code: "BadAnswer",
      reason: expect.stringContaining("another object"),
    });
    expect(retain('d.kind = "Secret"')).toMatchObject({ code: "BadAnswer" });
  });

  it("that never come are stopped by the script's limits", () => {
    const interpreter = answer({ healthInterpretation: "function InterpretHealth(o) while true do end end" });
    expect(interpreter.interpret("InterpretHealth", { object: foo() })).toMatchObject({ code: "ScriptLimit" });
  });

  it("about progress follow from the counts unless the script sets more fields", () => {
    const progress = (table: string) =>
      known(
        answer({ progressInterpretation: `function GetProgress(o) return ${table} end` }).interpret(
          "InterpretProgress",
          {
            object: { ...foo(), metadata: { name: "foo", generation: 5 } },
          },
        ),
      );
    expect(progress("{desired = 3, updated = 3, ready = 3, observedGeneration = 5}")).toEqual({
      desired: 3,
      updated: 3,
      ready: 3,
      observed: "current",
      complete: true,
    });
    expect(progress("{desired = 3, updated = 2, ready = 3, observedGeneration = 5}")).toMatchObject({
      complete: false,
    });
    expect(progress("{desired = 3, updated = 3, ready = 3, observedGeneration = 4, complete = true}")).toMatchObject({
      observed: "stale",
      complete: false,
    });
    expect(progress("{desired = 3, updated = 3, ready = 3}")).toMatchObject({ observed: "unknown", complete: false });
    expect(progress("{desired = 3, ready = 3, observedGeneration = 5, complete = true}")).toMatchObject({
      complete: true,
    });
  });
});

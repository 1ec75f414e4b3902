import { describe, expect, it } from "vitest";
import type { Json } from "../../runtime/index.ts";
import { LuaRuntimeError, LuaScript } from "./index.ts";

const echo = LuaScript.compile(
  "function f(x) return x end function touch(x) for k, v in pairs(x) do end return x end",
  {
    name: "echo",
  },
);

function result(expression: string): Json | undefined {
  return LuaScript.compile(`function f() return ${expression} end`, { name: "t" }).call("f", [])[0];
}

describe("JSON as a Lua value", () => {
  it("null is nil: absent in objects, skipped in arrays", () => {
    const script = LuaScript.compile("function f(x) return #x.list, x.list[2], x.gone == nil, x end", { name: "t" });
    expect(script.call("f", [{ list: [1, null, 3], gone: null }])).toEqual([2, 3, true, { list: [1, 3] }]);
  });

  it("text of any alphabet survives", () => {
    const text = { grüße: "日本 \u{1f600} é", ascii: "x" };
    expect(echo.call("f", [text])).toEqual([text]);
    expect(echo.call("touch", [text])).toEqual([text]);
  });

  it("an incomplete character is replaced", () => {
    expect(echo.call("touch", [{ a: "\ud800" }])).toEqual([{ a: "\ufffd" }]);
  });

  it("the same table is one table", () => {
    const script = LuaScript.compile("function f(x) return x.spec == x.spec, x.spec ~= x.other end", { name: "t" });
    expect(script.call("f", [{ spec: { a: 1 }, other: { a: 1 } }])).toEqual([true, true]);
  });

  it("numeric strings as keys stay strings", () => {
    const script = LuaScript.compile("function f(x) return x['1'], x[1] end", { name: "t" });
    expect(script.call("f", [{ "1": "a", "2": "b" }])).toEqual(["a", null]);
    expect(echo.call("touch", [{ "1": "a", "2": "b" }])).toEqual([{ "1": "a", "2": "b" }]);
  });
});

describe("a Lua value as JSON", () => {
  it.each<[string, Json]>([
    ["nil", null],
    ["6/2", 3],
    ["-0", 0],
    ["0.1", 0.1],
    ["1e21", 1e21],
    ["{1, 'a', true}", [1, "a", true]],
    ["{a = {b = {1}}}", { a: { b: [1] } }],
    ["{['1'] = 'x'}", { "1": "x" }],
    ["'\\195\\169\\255'", "é\ufffd"],
  ])("%s becomes %j", (expression, expected) => {
    expect(result(expression)).toEqual(expected);
  });

  it("keys keep the order in which they were set", () => {
    expect(JSON.stringify(result("{z = 1, a = 2, m = 3}"))).toBe('{"z":1,"a":2,"m":3}');
  });

  it.each([
    ["0/0", "cannot encode NaN to JSON"],
    ["{a = 1/0}", "cannot encode Infinity to JSON (at a)"],
    ["{1, nil, 3}", "cannot encode sparse array"],
    ["{[0] = 1}", "cannot encode sparse array"],
    ["{1, a = 2}", "cannot encode mixed or invalid key types"],
    ["{a = 1, [1.5] = 2}", "cannot encode mixed or invalid key types"],
    ["{[true] = 1}", "cannot encode mixed or invalid key types"],
    ["{spec = {f = print}}", "cannot encode function to JSON (at spec.f)"],
    ["(function() local t = {} t.t = t return t end)()", "cannot encode recursively nested tables to JSON (at t)"],
    ["(function() local t = {1} return {t, t} end)()", "cannot encode recursively nested tables to JSON"],
  ])("%s has no JSON form", (expression, reason) => {
    try {
      result(expression);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(LuaRuntimeError);
      expect((error as LuaRuntimeError).reason).toBe(`the result of f has no JSON form: ${reason}`);
    }
  });
});

describe("empty tables", () => {
  const reference = { object: {}, array: [], list: [{ inner: {}, names: [] }], "a.b": {}, deep: { er: {} } };

  it("become what the references have there, touched or not", () => {
    for (const name of ["f", "touch"]) {
      expect(echo.call(name, [reference], { references: [reference] })).toEqual([reference]);
    }
  });

  it("are left out if no reference has them", () => {
    const script = LuaScript.compile("function f(x) x.new = {} x.list[1].more = {} x.keep = {1, {}} return x end", {
      name: "t",
    });
    expect(script.call("f", [reference], { references: [reference] })).toEqual([{ ...reference, keep: [1] }]);
    expect(echo.call("f", [reference])).toEqual([{ list: [{}], deep: {} }]);
  });

  it("an array that the script emptied is left out if no reference has it empty", () => {
    const script = LuaScript.compile("function f(x) table.remove(x.items) return x end", { name: "t" });
    expect(script.call("f", [{ items: [1], a: 1 }], { references: [{ items: [1], a: 1 }] })).toEqual([{ a: 1 }]);
    expect(script.call("f", [{ items: [1] }], { references: [{ items: [1] }, { items: [] }] })).toEqual([
      { items: [] },
    ]);
  });

  it("{} takes precedence over [] when references disagree", () => {
    const references = [{ a: [] }, { a: {} }];
    expect(echo.call("f", [{ a: {}, b: 1 }], { references })).toEqual([{ a: {}, b: 1 }]);
  });

  it("as the whole result become what the caller requests", () => {
    expect(echo.call("f", [{}])).toEqual([{}]);
    expect(echo.call("f", [{}], { emptyResult: "array" })).toEqual([[]]);
  });
});

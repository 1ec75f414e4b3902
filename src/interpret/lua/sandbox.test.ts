import { describe, expect, it } from "vitest";
import type { Json } from "../../runtime/index.ts";
import { LuaScript } from "./index.ts";

function run(body: string, ...args: Json[]): Json[] {
  return LuaScript.compile(`function f(x)\n${body}\nend`, { name: "test" }).call("f", args);
}

describe("what Karmada removes from Lua is removed here", () => {
  it.each([
    "collectgarbage",
    "dofile",
    "getfenv",
    "getmetatable",
    "load",
    "loadfile",
    "loadstring",
    "rawequal",
    "rawget",
    "rawset",
    "setfenv",
    "setmetatable",
    "module",
    "newproxy",
  ])("%s refuses to be called", (name) => {
    expect(run(`return pcall(${name}, {}, {})`)).toEqual([
      false,
      `<string>:2: call function ${name} is not supported in karmada customized resourceinterpreter.`,
    ]);
  });

  it.each(["gsub", "rep", "dump"])("string.%s refuses to be called", (name) => {
    const [ok, message] = run(`return pcall(string.${name}, "a", "b", "c")`);
    expect(ok).toBe(false);
    expect(message).toContain(`The Lua function string.${name} is not supported by Karmada.`);
  });

  it.each(["io", "debug", "coroutine", "channel", "os.exit", "os.getenv", "os.remove", "os.execute", "os.clock"])(
    "%s does not exist",
    (name) => {
      expect(run(`return type(${name})`)).toEqual(["nil"]);
    },
  );

  it("a string argument of more than a million bytes is refused", () => {
    const body = "local s = 'x' for i = 1, 20 do s = s .. s end return pcall(string.upper, s)";
    expect(run(body)[1]).toContain("string length 1048576 exceeds the maximum allowed input string length 1000000");
  });

  it("only kube and the libraries can be required", () => {
    expect(run("return type(require('kube').resourceAdd), require('string') == string")).toEqual(["function", true]);
    expect(run("return pcall(require, 'fs')")).toEqual([
      false,
      "<string>:2: module fs not found:\n\tno field package.preload['fs'], ",
    ]);
    expect(run("return pcall(package.loadlib, 'x')")[0]).toBe(false);
  });

  it("print has no output", () => {
    expect(run("print('hello') return 1")).toEqual([1]);
  });
});

describe("a script cannot leave its sandbox", () => {
  it.each([
    "return ('').constructor",
    "return ('x').__proto__",
    "return (print).constructor",
    "return f.prototype",
    "return f.call",
    "local t = {} return t.constructor.constructor('return process')()",
    "return x.constructor",
    "return x['__proto__'].polluted",
    "return string.constructor",
    "return _G.process",
    "return _G.globalThis",
    "return _G.constructor",
    "return require.main",
    "return math.constructor",
  ])("by %s", (body) => {
    expect(run(`return pcall(function() ${body} end)`, {})).not.toContainEqual(
      expect.objectContaining({ polluted: true }),
    );
    const [ok, answer] = run(`local ok, v = pcall(function() ${body} end) return ok, type(v)`, {});
    expect(ok === false || answer === "nil").toBe(true);
  });

  it("and never changes its input", () => {
    const input = { spec: { replicas: 1, list: [1, 2, { a: 1 }] } };
    const before = JSON.stringify(input);
    const [result] = run("x.spec.replicas = 9 x.spec.list[3].a = 2 x.new = true return x", input);
    expect(JSON.stringify(input)).toBe(before);
    expect(result).toEqual({ spec: { replicas: 9, list: [1, 2, { a: 2 }] }, new: true });
  });

  it("changing a result does not change the input, even if the script read nothing", () => {
    const input = { spec: { deep: { value: 1 } } };
    const [result] = run("return x", input);
    (result as typeof input).spec.deep.value = 2;
    expect(input.spec.deep.value).toBe(1);
  });
});

describe("two calls of a script share nothing", () => {
  it("globals, changed libraries and modules are gone in the next call", () => {
    const script = LuaScript.compile(
      `
      local kube = require("kube")
      function f()
        local seen = {count, string.mine, math.pi == 3, kube.extra, table.concat == nil}
        local result = tostring(count) .. tostring(string.mine) .. tostring(math.pi == 3) .. tostring(kube.extra)
        count = (count or 0) + 1
        string.mine = true math.pi = 3 kube.extra = 1 string.upper = nil _G.dynamic = 1 _G["key" .. "x"] = 2
        return result, ("a").upper == nil, _G.keyx
      end`,
      { name: "s" },
    );
    expect(script.call("f", [])).toEqual(["nilnilfalsenil", true, 2]);
    expect(script.call("f", [])).toEqual(["nilnilfalsenil", true, 2]);
  });

  it("a call that failed leaves nothing behind", () => {
    const script = LuaScript.compile("function f(x) leak = x if x then error('x') end return leak end", { name: "s" });
    expect(() => script.call("f", [true])).toThrow("x");
    expect(script.call("f", [null])).toEqual([null]);
  });

  it("random numbers are the same in every call", () => {
    const script = LuaScript.compile("function f() return math.random(), math.random(1, 100), math.random(5) end", {
      name: "s",
    });
    expect(script.call("f", [])).toEqual(script.call("f", []));
  });

  it("globals can be read and written through _G", () => {
    expect(run("y = 1 _G.z = 2 _G['w' .. 1] = 3 return _G.y, z, w1, _G._G == _G, _G.f == f")).toEqual([
      1,
      2,
      3,
      true,
      true,
    ]);
  });
});

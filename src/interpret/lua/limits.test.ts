import { describe, expect, it } from "vitest";
import { LuaLimitError, type LuaLimitName, type LuaLimits, LuaScript, LuaSyntaxError } from "./index.ts";

const SMALL: Partial<LuaLimits> = { fuel: 300_000, memoryBytes: 4 * 1024 * 1024 };
const LITTLE_FUEL: Partial<LuaLimits> = { fuel: 1_000_000, memoryBytes: 1024 ** 3 };
const LITTLE_MEMORY: Partial<LuaLimits> = { fuel: 1e12, memoryBytes: 4 * 1024 * 1024 };

function limitOf(body: string, limits: Partial<LuaLimits> = SMALL): LuaLimitName | "none" {
  try {
    LuaScript.compile(`function f()\n${body}\nend`, { name: "bomb" }).call("f", [], { limits });
    return "none";
  } catch (error) {
    if (error instanceof LuaLimitError) return error.limit;
    throw error;
  }
}

describe("the limit of fuel stops a script", () => {
  it.each([
    "while true do end",
    "repeat until false",
    "for i = 1, 1e18 do end",
    "for i = 1, 1, 0 do end",
    "::again:: goto again",
    "local function r() return r() end r()",
    "while true do pcall(function() while true do end end) end",
    "local function forever() while true do end end xpcall(forever, forever)",
    "local t = {3, 2, 1} table.sort(t, function() while true do end end)",
    "local s = '' for i = 1, 60 do s = s .. 'a' end return s:match('a*a*a*a*a*a*a*a*b')",
    "local s = 'x' for i = 1, 12 do s = s .. s end return s:match('.-.-.-.-y')",
    "while true do local s = ('%d'):format(1) end",
    "while true do local s = ('x'):upper() end",
    "while true do string.format('%99999d', 1) end",
    "local s = 'x' for i = 1, 19 do s = s .. s end local a, b = s .. 'y', s .. 'y' while true do local c = a == b end",
    "local s = 'x' for i = 1, 19 do s = s .. s end local a, b = s .. 'y', s .. 'z' while true do local c = a < b end",
    "local t = {} t[100000] = 1 t[100000] = nil while true do local n = #t end",
    "local t = {} for i = 1, 5000 do t['k' .. i] = 1 end for k in pairs(t) do t[k] = nil end while true do next(t) end",
    "local k = require('kube') while true do k.resourceAdd('1e2147483647', '1n') end",
    "while true do os.time({year = 1}) end",
  ])("%s", (body) => {
    expect(limitOf(body, LITTLE_FUEL)).toBe("fuel");
  });
});

describe("the limit of memory stops a script", () => {
  it.each([
    "local s = 'x' while true do s = s .. s end",
    "local s = 'x' while true do s = s .. 'x' end",
    "local t = {} while true do t[#t + 1] = {} end",
    "local t = {} local i = 0 while true do i = i + 1 t['k' .. i] = i end",
    "local t = {} t[67108863] = 1",
    "local t = {} while true do t = {t, function() return t end} end",
    "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end",
    "return unpack({}, 1, 1e9)",
    "local t = {} for i = 1, 1000 do t[i] = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' end while true do table.concat(t) end",
    "local t = {} while true do t[tostring({})] = 1 end",
  ])("%s", (body) => {
    expect(limitOf(body, LITTLE_MEMORY)).toBe("memory");
  });
});

describe("the limit of depth stops a script", () => {
  it.each([
    "local function r() return 1 + r() end r()",
    "local function r() local ok = pcall(r) return ok end r()",
    "local function r() xpcall(r, r) end r()",
    "local function r() table.sort({1, 2}, r) end r()",
    "local t = {} for i = 1, 300 do t[i] = pcall end return pcall(unpack(t))",
    "local t = 1 for i = 1, 1000 do t = {t} end return t",
    "local t = {} local c = t for i = 1, 1000 do c.x = {} c = c.x end c.y = 1 return t",
  ])("%s", (body) => {
    expect(limitOf(body)).toBe("depth");
  });

  it("that recurses through long expressions", () => {
    const sum = Array.from({ length: 60 }, () => "(1").join(" + ") + ")".repeat(60);
    expect(limitOf(`local function r() return ${sum.replace("(1", "(r()")} end r()`)).toBe("depth");
  });

  it("that returns a value that is too deep, even unchanged", () => {
    let deep: { x?: object } = {};
    for (let i = 0; i < 1000; i++) deep = { x: deep };
    const script = LuaScript.compile("function f(x) return x end", { name: "deep" });
    expect(() => script.call("f", [JSON.parse(JSON.stringify(deep))])).toThrow(LuaLimitError);
  });

  it.each([
    ["parentheses", `return ${"(".repeat(5000)}1`],
    ["tables", `return ${"{".repeat(5000)}`],
    ["functions", "function f() ".repeat(5000)],
    ["blocks", "if x then ".repeat(5000)],
    ["unary operators", `return ${"not ".repeat(5000)}1`],
    ["sums", `return ${"1 + ".repeat(5000)}1`],
    ["powers", `return ${"2 ^ ".repeat(5000)}1`],
    ["fields", `x${".a".repeat(5000)} = 1`],
    ["calls", `f${"()".repeat(5000)}`],
  ])("that nests %s too deeply, before it compiles", (_what, source) => {
    expect(() => LuaScript.compile(source, { name: "nested" })).toThrow(LuaSyntaxError);
  });
});

describe("limits of scripts", () => {
  it("name the script, the line and the limit", () => {
    const script = LuaScript.compile("function f()\n  local x = 1\n  while true do\n    x = x + 1\n  end\nend", {
      name: "endless",
    });
    expect(() => script.call("f", [], { limits: SMALL })).toThrow(/^endless:[34]: ran longer/);
  });

  it("start again with every call, and an exhausted call does not affect the next", () => {
    const script = LuaScript.compile("function f(x) while x do end return 'fine' end", { name: "s" });
    for (let i = 0; i < 3; i++) {
      expect(() => script.call("f", [true], { limits: SMALL })).toThrow(LuaLimitError);
      expect(script.call("f", [false], { limits: SMALL })).toEqual(["fine"]);
    }
  });

  it("limit a result to the size of an object, even if it contains one text many times", () => {
    const returning = (texts: string) =>
      LuaScript.compile(`function f() local s = 'x' for i = 1, 20 do s = s .. s end return ${texts} end`, {
        name: "s",
      });
    expect(returning("{s, {a = s}}").call("f", [])).toHaveLength(1);
    expect(() => returning("{s, {a = s}, s}").call("f", [])).toThrow("a value has more than 3145728 bytes as JSON");
  });

  it("release everything that a call has created", () => {
    const script = LuaScript.compile(
      "function f() kept = {} for i = 1, 9 do kept[i] = {} end return tostring(kept) end",
      {
        name: "s",
      },
    );
    const [first] = script.call("f", []);
    expect(script.call("f", [])).toEqual([first]);
    expect(script.usage().memoryBytes).toBeGreaterThan(1_000);
    expect(script.has("kept")).toBe(false);
  });

  it("by default do not affect ordinary scripts", () => {
    const body = "local n = 0 for i = 1, 50000 do n = n + i end local s = '' for i = 1, 1000 do s = s .. i end";
    expect(limitOf(body, {})).toBe("none");
  });
});

import { describe, expect, it } from "vitest";
import type { Json } from "../../runtime/index.ts";
import { LuaRuntimeError, LuaScript, LuaSyntaxError } from "./index.ts";

/** The values that the body of a function returns. */
function run(body: string, ...args: Json[]): Json[] {
  return LuaScript.compile(`function f(x)\n${body}\nend`, { name: "test" }).call("f", args, { emptyResult: "array" });
}

function value(expression: string): Json | undefined {
  return run(`return ${expression}`)[0];
}

function failure(body: string): string {
  try {
    run(body);
  } catch (error) {
    if (error instanceof LuaRuntimeError) return error.reason;
    throw error;
  }
  return "";
}

// Every expectation below is the answer of gopher-lua 1.1.1 in Karmada's sandbox.
describe("Lua numbers", () => {
  it.each([
    ["tostring(6/2)", "3"],
    ["10 .. ''", "10"],
    ["1.5 .. ''", "1.5"],
    ["tostring(1234567.5)", "1.2345675e+06"],
    ["tostring(0.0001)", "0.0001"],
    ["tostring(1e-5)", "1e-05"],
    ["tostring(2^53)", "9007199254740992"],
    ["tostring(2^62)", "4611686018427387904"],
    ["tostring(2^63)", "9.223372036854776e+18"],
    ["tostring(-0.0)", "0"],
    ["tostring(0/0)", "NaN"],
    ["tostring(-1/0)", "-Inf"],
    ["-7 % 3", 2],
    ["7 % -3", -2],
    ["5.5 % 2", 1.5],
    ["2^3^2", 512],
    ["-2^2", -4],
    ["'10' + 1", 11],
    ["' 0x10 ' + 0", 16],
    ["'010' + 0", 8],
    ["'1e3' * 1", 1000],
    ["-'5'", -5],
    ["tonumber('1e3')", null],
    ["tonumber('0x1F')", 31],
    ["tonumber('z', 36)", 35],
    ["tonumber('12', 2)", null],
    ["tonumber(' 1.5 ')", 1.5],
    ["tonumber({})", null],
    ["math.floor(-1.5)", -2],
    ["math.max(1, '7', 3)", 7],
    ["math.huge == 2^1024", false],
  ])("%s is %j", (expression, expected) => {
    expect(value(expression)).toBe(expected);
  });

  it("a numeric loop steps like gopher-lua, also down and by fractions", () => {
    expect(run("local r = {} for i = 10, 1, -3 do r[#r+1] = i end return r")).toEqual([[10, 7, 4, 1]]);
    expect(run("local n = 0 for i = 0, 1, 0.25 do n = n + 1 end return n")).toEqual([5]);
    expect(failure("for i = '1', 2 do end")).toBe("for statement init must be a number");
  });
});

describe("Lua tables", () => {
  it("pairs visits the array, then the keys in the order in which they were first set", () => {
    const body = `
      local t = {z = 1, 10, y = 2, 20}
      t.x = 3 t.z = nil t.w = 4 t.z = 5
      local r = {}
      for k, v in pairs(t) do r[#r+1] = k .. "=" .. v end
      return table.concat(r, " ")`;
    expect(run(body)).toEqual(["1=10 2=20 z=5 y=2 x=3 w=4"]);
  });

  it("the length is the position of the last value, regardless of holes before it", () => {
    expect(run("local t = {} t[5] = 1 return #t, #{1, nil, 3}, #{n = 1}")).toEqual([5, 3, 0]);
    expect(run("local t = {1, 2, 3} t[3] = nil return #t, table.remove(t), table.remove(t)")).toEqual([2, null, 2]);
  });

  it("inserts, removes, joins and sorts", () => {
    expect(run("local t = {1, 2, 3} table.insert(t, 2, 'x') table.insert(t, 'e') return t")).toEqual([
      [1, "x", 2, 3, "e"],
    ]);
    expect(run("local t = {1, 2, 3} return table.remove(t, 1), table.remove(t, 9), t")).toEqual([1, null, [2, 3]]);
    expect(
      run("return table.concat({1, 'b', 2.5}, ', '), table.concat({}), table.concat({1, 2, 3}, '-', 2, 3)"),
    ).toEqual(["1, b, 2.5", "", "2-3"]);
    expect(run("local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return t")).toEqual([[3, 2, 1]]);
    expect(failure("table.sort({3, 'a'})")).toBe("attempt to compare string with number");
    expect(failure("return table.concat({1, {}})")).toBe("invalid value (table) at index 2 in table for concat");
  });

  it("sorting keeps the order of equal elements and survives an inconsistent order", () => {
    const body = `
      local t = {}
      for i = 1, 40 do t[i] = {i % 3, i} end
      table.sort(t, function(a, b) return a[1] < b[1] end)
      for i = 2, 40 do assert(t[i-1][1] < t[i][1] or t[i-1][2] < t[i][2]) end
      table.sort(t, function() return true end)
      return #t`;
    expect(run(body)).toEqual([40]);
  });

  it("a key set while traversing the table does not disturb the loop", () => {
    expect(run("local t = {a = 1, b = 2, c = 3} for k in pairs(t) do t[k] = nil end return next(t)")).toEqual([null]);
    expect(
      run("local t = {1, 2, 3} local n = 0 for k, v in pairs(t) do n = n + 1 t[k] = v * 2 end return n, t"),
    ).toEqual([3, [2, 4, 6]]);
  });

  it("next continues after any key", () => {
    expect(run("local t = {10, a = 1} return next(t, 1)")).toEqual(["a", 1]);
    expect(run("return next({})")).toEqual([null]);
  });

  it("keys that JavaScript treats specially are ordinary", () => {
    const body = `
      local t = {}
      local missing = tostring(t.constructor) .. tostring(t.toString) .. tostring(t.__proto__)
      t.__proto__ = {polluted = true} t.constructor = 1 t.hasOwnProperty = 2
      return missing, t, ({}).polluted, t.polluted`;
    const [missing, table, ...rest] = run(body);
    expect(missing).toBe("nilnilnil");
    expect(JSON.stringify(table)).toBe('{"__proto__":{"polluted":true},"constructor":1,"hasOwnProperty":2}');
    expect(rest).toEqual([null, null]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe("Lua functions", () => {
  it("take varargs, and return several results unless in parentheses", () => {
    expect(run("local function g(...) return select('#', ...), ... end return g(1, nil, 3)")).toEqual([3, 1, null, 3]);
    expect(run("local function g() return 1, 2 end return (g())")).toEqual([1]);
    expect(run("local function g() return 1, 2 end return {g(), g()}")).toEqual([[1, 1, 2]]);
    expect(run("local function g(...) return arg.n, arg[2] end return g(7, 8)")).toEqual([2, 8]);
    expect(run("return select(-1, 'a', 'b'), select('#'), unpack({1, 2, 3}, 2)")).toEqual(["b", 0, 2, 3]);
  });

  it("every iteration of a loop has its own variable to capture", () => {
    expect(
      run("local t = {} for i = 1, 3 do t[i] = function() i = i + 1 return i end end return t[1](), t[1](), t[2]()"),
    ).toEqual([2, 3, 3]);
  });

  it("functions share what they capture, also through several levels", () => {
    const body = `
      local n = 0
      local function outer() return function() n = n + 1 return n end end
      local a, b = outer(), outer()
      a() b()
      return a(), n`;
    expect(run(body)).toEqual([3, 3]);
  });

  it("a call in tail position does not nest", () => {
    expect(
      run("local function loop(n) if n == 0 then return 'done' end return loop(n - 1) end return loop(50000)"),
    ).toEqual(["done"]);
  });

  it("work with methods, goto, repeat and multiple assignment", () => {
    expect(
      run("local o = {n = 1} function o:add(k) self.n = self.n + k return self end return o:add(2):add(3).n"),
    ).toEqual([6]);
    expect(
      run("local r = {} for i = 1, 5 do if i % 2 == 0 then goto next end r[#r+1] = i ::next:: end return r"),
    ).toEqual([[1, 3, 5]]);
    expect(run("local i = 0 repeat local last = i >= 3 i = i + 1 until last return i")).toEqual([4]);
    expect(run("local a, b, c = 1, 2 a, b = b, a return a, b, c")).toEqual([2, 1, null]);
    expect(run("local t = {1, 2} local i = 1 i, t[i] = i + 1, 20 return i, t")).toEqual([2, [20, 2]]);
  });
});

describe("Lua strings", () => {
  it("count bytes, and change the case of letters beyond ASCII", () => {
    expect(run("return #x, x:upper(), x:sub(1, 1), ('abc'):reverse(), ('abc'):byte(-1)", "hé")).toEqual([
      3,
      "HÉ",
      "h",
      "cba",
      99,
    ]);
  });

  it.each([
    ["('hello'):sub(2, -2)", "ell"],
    ["('hello'):sub(-3)", "llo"],
    ["('hello'):sub(10)", ""],
    ["('hello'):find('l')", 3],
    ["('a.b'):find('.', 1, true)", 2],
    ["('hello'):find('xyz')", null],
    ["('key=value'):match('(%w+)=')", "key"],
    ["('  trim '):match('^%s*(.-)%s*$')", "trim"],
    ["('f(a(b)c)d'):match('%b()')", "(a(b)c)"],
    ["('abcabc'):match('(abc)%1')", "abc"],
    ["('a]b'):match('[]]')", "]"],
    ["('az-'):match('[a-]+')", "a"],
    ["('aaa'):match('a-$')", "aaa"],
    ["('***'):match('**')", "***"],
    ["('ab'):match('()%w%1')", 1],
    ["('2024-01'):match('^(%d+)%-(%d+)$')", "2024"],
    ["string.format('%d|%5.2f|%x|%05d|%-4s|%q', 3.7, 3.14159, 255, 42, 'a', 'b\"c')", '3| 3.14|ff|00042|a   |"b\\"c"'],
    ["string.format('%.0f %.0f %g %e', 0.5, 2.5, 1e20, 12345.678)", "0 2 1e+20 1.234568e+04"],
    ["string.format('%s %s', nil, 3)", "nil 3"],
    ["string.format('%s')", "%!s(MISSING)"],
    ["string.format('%d', '10')", "10"],
    ["string.char(72, 105)", "Hi"],
    ['"\\65\\066\\t\\q"', "AB\tq"],
    ["[==[a]]b]==]", "a]]b"],
  ])("%s is %j", (expression, expected) => {
    expect(value(expression)).toBe(expected);
  });

  it("gmatch returns every match with its captures", () => {
    expect(run("local r = {} for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do r[#r+1] = k .. v end return r")).toEqual(
      [["a1", "b2"]],
    );
  });

  it("a bad pattern is an error of the script", () => {
    expect(failure("return ('x'):match('(')")).toBe("unfinished capture at EOS");
    expect(failure("return ('x'):match('[a')")).toBe("unexpected EOS at 1");
  });
});

describe("Lua errors", () => {
  it.each([
    ["return x.a.b", "attempt to index a non-table object(nil) with key 'a' (local 'x')"],
    ["local t = {} t.spec.replicas = 1", "attempt to index a non-table object(nil) with key 'replicas' (field 'spec')"],
    ["missing()", "attempt to call a non-function object (global 'missing')"],
    ["return 1 + nil", "cannot perform add operation between number and nil"],
    ["return 'abc' * 2", "cannot perform mul operation between string and number"],
    ["return 'a' .. {} .. 'b'", "cannot perform concat operation between table and string"],
    ["return 1 < '2'", "attempt to compare number with string"],
    ["return {} < {}", "attempt to compare table with table"],
    ["return #nil", "__len undefined: cannot take the length of a nil"],
    ["local t = {} t[nil] = 1", "table index is nil"],
    ["local t = {} t[0/0] = 1", "table index is NaN"],
    ["for k in pairs(nil) do end", "bad argument #1 to pairs (table expected, got nil)"],
    ["table.insert({})", "wrong number of arguments"],
    ["return ('x'):sub('1')", "bad argument #2 to sub (number expected, got string)"],
    ["error('boom')", "boom"],
    ["error('boom', 0)", "boom"],
    ["assert(nil, 'why')", "why"],
    ["assert(false)", "assertion failed!"],
  ])("%s", (body, reason) => {
    expect(failure(body)).toBe(reason);
  });

  it("name the script and the line", () => {
    const script = LuaScript.compile("\nfunction f(x)\n  local y = x\n  return y.z\nend", { name: "kafka health" });
    expect(() => script.call("f", [null])).toThrow(
      expect.objectContaining({ script: "kafka health", line: 4, name: "LuaRuntimeError" }),
    );
    expect(() => script.call("f", [null])).toThrow(/^kafka health:4: attempt to index/);
  });

  it("pcall returns gopher-lua's messages", () => {
    expect(run("return pcall(function() error('boom') end)")).toEqual([false, "<string>:2: boom"]);
    expect(run("return pcall(error, {code = 7})")).toEqual([false, { code: 7 }]);
    expect(run("return pcall(nil)")).toEqual([false, "attempt to call a nil value"]);
    expect(run("return xpcall(function() error('e', 0) end, function(m) return 'handled ' .. m end)")).toEqual([
      false,
      "handled e",
    ]);
    expect(run("return pcall(function() return 1, nil, 3 end)")).toEqual([true, 1, null, 3]);
  });

  it("the error names a missing function", () => {
    const script = LuaScript.compile("Retain = 5", { name: "s" });
    expect(() => script.call("Health", [])).toThrow("s:1: not found function Health");
    expect(() => script.call("Retain", [])).toThrow("s:1: Retain is not a function: number");
    expect(script.has("Retain")).toBe(false);
    expect(LuaScript.compile("function Retain() end", { name: "s" }).has("Retain")).toBe(true);
    expect(() => LuaScript.compile("error('x')", { name: "s" }).has("Retain")).toThrow("s:1: x");
  });

  it("a long error is cut", () => {
    expect(failure("local s = 'x' for i = 1, 20 do s = s .. s end error(s)").length).toBe(2003);
  });

  it.each([
    ["function f(\n", 2, "syntax error near '<eof>', expected a name"],
    ["x = = 1", 1, "syntax error near '='"],
    ["\n\nif x then", 3, "syntax error near '<eof>', expected 'end'"],
    ["if x then\n\n", 3, "syntax error near '<eof>', expected 'end' to close 'if' at line 1"],
    ["x = 'abc", 1, "unterminated string"],
    ["x = 3y", 1, "malformed number near '3'"],
    ["goto nowhere", 1, "no visible label 'nowhere' for goto"],
    ["break", 1, "no loop to break"],
    ["function f() return ... end", 1, "cannot use '...' outside a vararg function"],
    ["f() = 1", 1, "cannot assign to this expression"],
    ["x = 1 @ 2", 1, "unexpected character '@'"],
  ])("%j does not compile", (source, line, reason) => {
    try {
      LuaScript.compile(source, { name: "bad" });
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(LuaSyntaxError);
      expect(error).toMatchObject({ script: "bad", line, reason });
    }
  });
});

describe("the time in Lua", () => {
  const at = (seconds: number) => ({ now: () => seconds * 1000 });
  const script = LuaScript.compile(
    "function f(format, t) return os.time(), os.date(format, t), os.time({year = 2024, month = 2, day = 30, hour = 1}) end",
    { name: "time" },
  );

  it("comes from the clock alone, in UTC", () => {
    const options = { clock: at(1_700_000_000) };
    expect(script.call("f", ["!%Y-%m-%dT%H:%M:%SZ", 1_700_000_000], options)).toEqual([
      1_700_000_000,
      "2023-11-14T22:13:20Z",
      1_709_254_800,
    ]);
    expect(script.call("f", ["%c", 0], options)[1]).toBe("01 Jan 70 00:00 UTC");
    expect(script.call("f", ["*t", 0], options)[1]).toMatchObject({
      year: 1970,
      month: 1,
      day: 1,
      wday: 5,
      isdst: false,
    });
  });

  it("is an error without a clock", () => {
    expect(() => script.call("f", ["%c"])).toThrow("the time is not available to this script");
  });
});

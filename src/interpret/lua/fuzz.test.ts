import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../runtime/index.ts";
import { hostileAnswer, hostileLoop } from "./hostile/random.ts";
import { LuaLimitError, type LuaLimits, LuaRuntimeError, LuaScript, LuaSyntaxError } from "./index.ts";
import { DEFAULT_LUA_LIMITS } from "./limits.ts";

const LIMITS: Partial<LuaLimits> = { fuel: 20_000, memoryBytes: 1_000_000 };

/** The same programs in every run; the engine was tried on many more seeds. */
const SEED = 20_240_301;

/** Every result is one of the three errors, or JSON. */
function survives(source: string, args: Json[] = [{ a: 1, list: [1, 2, {}], text: "x" }]): void {
  try {
    const results = LuaScript.compile(source, { name: "fuzz" }).call("f", args, { limits: LIMITS });
    expect(JSON.parse(JSON.stringify(results))).toEqual(results);
  } catch (error) {
    const isOurs =
      error instanceof LuaSyntaxError || error instanceof LuaRuntimeError || error instanceof LuaLimitError;
    if (!isOurs) throw new Error(`this script broke the engine:\n${source}`, { cause: error });
  }
}

const TOKENS = (
  "and break do else elseif end false for function goto if in local nil not or repeat return then true until while " +
  "+ - * / % ^ # == ~= <= >= < > = ( ) { } [ ] ; : , . .. ... :: x f a 1 2.5 0x1F 'text' \"b\" [[long]] -- \n " +
  "pairs ipairs string.format table.sort pcall error self x.a x:b() f() {1,2} {a=1} require('kube') __proto__"
).split(" ");

describe("random text", () => {
  it("of tokens or programs never breaks the engine", () => {
    const soup = fc.array(fc.constantFrom(...TOKENS), { maxLength: 40 }).map((tokens) => tokens.join(" "));
    fc.assert(
      fc.property(soup, (text) => {
        survives(text);
        survives(`function f(x) ${text} end`);
      }),
      { numRuns: 300, seed: SEED },
    );
  });

  it("of characters never breaks the engine", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        survives(text);
      }),
      { numRuns: 200, seed: SEED },
    );
  });
});

const NAMES = ["x", "y", "z", "t"];
const LIBRARY = [
  "tostring", "tonumber", "type", "select", "unpack", "pcall", "next", "pairs", "ipairs", "assert", "error", "xpcall",
  "string.format", "string.sub", "string.find", "string.match", "string.gmatch", "string.byte", "string.char",
  "string.upper", "string.reverse", "table.concat", "table.insert", "table.remove", "table.sort", "math.floor",
  "math.max", "math.fmod", "math.random", "math.frexp", "os.time", "os.date", "require('kube').resourceAdd",
  "require('kube').accuratePodRequirements", "require('kube').getPodDependencies", "getmetatable", "rawset",
]; // biome-ignore format: a list of names
const LITERALS = [
  "nil",
  "true",
  "0",
  "-1",
  "1e308",
  "0/0",
  "2^53",
  "'%d %s %5.1f'",
  "'(%a+)=(.-)%b()'",
  "'1Gi'",
  "'é'",
  "{}",
];

const { script } = fc.letrec<{ expression: string; statement: string; block: string; script: string }>((tie) => {
  const list = fc.array(tie("expression"), { maxLength: 3 }).map((each) => each.join(", "));
  const name = fc.constantFrom(...NAMES);
  return {
    expression: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom(...LITERALS, ...NAMES),
      fc
        .tuple(
          tie("expression"),
          fc.constantFrom("+", "-", "*", "/", "%", "^", "..", "==", "<", "<=", "and", "or"),
          tie("expression"),
        )
        .map(([a, operator, b]) => `(${a} ${operator} ${b})`),
      fc.tuple(fc.constantFrom("- ", "not ", "#"), tie("expression")).map(([operator, a]) => `(${operator}${a})`),
      fc.tuple(fc.constantFrom(...LIBRARY), list).map(([callee, args]) => `${callee}(${args})`),
      list.map((items) => `{${items}}`),
      fc.tuple(name, tie("expression")).map(([key, each]) => `{${key} = ${each}, [1] = 2}`),
      fc.tuple(name, tie("expression")).map(([table, key]) => `${table}[${key}]`),
      tie("block").map((body) => `function(...) local t = ... ${body} return ... end`),
    ),
    statement: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.tuple(name, tie("expression")).map(([each, to]) => `${each} = ${to}`),
      fc.tuple(name, tie("expression")).map(([each, to]) => `local ${each} = ${to}`),
      fc.tuple(name, tie("expression"), tie("expression")).map(([each, key, to]) => `${each}[${key}] = ${to}`),
      fc.tuple(fc.constantFrom(...LIBRARY), list).map(([callee, args]) => `${callee}(${args})`),
      fc.tuple(tie("expression"), tie("block")).map(([test, body]) => `if ${test} then ${body} end`),
      fc.tuple(tie("expression"), tie("block")).map(([test, body]) => `while ${test} do ${body} break end`),
      fc
        .tuple(name, tie("expression"), tie("block"))
        .map(([each, over, body]) => `for ${each}, y in pairs(${over}) do ${body} end`),
      fc
        .tuple(name, tie("expression"), tie("block"))
        .map(([each, to, body]) => `for ${each} = 1, ${to} do ${body} end`),
    ),
    block: fc.array(tie("statement"), { maxLength: 3 }).map((each) => each.join("\n")),
    script: fc.tuple(tie("block"), list).map(([body, results]) => `function f(x)\n${body}\nreturn ${results}\nend`),
  };
});

describe("random programs", () => {
  it("never break the engine", () => {
    fc.assert(
      fc.property(script, (source) => {
        survives(source);
      }),
      { numRuns: 400, seed: SEED },
    );
  });

  it("answer the same every time", () => {
    fc.assert(
      fc.property(script, (source) => {
        const compiled = LuaScript.compile(source, { name: "twice" });
        const answer = (): string => {
          try {
            return JSON.stringify(compiled.call("f", [{ a: 1 }], { limits: LIMITS }));
          } catch (error) {
            return String(error);
          }
        };
        expect(answer()).toBe(answer());
      }),
      { numRuns: 100, seed: SEED },
    );
  });
});

/** How a call ends: its results or its error, as text, and what it used. */
function outcome(compiled: LuaScript, limits: Partial<LuaLimits>) {
  let ends = "answers";
  let text: string;
  try {
    text = JSON.stringify(compiled.call("f", [{ a: 1, text: "x" }], { limits, clock: { now: () => 0 } }));
  } catch (error) {
    ends = error instanceof LuaLimitError ? error.limit : "error";
    text = String(error);
  }
  return { ends, text, usage: compiled.usage() };
}

describe("the meter", () => {
  const programs = fc.oneof(script, hostileAnswer);

  it("lets a program complete with exactly the fuel that it needs, and stops it with one unit less", () => {
    fc.assert(
      fc.property(programs, (source) => {
        const compiled = LuaScript.compile(source, { name: "exact" });
        const { ends, text, usage } = outcome(compiled, DEFAULT_LUA_LIMITS);
        if (ends !== "answers" && ends !== "error") return;
        expect(outcome(compiled, usage)).toEqual({ ends, text, usage });
        expect(outcome(compiled, { ...usage, fuel: usage.fuel - 1 }).ends).toBe("fuel");
        expect(outcome(compiled, { ...usage, memoryBytes: usage.memoryBytes - 1 }).ends).toBe("memory");
      }),
      { numRuns: 150, seed: SEED },
    );
  });

  it("has charged for every character of the result", () => {
    fc.assert(
      fc.property(programs, (source) => {
        const { ends, text, usage } = outcome(LuaScript.compile(source, { name: "out" }), DEFAULT_LUA_LIMITS);
        if (ends === "answers")
          expect(text.replaceAll(/\\u[0-9a-f]{4}|\\./g, "x").length).toBeLessThan(usage.memoryBytes);
      }),
      { numRuns: 150, seed: SEED },
    );
  });

  it("ends every endless loop over expensive calls, regardless of what it catches", () => {
    fc.assert(
      fc.property(hostileLoop, (source) => {
        const { ends, usage } = outcome(LuaScript.compile(source, { name: "loop" }), DEFAULT_LUA_LIMITS);
        expect(["fuel", "memory", "depth"]).toContain(ends);
        expect(usage.fuel).toBeLessThanOrEqual(DEFAULT_LUA_LIMITS.fuel);
        expect(usage.memoryBytes).toBeLessThanOrEqual(DEFAULT_LUA_LIMITS.memoryBytes);
      }),
      { numRuns: 100, seed: SEED },
    );
  });
});

describe("random objects", () => {
  const withoutEmpties = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(withoutEmpties).filter((each) => each !== undefined && each !== null);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, each]) => [key, withoutEmpties(each)] as const);
    return Object.fromEntries(entries.filter(([, each]) => each !== undefined && each !== null));
  };
  const echo = LuaScript.compile(
    "local function walk(t) if type(t) == 'table' then for k, v in pairs(t) do walk(v) end end end " +
      "function same(x) return x end function walked(x) walk(x) return x end",
    { name: "echo" },
  );

  it("are returned unchanged, whether or not the script read them", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (object) => {
        const input = JSON.parse(JSON.stringify(object)) as Json;
        const [same] = echo.call("same", [input], { references: [input] });
        const [walked] = echo.call("walked", [input], { references: [input] });
        expect(walked).toEqual(same);
        expect(JSON.stringify(withoutEmpties(same))).toBe(JSON.stringify(withoutEmpties(withoutEmpties(same))));
      }),
      { numRuns: 300, seed: SEED },
    );
  });
});

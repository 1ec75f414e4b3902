import { body, type HostileScript } from "./script.ts";

/** Scripts that are expensive before they run. */
export const SOURCES: readonly HostileScript[] = [
  { name: "a script of a megabyte", source: `${"x = 1 ".repeat(200_000)}`, ends: "size" },
  { name: "a comment of a megabyte", source: `-- ${"x".repeat(1_000_000)}`, ends: "size" },
  { name: "assignments", source: "x=1 ".repeat(12_000), ends: "size" },
  { name: "calls", source: "f(x,y) ".repeat(8_000), ends: "size" },
  { name: "a table of thousands of items", source: body(`return {${"1,".repeat(25_000)}}`), ends: "size" },
  { name: "thousands of functions", source: "function f() end ".repeat(3_500), ends: "size" },
  { name: "thousands of conditions", source: body(`if x then ${"elseif x then ".repeat(4_000)} end`), ends: "size" },
  {
    name: "as many conditions as are allowed",
    source: body(`if nil then ${"elseif nil then ".repeat(2_500)} end`),
    ends: "answers",
  },
  { name: "as many labels as are allowed, in blocks", source: body(`${labels(1_500)}`), ends: "answers" },
  {
    name: "names looked for through many blocks",
    source: body(`${"do ".repeat(190)} ${"x=y ".repeat(2_000)} ${"end ".repeat(190)}`),
    ends: "size",
  },
  { name: "variables passed on through many functions", source: shared(600, 40), ends: "size" },
  { name: "calls in tables in calls", source: body(`return ${"{f(".repeat(45)}1${")}".repeat(45)}`), ends: "depth" },
  {
    name: "functions in tables in functions",
    source: body(`return ${"{function() return ".repeat(30)}1${" end}".repeat(30)}`),
    ends: "error",
  },
  { name: "parentheses", source: `return ${"(".repeat(5_000)}1`, ends: "syntax" },
  { name: "tables in tables", source: `return ${"{".repeat(5_000)}`, ends: "syntax" },
  { name: "functions in functions", source: "function f() ".repeat(5_000), ends: "syntax" },
  { name: "blocks in blocks", source: "if x then ".repeat(5_000), ends: "syntax" },
  { name: "unary operators", source: `return ${"not ".repeat(5_000)}1`, ends: "syntax" },
  { name: "sums", source: `return ${"1 + ".repeat(5_000)}1`, ends: "syntax" },
  { name: "powers", source: `return ${"2 ^ ".repeat(5_000)}1`, ends: "syntax" },
  { name: "strings joined", source: `return ${"a .. ".repeat(5_000)}1`, ends: "syntax" },
  { name: "fields of fields", source: `x${".a".repeat(5_000)} = 1`, ends: "syntax" },
  { name: "calls of calls", source: `f${"()".repeat(5_000)}`, ends: "syntax" },
  {
    name: "a function with a name of thousands of parts",
    source: `function a${".b".repeat(5_000)}() end`,
    ends: "syntax",
  },
  { name: "chains inside chains", source: body(`return ${nested(24)}`), ends: "error" },
  { name: "a name that is a script long", source: body(`local ${"x".repeat(50_000)} = 1`), ends: "answers" },
  { name: "a string that is a script long", source: body(`return #"${"\\n".repeat(30_000)}"`), ends: "answers" },
  { name: "a bracket of equals signs", source: body(`return [${"=".repeat(50_000)}[`), ends: "syntax" },
  { name: "an error that quotes a long name", source: `return return ${"x".repeat(50_000)}`, ends: "syntax" },
  { name: "a loop before any function is called", source: "while true do end function f() end", ends: "limit" },
];

function labels(count: number): string {
  return Array.from({ length: count }, (_, at) => `::l${at}::`).join(" ");
}

function shared(variables: number, functions: number): string {
  const names = Array.from({ length: variables }, (_, at) => `v${at}`);
  const declared = names.map((name) => `local ${name} = 1`).join(" ");
  return `${declared} ${"local f = function() ".repeat(functions)} ${names.map((name) => `${name} = 2`).join(" ")} ${"end ".repeat(functions)}`;
}

/** Each chain starts at the innermost link of the previous chain. */
function nested(levels: number): string {
  return levels === 0 ? "x" : `(${nested(levels - 1)})${".a".repeat(150)}`;
}

import { body, forever, type HostileScript } from "./script.ts";

/** Loops and recursion without an end, and errors that try to prevent the limit from ending them. */
export const LOOPS: readonly HostileScript[] = [
  { name: "an empty loop", source: forever("", ""), ends: "limit" },
  { name: "a loop over numbers without an end", source: body("for i = 1, 1e18 do end"), ends: "limit" },
  { name: "a loop that does not move", source: body("for i = 1, 1, 0 do end"), ends: "limit" },
  { name: "arithmetic", source: forever("local a = 1.5", "a = (a * 3 + 1) / 2 - a % 7"), ends: "limit" },
  { name: "jumping back", source: body("::again:: goto again"), ends: "limit" },
  {
    name: "jumping back out of deep blocks",
    source: body(`::again:: ${"do ".repeat(150)} goto again ${"end ".repeat(150)}`),
    ends: "limit",
  },
  { name: "calling itself at the end", source: body("local function r() return r() end r()"), ends: "limit" },
  { name: "calling itself", source: body("local function r() return 1 + r() end r()"), ends: "depth" },
  {
    name: "calling itself inside pcall, again and again",
    source: forever("local function r() return 1 + pcall(r) end", "pcall(r)"),
    ends: "depth",
  },
  { name: "catching the limit", source: forever("", "pcall(function() while true do end end)"), ends: "limit" },
  {
    name: "handling the limit",
    source: body("local function forever() while true do end end xpcall(forever, forever)"),
    ends: "limit",
  },
  {
    name: "an order that does not end",
    source: body("local t = {3, 2, 1} table.sort(t, function() while true do end end)"),
    ends: "limit",
  },
  { name: "functions made and thrown away", source: forever("", "local f = function() return f end"), ends: "limit" },
  {
    name: "functions that share thousands of variables",
    source: body(
      `${names(600)
        .map((each) => `local ${each} = 1`)
        .join(" ")} while true do local g = function() ${names(600)
        .map((each) => `${each} = 2`)
        .join(" ")} end end`,
    ),
    ends: "limit",
  },
  {
    name: "a function of thousands of parameters called without any",
    source: `local function g(${names(1_500).join(", ")}) end ${forever("", "g()")}`,
    ends: "limit",
    round: { fuel: 330, memoryBytes: 40_000 },
  },
  {
    name: "thousands of variables in a loop over pairs",
    source: forever("local t = {1}", `for ${names(1_500).join(", ")} in pairs(t) do end`),
    ends: "limit",
    round: { fuel: 2_500 },
  },
  {
    name: "thousands of variables declared at once",
    source: forever("", `local ${names(1_500).join(", ")}`),
    ends: "limit",
    round: { fuel: 2_500 },
  },
  {
    name: "a step of a loop that takes long",
    source: forever("", `for i = 1, 1, #{${"1, ".repeat(1_500)}} do end`),
    ends: "limit",
    round: { fuel: 8_900, memoryBytes: 51_000 },
  },
  {
    name: "an error through many calls, caught again and again",
    source: forever(
      "local function deep(n) if n == 0 then error('x') end return 1 + deep(n - 1) end",
      "pcall(deep, 100)",
    ),
    ends: "limit",
    round: { fuel: 15_000, memoryBytes: 16_000 },
  },
  {
    name: "an error through deep blocks and expressions, caught again and again",
    source: forever(
      `local function deep() ${"do ".repeat(60)} local y = ${"1 + (".repeat(60)} nothing.at ${")".repeat(60)} ${"end ".repeat(60)} end`,
      "pcall(deep)",
    ),
    ends: "limit",
    round: { fuel: 14_000 },
  },
  { name: "errors without end", source: forever("", "pcall(error)"), ends: "limit", round: { fuel: 320 } },
  {
    name: "an error in the handler of an error",
    source: body("xpcall(error, function() error('again') end)"),
    ends: "error",
  },
];

function names(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `v${at}`);
}

import { forever, type HostileScript, TICK } from "./script.ts";

const THOUSANDS = "local t = {} for i = 1, 10000 do t[i] = i end";

/** Long lists of values, copied from call to call. */
export const VARARGS: readonly HostileScript[] = [
  {
    name: "handing on ... again and again",
    source: forever(
      `${THOUSANDS} local function n(...) end local function g(...) for i = 1, 1e9 do ${TICK} n(...) end end`,
      "g(unpack(t))",
    ),
    ends: "limit",
    round: { fuel: 150_000, memoryBytes: 1_000_000 },
  },
  {
    name: "handing on ... through tail calls",
    source: forever(`${THOUSANDS} local function g(...) ${TICK} return g(...) end`, "g(unpack(t))"),
    ends: "limit",
    round: { fuel: 100_000, memoryBytes: 680_000 },
  },
  {
    name: "counting ... again and again",
    source: forever(
      `${THOUSANDS} local function g(...) for i = 1, 1e9 do ${TICK} local n = select('#', ...) end end`,
      "g(unpack(t))",
    ),
    ends: "limit",
    round: { fuel: 51_000, memoryBytes: 340_000 },
  },
  {
    name: "taking ... apart one by one",
    source: forever(`${THOUSANDS} local function g(n, ...) ${TICK} return g(...) end`, "g(unpack(t))"),
    ends: "limit",
    round: { fuel: 100_000, memoryBytes: 680_000 },
  },
  {
    name: "selecting from ...",
    source: forever(
      `${THOUSANDS} local function g(...) for i = 1, 1e9 do ${TICK} local n = select(1, ...) end end`,
      "g(unpack(t))",
    ),
    ends: "limit",
    round: { fuel: 100_000, memoryBytes: 680_000 },
  },
  {
    name: "the table arg",
    source: forever(`${THOUSANDS} local function g(...) return arg.n end`, "g(unpack(t))"),
    ends: "limit",
    round: { fuel: 210_000, memoryBytes: 1_300_000 },
  },
  {
    name: "... in a table",
    source: forever(`${THOUSANDS} local function g(...) return {...} end`, "g(unpack(t))"),
    ends: "limit",
    round: { fuel: 200_000, memoryBytes: 1_300_000 },
  },
  {
    name: "pcall of thousands of values",
    source: forever(THOUSANDS, "pcall(pcall, pcall, unpack(t))"),
    ends: "limit",
    round: { fuel: 250_000, memoryBytes: 1_700_000 },
  },
  {
    name: "results of pcall",
    source: forever(THOUSANDS, "pcall(unpack, t)"),
    ends: "limit",
    round: { fuel: 100_000, memoryBytes: 680_000 },
  },
  {
    name: "assert of thousands of values",
    source: forever(THOUSANDS, "assert(unpack(t))"),
    ends: "limit",
    round: { fuel: 100_000, memoryBytes: 680_000 },
  },
  {
    name: "methods with thousands of values",
    source: forever(`${THOUSANDS} local o = {} function o.m() end`, "o:m(unpack(t))"),
    ends: "limit",
    round: { fuel: 100_000, memoryBytes: 680_000 },
  },
  { name: "unpacking what is not there", source: forever("", "unpack({}, 1, 1e9)"), ends: "limit" },
  { name: "unpacking from far below", source: forever("", "unpack({}, -1e9, 1)"), ends: "limit" },
  { name: "small lists", source: forever("local function g(...) return ... end", "g(1, 2, 3)"), ends: "limit" },
];

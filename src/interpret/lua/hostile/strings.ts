import { body, forever, type HostileScript, repeated } from "./script.ts";

const MEGABYTE = 19;

/** Strings that are created, copied, compared and converted. */
export const STRINGS: readonly HostileScript[] = [
  { name: "a string that doubles", source: body("local s = 'x' while true do s = s .. s end"), ends: "limit" },
  {
    name: "a string that grows by a byte",
    source: body("local s = 'x' while true do s = s .. 'x' end"),
    ends: "limit",
  },
  {
    name: "thousands of strings joined at once",
    source: forever(repeated("s", "x", MEGABYTE), `local t = s ${".. s ".repeat(40)}`),
    ends: "limit",
    round: { fuel: 1_100_000, memoryBytes: 18_000_000 },
  },
  {
    name: "numbers joined",
    source: forever("local n = 0.1", "n = n + 0.1 local s = n .. n .. n .. n"),
    ends: "limit",
    round: { fuel: 320 },
  },
  {
    name: "two long strings compared for equality",
    source: forever(`${repeated("s", "x", MEGABYTE)} local a, b = s .. 'y', s .. 'z'`, "local c = a == b"),
    ends: "limit",
    round: { fuel: 27_000 },
  },
  {
    name: "two long strings put in order",
    source: forever(`${repeated("s", "x", MEGABYTE)} local a, b = s .. 'y', s .. 'z'`, "local c = a < b"),
    ends: "limit",
    round: { fuel: 27_000 },
  },
  {
    name: "two short strings put in order",
    source: forever("local a, b = 'abcdefghijkl1', 'abcdefghijkl2'", "local c = a < b"),
    ends: "limit",
  },
  {
    name: "text that nearly repeats itself",
    source: forever(`${repeated("s", "a", MEGABYTE)} ${repeated("p", "a", 16)} p = 'b' .. p`, "s:find(p, 1, true)"),
    ends: "limit",
    round: { fuel: 500_000, memoryBytes: 220_000 },
  },
  {
    name: "short text that nearly repeats itself",
    source: forever(repeated("s", "a", MEGABYTE), "s:find('baaaaaa', 1, true)"),
    ends: "limit",
    round: { fuel: 440_000 },
  },
  {
    name: "fields a million wide",
    source: forever("", "string.format('%999999d', 1)"),
    ends: "limit",
    round: { fuel: 210_000, memoryBytes: 3_400_000 },
  },
  {
    name: "many wide fields at once",
    source: forever(
      `${repeated("p", "%9999s", 9)} local t = {} for i = 1, 512 do t[i] = 1 end`,
      "string.format(p, unpack(t))",
    ),
    ends: "limit",
    round: { fuel: 1_100_000, memoryBytes: 17_000_000 },
  },
  {
    name: "a precision of a million",
    source: forever("", "string.format('%.999999f', 1.5)"),
    ends: "limit",
    round: { fuel: 210_000, memoryBytes: 3_400_000 },
  },
  {
    name: "a long string in hundreds of fields",
    source: forever(
      `${repeated("s", "x", MEGABYTE)} ${repeated("p", "%s", 9)} local t = {} for i = 1, 512 do t[i] = s end`,
      "string.format(p, unpack(t))",
    ),
    ends: "limit",
    round: { fuel: 28_000_000, memoryBytes: 450_000_000 },
  },
  {
    name: "a long string beyond ASCII in a field",
    source: forever(repeated("s", "é", 18), "string.format('%9s', s)"),
    ends: "limit",
    round: { fuel: 2_000_000, memoryBytes: 2_600_000 },
  },
  {
    name: "a long string beyond ASCII cut",
    source: forever(repeated("s", "é", 18), "string.format('%.99999s', s)"),
    ends: "limit",
    round: { fuel: 1_900_000, memoryBytes: 2_900_000 },
  },
  {
    name: "a long string quoted",
    source: forever(repeated("s", '"\n\\', 16), "string.format('%q', s)"),
    ends: "limit",
    round: { fuel: 3_500_000, memoryBytes: 16_000_000 },
  },
  {
    name: "a long string in hexadecimal",
    source: forever(repeated("s", "x", MEGABYTE), "string.format('%x', s)"),
    ends: "limit",
    round: { fuel: 160_000, memoryBytes: 2_600_000 },
  },
  {
    name: "directives without values",
    source: forever(repeated("p", "%d", 18), "string.format(p)"),
    ends: "limit",
    round: { fuel: 16_000_000, memoryBytes: 57_000_000 },
  },
  {
    name: "values without directives",
    source: forever(`${repeated("s", "x", MEGABYTE)}`, "string.format('%%%d', 1, s, s, s)"),
    ends: "limit",
    round: { fuel: 28_000, memoryBytes: 440_000 },
  },
  {
    name: "percent signs",
    source: forever(repeated("p", "%%", 18), "string.format(p)"),
    ends: "limit",
    round: { fuel: 32_000_000, memoryBytes: 110_000_000 },
  },
  {
    name: "short formats",
    source: forever("", "string.format('%d %s %5.1f', 1, 'x', 0.5)"),
    ends: "limit",
    round: { fuel: 270, memoryBytes: 2_400 },
  },
  {
    name: "letters beyond ASCII in another case",
    source: forever(repeated("s", "é", 18), "s:upper()"),
    ends: "limit",
    round: { fuel: 12_000_000, memoryBytes: 24_000_000 },
  },
  {
    name: "letters in another case",
    source: forever(repeated("s", "x", MEGABYTE), "s:upper()"),
    ends: "limit",
    round: { fuel: 130_000, memoryBytes: 440_000 },
  },
  {
    name: "bytes that are no text in another case",
    source: forever(repeated("s", "\\255\\200", 18).replaceAll("\\\\", "\\"), "s:upper()"),
    ends: "limit",
    round: { fuel: 13_000_000, memoryBytes: 25_000_000 },
  },
  {
    name: "a long string turned around",
    source: forever(repeated("s", "x", MEGABYTE), "s:reverse()"),
    ends: "limit",
    round: { fuel: 83_000, memoryBytes: 1_300_000 },
  },
  {
    name: "the bytes of a long string",
    source: forever(repeated("s", "x", MEGABYTE), "s:byte(1, -1)"),
    ends: "limit",
    round: { fuel: 2_600_000, memoryBytes: 17_000_000 },
  },
  {
    name: "a string of thousands of bytes",
    source: forever("local t = {} for i = 1, 10000 do t[i] = 65 end", "string.char(unpack(t))"),
    ends: "limit",
    round: { fuel: 120_000, memoryBytes: 690_000 },
  },
  {
    name: "parts of a long string kept",
    source: forever(`${repeated("s", "x", MEGABYTE)} local t = {}`, "t[#t + 1] = s:sub(2)"),
    ends: "limit",
    round: { fuel: 27_000, memoryBytes: 440_000 },
  },
  {
    name: "a string beyond Karmada's length",
    source: body(`${repeated("s", "x", 20)} return s:upper()`),
    ends: "error",
  },
  { name: "a huge error", source: body(`${repeated("s", "x", 21)} error(s)`), ends: "error" },
  {
    name: "huge errors kept",
    source: forever(`${repeated("s", "x", 20)} local t = {}`, "local ok, e = pcall(error, s) t[#t + 1] = e"),
    ends: "limit",
    round: { fuel: 56_000, memoryBytes: 890_000 },
  },
  {
    name: "huge keys in errors kept",
    source: forever(
      `${repeated("s", "x", 20)} local t = {}`,
      "local ok, e = pcall(function() return nothing[s] end) t[#t + 1] = e",
    ),
    ends: "limit",
    round: { fuel: 56_000, memoryBytes: 890_000 },
  },
  {
    name: "text of tables",
    source: forever("local t = {}", "t[tostring({})] = 1"),
    ends: "limit",
    round: { fuel: 110 },
  },
  { name: "small strings", source: forever("", "('x'):upper()"), ends: "limit" },
  { name: "small strings joined", source: forever("local n = 0", "n = n + 1 local s = 'a' .. n"), ends: "limit" },
];

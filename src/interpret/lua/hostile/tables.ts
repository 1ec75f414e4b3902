import type { Json } from "../../../runtime/index.ts";
import { body, forever, type HostileScript, repeated } from "./script.ts";

/** Tables that are filled, searched and sorted. */
export const TABLES: readonly HostileScript[] = [
  {
    name: "a table that grows",
    source: body("local t = {} local i = 0 while true do i = i + 1 t[i] = i + 0.5 end"),
    ends: "limit",
  },
  {
    name: "a table of tables that grows",
    source: body("local t = {} while true do t[#t + 1] = {} end"),
    ends: "limit",
  },
  {
    name: "a table of names that grows",
    source: body("local t = {} local i = 0 while true do i = i + 1 t['k' .. i] = i end"),
    ends: "limit",
  },
  {
    name: "a table with numbers for names",
    source: body("local t = {} local i = 0 while true do i = i + 1 t[-i] = i end"),
    ends: "limit",
  },
  {
    name: "a table with fractions for names",
    source: body("local t = {} local i = 0 while true do i = i + 1 t[i + 0.5] = i end"),
    ends: "limit",
  },
  {
    name: "a chain of tables and functions",
    source: body("local t = {} while true do t = {t, function() return t end} end"),
    ends: "limit",
  },
  { name: "a place far away", source: body("local t = {} t[67108863] = 1"), ends: "limit" },
  { name: "an insertion far away", source: body("table.insert({}, 67108863, 1)"), ends: "limit" },
  {
    name: "an insertion at an impossible place",
    source: body("for i = 1, 1e9 do table.insert({}, -1e300, 1) end"),
    ends: "limit",
  },
  {
    name: "the length of a table of nils",
    source: forever("local t = {} t[100000] = 1 t[100000] = nil", "local n = #t"),
    ends: "limit",
    round: { fuel: 85_000 },
  },
  {
    name: "the first entry of a table of nils",
    source: forever(
      "local t = {} for i = 1, 20000 do t['k' .. i] = 1 end for k in pairs(t) do t[k] = nil end",
      "next(t)",
    ),
    ends: "limit",
    round: { fuel: 17_000 },
  },
  {
    name: "the length of short tables with nils at the end",
    source: forever("local t = {} t[200] = 1 t[200] = nil", "local n = #t"),
    ends: "limit",
    round: { fuel: 170 },
  },
  {
    name: "insertions in front",
    source: forever("local t = {} for i = 1, 100000 do t[i] = i end", "table.insert(t, 1, 1)"),
    ends: "limit",
    round: { fuel: 85_000 },
  },
  {
    name: "removals in front",
    source: forever("local t = {} for i = 1, 100000 do t[i] = i end", "table.remove(t, 1)"),
    ends: "limit",
    round: { fuel: 85_000 },
  },
  {
    name: "sorting",
    source: forever("local t = {} for i = 1, 50000 do t[i] = (i * 7919) % 50021 end", "table.sort(t)"),
    ends: "limit",
    round: { fuel: 2_200_000, memoryBytes: 1_300_000 },
  },
  {
    name: "sorting long strings",
    source: body(
      `${repeated("s", "x", 12)} local t = {} for i = 1, 500 do t[i] = s .. i end while true do table.sort(t) end`,
    ),
    ends: "limit",
  },
  {
    name: "sorting by a function",
    source: forever(
      "local t = {} for i = 1, 5000 do t[i] = (i * 7919) % 50021 end",
      "table.sort(t, function(a, b) return a > b end)",
    ),
    ends: "limit",
    round: { fuel: 580_000, memoryBytes: 6_400_000 },
  },
  {
    name: "sorting by an order that contradicts itself",
    source: forever("local t = {} for i = 1, 5000 do t[i] = i end", "table.sort(t, function(a, b) return true end)"),
    ends: "limit",
    round: { fuel: 470_000, memoryBytes: 5_800_000 },
  },
  {
    name: "joining many strings",
    source: forever("local t = {} for i = 1, 20000 do t[i] = 'x' end", "table.concat(t, ',')"),
    ends: "limit",
    round: { fuel: 68_000, memoryBytes: 570_000 },
  },
  {
    name: "joining with a long separator",
    source: forever(`${repeated("s", "x", 15)} local t = {} for i = 1, 1000 do t[i] = 'x' end`, "table.concat(t, s)"),
    ends: "limit",
    round: { fuel: 1_700_000, memoryBytes: 27_000_000 },
  },
  {
    name: "joining fractions",
    source: forever("local t = {} for i = 1, 1000 do t[i] = i / 3 end", "table.concat(t)"),
    ends: "limit",
    round: { fuel: 54_000, memoryBytes: 100_000 },
  },
  {
    name: "numbers that share a bucket",
    source: forever("", "local t = {} for i = 1, #x do t[x[i]] = i end"),
    input: collidingNumbers(8_000),
    ends: "limit",
    round: { fuel: 570_000, memoryBytes: 970_000 },
  },
  {
    name: "digits that share a bucket",
    source: forever("", "local t = {} for i = 1, 20000 do t[tostring(i * 65536)] = i end"),
    ends: "limit",
    round: { fuel: 2_500_000, memoryBytes: 3_800_000 },
  },
  {
    name: "long names that share a bucket",
    source: body(`${repeated("s", "x", 14)} local t = {} for i = 1, 1e9 do t[s .. (1e6 + i)] = i end`),
    ends: "limit",
  },
  {
    name: "looking for a long name",
    source: forever(
      `${repeated("s", "x", 18)} local t = {} for i = 1, 8 do t[s .. i] = i end local k = s .. 9`,
      "local v = t[k]",
    ),
    ends: "limit",
    round: { fuel: 120_000 },
  },
  {
    name: "looking for a short name among others of its length",
    source: forever(
      "local t = {} for i = 11, 18 do t['abcdefghijklmn' .. i] = i end local k = 'abcdefghijklmn' .. 99",
      "local v = t[k]",
    ),
    ends: "limit",
  },
  {
    name: "small tables made and thrown away",
    source: forever("", "local t = {a = 1, b = 2, 3}"),
    ends: "limit",
    round: { fuel: 120 },
  },
  { name: "globals", source: forever("local i = 0", "i = i + 1 _G['k' .. i] = i"), ends: "limit" },
  {
    name: "thousands of globals, and one more",
    source: body(`${Array.from({ length: 2_000 }, (_, at) => `g${at} = 1`).join(" ")} _G.more = 1`),
    ends: "answers",
  },
  {
    name: "going through a large table",
    source: forever("local t = {} for i = 1, 50000 do t[i] = i end", "for k, v in pairs(t) do end"),
    ends: "limit",
    round: { fuel: 380_000 },
  },
];

/** Integers whose hashes, by V8's formula, have the same last 14 bits. */
function collidingNumbers(count: number): Json {
  const numbers: number[] = [];
  for (let number = 2 ** 27; numbers.length < count; number++) if ((hash(number) & 0x3fff) === 0) numbers.push(number);
  return numbers;
}

function hash(number: number): number {
  let bits = number >>> 0;
  bits = (~bits + (bits << 15)) >>> 0;
  bits ^= bits >>> 12;
  bits = (bits + (bits << 2)) >>> 0;
  bits ^= bits >>> 4;
  bits = Math.imul(bits, 2057) >>> 0;
  bits ^= bits >>> 16;
  return bits & 0x3fffffff;
}

import { body, forever, type HostileScript, repeated } from "./script.ts";

/** Patterns that backtrack over the text again and again. */
export const PATTERNS: readonly HostileScript[] = [
  { name: "stars after stars", source: forever(repeated("s", "a", 6), "s:match('a*a*a*a*a*a*a*a*b')"), ends: "limit" },
  { name: "minuses after minuses", source: forever(repeated("s", "x", 12), "s:match('.-.-.-.-y')"), ends: "limit" },
  {
    name: "brackets that nothing closes",
    source: forever(repeated("s", "(", 11), "s:find('%b()')"),
    ends: "limit",
    round: { fuel: 2 ** 21 },
  },
  {
    name: "the same from the first byte only",
    source: forever(repeated("s", "(", 19), "s:find('^%b()')"),
    ends: "limit",
    round: { fuel: 440_000 },
  },
  {
    name: "a set of all bytes, thousands of times",
    source: forever(
      `${repeated("s", "a", 15)} ${repeated("set", "bcdefghi", 12)} local p = '^[' .. set .. ']*$'`,
      "s:find(p)",
    ),
    ends: "limit",
    round: { fuel: 1_300_000, memoryBytes: 7_100_000 },
  },
  {
    name: "thousands of classes in a set",
    source: forever(`${repeated("set", "%d%s", 14)} local p = '[' .. set .. ']'`, "('x'):find(p)"),
    ends: "limit",
    round: { fuel: 2_700_000, memoryBytes: 14_000_000 },
  },
  {
    name: "thousands of sets",
    source: forever(`${repeated("p", "[a]", 14)}`, "('x'):find(p)"),
    ends: "limit",
    round: { fuel: 3_600_000, memoryBytes: 16_000_000 },
  },
  {
    name: "a pattern of a million bytes",
    source: forever(repeated("p", "a", 19), "('x'):find(p)"),
    ends: "limit",
    round: { fuel: 21_000_000, memoryBytes: 110_000_000 },
  },
  {
    name: "thousands of captures",
    source: forever(`${repeated("p", "()", 12)} ${repeated("s", "x", 10)}`, "s:match(p .. 'y')"),
    ends: "limit",
    round: { fuel: 11_000_000, memoryBytes: 2_200_000 },
  },
  {
    name: "captures that come back",
    source: forever(`${repeated("p", "()", 14)}`, "('x'):match(p)"),
    ends: "limit",
    round: { fuel: 1_700_000, memoryBytes: 10_000_000 },
  },
  {
    name: "long captures referred to",
    source: forever(`${repeated("s", "a", 7)}`, "s:match('(.*)%1%1%1b')"),
    ends: "limit",
    round: { fuel: 400_000 },
  },
  {
    name: "every position of a long text",
    source: forever(repeated("s", "a", 19), "s:find('b')"),
    ends: "limit",
    round: { fuel: 6_200_000 },
  },
  {
    name: "all empty matches of a long text",
    source: body(`${repeated("s", "a", 19)} for w in s:gmatch('') do end`),
    ends: "limit",
  },
  {
    name: "the rest of the text, from every position",
    source: body(`${repeated("s", "a", 16)} local t = {} for w in s:gmatch('()a-b') do t[#t + 1] = w end`),
    ends: "limit",
  },
  {
    name: "the rest of the text captured, from every position",
    source: body(`${repeated("s", "a", 19)} local t = {} for i = 1, #s do t[i] = s:match('^.*$', i) end`),
    ends: "limit",
  },
  {
    name: "a new pattern every time",
    source: forever("local n = 0", "n = n + 1 ('x'):find('[^abc%d]' .. n)"),
    ends: "limit",
    round: { fuel: 550, memoryBytes: 2_600 },
  },
  {
    name: "a stack of a million ways",
    source: forever(repeated("s", "a", 19), "s:match('^.*b')"),
    ends: "limit",
    round: { fuel: 7_500_000, memoryBytes: 42_000_000 },
  },
  { name: "short matches", source: forever("", "('ab'):match('a(.)')"), ends: "limit", round: { fuel: 130 } },
  { name: "captures inside captures", source: body(`return ('x'):find('${"(".repeat(5_000)}')`), ends: "error" },
];

import type { Json, JsonObject } from "../../../runtime/index.ts";
import { body, forever, type HostileScript, repeated } from "./script.ts";

/** Dates, quantities and pod templates: what Karmada adds to Lua. */
export const HELPERS: readonly HostileScript[] = [
  {
    name: "dates in a long format",
    source: forever(repeated("s", "%c", 14), "os.date(s, 0)"),
    ends: "limit",
    round: { fuel: 5_600_000, memoryBytes: 4_400_000 },
  },
  {
    name: "names of months",
    source: forever(repeated("s", "%B", 14), "os.date(s, 0)"),
    ends: "limit",
    round: { fuel: 1_400_000, memoryBytes: 4_400_000 },
  },
  {
    name: "a long format without directives",
    source: forever(repeated("s", "x", 20), "os.date(s, 0)"),
    ends: "limit",
    round: { fuel: 940_000, memoryBytes: 890_000 },
  },
  {
    name: "exclamation marks",
    source: forever(repeated("s", "!", 20), "os.date(s, 0)"),
    ends: "limit",
    round: { fuel: 940_000, memoryBytes: 890_000 },
  },
  { name: "short dates", source: forever("", "os.date('%Y', 0)"), ends: "limit", round: { fuel: 190 } },
  { name: "dates as tables", source: forever("", "os.date('*t', 0)"), ends: "limit", round: { fuel: 350 } },
  {
    name: "dates back to seconds",
    source: forever("", "os.time({year = 2024, month = 1, day = 1})"),
    ends: "limit",
    round: { fuel: 220 },
  },
  {
    name: "quantities with large exponents",
    source: forever("local k = require('kube')", "k.resourceAdd('1e2147483647', '1n')"),
    ends: "limit",
    round: { fuel: 4_700 },
  },
  {
    name: "quantities of hundreds of digits",
    source: forever(`local k = require('kube') local q = '${"9".repeat(390)}.${"9".repeat(9)}'`, "k.resourceAdd(q, q)"),
    ends: "limit",
    round: { fuel: 8_500 },
  },
  {
    name: "quantities that are none",
    source: forever(`local k = require('kube') local q = '${"1".repeat(398)}!'`, "pcall(k.resourceAdd, q)"),
    ends: "limit",
    round: { fuel: 4_700 },
  },
  {
    name: "quantities that are far too long",
    source: forever(`local k = require('kube') ${repeated("q", "1", 19)}`, "pcall(k.resourceAdd, q)"),
    ends: "limit",
    round: { fuel: 60_000 },
  },
  {
    name: "thousands of quantities",
    source: forever(
      "local k = require('kube') local t = {} for i = 1, 1000 do t[i] = '1Mi' end",
      "k.resourceAdd(unpack(t))",
    ),
    ends: "limit",
    round: { fuel: 160_000, memoryBytes: 68_000 },
  },
  {
    name: "small quantities",
    source: forever("local k = require('kube')", "k.getResourceQuantity('1500m')"),
    ends: "limit",
    round: { fuel: 190 },
  },
  {
    name: "a pod of thousands of resources",
    source: forever("local k = require('kube')", "k.accuratePodRequirements(x)"),
    input: podOfResources(2_000),
    ends: "limit",
    round: { fuel: 520_000, memoryBytes: 1_500_000 },
  },
  {
    name: "a pod with a quantity of a million digits",
    source: forever(
      `local k = require('kube') ${repeated("q", "9", 19)} local p = {spec = {containers = {{resources = {requests = {cpu = q}}}}}}`,
      "pcall(k.accuratePodRequirements, p)",
    ),
    ends: "limit",
    round: { fuel: 110_000, memoryBytes: 1_300_000 },
  },
  {
    name: "a pod of thousands of names",
    source: forever("local k = require('kube')", "k.getPodDependencies(x, 'a')"),
    input: podOfNames(2_000),
    ends: "limit",
    round: { fuel: 150_000, memoryBytes: 2_100_000 },
  },
  {
    name: "long text in a pod's answer, kept",
    source: forever(
      "local k = require('kube') local t = {}",
      "t[#t + 1] = k.accuratePodRequirements(x).nodeClaim.nodeSelector.a",
    ),
    input: { spec: { nodeSelector: { a: "x".repeat(500_000) } } },
    ends: "limit",
    round: { fuel: 53_000, memoryBytes: 420_000 },
  },
  {
    name: "long text in a pod's answer, returned again and again",
    source: body(
      "local k = require('kube') local t = {} for i = 1, 1000 do t[i] = k.accuratePodRequirements(x) end return t",
    ),
    input: { spec: { nodeSelector: { a: "x".repeat(500_000) } } },
    ends: "limit",
  },
];

/** Values that are passed into the script and returned from it. */
export const VALUES: readonly HostileScript[] = [
  {
    name: "a long string returned thousands of times",
    source: body(`${repeated("s", "x", 19)} local t = {} for i = 1, 10000 do t[i] = s end return t`),
    ends: "limit",
  },
  {
    name: "long text of the object returned thousands of times",
    source: body("local t = {} for i = 1, 10000 do t[i] = x.a end return t"),
    input: { a: "x".repeat(500_000) },
    ends: "limit",
  },
  {
    name: "text beyond ASCII returned thousands of times",
    source: body("local t = {} for i = 1, 10000 do t[i] = x.a end return t"),
    input: { a: "é".repeat(100_000) },
    ends: "limit",
  },
  {
    name: "thousands of results",
    source: body("local t = {} for i = 1, 100000 do t[i] = i end return unpack(t)"),
    ends: "limit",
  },
  {
    name: "a result of thousands of objects, each with a name of its own",
    source: body("local t = {} for i = 1, 20000 do t[i] = {['k' .. i] = 1} end return t"),
    ends: "limit",
  },
  {
    name: "a result of an object with thousands of names",
    source: body("local t = {} for i = 1, 50000 do t['k' .. i] = 1 end return t"),
    ends: "limit",
  },
  {
    name: "a result with long names",
    source: body(`${repeated("s", "x", 14)} local t = {} for i = 1, 9 do t[s .. (1000 + i)] = 1 end return t`),
    ends: "error",
  },
  { name: "a result that contains itself", source: body("local t = {} t.t = t return t"), ends: "error" },
  { name: "a result that nests", source: body("local t = 1 for i = 1, 1000 do t = {t} end return t"), ends: "depth" },
  {
    name: "empty tables below a long path",
    source: body(
      `${repeated("s", "x", 12)} local e = {} for i = 1, 50000 do e[i] = {} end local t = {a = e} for i = 1, 190 do t = {[s:sub(1, 4000) .. i] = t} end return t`,
    ),
    input: { a: {} },
    ends: "limit",
  },
  {
    name: "a large object walked again and again",
    source: forever(
      "local function walk(t) for k, v in pairs(t) do if type(v) == 'table' then walk(v) end end end",
      "walk(x)",
    ),
    input: largeObject(20_000),
    ends: "limit",
    round: { fuel: 760_000, memoryBytes: 1_500_000 },
  },
  { name: "a large object returned as it is", source: body("return x"), input: largeObject(40_000), ends: "answers" },
  {
    name: "a large object walked and returned",
    source: body(
      "local function walk(t) for k, v in pairs(t) do if type(v) == 'table' then walk(v) end end end walk(x) return x",
    ),
    input: largeObject(16_000),
    ends: "answers",
  },
  {
    name: "a long text searched",
    source: forever("", "local n = #x.a x.a:find('b', 1, true)"),
    input: { a: "a".repeat(900_000) },
    ends: "limit",
    round: { fuel: 760_000 },
  },
];

function podOfResources(count: number): Json {
  const requests: JsonObject = {};
  for (let at = 0; at < count; at++) requests[`example.com/r${at}`] = "1500m";
  return { spec: { containers: [{ resources: { requests } }] } };
}

function podOfNames(count: number): Json {
  const env = Array.from({ length: count }, (_, at) => ({
    valueFrom: { configMapKeyRef: { name: String(at * 65_536) } },
  }));
  return { spec: { containers: [{ env }] } };
}

/** About 30 bytes for each item, as in real objects. */
function largeObject(items: number): Json {
  return {
    metadata: { name: "large" },
    spec: {
      items: Array.from({ length: items / 4 }, (_, at) => ({
        name: `item-${at}`,
        value: at,
        ready: true,
        text: "some text here",
      })),
    },
  };
}

/**
 * Hostile scripts on the real clock and the real heap: none holds the event loop for more than 50 ms on a machine of usual
 * speed, none takes more memory than its limit. What each is charged is asserted, without any clock, beside the engine.
 */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { HOSTILE_SCRIPTS } from "../../src/interpret/lua/hostile/index.ts";
import { hostileAnswer, hostileLoop } from "../../src/interpret/lua/hostile/random.ts";
import { LuaLimitError, LuaRuntimeError, LuaScript, LuaSyntaxError } from "../../src/interpret/lua/index.ts";
import { DEFAULT_LUA_LIMITS } from "../../src/interpret/lua/limits.ts";
import type { Json } from "../../src/runtime/index.ts";
import { isLongForm } from "../form.ts";

const HELD_MS = 50;
/** What the yardstick takes on a machine of usual speed; a slower machine may hold the event loop for longer. */
const YARDSTICK_MS = 6;
const YARDSTICK_RUNS = 10;
const MEGABYTE = 1024 * 1024;
/** What V8 may leave uncollected: it copies young objects between two spaces of 16 MiB. */
const UNCOLLECTED_BYTES = 32 * MEGABYTE;
const RUNS = 5;
const RANDOM_SCRIPTS = isLongForm ? 400 : 40;
const SEED = 20_240_301;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

interface Measured {
  readonly ends: string;
  readonly wallMs: number;
  /** The time that this thread was really running: on a busy machine the wall clock counts other programs, too. */
  readonly threadMs: number;
  readonly heapBytes: number;
}

function measure(source: string, input: Json): Measured {
  collectGarbage();
  const heapBefore = heapBytes();
  const threadBefore = threadMs();
  const before = process.hrtime.bigint();
  const ends = run(source, input);
  const wallMs = Number(process.hrtime.bigint() - before) / 1e6;
  const spent = threadMs();
  return {
    ends,
    wallMs,
    threadMs: spent === undefined || threadBefore === undefined ? wallMs : spent - threadBefore,
    heapBytes: Math.max(heapBytes() - heapBefore, 0),
  };
}

function run(source: string, input: Json): string {
  try {
    LuaScript.compile(source, { name: "hostile" }).call("f", [input], { clock: { now: () => 0 } });
    return "answers";
  } catch (error) {
    if (error instanceof LuaLimitError) return error.limit;
    if (error instanceof LuaSyntaxError || error instanceof LuaRuntimeError) return error.name;
    throw error;
  }
}

function heapBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Linux counts it, in nanoseconds; elsewhere there is only the wall clock. */
function threadMs(): number | undefined {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;
  } catch {
    return undefined;
  }
}

/** Work of a fixed size, of the kind that scripts do: strings, numbers, a table. */
function yardstick(): number {
  const table = new Map<string, number>();
  let sum = 0;
  for (let at = 0; at < 100_000; at++) {
    const key = `key${at % 5_000}`;
    sum += key.length;
    table.set(key, sum);
  }
  return sum;
}

/** At least 1. Other programs only ever add to a time, so the least of several runs says most. */
function slowness(): number {
  const times = Array.from({ length: YARDSTICK_RUNS }, () => {
    const [thread, before] = [threadMs(), process.hrtime.bigint()];
    yardstick();
    const [spent, wallMs] = [threadMs(), Number(process.hrtime.bigint() - before) / 1e6];
    return spent === undefined || thread === undefined ? wallMs : Math.min(wallMs, spent - thread);
  });
  return Math.max(1, Math.min(...times) / YARDSTICK_MS);
}

const heldMs = HELD_MS * slowness();

function least(of: readonly Measured[], value: (each: Measured) => number): number {
  return Math.min(...of.map(value));
}

function median(of: readonly Measured[], value: (each: Measured) => number): number {
  return of.map(value).toSorted((a, b) => a - b)[Math.floor(of.length / 2)] ?? 0;
}

/** The least time and the median memory of several runs, each of which compiles the script and calls it. */
function measured(source: string, input: Json): Measured {
  const runs = Array.from({ length: RUNS }, () => measure(source, input));
  return {
    ends: runs[0]?.ends ?? "",
    wallMs: least(runs, ({ wallMs }) => wallMs),
    threadMs: least(runs, ({ threadMs }) => threadMs),
    heapBytes: median(runs, ({ heapBytes }) => heapBytes),
  };
}

const rows: string[] = [];

function check(name: string, { ends, wallMs, threadMs, heapBytes }: Measured): void {
  const figures = [`${wallMs.toFixed(1)} ms`, `${threadMs.toFixed(1)} ms`, `${(heapBytes / MEGABYTE).toFixed(1)} MB`];
  rows.push([name.padEnd(80), ends.padEnd(15), ...figures.map((each) => each.padStart(10))].join(" "));
  expect(Math.min(wallMs, threadMs)).toBeLessThan(heldMs);
  expect(heapBytes).toBeLessThan(DEFAULT_LUA_LIMITS.memoryBytes + UNCOLLECTED_BYTES);
}

afterAll(() => {
  console.log(["script".padEnd(80), "ends".padEnd(15), "wall", "thread", "heap"].join(" "));
  console.log(rows.join("\n"));
});

describe.each(Object.entries(HOSTILE_SCRIPTS))("hostile scripts hold nothing up: %s", (kind, scripts) => {
  it.each(scripts.map((script) => [script.name, script] as const))("%s", (name, { source, input = null }) => {
    check(`${kind}: ${name}`, measured(source, input));
  });
});

describe("random scripts hold nothing up", () => {
  it.each([
    ["endless loops over expensive calls", hostileLoop],
    ["expensive calls whose results are returned", hostileAnswer],
  ])("%s", (name, scripts) => {
    const sources = fc.sample(scripts, { numRuns: RANDOM_SCRIPTS, seed: SEED });
    for (const [at, source] of sources.entries()) check(`random: ${name} ${at}`, measured(source, { a: "x" }));
  });
});

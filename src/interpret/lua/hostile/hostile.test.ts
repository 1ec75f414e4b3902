import { describe, expect, it } from "vitest";
import { LuaLimitError, type LuaLimits, LuaRuntimeError, LuaScript, LuaSyntaxError, type LuaUsage } from "../index.ts";
import { DEFAULT_LUA_LIMITS, MAX_COMPILE_STEPS } from "../limits.ts";
import { HOSTILE_SCRIPTS } from "./index.ts";
import { type HostileScript, TICK } from "./script.ts";

type Ending = HostileScript["ends"];

function compile({ source }: HostileScript): LuaScript {
  return LuaScript.compile(source.replaceAll(TICK, "os.time();"), { name: "hostile" });
}

/** How it ends, and what it used. */
function run(hostile: HostileScript): { ends: Ending; usage: LuaUsage; size: number } {
  let script: LuaScript | undefined;
  const endings = (): Ending => {
    try {
      script = compile(hostile);
      script.call("f", [hostile.input ?? null], { clock: { now: () => 0 } });
      return "answers";
    } catch (error) {
      if (error instanceof LuaSyntaxError) return "syntax";
      if (error instanceof LuaRuntimeError) return "error";
      if (!(error instanceof LuaLimitError)) throw error;
      return error.limit === "fuel" || error.limit === "memory" ? "limit" : error.limit;
    }
  };
  const ends = endings();
  return { ends, usage: script?.usage() ?? { fuel: 0, memoryBytes: 0 }, size: script?.size ?? 0 };
}

const PLENTY: Partial<LuaLimits> = { fuel: 3e8, memoryBytes: 1e10 };
const ROUNDS = 3;

class EnoughRounds extends Error {}

/** The minimum charge of one of the first iterations of the script's loop. */
function leastCharged(hostile: HostileScript): LuaUsage {
  const script = compile(hostile);
  const begun: LuaUsage[] = [];
  const now = (): number => {
    begun.push(script.usage());
    if (begun.length > ROUNDS) throw new EnoughRounds();
    return 0;
  };
  expect(() => script.call("f", [hostile.input ?? null], { clock: { now }, limits: PLENTY })).toThrow(EnoughRounds);
  const charged = begun.slice(1).map((after, at) => {
    const before = begun[at] ?? after;
    return { fuel: after.fuel - before.fuel, memoryBytes: after.memoryBytes - before.memoryBytes };
  });
  return {
    fuel: Math.min(...charged.map(({ fuel }) => fuel)),
    memoryBytes: Math.min(...charged.map(({ memoryBytes }) => memoryBytes)),
  };
}

describe.each(Object.entries(HOSTILE_SCRIPTS))("a hostile script ends within its limits: %s", (_name, scripts) => {
  it.each(scripts.map((script) => [script.name, script] as const))("%s", (_script, hostile) => {
    const { ends, usage, size } = run(hostile);
    expect(ends).toBe(hostile.ends);
    expect(usage.fuel).toBeLessThanOrEqual(DEFAULT_LUA_LIMITS.fuel);
    expect(usage.memoryBytes).toBeLessThanOrEqual(DEFAULT_LUA_LIMITS.memoryBytes);
    expect(size).toBeLessThanOrEqual(MAX_COMPILE_STEPS);
    if (hostile.round === undefined) return;
    const least = leastCharged(hostile);
    expect(least.fuel).toBeGreaterThanOrEqual(hostile.round.fuel ?? 0);
    expect(least.memoryBytes).toBeGreaterThanOrEqual(hostile.round.memoryBytes ?? 0);
  });
});

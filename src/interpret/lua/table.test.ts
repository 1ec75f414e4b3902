import { describe, expect, it } from "vitest";
import { DEFAULT_LUA_LIMITS } from "./limits.ts";
import { Meter } from "./meter.ts";
import { LuaTable } from "./table.ts";

function meter(): Meter {
  const full = new Meter("test");
  full.refill(DEFAULT_LUA_LIMITS);
  return full;
}

function filled(keys: number): LuaTable {
  const table = new LuaTable(meter());
  for (let i = 0; i < keys; i++) table.set(`key${i}`, i);
  return table;
}

// A few keys are searched one by one, many through an index.
describe.each([3, 40])("a copy of a table with %d keys", (size) => {
  it("has the same entries and adds its own without changing the original", () => {
    const original = filled(size);
    const copy = original.copyFor(meter());
    copy.set("key1", "changed");
    copy.set("new", true);
    expect(copy.getString("key1")).toBe("changed");
    expect(copy.getString("new")).toBe(true);
    expect(copy.getString(`key${size - 1}`)).toBe(size - 1);
    expect(original.getString("key1")).toBe(1);
    expect(original.getString("new")).toBeUndefined();
    expect(original.keys).toHaveLength(size);
  });

  it("has every key where the original has it", () => {
    const original = filled(size);
    const place = original.placeOf("later");
    const copy = original.copyFor(meter());
    copy.values[place] = "here";
    expect(copy.getString("later")).toBe("here");
    expect(original.getString("later")).toBeUndefined();
  });
});

describe("a table made from JSON", () => {
  it("reads one level when it is first accessed", () => {
    const table = new LuaTable(meter(), { spec: { deep: { value: 1 } } });
    const spec = table.getString("spec");
    expect(table.source).toBeUndefined();
    expect(spec).toBeInstanceOf(LuaTable);
    expect((spec as LuaTable).source).toEqual({ deep: { value: 1 } });
  });

  it("counts only what it reads", () => {
    const small = meter();
    const large = meter();
    new LuaTable(small, { a: 1, rest: [] }).getString("a");
    new LuaTable(large, { a: 1, rest: Array.from({ length: 1000 }, (_, i) => i) }).getString("a");
    expect(large.memoryBytes).toBe(small.memoryBytes);
  });
});

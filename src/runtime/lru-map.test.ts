import { describe, expect, it } from "vitest";
import { LruMap } from "./lru-map.ts";

describe("LruMap", () => {
  it("drops the least recently used entry when the entries are too many or too heavy", () => {
    const map = new LruMap<string, number>(3, 100);
    map.set("a", 1, 40);
    map.set("b", 2, 40);
    map.get("a");
    map.set("c", 3, 40);
    expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([1, undefined, 3]);
    map.set("d", 4, 1);
    map.set("e", 5, 1);
    expect([map.size, map.get("a")]).toEqual([3, undefined]);
    map.set("huge", 6, 101);
    expect([map.size, map.get("huge"), map.get("e")]).toEqual([3, undefined, 5]);
    map.set("c", 7, 90);
    expect([map.get("c"), map.get("d"), map.get("e")]).toEqual([7, 4, 5]);
    map.set("c", 8, 10);
    map.set("f", 9, 80);
    expect([map.size, map.get("c"), map.get("f")]).toEqual([3, 8, 9]);
  });

  it("peeking does not keep an entry", () => {
    const map = new LruMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    expect(map.peek("a")).toBe(1);
    map.set("c", 3);
    expect(map.peek("a")).toBeUndefined();
  });

  it("creates a missing entry once, and counts the read as a use", () => {
    const map = new LruMap<string, string[]>(2);
    const first = map.getOrMake("a", () => []);
    map.getOrMake("b", () => []);
    expect(map.getOrMake("a", () => ["created again"])).toBe(first);
    map.getOrMake("c", () => []);
    expect([map.size, map.peek("a"), map.peek("b")]).toEqual([2, first, undefined]);
  });

  it("deletes an entry together with its weight", () => {
    const map = new LruMap<string, number>(3, 100);
    map.set("a", 1, 90);
    map.delete("a");
    map.set("b", 2, 90);
    map.set("c", 3, 10);
    expect([map.size, map.get("a"), map.get("b"), map.get("c")]).toEqual([2, undefined, 2, 3]);
  });
});

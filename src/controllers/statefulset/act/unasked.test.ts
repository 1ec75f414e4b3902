import { describe, expect, it, vi } from "vitest";
import type { Dispatched, Engine, EngineCluster, Snapshot } from "../../../engine/index.ts";
import { emptyLedger } from "../../../plan/index.ts";
import { askThem, unaskedIn } from "./unasked.ts";

const UNASKED: Snapshot = { kind: "unreachable", message: "nothing has been dispatched yet", isUnasked: true };
const template = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" };
const app = { namespace: "default", name: "web", template };

function momentOf(members: Record<string, Snapshot>, away: readonly string[] = []) {
  const clusters = Object.keys(members).map((name): [string, EngineCluster] => {
    return [name, { name, state: away.includes(name) ? "Unknown" : "Ready", labels: {}, zones: [] }];
  });
  return { members: new Map(Object.entries(members)), clusters: new Map(clusters), dispatched: [] };
}

describe("clusters that an engine looks at only when asked", () => {
  it("are those that the schedule wants, that are Ready and hold no grant", () => {
    const absent: Snapshot = { kind: "absent", atMs: 0 };
    const broken: Snapshot = { kind: "unreachable", message: "its agent is gone" };
    const moment = momentOf({ a: UNASKED, b: absent, c: UNASKED, d: UNASKED, e: broken, f: UNASKED }, ["f"]);
    const wanted = ["a", "b", "c", "e", "f", "gone"];
    expect(unaskedIn(moment, app, wanted, ["c"], emptyLedger())).toEqual(["a"]);
  });

  it("are asked by a reservation; one that cannot be is reported, and the others are asked nevertheless", async () => {
    const reserve = vi.fn(async (_app: unknown, _refs: unknown, { cluster }: { cluster: string }) => {
      if (cluster === "b") throw new Error("namespace b not found");
      return [];
    });
    const engine = { reserve } as unknown as Engine;
    const failures = await askThem({ engine, app, term: 3, confirm: async () => {} }, ["a", "b"]);
    expect(reserve).toHaveBeenCalledWith(app, [template], { cluster: "a", term: 3 });
    expect(failures).toEqual([{ cluster: "b", message: "namespace b not found", reason: "DispatchFailed" }]);
  });

  it("are let go again by a process that does not lead any more", async () => {
    const reserved = { cluster: "a" } as Dispatched;
    const withdraw = vi.fn(async () => true);
    const engine = { reserve: async () => [reserved], withdraw } as unknown as Engine;
    const confirm = () => Promise.reject(new Error("another process leads"));
    await expect(askThem({ engine, app, term: 3, confirm }, ["a"])).rejects.toThrow("another process leads");
    expect(withdraw).toHaveBeenCalledWith(app, reserved, "keep");
  });
});

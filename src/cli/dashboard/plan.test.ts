import { expect, it } from "vitest";
import { changesView, planView } from "./plan.ts";

const LIMIT_BYTES = 512 * 1024;

it("a plan of any size is small on the page, and says how much is left out", () => {
  const events = Array.from({ length: 5_000 }, (_, at) => ({
    kind: "step",
    cluster: `c${at}`,
    step: "update",
    why: "x",
  }));
  const lines = Array.from({ length: 1_000 }, (_, at) => `+ line ${at}`);
  const diffs = Array.from({ length: 100 }, (_, at) => ({
    cluster: `c${at}`,
    objects: [{ object: `StatefulSet web ${at}`, change: "update", lines }],
  }));
  const view = planView({ events, diffs, blockedBy: [] });
  expect(view.ahead).toHaveLength(200);
  expect(view.diffs.length).toBeGreaterThan(0);
  expect(view.hidden).toBe(4_800 + 100 - view.diffs.length);
  expect(JSON.stringify(view).length).toBeLessThan(LIMIT_BYTES);
});

it("a plan that fits hides nothing, and clusters with the same difference share it", () => {
  const objects = [{ object: "StatefulSet web", change: "update", lines: ["+ a"] }];
  const view = planView({ diffs: ["east", "west"].map((cluster) => ({ cluster, objects })) });
  expect(view).toEqual({ ahead: [], blockedBy: [], diffs: [{ clusters: ["east", "west"], objects }] });
});

it("what an application changes is said for each object, once for clusters that get the same", () => {
  const change = {
    added: ["v1 ConfigMap shop/notes"],
    changed: [{ key: "apps/v1 StatefulSet shop/notes", diff: ["- image: a", "+ image: b"] }],
    removed: [{ key: "v1 Service shop/old" }, { key: "v1 Namespace shop", stays: "a namespace is never deleted" }],
    hooks: ["post-install Job shop/migrate"],
  };
  const none = { added: [], changed: [], removed: [], hooks: [] };
  const { diffs } = changesView([
    { cluster: "east", ...change },
    { cluster: "north", ...none },
    { cluster: "west", ...change },
  ]);
  expect(diffs).toHaveLength(1);
  expect(diffs[0]?.clusters).toEqual(["east", "west"]);
  expect(diffs[0]?.objects.map(({ object, change: how, lines }) => [object, how, lines.length])).toEqual([
    ["v1 ConfigMap shop/notes", "new", 0],
    ["apps/v1 StatefulSet shop/notes", "changed", 2],
    ["v1 Service shop/old", "removed", 0],
    ["v1 Namespace shop", "left there: a namespace is never deleted", 0],
    ["post-install Job shop/migrate", "hook, runs on the way", 0],
  ]);
});

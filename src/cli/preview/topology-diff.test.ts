import { expect, it } from "vitest";
import { topologyDiff } from "./topology-diff.ts";

const map = (version: string, clusters: Record<string, string[]>, edit: object = {}) => ({
  kind: "ConfigMap",
  data: {
    "topology-version": version,
    "initial-cluster-state": "existing",
    "topology.json": JSON.stringify(
      Object.entries(clusters).map(([cluster, all]) => ({
        cluster,
        instances: all.map((text) => text.split(" ")[0]),
        addresses: all.map((text) => `${text.split(" ")[0]}.${cluster}`),
        states: all.map((text) => text.split(" ")[1] ?? "member"),
      })),
    ),
    ...edit,
  },
});

it("a topology's difference says who comes, who goes and what else changes, without JSON", () => {
  const before = map("9", { member1: ["web-0", "web-1 joining"], member3: ["web-200"] });
  const after = map("13", { member1: ["web-0", "web-1", "web-2"] }, { "initial-cluster-state": "new" });
  expect(topologyDiff(before, after)).toEqual([
    "  web-1 in member1: joining -> member",
    "+ web-2 is in member1, at web-2.member1",
    "- web-200 is no longer in member3",
    "  initial cluster state existing -> new",
    "  topology version 9 -> 13",
  ]);
});

it("two that say the same have no difference", () => {
  expect(topologyDiff(map("9", { a: ["x-0"] }), map("9", { a: ["x-0"] }))).toEqual([]);
});

it("another ConfigMap is not read as a topology", () => {
  expect(topologyDiff({ kind: "ConfigMap", data: { a: "1" } }, map("9", {}))).toBeUndefined();
  expect(topologyDiff(map("9", {}), map("9", {}, { "topology.json": "no JSON" }))).toBeUndefined();
  expect(topologyDiff(map("9", {}), map("9", {}, { "topology.json": "[{}]" }))).toBeUndefined();
});

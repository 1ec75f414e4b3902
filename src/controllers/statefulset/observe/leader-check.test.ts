import { expect, it } from "vitest";
import { bench } from "../../../interpret/testing/interpreter.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { statefulset } from "../../testing/objects.ts";
import { leaderProblems } from "./leader-check.ts";

const TEMPLATE: KubeObject = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "web" }, spec: {} };
const problems = (luaScript: string) =>
  leaderProblems(bench().interpreter, statefulset({ leader: { luaScript } }), TEMPLATE);

it("a script that does not compile, or lacks its function, is a problem before any cluster shows anything", () => {
  expect(problems("function GetLeader(o")).toMatchObject([{ field: "leader.luaScript" }]);
  expect(problems("function Leader(o) return nil end")[0]?.message).toContain("does not define GetLeader");
});

it("a script that fails on a template, which has no status, is none", () => {
  expect(problems("function GetLeader(o) return o.status.leader end")).toEqual([]);
});

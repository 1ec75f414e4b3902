import { expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import type { PlanResult } from "../../../plan/index.ts";
import { Announcements } from "./announce.ts";

const OBJECT: KubeObject = { apiVersion: "v1", kind: "Test", metadata: { name: "web", namespace: "default" } };

function told(...plans: Parameters<Announcements["announce"]>[2][]): string[] {
  const events: string[] = [];
  const announcements = new Announcements({
    event: (_object, type, reason, message) => events.push(`${type} ${reason} ${message}`),
  });
  for (const plan of plans) announcements.announce("default/web", OBJECT, plan);
  return events;
}

const step = (kind: PlanResult["steps"][number]["kind"], cluster: string) => ({
  kind,
  cluster,
  epoch: 1,
  why: "because",
});
const failed = {
  code: "MemberFailed" as const,
  cluster: "member1",
  message: "it failed",
  remedy: "undo it",
  evidence: [],
};

it("the controller announces every step once, and not the topology updates that follow in other clusters", () => {
  const plan = { steps: [step("grow", "member1"), step("topology", "member2")], completed: [], waiting: [] };
  expect(told(plan)).toEqual(["Normal ScalingOut member1: because"]);
});

it("the controller announces the end of a step that has no turn to return, before what starts after it", () => {
  const completed = [{ cluster: "member1", kind: "update" as const }];
  expect(told({ steps: [step("update", "member2")], completed, waiting: [] })).toEqual([
    "Normal StepFinished member1: its step is finished",
    "Normal Updating member2: because",
  ]);
});

it("the controller warns once, and again only when the cause had gone", () => {
  const bad = { steps: [], completed: [], waiting: [failed] };
  const good = { steps: [], completed: [], waiting: [] };
  const warning = expect.stringContaining("Warning MemberFailed member1: ");
  expect(told(bad, bad)).toEqual([warning]);
  expect(told(bad, good, bad)).toEqual([warning, warning]);
});

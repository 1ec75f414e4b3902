import { expect, it } from "vitest";
import { CONTROLLER_REASONS } from "../src/controllers/index.ts";
import { JOB_REASONS } from "../src/jobs/index.ts";
import { REASONS } from "../src/rollout/index.ts";
import { TITLES, titleOf } from "./titles.ts";

it("a wait is called by what happens, with its cluster", () => {
  expect(titleOf("WaitingForReady", "west")).toBe("west is not ready yet");
  expect(titleOf("AwaitingApproval", "west")).toBe("A person has to approve the next wave");
});

it("a wait without a title, or without the cluster that its title names, is called by its words", () => {
  expect(titleOf("SomethingNew", "west")).toBe("Something new in west");
  expect(titleOf("WaitingForReady", undefined)).toBe("Waiting for ready");
  expect(titleOf("constructor", undefined)).toBe("Constructor");
});

it("a cluster's name is only ever text", () => {
  expect(titleOf("ClusterLost", "$&")).toBe("The cluster $& is lost");
});

it("every title belongs to a reason that exists", () => {
  const known = new Set(Object.keys({ ...REASONS, ...JOB_REASONS, ...CONTROLLER_REASONS }));
  expect(Object.keys(TITLES).filter((reason) => !known.has(reason))).toEqual([]);
});

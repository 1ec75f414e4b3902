import { expect, it } from "vitest";
import { CONTROLLER_REASONS } from "../src/controllers/index.ts";
import { JOB_REASONS } from "../src/jobs/index.ts";
import { REASONS } from "../src/rollout/index.ts";
import { otherTitle, stepWords, TITLES, titleOf } from "./titles.ts";

/** Reasons of how a job ended; the member's own are shown as they are. */
const ENDS = ["AttemptFailed", "AttemptsExhausted", "DeadlineExceeded"];

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

it("what else waits has its titles", () => {
  expect(otherTitle("west: LeaderLast")).toBe("west has the leader and goes last");
  expect(otherTitle("west: BudgetExhausted")).toBe("No more may be down at once (west)");
  expect(otherTitle("Paused")).toBe("The rollout is paused");
});

it("a step of the plan is a verb, and one that is not known is its words", () => {
  expect(["transfer", "grow", "finish attempt 2"].map(stepWords)).toEqual([
    "hands the leader over",
    "adds",
    "finish attempt 2",
  ]);
});

it("every reason has a title, and every title a reason", () => {
  const known = Object.keys({ ...REASONS, ...JOB_REASONS, ...CONTROLLER_REASONS });
  expect(Object.keys(TITLES).toSorted()).toEqual([...known, ...ENDS].toSorted());
});

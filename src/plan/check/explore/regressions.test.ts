import { describe, expect, it } from "vitest";
import { plan } from "../../plan.ts";
import { Explorer } from "./explore.ts";
import { remove, type Scenario, scaleTo, scenario, template } from "./scenario.ts";

/** Ways on which a planner once failed. Each was found by exploration, and is gone again here. */
function go(given: Scenario, labels: readonly string[]): void {
  expect(new Explorer(given, plan).follow(labels)?.trace).toBeUndefined();
}

/** A StatefulSet reads its grant, takes its next pod down and recreates it. */
function restarts(cluster: string): string[] {
  return [
    `${cluster}: the dispatch arrives`,
    `${cluster}: the operator acts`,
    `${cluster}: an instance moves on`,
    `${cluster}: the operator acts`,
  ];
}

describe("what exploration found once does not come back", () => {
  it("[T1] the turn of a cluster that is lost while all is let go stays where it is", () => {
    const given = scenario("released with a cluster cut off", {
      sizes: { a: 1, b: 1, c: 1 },
      faults: { cut: 1 },
      edits: [template("B"), remove("Release")],
    });
    go(given, ["edit: template B", "c is cut off", "c: seen, plan", "edit: delete (Release)"]);
  });

  it("[F8] a pod that came up after it was seen broken is not deleted", () => {
    const given = scenario("StatefulSets 1+2 in batches of one, superseded", {
      protocol: "statefulset",
      sizes: { a: 1, b: 2 },
      update: { batches: [1] },
      faults: { wait: 1 },
      edits: [template("B"), template("C")],
    });
    go(given, [
      "edit: template B",
      ...restarts("b"),
      "b: an instance moves on",
      "b: the operator acts",
      "look everywhere",
      ...restarts("b"),
      "b: pods seen, plan",
      "b: an instance moves on",
      "edit: template C",
      "time passes: 60000 ms",
      "b: the dispatch arrives",
      "b: the operator acts",
      "b: object seen, plan",
    ]);
  });

  it("[Q8] an update that waited for the leaver continues when it is gone, and the leaver still votes", () => {
    const given = scenario("StatefulSets 2+1, scaled in mid-step", {
      protocol: "statefulset",
      sizes: { a: 2, b: 1 },
      spare: ["c"],
      edits: [template("B"), scaleTo({ a: 1, b: 1, c: 1 })],
    });
    go(given, [
      "edit: template B",
      ...restarts("b"),
      "b: an instance moves on",
      "b: the operator acts",
      "look everywhere",
      ...restarts("a"),
      "a: pods seen, plan",
      'edit: scale to {"a":1,"b":1,"c":1}',
    ]);
  });

  describe("[Q4] [Q8] a rebuilt ledger restarts nothing beside a leaver", () => {
    const given = scenario("StatefulSets 2+1, scaled in mid-rollout, the ledger lost", {
      protocol: "statefulset",
      sizes: { a: 2, b: 1 },
      faults: { rebuild: 1 },
      edits: [template("B"), scaleTo({ a: 1, b: 2 })],
    });
    const untilOneLeaves = [
      "edit: template B",
      ...restarts("b"),
      "b: an instance moves on",
      "b: the operator acts",
      'edit: scale to {"a":1,"b":2}',
      "b: object seen, plan",
      "b: the dispatch arrives",
      "b: the operator acts",
      "b: an instance moves on",
      "b: the operator acts",
      "b: seen, plan",
    ];

    it("that is gone, and still votes", () => {
      const gone = ["a: the dispatch arrives", "a: the operator acts", "a: an instance moves on", "a: pods seen, plan"];
      go(given, [...untilOneLeaves, ...gone, "the ledger is lost and rebuilt", "look everywhere"]);
    });

    it("that has yet to go", () => {
      go(given, [...untilOneLeaves, "the ledger is lost and rebuilt", ...restarts("a")]);
    });
  });

  it("[G4] [U14] pods that are seen broken while the status says ready are not mended over and over", () => {
    const given = scenario("StatefulSets in Parallel pod management, 2+1, an accident", {
      protocol: "statefulset",
      sizes: { a: 2, b: 1 },
      memberOrdered: false,
      update: { maxUnavailable: 2 },
      faults: { accident: 1 },
      edits: [template("B")],
    });
    go(given, [
      "a: 0 is down by accident (crash)",
      "a: pods seen, plan",
      "a: an instance moves on",
      "edit: template B",
      "a: the dispatch arrives",
      "a: the operator acts",
      "a: object seen, plan",
    ]);
  });
});

import { describe, expect, test } from "vitest";
import { plan } from "../plan.ts";
import { Explorer } from "./explore.ts";
import { remove, type Scenario, scenario, template } from "./scenario.ts";

/** Ways on which a planner once failed. Each was found by exploration, and is gone again here. */
function go(given: Scenario, labels: readonly string[]): void {
  expect(new Explorer(given, plan).follow(labels)?.trace).toBeUndefined();
}

describe("what was found once", () => {
  test("[T1] the turn of a cluster that is lost while all is let go stays where it is", () => {
    const given = scenario("released with a cluster cut off", {
      sizes: { a: 1, b: 1, c: 1 },
      faults: { cut: 1 },
      edits: [template("B"), remove("Release")],
    });
    go(given, ["edit: template B", "c is cut off", "c: seen, plan", "edit: delete (Release)"]);
  });

  test("[F8] a pod that came up after it was seen broken is not deleted", () => {
    const given = scenario("StatefulSet 3 in batches of one, superseded", {
      protocol: "statefulset",
      sizes: { a: 3 },
      update: { batches: [1] },
      edits: [template("B"), template("C")],
    });
    const restarts = [
      "a: the dispatch arrives",
      "a: the operator acts",
      "a: an instance moves on",
      "a: the operator acts",
    ];
    go(given, [
      "edit: template B",
      ...restarts,
      "a: an instance moves on",
      "a: the operator acts",
      "look everywhere",
      ...restarts,
      "a: pods seen, plan",
      "a: an instance moves on",
      "a: the operator acts",
      "edit: template C",
      "a: object seen, plan",
      "a: the dispatch arrives",
      "a: the operator acts",
      "a: object seen, plan",
    ]);
  });
});

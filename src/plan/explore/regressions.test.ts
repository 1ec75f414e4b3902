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
    const given = scenario("StatefulSets 1+2 in batches of one, superseded", {
      protocol: "statefulset",
      sizes: { a: 1, b: 2 },
      update: { batches: [1] },
      faults: { wait: 1 },
      edits: [template("B"), template("C")],
    });
    go(given, [
      "edit: template B",
      "b: the dispatch arrives",
      "b: the operator acts",
      "b: an instance moves on",
      "b: the operator acts",
      "b: pods seen, plan",
      "b: an instance moves on",
      "b: the operator acts",
      "b: object seen, plan",
      "b: the dispatch arrives",
      "b: the operator acts",
      "edit: template C",
      "time passes: 60000 ms",
      "b: the dispatch arrives",
      "b: the operator acts",
      "b: object seen, plan",
    ]);
  });
});

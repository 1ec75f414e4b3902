import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { readPlacement } from "./placements.ts";
import { APP } from "./testing/agent.ts";

const app = { ...APP, placement: "eu" };
const satisfied = { type: "PlacementSatisfied", status: "True", message: "all are decided" };

function placement(selected: number, ...conditions: JsonObject[]): KubeObject {
  const status = { numberOfSelectedClusters: selected, conditions };
  return { apiVersion: "v1beta1", kind: "Placement", metadata: { name: "eu", namespace: "default" }, status };
}

function slice(...clusters: string[]): KubeObject {
  const decisions = clusters.map((clusterName) => ({ clusterName, reason: "" }));
  return { apiVersion: "v1beta1", kind: "PlacementDecision", metadata: { name: "eu-1" }, status: { decisions } };
}

describe("a Placement", () => {
  it("selects the clusters of all its slices, one share each", () => {
    expect(readPlacement(app, placement(3, satisfied), [slice("a", "b"), slice("c")])).toEqual({
      kind: "known",
      clusters: ["a", "b", "c"].map((cluster) => ({ cluster, replicas: 1 })),
      isSelection: true,
    });
  });

  it.each<[string, KubeObject | undefined, KubeObject[], string]>([
    ["does not exist", undefined, [], "does not exist"],
    ["has decided nothing", placement(0), [], "has decided nothing yet"],
    ["counts more than its slices name", placement(3, satisfied), [slice("a")], "it is deciding"],
    ["selects nothing", placement(0, satisfied), [slice()], "selects no cluster"],
    [
      "is misconfigured",
      placement(1, satisfied, { type: "PlacementMisconfigured", status: "True", message: "bad selector" }),
      [slice("a")],
      "bad selector",
    ],
    [
      "has no cluster set bound",
      placement(0, { ...satisfied, status: "False", reason: "NoManagedClusterSetBindings", message: "no bindings" }),
      [slice()],
      "no bindings",
    ],
  ])("that %s gives no answer, and never 'no clusters'", (_what, found, decisions, message) => {
    const schedule = readPlacement(app, found, decisions);
    expect(schedule).toMatchObject({ kind: "unknown", message: expect.stringContaining(message) });
  });

  it("that is not named leaves everything to spec.topology", () => {
    expect(readPlacement(APP, undefined, [])).toMatchObject({ message: expect.stringContaining("spec.topology") });
  });
});

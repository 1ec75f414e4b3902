import { describe, expect, it } from "vitest";
import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import { movedTopology } from "./view.ts";

const spec = (clusters: readonly { name: string; replicas?: number; weight?: number }[]) =>
  ({ topology: { clusters } }) as unknown as ParsedCrossClusterStatefulset["spec"];
const never = () => false;

describe("moving the instances of a drained cluster", () => {
  const clusters = [
    { name: "a", replicas: 3 },
    { name: "b", replicas: 1 },
    { name: "c", replicas: 2 },
  ];

  it("gives each to the smallest of the others, and keeps their number", () => {
    expect(movedTopology(spec(clusters), "a", never)).toEqual([
      { name: "a", replicas: 0 },
      { name: "b", replicas: 3 },
      { name: "c", replicas: 3 },
    ]);
  });

  it("gives none to another cluster that is drained", () => {
    expect(movedTopology(spec(clusters), "a", (name) => name === "b")?.[2]).toEqual({ name: "c", replicas: 5 });
  });

  it("is refused for weights, for an engine's schedule, or if no other cluster is left", () => {
    expect(movedTopology(spec([{ name: "a", weight: 1 }]), "a", never)).toBeUndefined();
    expect(movedTopology(spec([]), "a", never)).toBeUndefined();
    expect(movedTopology(spec([{ name: "a", replicas: 1 }]), "a", never)).toBeUndefined();
  });
});

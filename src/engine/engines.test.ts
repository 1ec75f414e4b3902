import { expect, it } from "vitest";
import type { KubeClient } from "../kube/index.ts";
import { findEngines, isEngineName } from "./engines.ts";

function serving(...groups: string[]): Pick<KubeClient, "discovery"> {
  const versions = async (group: string) => (groups.includes(group) ? ["v1"] : []);
  return { discovery: { versions } as unknown as KubeClient["discovery"] };
}

it("a hub's engine is the one whose clusters it serves", async () => {
  expect(await findEngines(serving("cluster.karmada.io", "apps"))).toEqual(["karmada"]);
  expect(await findEngines(serving("cluster.open-cluster-management.io"))).toEqual(["ocm"]);
  expect(await findEngines(serving("cluster.karmada.io", "cluster.open-cluster-management.io"))).toEqual([
    "karmada",
    "ocm",
  ]);
  expect(await findEngines(serving("apps"))).toEqual([]);
});

it("a name that no object has by itself is no engine's", () => {
  expect(["karmada", "ocm", "toString", "fleet"].map(isEngineName)).toEqual([true, true, false, false]);
});

import { expect, it } from "vitest";
import type { KubeClient } from "../../kube/index.ts";
import { engineOf, namedEngine } from "./engine.ts";

function serving(...groups: string[]): { readonly client: KubeClient } {
  const versions = async (group: string) => (groups.includes(group) ? ["v1"] : []);
  return { client: { discovery: { versions } } as unknown as KubeClient };
}

const KARMADA = "cluster.karmada.io";
const OCM = "cluster.open-cluster-management.io";

it("the only engine of a hub need not be named", async () => {
  expect((await engineOf(serving(KARMADA))).name).toBe("karmada");
  expect((await engineOf(serving(OCM, "apps"))).name).toBe("ocm");
});

it("a hub with more than one engine names them, and both options", async () => {
  await expect(engineOf(serving(KARMADA, OCM))).rejects.toThrow(
    "this hub has more than one engine (Karmada, Open Cluster Management): choose with --engine karmada or --engine ocm",
  );
  expect((await engineOf(serving(KARMADA, OCM), "ocm")).name).toBe("ocm");
});

it("a server without an engine is no hub, unless its engine is named because it comes later", async () => {
  await expect(engineOf(serving("apps"))).rejects.toThrow("it is no hub. Use --context of the hub, or --engine");
  expect((await engineOf(serving("apps"), "karmada")).name).toBe("karmada");
});

it("a name that is no engine's is refused with those that are", () => {
  expect(() => namedEngine("fleet")).toThrow("--engine 'fleet' is not known; use karmada or ocm");
});

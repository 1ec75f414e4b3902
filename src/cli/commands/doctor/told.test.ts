import { expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { toldIn } from "./told.ts";

const application = (name: string, status: JsonObject): KubeObject => ({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  metadata: { name, namespace: "shop" },
  status,
});
const conflict = (status: string) => [
  { type: "Settled", status: "False", message: "a step is under way" },
  { type: "SettingsConflict", status, message: "the agent of cluster east reports changes seconds after they happen" },
];

it("doctor repeats what the controller says of agents and of ManifestWorks of other writers", () => {
  const message = "StatefulSet shop/db is also delivered by ManifestWork east/mine";
  const found = toldIn([
    application("web", { conditions: conflict("True") }),
    application("db", { reason: "HoldDefeated", message, conditions: conflict("False") }),
    application("new", {}),
  ]);
  expect(found).toEqual([
    {
      check: "settings",
      state: "warning",
      message: "shop/web: the agent of cluster east reports changes seconds after they happen",
      remedy: "lockstep why web -n shop",
    },
    { check: "settings", state: "warning", message: `shop/db: ${message}`, remedy: "lockstep why db -n shop" },
  ]);
});

it("doctor says that nothing works against rollouts, and is silent without an application", () => {
  expect(toldIn([application("web", { conditions: conflict("False") })])).toMatchObject([
    { state: "ok", message: expect.stringContaining("the rollouts of 1 applications") },
  ]);
  expect(toldIn([])).toEqual([]);
});

import { expect, it } from "vitest";
import type { Dispatched, EngineApp } from "../../engine/index.ts";
import { dispatchSeen } from "./dispatched.ts";

const APP: EngineApp = {
  namespace: "default",
  name: "web",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" },
};

function one(cluster: string, kind: "StatefulSet" | "ConfigMap", state: Partial<Dispatched> = {}): Dispatched {
  return {
    cluster,
    ref: { apiVersion: "v1", kind, namespace: "default", name: "web", ...(kind === "StatefulSet" && APP.template) },
    manifest: {},
    notes: {},
    term: 1,
    version: "1",
    uid: kind,
    deleting: false,
    keeps: true,
    delivery: { state: "unknown", message: "" },
    ...state,
  };
}

it("dispatch objects show for each cluster whether its workload is dispatched and whether a part is being deleted", () => {
  const going = { deleting: true, keeps: false };
  expect(
    dispatchSeen(
      [
        one("a", "ConfigMap"),
        one("a", "StatefulSet"),
        one("b", "StatefulSet", going),
        one("b", "ConfigMap"),
        one("c", "ConfigMap", { deleting: true }),
      ],
      APP,
    ),
  ).toEqual({
    a: { workload: "there", isLetGo: false },
    b: { workload: "going", isLetGo: false },
    c: { workload: "none", isLetGo: true },
  });
});

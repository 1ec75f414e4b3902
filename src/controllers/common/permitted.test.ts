import { describe, expect, it } from "vitest";
import type { EngineApp } from "../../engine/index.ts";
import type { MemberManifest } from "../../render/index.ts";
import { ForeignObjectError, refuseForeign } from "./permitted.ts";

const APP: EngineApp = {
  namespace: "shop",
  name: "web",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "shop", name: "web" },
};

function manifest(role: MemberManifest["role"], apiVersion: string, kind: string, name: string, namespace?: string) {
  const metadata = { name, ...(namespace !== undefined && { namespace }) };
  return { role, key: `${kind} ${name}`, object: { apiVersion, kind, metadata } } as MemberManifest;
}

const workload = manifest("workload", "apps/v1", "StatefulSet", "web", "shop");

describe("a grant", () => {
  it("carries its workload, and its namespace's ConfigMaps, Secrets, ServiceAccounts, Services, ServiceExports", () => {
    const beside = [
      manifest("dependency", "v1", "ConfigMap", "a", "shop"),
      manifest("dependency", "v1", "Secret", "b", "shop"),
      manifest("dependency", "v1", "ServiceAccount", "c", "shop"),
      manifest("dependency", "v1", "Service", "d", "shop"),
      manifest("dependency", "multicluster.x-k8s.io/v1beta1", "ServiceExport", "e", "shop"),
    ];
    expect(() => refuseForeign(APP, [...beside, workload])).not.toThrow();
  });

  it.each([
    ["another workload", manifest("workload", "apps/v1", "StatefulSet", "db", "shop")],
    ["another kind in the workload's place", manifest("workload", "apps/v1", "DaemonSet", "web", "shop")],
    ["an object of another namespace", manifest("dependency", "v1", "ConfigMap", "a", "kube-system")],
    ["an object without a namespace", manifest("dependency", "v1", "ConfigMap", "a")],
    ["rights", manifest("dependency", "rbac.authorization.k8s.io/v1", "RoleBinding", "a", "shop")],
    ["a kind that only has the name of an allowed one", manifest("dependency", "evil.io/v1", "Secret", "a", "shop")],
    ["pods", manifest("dependency", "v1", "Pod", "a", "shop")],
  ])("does not carry %s", (_what, object) => {
    expect(() => refuseForeign(APP, [object, workload])).toThrow(ForeignObjectError);
  });

  it("carries nothing at all when one object is refused, and says which and why", () => {
    const binding = manifest("dependency", "rbac.authorization.k8s.io/v1", "RoleBinding", "mine", "shop");
    expect(() => refuseForeign(APP, [binding])).toThrow(
      "rbac.authorization.k8s.io/v1 RoleBinding shop/mine is not dispatched: beside its workload an " +
        "application carries only ConfigMap, Secret, ServiceAccount, Service, ServiceExport. " +
        "Nothing of this grant is written",
    );
  });
});

import { describe, expect, it } from "vitest";
import { isKubeObject } from "../../../kube/index.ts";
import { distributedOf } from "./distributed.ts";
import { installManifests } from "./manifests.ts";
import { agentMayApplyAndWatch, executorWork, memberRightsWork } from "./ocm.ts";

const workloads = [{ plural: "xlineclusters", group: "apps.my.io" }];
const settings = { systemNamespace: "lockstep-system", engine: "ocm", workloads, standingHold: true } as const;
const manifests = installManifests(settings).filter(isKubeObject);

describe("what is installed on a hub of Open Cluster Management", () => {
  it("names no kind of Karmada's, apart from the one that says how kinds are read", () => {
    const groups = new Set(JSON.stringify(manifests).match(/(?:cluster|work|policy)\.karmada\.io/g));
    expect([...groups]).toEqual([]);
    const definitions = manifests.filter(({ kind }) => kind === "CustomResourceDefinition");
    expect(definitions.map(({ metadata }) => metadata.name)).toContain(
      "resourceinterpretercustomizations.config.karmada.io",
    );
  });

  it("guards ManifestWorks as Works are guarded on Karmada, and no holds", () => {
    const policies = manifests.filter(({ kind }) => kind === "ValidatingAdmissionPolicy");
    const names = policies.map(({ metadata }) => metadata.name.split(".")[0]);
    expect(names).toContain("works");
    expect(names).toContain("work-contents");
    expect(names).not.toContain("holds");
    const guarded = policies.filter(({ spec }) => JSON.stringify(spec).includes('"resources":["manifestworks"]'));
    expect(guarded.map(({ metadata }) => metadata.name.split(".")[0])).toEqual(["works", "work-contents"]);
  });

  it("refuses to detach a cluster that the controller lists, whose list is all it may write of ConfigMaps", () => {
    const name = "lockstep-clusters-in-use";
    const list = manifests.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === name);
    expect(list?.metadata.namespace).toBe("lockstep-system");
    const binding = manifests.find(
      ({ kind, metadata }) =>
        kind === "ValidatingAdmissionPolicyBinding" && metadata.name === "clusters-in-use.lockstep.karmada.io",
    );
    // A hub from which Lockstep was removed must be able to detach its clusters.
    expect(binding?.spec).toMatchObject({
      validationActions: ["Deny"],
      paramRef: { name, namespace: "lockstep-system", parameterNotFoundAction: "Allow" },
    });
    const writing = manifests.flatMap(({ kind, rules }) =>
      (kind === "Role" || kind === "ClusterRole") && Array.isArray(rules)
        ? rules.filter(
            (rule) => /"configmaps"/.test(JSON.stringify(rule)) && /patch|update|create/.test(JSON.stringify(rule)),
          )
        : [],
    );
    expect(writing).toEqual([
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "patch"], resourceNames: [name] },
    ]);
  });

  it("carries the executor's account and rights to a cluster, orphans them, and lets the controller name it", () => {
    const executor = { namespace: "lockstep-system", name: "lockstep" };
    const work = executorWork("member1", executor, workloads);
    const text = JSON.stringify(work);
    expect(work.metadata).toMatchObject({
      annotations: { "lockstep.karmada.io/executor": "lockstep-system/lockstep" },
    });
    expect(text).toContain('"propagationPolicy":"Orphan"');
    expect(text).toContain('"resources":["xlineclusters"]');
    const roles = JSON.stringify(installManifests({ ...settings, executor }));
    expect(roles).toContain(
      '"verbs":["execute-as"],"resourceNames":["system:serviceaccount:lockstep-system:lockstep"]',
    );
    expect(JSON.stringify(manifests)).not.toContain("execute-as");
  });

  it("lets agents write and watch custom kinds, by a role that OCM collects", () => {
    const text = JSON.stringify(memberRightsWork("member1", workloads));
    expect(text).toContain('"open-cluster-management.io/aggregate-to-work":"true"');
    expect(text).toContain(
      '"resources":["xlineclusters"],"verbs":["get","list","watch","create","update","patch","delete"]',
    );
  });

  it("lets agents apply Kubernetes' own kinds and those that are named, and says of each kind whether they may", () => {
    const work = (...texts: string[]) => memberRightsWork("member1", [], distributedOf(texts));
    const may = (given: unknown, plural: string, group: string) =>
      isKubeObject(given) && agentMayApplyAndWatch(given, { plural, group });
    expect(may(work(), "deployments", "apps")).toBe(true);
    expect(may(work(), "priorityclasses", "scheduling.k8s.io")).toBe(true);
    expect(may(work(), "tickets", "orders.example")).toBe(false);
    expect(may(work("tickets.orders.example"), "tickets", "orders.example")).toBe(true);
    expect(may(work("*"), "anything", "example.io")).toBe(true);
    expect(() => work("tickets")).toThrow("--distribute: give PLURAL.GROUP");
  });

  it("carries a role to read everything that is distributed, and another for dry runs alone", () => {
    const text = JSON.stringify(memberRightsWork("member1", [], distributedOf(["tickets.orders.example"])));
    expect(text).toContain('"name":"lockstep-member"');
    expect(text).toContain('"resources":["tickets"],"verbs":["get","list","watch"]');
    expect(text).toContain('"name":"lockstep-member-dry-run"');
    expect(text).toContain('"resources":["tickets"],"verbs":["create","patch"]');
  });
});

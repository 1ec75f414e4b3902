import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { runAlone } from "../../testing/harness.ts";
import { installManifests } from "./manifests.ts";
import { peopleRoles } from "./roles.ts";

const SETTINGS = { systemNamespace: "lockstep-system", workloads: [], standingHold: true };

function named(objects: readonly JsonObject[], kind: string, name: string): JsonObject | undefined {
  return objects.find(
    (object) => object.kind === kind && isJsonObject(object.metadata) && object.metadata.name === name,
  );
}

describe("lockstep install", () => {
  it("binds every right to the controller's account, or to the given user", () => {
    const account = installManifests(SETTINGS);
    const user = installManifests({ ...SETTINGS, controllerUser: "lockstep" });
    for (const name of ["lockstep-controller", "lockstep-member"]) {
      expect(named(account, "ClusterRoleBinding", name)?.subjects).toEqual([
        { kind: "ServiceAccount", name: "lockstep-controller", namespace: "lockstep-system" },
      ]);
      expect(named(user, "ClusterRoleBinding", name)?.subjects).toEqual([
        { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "lockstep" },
      ]);
    }
    const holds = JSON.stringify(named(user, "ValidatingAdmissionPolicy", "holds.lockstep.karmada.io"));
    expect(holds).toContain("request.userInfo.username != 'lockstep'");
    expect(holds).not.toContain("lockstep-controller");
  });

  it("lets Karmada's proxy impersonate the account's groups without granting them a right on the hub", () => {
    const role = named(installManifests(SETTINGS), "ClusterRole", "lockstep-controller-groups");
    expect(role?.rules).toEqual([
      { apiGroups: ["cluster.karmada.io"], resources: ["clusters/proxy"], verbs: ["be-impersonated"] },
    ]);
    const user = installManifests({ ...SETTINGS, controllerUser: "lockstep" });
    expect(named(user, "ClusterRole", "lockstep-controller-groups")).toBeUndefined();
  });

  it("writes ledgers and Secrets only in Lockstep's own namespace", () => {
    const manifests = installManifests(SETTINGS);
    const wide = named(manifests, "ClusterRole", "lockstep-controller")?.rules;
    const rules = Array.isArray(wide) ? wide.filter(isJsonObject) : [];
    const verbsOn = (resource: string) =>
      rules.flatMap(({ resources, verbs }) =>
        Array.isArray(resources) && resources.includes(resource) && Array.isArray(verbs) ? verbs : [],
      );
    expect(verbsOn("crossclusterledgers")).toEqual([]);
    expect(verbsOn("secrets")).toEqual(["get", "list", "watch"]);
    expect(JSON.stringify(named(manifests, "Role", "lockstep-controller"))).toContain("crossclusterledgers");
  });

  it("adds roles for people to Kubernetes' own, but never the right to approve", () => {
    const joins = peopleRoles().map(({ metadata, rules }) => {
      const { name, labels } = isJsonObject(metadata) ? metadata : {};
      const joined = Object.keys(isJsonObject(labels) ? labels : {}).filter((label) =>
        label.includes("/aggregate-to-"),
      );
      const approves = /"rolloutapprovals"\],"verbs":\[[^\]]*"create"/.test(JSON.stringify(rules));
      return [name, joined.map((label) => label.split("/")[1]).join(" "), approves];
    });
    expect(joins).toEqual([
      ["lockstep-viewer", "aggregate-to-view", false],
      ["lockstep-editor", "aggregate-to-edit", false],
      ["lockstep-operator", "", false],
      ["lockstep-approver", "", true],
      ["lockstep-on-call", "", false],
    ]);
  });

  it("accepts workloads with their kind, and refuses invalid ones", async () => {
    const { out } = await runAlone(["install", "--workload", "people.my.io=Person", "--require-allowed-clusters"]);
    expect(out).toContain("'apps/statefulset', 'my.io/person'");
    expect(out).toContain('"workloads":["people.my.io=Person"],"requireAllowedClusters":true');
    const refused = await runAlone(["install", "--workload", "people"]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("--workload 'people': give PLURAL.GROUP")]);
  });
});

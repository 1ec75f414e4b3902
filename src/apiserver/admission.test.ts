import { describe, expect, it } from "vitest";
import { admissionPolicies, customResourceDefinitions } from "../api/index.ts";
import type { JsonObject } from "../runtime/index.ts";
import { TestServer } from "./testing/client.ts";
import { CONFIG_MAPS, CRDS, configMap } from "./testing/objects.ts";

const GROUP = "/apis/admissionregistration.k8s.io/v1";

async function install(server: TestServer, policies: JsonObject[]): Promise<void> {
  for (const policy of policies) {
    const plural =
      policy.kind === "ValidatingAdmissionPolicy" ? "validatingadmissionpolicies" : "validatingadmissionpolicybindings";
    await server.create(`${GROUP}/${plural}`, policy);
  }
}

function policy(expression: string, actions: string[], more: JsonObject = {}): JsonObject[] {
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "small" },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["configmaps"] },
          ],
        },
        validations: [{ expression, message: "too much data" }],
        ...more,
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "small" },
      spec: { policyName: "small", validationActions: actions },
    },
  ];
}

describe("validating admission policies", () => {
  it("keep a CrossClusterStatefulset to its own namespace", async () => {
    const server = new TestServer();
    for (const crd of customResourceDefinitions()) await server.create(CRDS, crd);
    await install(server, admissionPolicies());
    const path = "/apis/apps.karmada.io/v1alpha1/namespaces/default/crossclusterstatefulsets";
    const object = (namespace: string) => ({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name: "xline" },
      spec: {
        resourceSelector: { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", name: "xline", namespace },
        updateStrategy: { type: "RollingUpdate" },
      },
    });
    const refused = await server.ask("POST", path, object("kube-system"));
    expect(refused.status).toBe(422);
    expect(refused.body.message).toContain(
      "resourceSelector.namespace must be the CrossClusterStatefulset's own namespace",
    );
    await server.create(path, object("default"));
  });

  it("deny, or only warn, as the binding says, on creation and on change", async () => {
    const expression = "size(object.data) <= 1 && (oldObject == null || request.operation == 'UPDATE')";
    const denying = new TestServer();
    await install(denying, policy(expression, ["Deny"]));
    await denying.create(CONFIG_MAPS, configMap("a", { n: "1" }));
    const refused = await denying.ask("PUT", `${CONFIG_MAPS}/a`, configMap("a", { n: "1", m: "2" }));
    expect(refused.body.message).toBe(
      "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'small' with binding 'small' denied request: too much data",
    );
    const warning = new TestServer();
    await install(warning, policy(expression, ["Warn"]));
    const warned = await warning.ask("POST", CONFIG_MAPS, configMap("a", { n: "1", m: "2" }));
    expect([warned.status, warned.headers.warning]).toEqual([201, expect.stringContaining("too much data")]);
  });

  it("fail closed when an expression does not work, unless told to ignore it", async () => {
    const failing = new TestServer();
    await install(failing, policy("object.nope.nothing == 1", ["Deny"]));
    expect((await failing.ask("POST", CONFIG_MAPS, configMap("a"))).body.message).toContain("resulted in error");
    const ignoring = new TestServer();
    await install(ignoring, policy("object.nope.nothing == 1", ["Deny"], { failurePolicy: "Ignore" }));
    await ignoring.create(CONFIG_MAPS, configMap("a"));
  });
});

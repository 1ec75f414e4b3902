import { describe, expect, it } from "vitest";
import { admissionPolicies, customResourceDefinitions, DEFAULT_POLICY_SETTINGS } from "../../api/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { TestServer } from "../testing/client.ts";
import { CONFIG_MAPS, CRDS, configMap } from "../testing/objects.ts";
import type { RequestAttributes } from "../types.ts";

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
  it("restrict a CrossClusterStatefulset to its own namespace", async () => {
    const server = new TestServer();
    for (const crd of customResourceDefinitions()) await server.create(CRDS, crd);
    await install(
      server,
      admissionPolicies({ ...DEFAULT_POLICY_SETTINGS, workloads: [{ plural: "xlineclusters", group: "apps.my.io" }] }),
    );
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

  it("deny, or only warn, according to the binding, on creation and on change", async () => {
    const expression = "size(object.data) <= 1 && (oldObject == null || request.operation == 'UPDATE')";
    const denying = new TestServer();
    await install(denying, policy(expression, ["Deny"]));
    await denying.create(CONFIG_MAPS, configMap("a", { n: "1" }));
    const refused = await denying.ask("PUT", `${CONFIG_MAPS}/a`, configMap("a", { n: "1", m: "2" }));
    expect(refused.body.message).toBe(
      "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'small' with binding 'small' denied request: too much data",
    );
    // What kubectl shows of it.
    expect(refused.body.details).toMatchObject({
      causes: [{ message: "ValidatingAdmissionPolicy 'small' with binding 'small' denied request: too much data" }],
    });
    const warning = new TestServer();
    await install(warning, policy(expression, ["Warn"]));
    const warned = await warning.ask("POST", CONFIG_MAPS, configMap("a", { n: "1", m: "2" }));
    expect([warned.status, warned.headers.warning]).toEqual([201, expect.stringContaining("too much data")]);
  });

  it("fail closed when an expression fails, unless the policy ignores failures", async () => {
    const failing = new TestServer();
    await install(failing, policy("object.nope.nothing == 1", ["Deny"]));
    expect((await failing.ask("POST", CONFIG_MAPS, configMap("a"))).body.message).toContain("resulted in error");
    const ignoring = new TestServer();
    await install(ignoring, policy("object.nope.nothing == 1", ["Deny"], { failurePolicy: "Ignore" }));
    await ignoring.create(CONFIG_MAPS, configMap("a"));
  });

  it("check deletions, with only the old object, one by one in a collection", async () => {
    const server = new TestServer();
    const [keep, binding] = policy("request.operation != 'DELETE' || !('keep' in oldObject.data)", ["Deny"]);
    await install(server, [withOperations(keep ?? {}, ["DELETE"]), binding ?? {}]);
    await server.create(CONFIG_MAPS, configMap("a", { keep: "1" }));
    await server.create(CONFIG_MAPS, configMap("b"));
    expect((await server.ask("DELETE", `${CONFIG_MAPS}/a`)).status).toBe(422);
    expect((await server.ask("DELETE", CONFIG_MAPS)).status).toBe(422);
    await server.remove(`${CONFIG_MAPS}/b`);
    expect(await server.names(CONFIG_MAPS)).toEqual(["a"]);
  });

  it("apply to an object that has the label now or had it before", async () => {
    const server = new TestServer();
    const objectSelector = { matchExpressions: [{ key: "guarded", operator: "Exists" }] };
    await install(server, withConstraints(policy("oldObject == null", ["Deny"]), { objectSelector }));
    await server.create(CONFIG_MAPS, configMap("a", {}, { labels: { guarded: "yes" } }));
    await server.create(CONFIG_MAPS, configMap("b"));
    expect((await server.ask("PUT", `${CONFIG_MAPS}/a`, configMap("a"))).status).toBe(422);
    await server.put(`${CONFIG_MAPS}/b`, configMap("b", { n: "1" }));
  });

  it("apply to the namespaces that they select, and can read the namespace", async () => {
    const server = new TestServer();
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": "default" } };
    const expression = "has(namespaceObject.metadata.annotations) && 'open' in namespaceObject.metadata.annotations";
    await install(server, withConstraints(policy(expression, ["Deny"]), { namespaceSelector }));
    await server.create("/api/v1/namespaces/kube-system/configmaps", configMap("a"));
    expect((await server.ask("POST", CONFIG_MAPS, configMap("a"))).status).toBe(422);
    await server.merge("/api/v1/namespaces/default", { metadata: { annotations: { open: "yes" } } });
    await server.create(CONFIG_MAPS, configMap("a"));
  });

  it("evaluate match conditions first, then variables, and build the message from them", async () => {
    const server = new TestServer();
    const more = {
      matchConditions: [{ name: "big", expression: "object.metadata.name == 'big'" }],
      variables: [
        { name: "keys", expression: "object.data.map(key, key)" },
        { name: "last", expression: "variables.keys[size(variables.keys) - 1]" },
      ],
      validations: [
        {
          expression: "variables.last == 'z'",
          messageExpression: "'it ends with ' + variables.last",
          message: "never said",
          reason: "Forbidden",
        },
      ],
    };
    await install(server, policy("true", ["Deny"], more));
    await server.create(CONFIG_MAPS, configMap("small", { a: "1" }));
    const refused = await server.ask("POST", CONFIG_MAPS, configMap("big", { a: "1", b: "2" }));
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringMatching(/denied request: it ends with b$/),
    ]);
    await server.create(CONFIG_MAPS, configMap("big", { z: "1" }));
  });

  it("check what the requester may do, and fail closed when a condition fails", async () => {
    const authorizer = ({ user, verb, resource, group, namespace }: RequestAttributes) =>
      verb === "administer" && [user.name, group, resource, namespace].join(" ") !== "root apps things "
        ? "no"
        : undefined;
    const server = new TestServer({ authorizer });
    const check = "authorizer.group('apps').resource('things').check('administer').allowed()";
    await install(server, policy(check, ["Deny"]));
    const ask = (name: string) =>
      server.server.handle({
        method: "POST",
        path: CONFIG_MAPS,
        headers: {},
        body: JSON.stringify(configMap(name)),
        user: { name, groups: [] },
      });
    expect([(await ask("root")).status, (await ask("eve")).status]).toEqual([201, 422]);
    const failing = new TestServer();
    await install(
      failing,
      policy("true", ["Deny"], { matchConditions: [{ name: "x", expression: "object.no.thing" }] }),
    );
    expect((await failing.ask("POST", CONFIG_MAPS, configMap("a"))).body.message).toContain("resulted in error");
  });
});

function withConstraints([first = {}, ...rest]: JsonObject[], more: JsonObject): JsonObject[] {
  const spec = isJsonObject(first.spec) ? first.spec : {};
  const constraints = isJsonObject(spec.matchConstraints) ? spec.matchConstraints : {};
  return [{ ...first, spec: { ...spec, matchConstraints: { ...constraints, ...more } } }, ...rest];
}

function withOperations(policy: JsonObject, operations: string[]): JsonObject {
  const rule = { apiGroups: [""], apiVersions: ["*"], operations, resources: ["*"], scope: "Namespaced" };
  return withConstraints([policy], { resourceRules: [rule] })[0] ?? {};
}

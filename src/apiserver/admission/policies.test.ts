/** Lockstep's own policies, applied to older objects and after a change of settings. */
import { describe, expect, it } from "vitest";
import {
  admissionPolicies,
  customResourceDefinitions,
  DEFAULT_POLICY_SETTINGS,
  type PolicySettings,
} from "../../api/index.ts";
import type { HttpRequest, JsonObject } from "../../runtime/index.ts";
import { TestServer } from "../testing/client.ts";
import { CRDS, namespace } from "../testing/objects.ts";
import { person } from "../testing/roles.ts";

const POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const STATEFULSETS = "/apis/apps.karmada.io/v1alpha1/namespaces/default/crossclusterstatefulsets";
const REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions";

async function hub(): Promise<TestServer> {
  const server = new TestServer();
  for (const crd of customResourceDefinitions()) await server.create(CRDS, crd);
  return server;
}

async function install(server: TestServer, settings: Partial<PolicySettings> = {}): Promise<void> {
  for (const policy of admissionPolicies({ ...DEFAULT_POLICY_SETTINGS, ...settings })) {
    const path =
      policy.kind === "ValidatingAdmissionPolicy" ? POLICIES : POLICIES.replace("policies", "policybindings");
    await server.create(path, policy);
  }
}

function crossCluster(selector: JsonObject, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "web", finalizers: ["lockstep.karmada.io/release"] },
    spec: { resourceSelector: selector, updateStrategy: { type: "RollingUpdate" }, ...spec },
  };
}

const SET = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" };
const topology = (clusters: Record<string, number>) => ({
  topology: { clusters: Object.entries(clusters).map(([name, replicas]) => ({ name, replicas })) },
});

describe("objects that are older than the policies", () => {
  it.each([
    ["of a kind that may not be a template", { apiVersion: "v1", kind: "Secret", name: "web" }],
    ["that select another namespace", { ...SET, namespace: "kube-system" }],
  ])("%s can still be paused, lose their finalizer and be deleted", async (_, selector) => {
    const server = await hub();
    await server.create(STATEFULSETS, crossCluster(selector));
    await install(server);
    await server.merge(`${STATEFULSETS}/web`, { spec: { updateStrategy: { rollingUpdate: { paused: true } } } });
    await server.remove(`${STATEFULSETS}/web`);
    await server.merge(`${STATEFULSETS}/web`, { metadata: { finalizers: [] } });
    expect(await server.names(STATEFULSETS)).toEqual([]);
  });

  it("in clusters that the namespace lost keep them until their topology is edited, and can be drained", async () => {
    const server = await hub();
    await install(server);
    await server.create(STATEFULSETS, crossCluster(SET, topology({ m1: 1, m2: 1 })));
    const allowed = { metadata: { annotations: { "lockstep.karmada.io/allowed-clusters": "m1" } } };
    await server.merge("/api/v1/namespaces/default", allowed);
    await server.merge(`${STATEFULSETS}/web`, { spec: { minReadySeconds: 1 } });
    const grown = await server.ask(
      "PATCH",
      `${STATEFULSETS}/web`,
      { spec: topology({ m1: 2, m2: 1 }) },
      {
        "content-type": "application/merge-patch+json",
      },
    );
    expect(grown.body.message).toContain("namespace default may not use m2; allowed: m1.");
    await server.merge(`${STATEFULSETS}/web`, { spec: topology({ m1: 2, m2: 0 }) });
  });
});

describe("a namespace without allowed clusters", () => {
  it("may use none if the installation requires them, and may still leave the choice to the scheduler", async () => {
    const server = await hub();
    await install(server, { requireAllowedClusters: true });
    const refused = await server.ask("POST", STATEFULSETS, crossCluster(SET, topology({ m1: 1 })));
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining("m1; allowed: none.")]);
    await server.create(STATEFULSETS, crossCluster(SET));
  });
});

describe("what only the controller writes", () => {
  const labels = { "lockstep.karmada.io/statefulset": "web" };
  const revision = (name: string): JsonObject => ({
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: { name, labels },
    revision: 1,
    data: { content: {} },
  });
  // Without an authorizer every check is allowed, the one for administrators included.
  const authorizer = ({ verb }: { readonly verb: string }) => (verb === "administer" ? "" : undefined);

  it("others may finalize, the garbage collector may delete, and the deletion of a namespace includes it", async () => {
    const server = new TestServer({ authorizer });
    await install(server);
    for (const name of ["a", "b", "c"]) await server.create(REVISIONS, revision(name));
    const ask = async (name: string, method: HttpRequest["method"], path: string, body?: JsonObject) => {
      const user = name.startsWith("system:serviceaccount:kube-system")
        ? person(name, "system:serviceaccounts", "system:serviceaccounts:kube-system")
        : person(name);
      const headers = { "content-type": "application/merge-patch+json" };
      const text = body === undefined ? {} : { body: JSON.stringify(body) };
      return (await server.server.handle({ method, path, headers, user, ...text })).status;
    };
    const finalizers = { metadata: { finalizers: ["example.io/x"] } };
    expect(await ask("eve", "PATCH", `${REVISIONS}/a`, finalizers)).toBe(200);
    expect(await ask("eve", "PATCH", `${REVISIONS}/a`, { revision: 2 })).toBe(403);
    expect(await ask("eve", "DELETE", `${REVISIONS}/b`)).toBe(403);
    const collector = "system:serviceaccount:kube-system:generic-garbage-collector";
    expect(await ask(collector, "DELETE", `${REVISIONS}/b`)).toBe(200);
    expect(await ask("system:kube-controller-manager", "DELETE", `${REVISIONS}/c`)).toBe(200);
    const controller = "system:serviceaccount:lockstep-system:lockstep-controller";
    expect(await ask(controller, "PATCH", `${REVISIONS}/a`, { revision: 2 })).toBe(200);
    await server.create("/api/v1/namespaces", namespace("going"));
    const inGoing = REVISIONS.replace("default", "going");
    await server.create(inGoing, { ...revision("d"), metadata: { ...finalizers.metadata, name: "d", labels } });
    expect(await ask("eve", "DELETE", `${inGoing}/d`)).toBe(403);
    await server.remove("/api/v1/namespaces/going");
    expect(await ask("eve", "DELETE", `${inGoing}/d`)).toBe(200);
  });
});

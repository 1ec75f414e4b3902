import { beforeAll, describe, expect, it } from "vitest";
import type { HttpRequest, JsonObject } from "../../runtime/index.ts";
import { TestServer } from "../testing/client.ts";
import { CONFIG_MAPS, configMap, namespace } from "../testing/objects.ts";
import { account, defaultRoles, person, roleBinding } from "../testing/roles.ts";
import type { User } from "../types.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const BOB = "/api/v1/namespaces/bob";

describe("role-based access control", () => {
  const test = new TestServer({ authorizer: "RBAC" });
  const ask = async (user: User, method: HttpRequest["method"], path: string, body?: JsonObject) => {
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await test.server.handle({ method, path, headers: {}, user, ...text });
    const parsed: { message?: string } = JSON.parse(answer.body);
    return { status: answer.status, message: parsed.message };
  };
  const ann = person("ann");

  beforeAll(async () => {
    await test.create("/api/v1/namespaces", namespace("bob"));
    for (const role of defaultRoles()) await test.create(`${RBAC}/clusterroles`, role);
    await test.create(`${RBAC}/namespaces/default/rolebindings`, roleBinding("default", "ann", "edit"));
    await test.create(`${RBAC}/clusterroles`, {
      metadata: { name: "reader-of-one" },
      rules: [
        { apiGroups: [""], resources: ["configmaps"], resourceNames: ["one"], verbs: ["get"] },
        { nonResourceURLs: ["/metrics*"], verbs: ["get"] },
      ],
    });
    const subjects = [
      { kind: "ServiceAccount", name: "robot", namespace: "bob" },
      { kind: "Group", name: "readers" },
    ];
    await test.create(`${RBAC}/clusterrolebindings`, {
      metadata: { name: "readers" },
      roleRef: { kind: "ClusterRole", name: "reader-of-one" },
      subjects,
    });
    await test.create(CONFIG_MAPS, configMap("one"));
  });

  it("grants a RoleBinding's rights only in its own namespace", async () => {
    expect((await ask(ann, "POST", CONFIG_MAPS, configMap("two"))).status).toBe(201);
    const refused = await ask(ann, "GET", `${BOB}/configmaps`);
    expect(refused).toEqual({
      status: 403,
      message:
        'configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" in the namespace "bob"',
    });
  });

  it("includes aggregated roles: a user who may edit may also view", async () => {
    expect((await ask(ann, "GET", CONFIG_MAPS)).status).toBe(200);
    expect((await ask(ann, "GET", `${RBAC}/namespaces/default/roles`)).status).toBe(403);
  });

  it("knows service accounts, groups, resource names and paths", async () => {
    for (const reader of [account("bob", "robot"), person("eve", "readers")]) {
      expect((await ask(reader, "GET", `${CONFIG_MAPS}/one`)).status).toBe(200);
      expect((await ask(reader, "GET", `${CONFIG_MAPS}/two`)).status).toBe(403);
      expect((await ask(reader, "GET", "/metrics/cadvisor")).status).toBe(404);
    }
    expect((await ask(ann, "GET", "/metrics")).status).toBe(403);
    expect((await ask(ann, "GET", "/apis")).status).toBe(200);
  });

  it("counts a Namespace as inside itself, and lets system:masters do everything", async () => {
    expect((await ask(ann, "GET", "/api/v1/namespaces/default")).status).toBe(200);
    expect((await ask(ann, "GET", BOB)).message).toContain('in the namespace "bob"');
    expect((await ask(person("root", "system:masters"), "DELETE", BOB)).status).toBe(200);
  });
});

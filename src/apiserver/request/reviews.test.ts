import { describe, expect, it } from "vitest";
import { seededRandom } from "../../runtime/index.ts";
import { ApiServer } from "../server.ts";
import { ManualClock } from "../testing/client.ts";

describe("SelfSubjectReview", () => {
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const server = new ApiServer({ clock: new ManualClock(), random: seededRandom(1) });
  const ask = (method: "POST" | "GET", user?: { name: string; groups: string[] }) =>
    server.handle({ method, path, headers: {}, ...(method === "POST" && { body: "{}" }), ...(user && { user }) });

  it("answers the caller's identity, and stores nothing", async () => {
    const before = server.resourceVersion;
    const answer = await ask("POST", { name: "ada", groups: ["devs"] });
    expect(answer.status).toBe(201);
    expect(JSON.parse(answer.body)).toMatchObject({
      kind: "SelfSubjectReview",
      status: { userInfo: { username: "ada", groups: ["devs"] } },
    });
    expect(server.resourceVersion).toBe(before);
  });

  it("treats an in-process caller without a name as the administrator", async () => {
    expect(JSON.parse((await ask("POST")).body).status.userInfo.username).toBe("system:admin");
  });

  it("of access answers what the roles allow, and yes to all without an authorizer", async () => {
    const asked = (namespace: string) => ({
      spec: { resourceAttributes: { namespace, verb: "delete", group: "", resource: "pods" } },
    });
    const may = async (on: ApiServer, namespace: string) => {
      const way = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
      const body = JSON.stringify(asked(namespace));
      const user = { name: "carl", groups: ["system:authenticated"] };
      const answer = await on.handle({ method: "POST", path: way, headers: {}, body, user });
      expect(answer.status).toBe(201);
      return JSON.parse(answer.body).status.allowed;
    };
    const strict = new ApiServer({ clock: new ManualClock(), random: seededRandom(1), authorizer: "RBAC" });
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop";
    const created = [
      [
        `${rbac}/roles`,
        { metadata: { name: "r" }, rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["delete"] }] },
      ],
      [
        `${rbac}/rolebindings`,
        {
          metadata: { name: "b" },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
          subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "carl" }],
        },
      ],
    ] as const;
    const namespace = JSON.stringify({ metadata: { name: "shop" } });
    await strict.handle({ method: "POST", path: "/api/v1/namespaces", headers: {}, body: namespace });
    for (const [path, object] of created) {
      expect((await strict.handle({ method: "POST", path, headers: {}, body: JSON.stringify(object) })).status).toBe(
        201,
      );
    }
    expect([await may(strict, "shop"), await may(strict, "vault"), await may(server, "vault")]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("can only be created: there is nothing to list", async () => {
    expect((await ask("GET")).status).toBe(405);
  });
});

describe("SubjectAccessReview", () => {
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const server = new ApiServer({ clock: new ManualClock(), random: seededRandom(1), authorizer: "RBAC" });
  const post = (at: string, object: object) =>
    server.handle({ method: "POST", path: at, headers: {}, body: JSON.stringify(object) });
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
  const ask = async (user: string, verb: string, namespace: string) => {
    const resourceAttributes = { verb, group: "apps", resource: "deployments", namespace };
    return JSON.parse((await post(path, { spec: { user, groups: [], resourceAttributes } })).body).status;
  };

  it("answers whether roles allow a verb, also one that no request has, and stores nothing", async () => {
    await post(`${rbac}/roles`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "deployer" },
      rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["distribute"] }],
    });
    await post(`${rbac}/rolebindings`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "deployer" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "deployer" },
      subjects: [{ kind: "User", name: "ada" }],
    });
    const before = server.resourceVersion;
    expect(await ask("ada", "distribute", "default")).toMatchObject({ allowed: true });
    expect(await ask("ada", "distribute", "other")).toMatchObject({ allowed: false });
    expect(await ask("ada", "delete", "default")).toMatchObject({ allowed: false });
    expect(server.resourceVersion).toBe(before);
  });
});

describe("SelfSubjectAccessReview of a user", () => {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const server = new ApiServer({ clock: new ManualClock(), random: seededRandom(1), authorizer: "RBAC" });
  const ask = (body: string, groups: string[]) =>
    server.handle({ method: "POST", path, headers: {}, body, user: { name: "ada", groups } });
  const question = JSON.stringify({
    spec: { resourceAttributes: { verb: "patch", resource: "pods", namespace: "x" } },
  });

  it("answers the authorizer's decision for the caller, and stores nothing", async () => {
    const before = server.resourceVersion;
    const allowed = async (groups: string[]) => JSON.parse((await ask(question, groups)).body).status.allowed;
    expect(await allowed(["devs"])).toBe(false);
    expect(await allowed(["system:masters"])).toBe(true);
    expect(server.resourceVersion).toBe(before);
  });

  it("refuses a question without exactly one subject", async () => {
    expect((await ask(JSON.stringify({ spec: {} }), [])).status).toBe(422);
    expect((await ask("no json", [])).status).toBe(400);
  });
});

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

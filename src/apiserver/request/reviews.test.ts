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

describe("SelfSubjectAccessReview", () => {
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

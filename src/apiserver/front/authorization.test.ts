import { describe, expect, it } from "vitest";
import type { RequestAttributes } from "../types.ts";
import { authorizerOf } from "./authorization.ts";

const asked: RequestAttributes = {
  user: { name: "ada", groups: ["devs"] },
  verb: "get",
  path: "/api/v1/namespaces/demo/pods/p",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "demo",
  name: "p",
};

describe("the front's authorizer", () => {
  const authorizer = authorizerOf([
    { subject: "devs", verbs: ["get", "list"], resources: ["pods", "pods/status"], namespaces: ["demo"] },
    { subject: "ada", verbs: ["*"], resources: ["leases"] },
  ]);

  it.each<[string, Partial<RequestAttributes>]>([
    ["what a group was granted", {}],
    ["a subresource that was granted", { subresource: "status" }],
    ["any verb with *", { resource: "leases", verb: "delete", namespace: "other" }],
    ["every user to ask for their own identity", { resource: "selfsubjectreviews", verb: "create", namespace: "" }],
    ["discovery, to every known user", { resource: "", path: "/apis/apps/v1", user: { name: "carol", groups: [] } }],
    [
      "everything to system:masters",
      { verb: "delete", resource: "secrets", user: { name: "root", groups: ["system:masters"] } },
    ],
  ])("allows %s", (_, change) => expect(authorizer({ ...asked, ...change })).toBeUndefined());

  it.each<[string, Partial<RequestAttributes>]>([
    ["another verb", { verb: "delete" }],
    ["another resource", { resource: "secrets" }],
    ["another namespace", { namespace: "other" }],
    ["a subresource that was not granted", { subresource: "log" }],
    ["another user", { user: { name: "eve", groups: [] } }],
    ["a path that is not a document", { resource: "", path: "/metrics" }],
    ["writing to a document's path", { resource: "", path: "/apis", verb: "create" }],
  ])("refuses %s", (_, change) => expect(authorizer({ ...asked, ...change })).toMatch(/grant/));
});

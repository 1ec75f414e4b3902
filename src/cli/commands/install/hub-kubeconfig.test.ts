import { expect, it } from "vitest";
import { stringify } from "yaml";
import { whyNotInPod } from "./hub-kubeconfig.ts";

const kubeconfig = (cluster: object = {}, user: object = { token: "t" }) => ({
  clusters: [{ name: "hub", cluster: { server: "https://hub:5443", ...cluster } }],
  users: [{ name: "me", user }],
  contexts: [{ name: "at", context: { cluster: "hub", user: "me" } }],
  "current-context": "at",
});

it.each([
  ["with a token", kubeconfig(), undefined],
  ["with a certificate in it", kubeconfig({}, { "client-certificate-data": "Yw==" }), undefined],
  ["with an authority's file", kubeconfig({ "certificate-authority": "ca.crt" }), /cluster.certificate-authority is/],
  ["with a key's file", kubeconfig({}, { "client-key": "me.key" }), /user.client-key is .* --flatten/],
  ["with a plugin", kubeconfig({}, { exec: {} }), /user.exec runs a program/],
  ["without a context", { ...kubeconfig(), "current-context": "" }, /names no current context/],
  ["without its user", { ...kubeconfig(), users: [] }, /names a user that it does not have/],
  ["that is a list", [], /not a kubeconfig/],
])("a kubeconfig %s", (_, config, problem) => {
  const found = whyNotInPod(stringify(config));
  if (problem) expect(found).toMatch(problem);
  else expect(found).toBeUndefined();
});

it("a text that is no YAML is not a kubeconfig", () => {
  expect(whyNotInPod("{")).toBe("it is not a kubeconfig");
});

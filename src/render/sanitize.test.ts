import { describe, expect, it } from "vitest";
import { sanitize } from "./sanitize.ts";
import { yaml } from "./testing/fixtures.ts";

describe("the part of a hub object that is sent to members", () => {
  it("is what the user wrote", () => {
    const dirty = yaml(`
apiVersion: a.io/v1
kind: Thing
metadata:
  name: t
  namespace: n
  uid: u
  resourceVersion: "1"
  generation: 3
  managedFields: []
  ownerReferences: [{name: o}]
  finalizers: [f]
  labels: {app: t, resourcetemplate.karmada.io/retain-replicas: "true"}
  annotations: {propagationpolicy.karmada.io/name: p}
spec: {a: 1}
status: {b: 2}
`);
    const before = structuredClone(dirty);
    expect(sanitize(dirty)).toEqual(
      yaml("{apiVersion: a.io/v1, kind: Thing, metadata: {name: t, namespace: n, labels: {app: t}}, spec: {a: 1}}"),
    );
    expect(dirty).toEqual(before);
  });

  it.each([
    [
      "a Service without its address",
      "kind: Service, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: []}",
      "kind: Service, spec: {ports: []}",
    ],
    ["a headless Service as it is", "kind: Service, spec: {clusterIP: None}", "kind: Service, spec: {clusterIP: None}"],
    [
      "a ServiceAccount without generated tokens",
      "kind: ServiceAccount, secrets: [{name: x-token-abc}, {name: mine}]",
      "kind: ServiceAccount, secrets: [{name: mine}]",
    ],
    [
      "a token's Secret without its token",
      "kind: Secret, type: kubernetes.io/service-account-token, data: {token: eA==}",
      "kind: Secret, type: kubernetes.io/service-account-token",
    ],
  ])("is %s", (_what, given, expected) => {
    const at = (text: string) => yaml(`{metadata: {name: x}, ${text}}`);
    expect(sanitize(at(given))).toEqual(at(expected));
  });
});

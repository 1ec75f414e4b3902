import { expect, it } from "vitest";
import { metadataDigest } from "./metadata-digest.ts";

const digest = (metadata: object) => metadataDigest({ metadata: { name: "web", ...metadata } });

it("the digest changes with a label or an annotation that reaches members", () => {
  const before = digest({ labels: { app: "web" } });
  expect(digest({ labels: { app: "web", tier: "gold" } })).not.toBe(before);
  expect(digest({ labels: { app: "web" }, annotations: { note: "x" } })).not.toBe(before);
});

it("the digest does not change when the API server, kubectl or Karmada writes its own metadata", () => {
  const before = digest({ labels: { app: "web" } });
  const annotations = {
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
    "policy.karmada.io/applied-placement": "{}",
  };
  const labels = { app: "web", "propagationpolicy.karmada.io/permanent-id": "1" };
  expect(digest({ labels, annotations, resourceVersion: "9", generation: 3, managedFields: [] })).toBe(before);
});

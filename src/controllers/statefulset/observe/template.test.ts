import { expect, it } from "vitest";
import { bench } from "../../../interpret/testing/interpreter.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { replicasIn } from "./template.ts";

const object = (apiVersion: string, kind: string, spec: JsonObject): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: "web", namespace: "default" },
  spec,
});

it("[D7] the controller reads the number of instances where it writes it, even without an interpreter", () => {
  const { interpreter } = bench();
  expect(replicasIn(interpreter, object("apps/v1", "StatefulSet", { replicas: 3 }))).toBe(3);
  expect(replicasIn(interpreter, object("apps.my.io/v1alpha1", "XlineCluster", { replicas: 2 }))).toBe(2);
  expect(replicasIn(interpreter, object("apps.my.io/v1alpha1", "XlineCluster", { size: 2 }))).toBeUndefined();
});

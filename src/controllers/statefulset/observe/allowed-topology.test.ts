import { describe, expect, it } from "vitest";
import { parseCrossClusterStatefulset } from "../../../api/index.ts";
import type { Found } from "../../common/hub/hub-readings.ts";
import { topologyRefusal } from "./allowed-topology.ts";

const parsed = parseCrossClusterStatefulset({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  metadata: { name: "web", namespace: "shop" },
  spec: {
    resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "shop", name: "web" },
    topology: {
      clusters: [
        { name: "member1", replicas: 2 },
        { name: "member2", replicas: 1 },
      ],
    },
  },
});
if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
const web = parsed.value;
const LENIENT = { required: false };

function namespace(allowed?: string): Found {
  const annotations: Record<string, string> =
    allowed === undefined ? {} : { "lockstep.karmada.io/allowed-clusters": allowed };
  return {
    kind: "present",
    object: { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", annotations } },
  };
}

describe("[S15] the clusters that a namespace may use, as the controller sees them", () => {
  it("a topology within the annotation is followed", () => {
    expect(topologyRefusal(web, namespace("member1, member2"), LENIENT)).toBeUndefined();
  });

  it("an annotation that was narrowed later stops the topology, and the wait names cluster and remedy", () => {
    const refusal = topologyRefusal(web, namespace("member1"), LENIENT);
    expect(refusal?.message).toBe("spec.topology: namespace shop may not use member2");
    expect(refusal?.remedy).toContain("lockstep.karmada.io/allowed-clusters of namespace shop");
  });

  it("without the annotation all clusters may be used, unless it is required", () => {
    expect(topologyRefusal(web, namespace(), LENIENT)).toBeUndefined();
    expect(topologyRefusal(web, namespace(), { required: true })?.message).toContain("member1, member2");
  });

  it("a namespace that has not been read allows nothing yet", () => {
    const refusal = topologyRefusal(web, { kind: "unknown", message: "Namespace has not been listed yet" }, LENIENT);
    expect(refusal?.message).toContain("is not known yet: Namespace has not been listed yet");
  });

  it("a topology is not asked for where the engine schedules", () => {
    const { topology: _none, ...spec } = web.spec;
    expect(topologyRefusal({ ...web, spec }, namespace(""), { required: true })).toBeUndefined();
  });
});

import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { fightingSettings, unsafeSetting } from "./settings.ts";

const TEMPLATE = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", namespace: "shop", name: "xline" };
const POLICY = { "propagationpolicy.karmada.io/name": "xline", "propagationpolicy.karmada.io/namespace": "shop" };

function binding(spec: JsonObject, annotations: Record<string, string> = POLICY): KubeObject {
  const metadata = { namespace: "shop", name: "xline-xlinecluster", annotations };
  return { apiVersion: "work.karmada.io/v1alpha2", kind: "ResourceBinding", metadata, spec };
}

function cluster(name: string, kinds: readonly string[], complete = "True"): KubeObject {
  const conditions = [{ type: "CompleteAPIEnablements", status: complete }];
  const resources = kinds.map((kind) => ({ kind, name: kind.toLowerCase() }));
  const status = { conditions, apiEnablements: [{ groupVersion: TEMPLATE.apiVersion, resources }] };
  return { apiVersion: "cluster.karmada.io/v1alpha1", kind: "Cluster", metadata: { name }, status };
}

describe("settings of Karmada that would work against a rollout", () => {
  it.each([
    ["failover", { failover: { application: { decisionConditions: { tolerationSeconds: 60 } } } }, "failover"],
    ["suspended scheduling", { suspension: { scheduling: true } }, "suspension"],
    ["suspended dispatching", { suspension: { dispatching: true } }, "suspension"],
    [
      "suspended dispatching to some clusters",
      { suspension: { dispatchingOnClusters: { clusterNames: ["member1"] } } },
      "suspension",
    ],
    ["conflictResolution", { conflictResolution: "Overwrite" }, "conflictResolution"],
  ])("are named with the exact patch: %s", (_what, spec, field) => {
    const found = fightingSettings(binding(spec), TEMPLATE, []);
    expect(found.map(({ remedy }) => remedy)).toEqual([
      `kubectl patch propagationpolicy xline -n shop --type=merge -p '{"spec":{"${field}":null}}'`,
    ]);
    expect(found[0]?.message).toContain("PropagationPolicy shop/xline");
  });

  it("include propagateDeps, which Karmada demands beside failover: one patch removes both", () => {
    const failover = { application: { decisionConditions: { tolerationSeconds: 60 } } };
    const both = `kubectl patch propagationpolicy xline -n shop --type=merge -p '{"spec":{"propagateDeps":null,"failover":null}}'`;
    const together = binding({ failover, propagateDeps: true });
    expect(fightingSettings(together, TEMPLATE, [])).toMatchObject([{ remedy: both }]);
    expect(unsafeSetting(together)).toMatchObject({
      message: expect.stringContaining("PropagationPolicy shop/xline sets propagateDeps"),
      remedy: both,
    });
    expect(unsafeSetting(binding({ propagateDeps: true }))?.remedy).toContain(`'{"spec":{"propagateDeps":null}}'`);
    expect(unsafeSetting(binding({ failover }))).toBeUndefined();
    expect(unsafeSetting(undefined)).toBeUndefined();
  });

  it("name a ClusterPropagationPolicy, too, and no command if the policy is not known", () => {
    const spec = { conflictResolution: "Overwrite" };
    const wide = fightingSettings(binding(spec, { "clusterpropagationpolicy.karmada.io/name": "all" }), TEMPLATE, []);
    expect(wide[0]?.remedy).toContain("kubectl patch clusterpropagationpolicy all --type=merge");
    expect(fightingSettings(binding(spec, {}), TEMPLATE, [])[0]?.remedy).toContain("remove spec.conflictResolution");
  });

  it("name a scheduled cluster that does not serve the template's kind, if all that it serves is known", () => {
    const spec = { clusters: [{ name: "member1" }, { name: "member2" }, { name: "member3" }] };
    const clusters = [
      cluster("member1", ["XlineCluster"]),
      cluster("member2", ["Other"]),
      cluster("member3", [], "False"),
      cluster("member4", []),
    ];
    const found = fightingSettings(binding(spec), TEMPLATE, clusters);
    expect(found.map(({ message }) => message)).toEqual([expect.stringMatching(/^cluster member2 does not serve/)]);
  });

  it("name a cluster that the placement names and Karmada left out, because it lacks the kind, with the command", () => {
    const clusterAffinity = { clusterNames: ["member1", "member2", "member3"], exclude: ["member3"] };
    const spec = { clusters: [{ name: "member1" }], placement: { clusterAffinity } };
    const clusters = [cluster("member1", ["XlineCluster"]), cluster("member2", []), cluster("member3", [])];
    expect(fightingSettings(binding(spec), TEMPLATE, clusters)).toEqual([
      {
        message: expect.stringMatching(/^cluster member2 does not serve XlineCluster of apps.my.io\/v1alpha1/),
        remedy:
          "kubectl get crd $(kubectl api-resources --api-group=apps.my.io -o name) -o yaml | kubectl --context member2 apply -f -",
      },
    ]);
  });

  it("are none with Karmada's defaults, and without a binding", () => {
    expect(fightingSettings(binding({ conflictResolution: "Abort" }), TEMPLATE, [])).toEqual([]);
    expect(fightingSettings(undefined, TEMPLATE, [])).toEqual([]);
  });
});

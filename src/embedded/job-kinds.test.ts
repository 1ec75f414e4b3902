/** Work of other kinds, whose operators say how it ended: it moves, it ends, and its objects are removed with that. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { admissionPolicies, DEFAULT_POLICY_SETTINGS } from "../api/index.ts";
import { WORKS } from "../engine/testing/contract/index.ts";
import { type KubeObject, resource } from "../kube/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { World } from "./testing/world.ts";

const CCJ = "apps.karmada.io/crossclusterjobs";
const CLUSTERS = ["member1", "member2"];

interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly group: string;
  readonly version: string;
  /** As their operators write them. */
  readonly running: JsonObject;
  readonly failed: JsonObject;
  readonly succeeded: JsonObject;
}

const condition = (type: string) => ({ conditions: [{ type, status: "True", reason: type, message: "told" }] });
const training = { running: condition("Running"), failed: condition("Failed"), succeeded: condition("Succeeded") };
const KINDS: readonly Kind[] = [
  {
    ...{ kind: "RayJob", plural: "rayjobs", group: "ray.io", version: "v1" },
    running: { jobDeploymentStatus: "Running", jobStatus: "RUNNING", rayClusterName: "a" },
    failed: { jobDeploymentStatus: "Failed", jobStatus: "FAILED", reason: "AppFailed", rayClusterName: "a" },
    succeeded: { jobDeploymentStatus: "Complete", jobStatus: "SUCCEEDED", rayClusterName: "b" },
  },
  {
    ...{ kind: "SparkApplication", plural: "sparkapplications", group: "sparkoperator.k8s.io", version: "v1beta2" },
    running: { applicationState: { state: "FAILING" } },
    failed: { applicationState: { state: "FAILED", errorMessage: "told" } },
    succeeded: { applicationState: { state: "COMPLETED" } },
  },
  { ...{ kind: "PyTorchJob", plural: "pytorchjobs", group: "kubeflow.org", version: "v1" }, ...training },
  { ...{ kind: "TFJob", plural: "tfjobs", group: "kubeflow.org", version: "v1" }, ...training },
  {
    ...{ kind: "Workflow", plural: "workflows", group: "argoproj.io", version: "v1alpha1" },
    running: { phase: "Running" },
    failed: { phase: "Error", message: "told" },
    succeeded: { phase: "Succeeded" },
  },
  {
    ...{ kind: "Job", plural: "jobs", group: "batch.volcano.sh", version: "v1alpha1" },
    running: { state: { phase: "Restarting" } },
    failed: { state: { phase: "Aborted", message: "told" } },
    succeeded: { state: { phase: "Completed" } },
  },
];

function definition({ kind, plural, group, version }: Kind): KubeObject {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const names = { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` };
  const versions = [{ name: version, served: true, storage: true, subresources: { status: {} }, schema }];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: "Namespaced", names, versions },
  };
}

describe("a CrossClusterJob of a kind that an operator runs", () => {
  const workloads = KINDS.map(({ plural, group }) => ({ plural, group }));
  const installed = admissionPolicies({ ...DEFAULT_POLICY_SETTINGS, workloads });
  const world = new World(11, { installed });
  const crds = resource({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
  });
  beforeAll(async () => {
    await world.start();
    for (const kind of KINDS) {
      for (const client of [world.hub, ...CLUSTERS.map((name) => world.fleet.client(name))])
        await world.ask(client.create(crds, definition(kind)));
    }
  });
  afterAll(() => world.stop());

  it.each(KINDS)("$kind of $group continues elsewhere when it has failed, and leaves nothing behind", async (of) => {
    const { kind, plural, group, version, running, failed, succeeded } = of;
    const name = `${plural}-${group.split(".")[0]}`;
    const apiVersion = `${group}/${version}`;
    const objects = resource({ apiVersion, kind, plural, namespaced: true });
    const found = (cluster: string) =>
      world.fleet
        .member(cluster)
        .api.list(`${group}/${plural}`, "default")
        .find(({ metadata }) => metadata.name.startsWith(`${name}-`));
    const tell = async (cluster: string, status: JsonObject) => {
      const ref = { namespace: "default", name: found(cluster)?.metadata.name ?? "" };
      const patch = { type: "merge", body: { status } } as const;
      await world.ask(world.fleet.client(cluster).patch(objects, ref, patch, { subresource: "status" }));
    };
    const status = (): JsonObject => {
      const said = world.fleet.hubObject(CCJ, "default", name)?.status;
      return isJsonObject(said) ? said : {};
    };
    const attempts = () =>
      (Array.isArray(status().attempts) ? (status().attempts as JsonObject[]) : []).map(
        ({ cluster, state }) => `${cluster} ${state}`,
      );
    const dispatched = async () => {
      const { items } = await world.ask(world.hub.listAll(WORKS));
      return items.filter((work) => JSON.stringify(work).includes(`${name}-`)).length;
    };

    await world.apply({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterJob",
      metadata: { name, namespace: "default" },
      spec: { template: { apiVersion, kind, spec: { own: true } }, clusters: { names: CLUSTERS } },
    });
    await world.until("it is in the first cluster", () => found("member1") !== undefined);
    await tell("member1", running);
    await world.ask(world.clock.sleep(120_000));
    expect(attempts()).toEqual(["member1 Running"]);

    await tell("member1", failed);
    await world.until("its object is removed", () => found("member1") === undefined);
    // Its pods may still run: nothing starts before they had time to end.
    expect(found("member2")).toBeUndefined();
    const goneAtMs = world.clock.now();
    await world.until("it is in the second cluster", () => found("member2") !== undefined);
    expect(world.clock.now() - goneAtMs).toBeGreaterThanOrEqual(30_000);

    await tell("member2", succeeded);
    await world.until("it is complete", () => status().phase === "Complete");
    expect(attempts()).toEqual(["member1 Failed", "member2 Succeeded"]);
    await world.until("its object is removed", () => found("member2") === undefined);
    await world.ask(world.clock.sleep(600_000));
    expect(CLUSTERS.map(found)).toEqual([undefined, undefined]);
    expect(await dispatched()).toBe(0);
    expect(status().workload).toEqual(succeeded);
  });
});

import { beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import type { KubeObject } from "../../../kube/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { CliWorld, exampleObjects, exampleTemplate } from "../../testing/harness.ts";

describe("an application that Karmada already dispatches", () => {
  const cli = new CliWorld(9);
  const { world } = cli;
  const template = (image: string): KubeObject => {
    const { spec, ...rest } = exampleTemplate(image);
    return { ...rest, spec: { ...(spec as object), replicas: 3 } };
  };
  const planned = (edit: JsonObject, ...others: KubeObject[]) => {
    const [statefulset] = exampleObjects("", { topology: undefined, ...edit });
    const text = [statefulset, ...others].map((object) => stringify(object)).join("---\n");
    return cli.run(["plan", "-f", "web.yaml"], { files: { "web.yaml": text } });
  };
  const adopted = { identity: { mode: "PerCluster" } };

  beforeAll(async () => {
    await world.clock.run(world.fleet.start());
    await world.apply(template("nginx:1.27"));
    await world.apply({
      apiVersion: "policy.karmada.io/v1alpha1",
      kind: "PropagationPolicy",
      metadata: { name: "web", namespace: "default" },
      spec: {
        resourceSelectors: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "web" }],
        placement: {
          clusterAffinity: { clusterNames: ["member1", "member2"] },
          replicaScheduling: { replicaSchedulingType: "Duplicated" },
        },
      },
    });
    await world.clock.advance(10_000);
  });

  it("is adopted unchanged, and nothing moves", async () => {
    const { code, out } = await planned(adopted);
    expect(code).toBe(0);
    expect(out).toContain(
      "Already running; it would be adopted unchanged, and nothing moves:\n  member1  3 instances  web-",
    );
    expect(out).toMatch(/member2 {2}3 instances {2}web-\w+ {2}matches the template\n/);
    expect(out).toMatch(/1\. member1 {2}adopt {2}web-0, web-1, web-2 /);
    // Nothing goes down, so there is no budget that could read as "3 of 1".
    expect(out).not.toContain("budget:");
    expect(out).not.toContain("deploy");
  });

  it("shows what differs from the template, and then waits for a user", async () => {
    const { code, out } = await planned(adopted, template("nginx:1.28"));
    expect(code).toBe(2);
    expect(out).toMatch(/member1 {2}3 instances {2}web-\w+ {2}differs from the template\n/);
    expect(out).toContain("member1, member2: runs -> template\n  apps/v1/StatefulSet default/web\n");
    expect(out).toMatch(/- +- image: nginx:1\.27\n +\+ +- image: nginx:1\.28\n/);
    expect(out).toMatch(
      /\.\.\. needs a user: AdoptedWithDifferences: [\s\S]*3\. member2 {2}update {2}web-2, web-1, web-0/,
    );
    expect(out).toContain("It would be blocked:\n  AdoptedWithDifferences member1: member1 runs 3 instances of web-");
  });

  it("cannot be adopted with its own numbering", async () => {
    const { code, out } = await planned({});
    expect(code).toBe(2);
    expect(out).toContain("AdoptionNeedsPerCluster member1: it already runs 3 instances from ordinal 0");
  });

  it("is not shown if the cluster cannot be read", async () => {
    const [statefulset] = exampleObjects("", { topology: undefined, ...adopted });
    const { out } = await cli.run(["plan", "-f", "web.yaml"], {
      files: { "web.yaml": stringify(statefulset) },
      intercept: ({ path }) =>
        path.includes("/clusters/member2/proxy/apis/apps/v1/namespaces")
          ? { status: 403, headers: {}, body: JSON.stringify({ kind: "Status", code: 403, message: "no proxy" }) }
          : undefined,
    });
    expect(out).toMatch(/note: member2: what it runs cannot be read through the hub's cluster proxy: .*: no proxy/);
    expect(out).not.toContain("member2  grow");
  });
});

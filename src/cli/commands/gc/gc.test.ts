/** What is left of objects that are gone, on a fleet with the real controller, on virtual time. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { CROSS_CLUSTER_JOBS } from "../../hub/job.ts";
import { CliWorld } from "../../testing/harness.ts";

const SYSTEM = "lockstep-system";
const CCJ = "apps.karmada.io/crossclusterjobs";

function job(name: string, memberCleanup: string, runMs = 5_000): KubeObject {
  const pods = {
    metadata: { annotations: { "lockstep.test/run-ms": String(runMs) } },
    spec: { restartPolicy: "Never", containers: [{ name: "main", image: "worker:1" }] },
  };
  const template = { apiVersion: "batch/v1", kind: "Job", spec: { backoffLimit: 0, template: pods } };
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name, namespace: "default" },
    spec: { template, clusters: { names: ["member1"] }, memberCleanup },
  };
}

describe("lockstep gc", () => {
  const cli = new CliWorld();
  const { world } = cli;
  const hubObject = (resource: string, namespace: string, name: string) =>
    world.fleet.hubObject(resource, namespace, name);
  const phaseOf = (name: string) => {
    const status = hubObject(CCJ, "default", name)?.status;
    return isJsonObject(status) ? status.phase : undefined;
  };
  const jobs = () =>
    world.fleet
      .member("member1")
      .api.list("batch/jobs", "default")
      .map(({ metadata }) => metadata.name.replace(/-\w{5}-1$/, ""));
  const remove = (name: string) => world.ask(world.hub.delete(CROSS_CLUSTER_JOBS, { namespace: "default", name }));

  beforeAll(async () => {
    await cli.deploy();
    await world.apply(job("left", "Never"));
    await world.apply(job("living", "AfterTTL"));
    for (const name of ["left", "living"]) await world.until(`${name} ends`, () => phaseOf(name) === "Complete");
    await remove("left");
    await world.until("left is gone", () => hubObject(CCJ, "default", "left") === undefined);
    await world.stopController();
    const owner = { kind: "CrossClusterJob", namespace: "default", name: "living", uid: "another-life" };
    const ledger = { apiVersion: "apps.karmada.io/v1alpha1", kind: "CrossClusterLedger" };
    const spec: JsonObject = { owner, state: {}, version: 1, revisions: [] };
    await world.apply({ ...ledger, metadata: { name: "ccj-old", namespace: SYSTEM }, spec });
    await world.apply({
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: { name: "rev-old", namespace: SYSTEM, labels: { "lockstep.karmada.io/owner": "gone" } },
      revision: 1,
    });
    const appMarks = { "lockstep.karmada.io/app-namespace": "default", "lockstep.karmada.io/app-name": "gone" };
    await world.apply({
      apiVersion: "work.karmada.io/v1alpha1",
      kind: "Work",
      metadata: {
        name: "work-old",
        namespace: "karmada-es-member1",
        labels: { "lockstep.karmada.io/app": "gone" },
        annotations: appMarks,
      },
      spec: { workload: { manifests: [] } },
    });
    world.fleet.cut("member3");
    await world.until("member3 is not Ready", () => {
      const cluster = hubObject("cluster.karmada.io/clusters", "", "member3");
      return !JSON.stringify(cluster?.status ?? {}).includes('"type":"Ready","status":"True"');
    });
  });
  afterAll(() => world.stop());

  it("lists what is left, says which members it did not look at, and deletes nothing", async () => {
    const { code, out } = await cli.run(["gc"]);
    expect(code).toBe(0);
    expect(out).toMatch(/hub +CrossClusterLedger lockstep-system\/ccj-old +CrossClusterJob default\/living is gone/);
    expect(out).toMatch(/hub +ControllerRevision lockstep-system\/rev-old/);
    expect(out).toMatch(/hub +Work karmada-es-member1\/work-old +CrossClusterStatefulset default\/gone is gone; kept/);
    expect(out).toMatch(/member1 +Job default\/left-\w{5}-1 +its CrossClusterJob is gone/);
    expect(out).not.toContain("living-");
    expect(out).not.toContain("web");
    expect(out).toContain("not looked at: member3");
    expect(out).toContain("Nothing was deleted. 'lockstep gc --yes' deletes 3 of 4.");
    expect(jobs().sort()).toEqual(["left", "living"]);
  });

  it("deletes nothing in a member that is no longer Ready", async () => {
    const cluster = { apiVersion: "cluster.karmada.io/v1alpha1", kind: "Cluster", metadata: { name: "member1" } };
    const { code, out } = await cli.run(["gc", "--yes"], {
      intercept: ({ method, path }) => {
        if (method !== "DELETE" && !path.split("?")[0]?.endsWith("/clusters/member1")) return undefined;
        if (method === "DELETE" && path.includes("/clusters/member1/")) throw new Error("member1 was written");
        const status = { kind: "Status", apiVersion: "v1", reason: "Conflict", code: 409, message: "changed" };
        const body = JSON.stringify(method === "DELETE" ? status : cluster);
        return { status: method === "DELETE" ? 409 : 200, headers: { "content-type": "application/json" }, body };
      },
    });
    expect(code).toBe(0);
    expect(out).toMatch(/member1: Job left-\w{5}-1: kept, member1 is not Ready now/);
    expect(out).toContain("hub: CrossClusterLedger ccj-old: kept, it has changed meanwhile; run gc again");
    expect(jobs().sort()).toEqual(["left", "living"]);
  });

  it("with --yes deletes what has no owner, and keeps what would delete more", async () => {
    const { code, out } = await cli.run(["gc", "--yes"]);
    expect(code).toBe(0);
    expect(out).toContain("hub: CrossClusterLedger ccj-old: deleted");
    expect(jobs()).toEqual(["living"]);
    expect(hubObject("apps/controllerrevisions", SYSTEM, "rev-old")).toBeUndefined();
    expect(hubObject("work.karmada.io/works", "karmada-es-member1", "work-old")).toBeDefined();
    const again = await cli.run(["gc"]);
    expect(again.out).toContain("work-old");
    expect(again.out).not.toContain("Nothing was deleted");
  });
});

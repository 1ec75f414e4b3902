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

/** What a restored hub may still have of an attempt that has ended. */
function dispatchOf(name: string, grant: string, delivered: KubeObject | undefined): KubeObject {
  const { apiVersion = "", kind = "", metadata } = delivered ?? {};
  const annotations = {
    "lockstep.karmada.io/app-kind": "CrossClusterJob",
    "lockstep.karmada.io/app-namespace": "default",
    "lockstep.karmada.io/app-name": name,
    "note.lockstep.karmada.io/life": "gone",
    "note.lockstep.karmada.io/grant": grant,
  };
  const manifest = { apiVersion, kind, metadata: { name: metadata?.name ?? "", namespace: "default" } };
  return {
    apiVersion: "work.karmada.io/v1alpha1",
    kind: "Work",
    metadata: {
      name: `work-${name}`,
      namespace: "karmada-es-member1",
      labels: { "lockstep.karmada.io/app": name },
      annotations,
    },
    spec: { suspendDispatching: true, workload: { manifests: [manifest] } },
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
    const gone = ["left", "granted", "ordered"];
    for (const name of gone) await world.apply(job(name, "Never"));
    await world.apply(job("living", "AfterTTL"));
    for (const name of [...gone, "living"]) await world.until(`${name} ends`, () => phaseOf(name) === "Complete");
    for (const name of gone) await remove(name);
    for (const name of gone) await world.until(`${name} is gone`, () => hubObject(CCJ, "default", name) === undefined);
    await world.stopController();
    for (const [name, grant] of [
      ["granted", "1 - some-uid"],
      ["ordered", "0 1 some-uid"],
    ] as const) {
      const [ended] = world.fleet
        .member("member1")
        .api.list("batch/jobs", "default")
        .filter(({ metadata }) => metadata.name.startsWith(`${name}-`));
      await world.apply(dispatchOf(name, grant, ended));
    }
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
    expect(out).toContain("Nothing was deleted. 'lockstep gc --yes' deletes 4 of 8.");
    expect(jobs().sort()).toEqual(["granted", "left", "living", "ordered"]);
  });

  it("keeps a Job that has ended while its dispatch object may let it run again", async () => {
    const { out } = await cli.run(["gc"]);
    expect(out).toMatch(
      /member1 +Job default\/granted-\w{5}-1 +its CrossClusterJob is gone; kept: Work karmada-es-member1\/work-granted would create it again/,
    );
    expect(out).toMatch(/member1 +Job default\/ordered-\w{5}-1 +its CrossClusterJob is gone\n/);
  });

  it("keeps it also when the dispatch object appears only before the deletion", async () => {
    let lists = 0;
    const answer = (status: number, body: JsonObject) => {
      return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    };
    const { out } = await cli.run(["gc", "--yes"], {
      intercept: ({ method, path }) => {
        // Nothing else is deleted here.
        if (method === "DELETE")
          return answer(409, { kind: "Status", apiVersion: "v1", code: 409, reason: "Conflict" });
        if (!/\/works\?/.test(path) || lists++ > 0) return undefined;
        return answer(200, { apiVersion: "work.karmada.io/v1alpha1", kind: "WorkList", metadata: {}, items: [] });
      },
    });
    expect(out).toMatch(/member1: Job granted-\w{5}-1: kept, it is in use now/);
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
    expect(jobs().sort()).toEqual(["granted", "left", "living", "ordered"]);
  });

  it("lists what other kinds have left, with the command that deletes it", async () => {
    const json = (body: JsonObject) => {
      return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    };
    const attempt = (name: string, owner: string) => ({
      apiVersion: "ray.io/v1",
      kind: "RayJob",
      metadata: {
        name,
        namespace: "default",
        annotations: { "lockstep.karmada.io/job-attempt": JSON.stringify({ owner, number: 1 }) },
      },
    });
    const living = hubObject(CCJ, "default", "living")?.metadata.uid ?? "";
    const { out } = await cli.run(["gc"], {
      intercept: ({ path }) => {
        const resources = [{ name: "rayjobs", kind: "RayJob", namespaced: true, verbs: ["list"] }];
        if (path.endsWith("/member1/proxy/apis/ray.io/v1"))
          return json({ kind: "APIResourceList", groupVersion: "ray.io/v1", resources });
        if (!path.includes("/member1/proxy/apis/ray.io/v1/rayjobs?")) return undefined;
        const items = [attempt("old-1a2b3-1", "gone"), attempt("living-1a2b3-1", living)];
        return json({ kind: "RayJobList", apiVersion: "ray.io/v1", metadata: {}, items });
      },
    });
    expect(out).toMatch(
      /member1 +RayJob default\/old-1a2b3-1 +its CrossClusterJob is gone; kept: it may run; if it has ended, in member1: kubectl -n default delete rayjobs.ray.io old-1a2b3-1/,
    );
    expect(out).not.toContain("living-");
  });

  it("with --yes deletes what has no owner, and keeps what would delete more", async () => {
    const { code, out } = await cli.run(["gc", "--yes"]);
    expect(code).toBe(0);
    expect(out).toContain("hub: CrossClusterLedger ccj-old: deleted");
    expect(jobs().sort()).toEqual(["granted", "living"]);
    expect(hubObject("apps/controllerrevisions", SYSTEM, "rev-old")).toBeUndefined();
    expect(hubObject("work.karmada.io/works", "karmada-es-member1", "work-old")).toBeDefined();
    const again = await cli.run(["gc"]);
    expect(again.out).toContain("work-old");
    expect(again.out).not.toContain("Nothing was deleted");
  });
});

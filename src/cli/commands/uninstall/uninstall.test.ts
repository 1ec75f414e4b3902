/** From a fleet in use to a hub without Lockstep, on virtual time with the real controller. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { application, configMap, inline, settle } from "../../../embedded/testing/application.ts";
import { NotFoundError } from "../../../kube/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";
import { STATEFULSETS } from "../../hub/hub.ts";
import { CROSS_CLUSTER_JOBS } from "../../hub/job.ts";
import { CliWorld } from "../../testing/harness.ts";
import { deletionOf } from "./managed.ts";

const API = "apps.karmada.io/v1alpha1";

const job = (name: string, runMs: number) => ({
  apiVersion: API,
  kind: "CrossClusterJob",
  metadata: { name, namespace: "default" },
  spec: {
    template: {
      apiVersion: "batch/v1",
      kind: "Job",
      spec: {
        template: {
          metadata: { annotations: { "lockstep.test/run-ms": String(runMs) } },
          spec: { restartPolicy: "Never", containers: [{ name: "main", image: "worker:1" }] },
        },
      },
    },
    clusters: { names: ["member1"] },
  },
});

const shop = application("shop", {
  source: inline(configMap("shop", { open: "yes" })),
  clusters: { names: ["member1"] },
  revisionSettleSeconds: 0,
});

describe("lockstep uninstall", () => {
  const cli = new CliWorld(77);
  const { world } = cli;
  const member1 = () => world.fleet.member("member1").api;
  const inMember = (what: string) => member1().list(what, "default");
  const isOnHub = (plural: string, name: string) =>
    world.fleet.hubObject(`apps.karmada.io/${plural}`, "default", name) !== undefined;
  const phaseOf = (name: string) => {
    const status = world.fleet.hubObject("apps.karmada.io/crossclusterjobs", "default", name)?.status;
    return isJsonObject(status) ? status.phase : undefined;
  };

  beforeAll(async () => {
    await cli.deploy();
    await world.apply(shop);
    await settle(world, "shop");
    await world.apply(job("ended", 5_000));
    await world.apply(job("running", 10_000_000));
    await world.until("one job has ended", () => phaseOf("ended") === "Complete" && phaseOf("running") === "Running");
    // The worst case: deleting it as it is would remove the instances.
    await world.ask(
      world.hub.patch(
        STATEFULSETS,
        { namespace: "default", name: "web" },
        { type: "merge", body: { spec: { deletionPolicy: "Teardown" } } },
      ),
    );
  });
  afterAll(() => world.stop());

  it("lists what deleting each object would do, and changes nothing", async () => {
    const { code, out } = await cli.run(["uninstall"]);
    expect(code).toBe(0);
    expect(out).toMatch(/default +ccs\/web +deletes what it deployed in the members/);
    expect(out).toMatch(/default +dapp\/shop +deletes what it deployed in the members/);
    expect(out).toMatch(/default +ccj\/ended +deletes what its ended work left/);
    expect(out).toMatch(/default +ccj\/running +stops its work/);
    expect(out).toContain("Nothing was changed");
  });

  it("refuses to delete the kinds while anything is managed", async () => {
    const { code, err } = await cli.run(["uninstall", "--apply", "--yes"]);
    expect(code).toBe(1);
    expect(err).toContain("still manages 4 objects");
    expect((await cli.run(["uninstall", "--apply", "--release"])).err).toContain("two steps");
  });

  it("asks before it lets go", async () => {
    const { code, err } = await cli.run(["uninstall", "--release"]);
    expect(code).toBe(1);
    expect(err).toContain("3 objects would be deleted on the hub");
    expect(isOnHub("crossclusterstatefulsets", "web")).toBe(true);
  });

  it("lets go of everything that deletion would remove, and keeps a job that runs", async () => {
    const pods = () =>
      inMember("/pods").flatMap(({ metadata }) => (metadata.name.startsWith("web-") ? [metadata.uid] : []));
    const before = pods();
    const { code, out, err } = await cli.run(["uninstall", "--release", "--yes"]);
    expect(out).toContain("default/ccs/web: is released");
    expect(out).toContain("default/dapp/shop: is released");
    expect(err).toContain("still managed: default/ccj/running");
    expect(code).toBe(1);
    expect(inMember("apps/statefulsets").length).toBeGreaterThan(0);
    expect(inMember("/configmaps").map(({ metadata }) => metadata.name)).toContain("shop");
    expect(before.length).toBeGreaterThan(0);
    expect(pods()).toEqual(before);
  });

  it("says that no controller leads if none lets go", async () => {
    await world.stopController();
    await world.ask(world.hub.delete(CROSS_CLUSTER_JOBS, { namespace: "default", name: "running" }));
    await world.apply({ ...shop, metadata: { ...shop.metadata, finalizers: ["example.com/stays"] } });
    const { code, err } = await cli.run(["uninstall", "--release", "--yes", "--timeout", "2s"]);
    expect(code).toBe(1);
    expect(err).toContain("still being released: default/dapp/shop");
    expect(err).toContain("no controller leads");
    await world.apply(shop);
  });

  it("refuses while a controller leads; afterwards deletes all that install created, and not the namespace", async () => {
    world.startController();
    await world.until(
      "all is gone",
      () => phaseOf("running") === undefined && !isOnHub("distributedapplications", "shop"),
    );
    expect((await cli.run(["uninstall", "--apply", "--yes"])).err).toContain("leads: remove it from its cluster first");
    await world.stopController();
    expect((await cli.run(["install", "--apply"])).code).toBe(0);
    const { code, out, err } = await cli.run(["uninstall", "--apply", "--yes"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("ClusterOverridePolicy lockstep-standing-hold deleted");
    expect(out).toContain("CustomResourceDefinition crossclusterstatefulsets.apps.karmada.io deleted");
    expect(out).toContain("Namespace lockstep-system is kept");
    await expect(world.ask(world.hub.listAll(STATEFULSETS))).rejects.toThrow(NotFoundError);
    const again = await cli.run(["uninstall", "--apply", "--yes"]);
    expect(again.out).not.toContain(" deleted\n");
    expect(inMember("/configmaps").map(({ metadata }) => metadata.name)).toContain("shop");
  });
});

it("an object without the field has the default of its kind, and a job that never ran is not ended", () => {
  const object = (of: string, spec = {}, status = {}) => ({
    apiVersion: API,
    kind: of,
    metadata: { name: "a" },
    spec,
    status,
  });
  expect(deletionOf(object("CrossClusterStatefulset"))).toBe("releases");
  expect(deletionOf(object("DistributedApplication"))).toBe("removes");
  expect(deletionOf(object("DistributedApplication", { deletionPolicy: "Release" }))).toBe("releases");
  expect(deletionOf(object("CrossClusterJob", {}, { phase: "Pending" }))).toBe("stops");
  expect(deletionOf(object("CrossClusterJob", {}, { phase: "Failed" }))).toBe("forgets");
});

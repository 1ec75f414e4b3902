import { beforeAll, describe, expect, it } from "vitest";
import { CROSS_CLUSTER_STATEFULSETS } from "../../../embedded/testing/world.ts";
import { CliWorld } from "../../testing/harness.ts";
import { checkDistributed } from "./applications.ts";

describe("doctor", () => {
  const cli = new CliWorld(6);
  beforeAll(() => cli.deploy());

  it("checks every right on hub and members, and names the missing ones", async () => {
    const asked: string[] = [];
    const { code, out } = await cli.run(["doctor"], {
      intercept: ({ path, body = "" }) => {
        if (!path.endsWith("/selfsubjectaccessreviews")) return undefined;
        const { group, resource, verb } = JSON.parse(body).spec.resourceAttributes;
        asked.push(`${path.includes("/clusters/member2/proxy/") ? "member2 " : ""}${verb} ${resource}.${group}`);
        const allowed = !(path.includes("/clusters/member2/proxy/") && verb === "delete" && resource === "pods");
        return { status: 201, headers: {}, body: JSON.stringify({ status: { allowed } }) };
      },
    });
    expect(code).toBe(1);
    expect(out).toMatch(/ok +rights: hub: everything/);
    expect(out).toMatch(/problem +rights: member member2: not allowed to this identity: delete pods\n/);
    expect(out).toContain("\n1 problems.");
    expect(asked).toContain("member2 watch statefulsets.apps");
    expect(asked).toContain("update leases.coordination.k8s.io");
  });

  it("names each right to read distributed kinds that is missing, with the option that gives it", async () => {
    const kinds = [
      { group: "", plural: "configmaps" },
      { group: "orders.example", plural: "tickets" },
    ];
    const [found] = await checkDistributed("member1", kinds, async ({ group, verb }) => group === "" || verb === "get");
    expect(found).toMatchObject({ check: "applications in member1", state: "problem" });
    expect(found?.message).toContain("list, watch tickets.orders.example");
    expect(found?.remedy).toContain("lockstep install --apply --distribute tickets.orders.example");
    const [fine] = await checkDistributed("member1", kinds, async () => true);
    expect(fine?.message).toBe("all 2 kinds that applications distribute can be read");
  });

  it("finds holds whose application is gone", async () => {
    const { world } = cli;
    await world.stopController();
    const object = world.statefulset("web");
    await world.ask(
      world.hub.update(CROSS_CLUSTER_STATEFULSETS, { ...object!, metadata: { ...object!.metadata, finalizers: [] } }),
    );
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "web" }));
    const { out } = await cli.run(["doctor"]);
    expect(out).toMatch(
      /warning +holds: OverridePolicy default\/lockstep-hold-[\w-]+ holds a template for CrossClusterStatefulset default\/web, which is gone/,
    );
    expect(out).toMatch(/warning +controller: no controller leads/);
  });
});

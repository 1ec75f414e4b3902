/** An agent that may apply a kind and not watch it: OCM says so nowhere, and every report of it takes a poll. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ContractBench } from "../../src/engine/testing/contract/bench.ts";
import { OCM_HUB } from "../../src/engine/testing/contract/index.ts";
import { appOf } from "../../src/engine/testing/contract/objects.ts";
import { XLINES, xline, xlineCrd } from "../stories/xline.ts";
import { type OcmFleet, startOcmFleet } from "./fleet.ts";

/** Five answers, each to a question that is sent every 15 s, by polls 10 to 19 s apart. */
const MEASURED_MS = 300_000;

describe("a cluster whose agent polls", () => {
  const bench = new ContractBench(OCM_HUB);
  let fleet: OcmFleet;
  beforeAll(async () => {
    await bench.start(async () => {
      fleet = await startOcmFleet();
      return fleet;
    });
    const { hub, members } = fleet.stack;
    await hub.apply(xlineCrd());
    for (const [cluster, api] of members) {
      await api.apply(xlineCrd());
      // As 'install --apply' gives it to member2; member1 has what a user might write.
      const verbs = ["get", "create", "update", "patch", "delete", ...(cluster === "member2" ? ["list", "watch"] : [])];
      await api.apply({
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: "xlines", labels: { "open-cluster-management.io/aggregate-to-work": "true" } },
        rules: [{ apiGroups: ["apps.my.io"], resources: [XLINES.plural], verbs }],
      });
    }
  });
  afterAll(() => bench.stop());

  it("is named with what to do, one that watches is not, and what both report counts", {
    timeout: 2 * MEASURED_MS,
  }, async () => {
    const engine = await bench.startEngine();
    const { apiVersion, kind } = XLINES;
    const app = { ...appOf("slow"), template: { apiVersion, kind, namespace: "default", name: "slow" } };
    engine.track(app, () => {});
    for (const cluster of ["member1", "member2"]) {
      const manifest = xline("xline:1", app.name);
      await engine.dispatch(app, { cluster, manifest, term: 1, notes: {}, expected: null });
      await fleet.until(`${cluster} is seen`, () => {
        const seen = engine.snapshot(app, cluster);
        return seen.kind === "present" || JSON.stringify(seen);
      });
    }
    await fleet.until("the agent is known to be slow", () => (engine.settings?.(app) ?? []).length > 0, MEASURED_MS);
    const settings = engine.settings?.(app) ?? [];
    expect(settings.map(({ message }) => message.split(" takes ")[0])).toEqual(["the agent of cluster member1"]);
    expect(settings[0]?.remedy).toContain("lockstep install --apply");
    for (const cluster of ["member1", "member2"]) expect(engine.snapshot(app, cluster).kind).toBe("present");
  });
});

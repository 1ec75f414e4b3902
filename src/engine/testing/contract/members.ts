/** The adapter's direct requests to members. */
import { expect, it } from "vitest";
import { type ContractBench, imageOf, orderOf } from "./bench.ts";
import { appOf, CLAIMS, configMap, NAMESPACE, statefulSet } from "./objects.ts";

export function membersContract(bench: ContractBench): void {
  const { startEngine, held, client, memberObject } = bench;

  it("reports in advance what a member's API server would refuse, without changing anything", async () => {
    const engine = await startEngine();
    const app = appOf("dryrun");
    await held(engine, app, 1);
    await engine.dispatch(app, orderOf(app, "member1", "app:1", 1, null));
    await bench.fleet.until("member1 has it", async () => (await memberObject("member1", app)) !== undefined);
    const member = engine.member("member1");
    expect(await member.dryRun(statefulSet(app.name, 1, "app:2"))).toEqual({ kind: "accepted" });
    const changed = statefulSet(app.name, 1, "app:2");
    const immutable = { ...changed, spec: { ...(changed.spec as object), serviceName: "another" } };
    expect((await member.dryRun(immutable)).kind).toBe("refused");
    expect(imageOf(await memberObject("member1", app))).toBe("app:1");
  });

  it("deletes a workload's own claims, and only for a caller that is confirmed to lead", async () => {
    const engine = await startEngine();
    const app = appOf("claims");
    await held(engine, app, 1);
    const names = ["data-claims-0", "data-claims-1", "data-other-claims-0"];
    const claims = async () => {
      const found = await Promise.all(
        names.map((name) => client("member1").find(CLAIMS, { namespace: NAMESPACE, name })),
      );
      return found.flatMap((claim) => claim?.metadata.name ?? []);
    };
    for (const name of names) {
      const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
      const metadata = { name, namespace: NAMESPACE };
      const manifest = { apiVersion: CLAIMS.apiVersion, kind: CLAIMS.kind, metadata, spec };
      await engine.dispatch(app, { cluster: "member1", manifest, term: 1, notes: {}, expected: null });
    }
    await bench.fleet.until("member1 has the claims", async () => (await claims()).length === names.length);
    // Released, or they would be recreated.
    await bench.fleet.until("they are released", async () => {
      const left = await engine.readDispatched(app);
      const gone = await Promise.all(left.map((one) => engine.withdraw(app, one, "keep")));
      return gone.every(Boolean);
    });
    const member = engine.member("member1");
    const own = { workload: "claims", templates: ["data"] };
    const deposed = () => Promise.reject(new Error("another leads"));
    await expect(member.deleteVolumes(NAMESPACE, own, deposed)).rejects.toThrow("another leads");
    expect(await claims()).toEqual(names);
    await member.deleteVolumes(NAMESPACE, own, async () => {});
    await bench.fleet.until("its claims are gone, and no other", async () => {
      return (await claims()).join() === "data-other-claims-0";
    });
  });

  it("sees whether a member has a ConfigMap, and never treats unknown as present", async () => {
    const engine = await startEngine();
    const app = appOf("holds");
    await held(engine, app, 1);
    const member = engine.member("member3");
    const manifest = configMap("holds-1", "one");
    expect((await member.holds(manifest)).kind).toBe("missing");
    await engine.dispatch(app, { cluster: "member3", manifest, term: 1, notes: {}, expected: null });
    await bench.fleet.until("member3 holds it", async () => (await member.holds(manifest)).kind === "held");
    expect((await member.holds(configMap("holds-1", "another"))).kind).toBe("missing");
    expect((await engine.member("member2").holds(manifest)).kind).toBe("missing");
    await bench.fleet.cut("member3");
    await bench.fleet.until("it is not known", async () => (await member.holds(manifest)).kind === "unknown");
    await bench.fleet.mend("member3");
    await bench.fleet.until("it is held, as before", async () => (await member.holds(manifest)).kind === "held");
  });

  it("reports a disconnected member as unreachable, and continues when it is back", async () => {
    const engine = await startEngine();
    const app = appOf("cut");
    await held(engine, app, 1);
    await engine.dispatch(app, orderOf(app, "member3", "app:1", 1, null));
    await bench.fleet.until("the live object is seen", () => engine.snapshot(app, "member3").kind === "present");
    await bench.fleet.cut("member3");
    await bench.fleet.until("it is unreachable", () => engine.snapshot(app, "member3").kind === "unreachable");
    await bench.fleet.mend("member3");
    await bench.fleet.until("it is seen again", () => engine.snapshot(app, "member3").kind === "present");
  });
}

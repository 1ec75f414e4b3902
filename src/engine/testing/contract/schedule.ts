/** What the adapter reads on the hub, and what it keeps from the members. */
import { expect, it } from "vitest";
import { sameJson } from "../../../runtime/index.ts";
import { type ContractBench, orderOf } from "./bench.ts";
import { appOf, CLUSTERS } from "./objects.ts";

export function scheduleContract(bench: ContractBench): void {
  const { startEngine, held } = bench;

  it("knows the clusters and whether they are Ready", async () => {
    const engine = await startEngine();
    await bench.fleet.until("all clusters are Ready", () => engine.clusters().every(({ state }) => state === "Ready"));
    expect(
      engine
        .clusters()
        .map((cluster) => cluster.name)
        .sort(),
    ).toEqual(CLUSTERS);
  });

  it("reads the schedule, and treats a missing one as unknown, never as no clusters", async () => {
    const engine = await startEngine();
    const app = appOf("schedule");
    engine.track(app, () => {});
    expect(engine.schedule(app).kind).toBe("unknown");
    await held(engine, app, 5);
    await bench.fleet.until("five instances are scheduled as this engine does it", () => {
      const schedule = engine.schedule(app);
      if (schedule.kind === "unknown") return schedule.message;
      const replicas = Object.fromEntries(schedule.clusters.map((one) => [one.cluster, one.replicas]));
      return sameJson(replicas, bench.kind.fiveInstances) || JSON.stringify(replicas);
    });
  });

  it("shows the member's live object, and its pods", async () => {
    const engine = await startEngine();
    const app = appOf("live");
    await held(engine, app, 1);
    await bench.fleet.until("the stream from member1 works", () => engine.snapshot(app, "member1").kind === "absent");
    await engine.dispatch(app, orderOf(app, "member1", "app:1", 1, null));
    await bench.fleet.until("the snapshot shows a ready pod", () => {
      const snapshot = engine.snapshot(app, "member1");
      if (snapshot.kind !== "present" || snapshot.source !== "live") return false;
      return (snapshot.pods?.length ?? 0) === 1 && JSON.stringify(snapshot.object.status).includes('"readyReplicas":1');
    });
  });
}

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseIndexes, sizeOf } from "../../src/jobs/index.ts";
import { timesDone } from "./runs.ts";
import { JobWorld } from "./world.ts";

describe("what is known to have ended never runs again", () => {
  const world = new JobWorld();
  beforeAll(async () => {
    await world.start();
    world.open("all");
  });
  afterAll(() => world.stop());
  const done = (name: string) => world.runs(name).map(({ cluster, end }) => `${cluster} ${end?.how}`);
  const restart = async (whileDown: () => Promise<unknown> = async () => {}) => {
    await world.stopController();
    await whileDown();
    world.startController();
    await world.roundTrip();
  };
  const jobsIn = (cluster: string, name: string) =>
    world.fleet
      .member(cluster)
      .api.list("batch/jobs", "default")
      .filter(({ metadata }) => metadata.name.startsWith(`${name}-`));

  it("a TTL in the template deletes nothing before the end is recorded, and starts nothing after it", async () => {
    await world.submit("ttl", { job: { ttlSecondsAfterFinished: 0 }, spec: { memberCleanup: "Never" } });
    await world.phase("ttl", "Complete");
    await restart();
    expect(jobsIn("member1", "ttl")).toHaveLength(1);
    expect(done("ttl")).toEqual(["member1 done"]);
  });

  it.each(["WhenFinished", "AfterTTL", "Never"])(
    "a Job that is deleted in the member after its end is not created again, with memberCleanup: %s",
    async (memberCleanup) => {
      const name = `deleted-${memberCleanup.toLowerCase()}`;
      await world.submit(name, { spec: { memberCleanup } });
      await world.phase(name, "Complete");
      if (memberCleanup === "WhenFinished") await world.clean(name);
      for (const job of jobsIn("member1", name)) await world.fleet.member("member1").api.delete(job);
      await restart();
      expect(done(name)).toEqual(["member1 done"]);
      expect(world.leftovers(name)).toEqual([]);
    },
  );

  it("the hub's object goes after its TTL, with its Jobs, and nothing runs again", async () => {
    await world.submit("expired", { spec: { ttlSecondsAfterFinished: 1, memberCleanup: "AfterTTL" } });
    await world.until("it is gone", () => world.runs("expired").length > 0 && world.object("expired") === undefined);
    expect(world.leftovers("expired")).toEqual([]);
    await restart();
    expect(done("expired")).toEqual(["member1 done"]);
  });

  it("an object of the same name that is created again is new work, and is done once", async () => {
    await world.submit("again");
    await world.phase("again", "Complete");
    const first = world.object("again")?.metadata.uid;
    await world.delete("again");
    await world.until("it is gone", () => world.object("again") === undefined);
    await world.submit("again");
    await world.phase("again", "Complete");
    expect(world.object("again")?.metadata.uid).not.toBe(first);
    await restart();
    expect(done("again")).toEqual(["member1 done", "member1 done"]);
    // Two lives have Jobs of different names.
    expect(new Set(world.runs("again").map(({ pod }) => pod.replace(/-\d+-[^-]+$/, ""))).size).toBe(2);
  });

  it("complete work whose ledger was lost stays complete", async () => {
    await world.submit("lost-ledger");
    await world.phase("lost-ledger", "Complete");
    await world.clean("lost-ledger");
    await restart(() => world.loseLedgers());
    expect(done("lost-ledger")).toEqual(["member1 done"]);
    expect(world.status("lost-ledger").phase).toBe("Complete");
  });

  it("complete work whose status was lost shows it again, and runs nothing", async () => {
    const name = "lost-status";
    await world.submit(name);
    await world.phase(name, "Complete");
    await world.clean(name);
    const before = world.status(name);
    await world.loseStatus(name);
    await world.phase(name, "Complete");
    await restart(() => world.loseStatus(name));
    await world.phase(name, "Complete");
    expect(done(name)).toEqual(["member1 done"]);
    const { attempts, completionTime, display } = before;
    expect(world.status(name)).toMatchObject({ attempts, completionTime, display });
  });

  it("running work whose status was lost continues, and what is done stays done", async () => {
    const name = "lost-running";
    world.close("all");
    world.open("member1");
    await world.submit(name, {
      job: { completions: 6, parallelism: 2, completionMode: "Indexed" },
      spec: { division: "Indexes" },
    });
    await world.until("some are done", () => Object.keys(timesDone(world.runs(name))).length >= 2, name);
    world.close("member1");
    await world.until("two run", () => world.runs(name).filter(({ end }) => end === undefined).length === 2, name);
    await restart(() => world.loseStatus(name));
    world.open("all");
    await world.phase(name, "Complete");
    expect(world.status(name).completedIndexes).toBe("0-5");
    expect(timesDone(world.runs(name))).toEqual({ 0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1 });
    expect(world.runs(name)).toHaveLength(6);
  });

  it("running work whose ledger was lost is taken over, and its completed indexes stay done", async () => {
    const name = "lost-halfway";
    world.close("all");
    world.open("member1");
    await world.submit(name, {
      job: { completions: 6, parallelism: 2, completionMode: "Indexed" },
      spec: { division: "Indexes" },
      failIn: ["member2"],
    });
    await world.until("some are done", () => Object.keys(timesDone(world.runs(name))).length >= 2, name);
    world.close("member1");
    await world.until("two run", () => world.runs(name).filter(({ end }) => end === undefined).length === 2, name);
    await restart(() => world.loseLedgers());
    world.open("all");
    await world.phase(name, "Complete");
    expect(timesDone(world.runs(name))).toEqual({ 0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1 });
    expect(world.runs(name)).toHaveLength(6);
  });

  it("completed indexes of an attempt in a cluster that is lost together with the ledger never run again", async () => {
    const name = "lost-both";
    world.close("all");
    world.open("member1");
    await world.submit(name, {
      job: { completions: 8, parallelism: 1, completionMode: "Indexed" },
      spec: { division: "Indexes", failover: { onClusterLoss: { afterSeconds: 0 } } },
    });
    await world.until("one is done", () => Object.keys(timesDone(world.runs(name))).length >= 1, name);
    world.close("member1");
    await world.until("one runs", () => world.runs(name).some(({ end }) => end === undefined), name);
    const known = () => parseIndexes(String(world.status(name).completedIndexes ?? "")) ?? [];
    await world.until(
      "the hub knows what is done",
      () => sizeOf(known()) === Object.keys(timesDone(world.runs(name))).length,
      name,
    );
    world.fleet.cut("member1");
    await world.until("it is lost", () => world.reasons(name).includes("AttemptLost"), name);
    const before = timesDone(world.runs(name));
    await restart(() => world.loseLedgers());
    const confirmedLost = [{ name: "member1", at: new Date().toISOString() }];
    world.open("all");
    await world.patch(name, { failover: { onClusterLoss: { confirmedLost } } });
    await world.phase(name, "Complete");
    for (const index of Object.keys(before)) expect(timesDone(world.runs(name))[index]).toBe(1);
    expect(Object.keys(timesDone(world.runs(name)))).toHaveLength(8);
    await world.mend("member1");
    await world.clean(name);
  });

  it("a hub that is restored to a moment before the end learns of it from the Job that its member kept", async () => {
    const name = "restored";
    world.close("all");
    await world.submit(name, { spec: { memberCleanup: "AfterTTL" } });
    await world.until("it runs", () => world.runs(name).length === 1, name);
    await world.phase(name, "Running");
    const backup = await world.backup(name);
    world.open("all");
    await world.phase(name, "Complete");
    await restart(() => backup.restore());
    await world.phase(name, "Complete");
    expect(done(name)).toEqual(["member1 done"]);
    expect(world.courses(name)).toEqual(["member1 Succeeded"]);
  });

  it("indexes of an attempt that has ended and was removed stay done when the ledger is lost afterwards", async () => {
    const name = "lost-between";
    world.close("all");
    world.open("member1");
    await world.submit(name, {
      job: { completions: 4, parallelism: 1, completionMode: "Indexed" },
      spec: { division: "Indexes" },
    });
    await world.until("one is done", () => Object.keys(timesDone(world.runs(name))).length >= 1, name);
    world.close("member1");
    await world.until("one runs", () => world.runs(name).some(({ end }) => end === undefined), name);
    // The first attempt is moved away and removed; the second one runs.
    world.fleet.cut("member1");
    await world.patch(name, { failover: { onClusterLoss: { afterSeconds: 0 } } });
    await world.until("it is lost", () => world.reasons(name).includes("AttemptLost"), name);
    const confirmedLost = [{ name: "member1", at: new Date().toISOString() }];
    await world.patch(name, { failover: { onClusterLoss: { confirmedLost } } });
    await world.until("the second one runs", () => world.runs(name).some(({ cluster }) => cluster === "member2"), name);
    await world.mend("member1");
    await world.until("the first one is removed", () => jobsIn("member1", name).length === 0, name);
    const before = timesDone(world.runs(name));
    await restart(() => world.loseLedgers());
    world.open("all");
    await world.phase(name, "Complete");
    for (const index of Object.keys(before)) expect(timesDone(world.runs(name))[index]).toBe(1);
    expect(Object.keys(timesDone(world.runs(name)))).toHaveLength(4);
  });

  it("a cluster that returns with an old Job runs nothing of it, and gives it up", async () => {
    const name = "returned";
    world.close("all");
    await world.submit(name, { spec: { failover: { onClusterLoss: { afterSeconds: 1, guarantee: "AtLeastOnce" } } } });
    await world.until("it runs", () => world.runs(name).length === 1, name);
    world.fleet.cut("member1");
    world.open("member2");
    await world.phase(name, "Complete");
    await world.mend("member1");
    await world.clean(name);
    expect(done(name)).toEqual(["member1 stopped", "member2 done"]);
  });
});

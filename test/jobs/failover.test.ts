import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { resource } from "../../src/kube/index.ts";
import { timesDone } from "./runs.ts";
import { JobWorld } from "./world.ts";

const CLUSTERS = resource({
  apiVersion: "cluster.karmada.io/v1alpha1",
  kind: "Cluster",
  plural: "clusters",
  namespaced: false,
});

describe("work that fails or finds no place continues in another cluster", () => {
  const world = new JobWorld();
  beforeAll(async () => {
    await world.start();
    world.open("all");
  });
  afterEach(() => world.open("all"));
  afterAll(() => world.stop());
  const courses = (name: string) => world.runs(name).map(({ cluster, end }) => `${cluster} ${end?.how}`);

  it("a Job that has failed in one cluster is done in the next, and its success is on the hub", async () => {
    await world.submit("failed", { failIn: ["member1"] });
    await world.phase("failed", "Complete");
    expect(courses("failed")).toEqual(["member1 failed", "member2 done"]);
    expect(world.courses("failed")).toEqual(["member1 Failed", "member2 Succeeded"]);
    await world.clean("failed");
  });

  it("with onFailure: Stop the first failed attempt is the end", async () => {
    await world.submit("stop", { failIn: ["member1"], spec: { failover: { onFailure: "Stop" } } });
    await world.phase("stop", "Failed");
    expect(courses("stop")).toEqual(["member1 failed"]);
    expect(world.status("stop").reason).toBe("AttemptFailed");
  });

  it("work that fails everywhere fails after maxAttempts, and a retry does what is left", async () => {
    const everywhere = ["member1", "member2", "member3"];
    await world.submit("retried", {
      job: { completions: 2, parallelism: 2, completionMode: "Indexed" },
      spec: { division: "Indexes", failover: { maxAttempts: 2 } },
      failIn: everywhere,
    });
    await world.phase("retried", "Failed");
    expect(world.status("retried").reason).toBe("AttemptsExhausted");
    expect(world.courses("retried")).toEqual(["member1 Failed", "member2 Failed"]);
    await world.clean("retried");
    const before = world.runs("retried").length;
    await world.patch("retried", { retry: "1" });
    await world.until("it was tried again", () => world.attempts("retried").length >= 3, "retried");
    await world.phase("retried", "Failed");
    // The same value is no second request.
    await world.patch("retried", { retry: "1", suspend: false });
    await world.roundTrip();
    expect(world.runs("retried").length).toBeGreaterThan(before);
    expect(world.attempts("retried")).toHaveLength(4);
  });

  it("after podFailures failed pods it continues elsewhere, although the Job would try again; what is done stays done", async () => {
    await world.submit("pods", {
      job: { completions: 6, parallelism: 6, completionMode: "Indexed", backoffLimit: 100 },
      spec: { division: "Indexes", failover: { podFailures: 3 } },
      failIn: ["member1"],
    });
    await world.phase("pods", "Complete");
    expect(world.courses("pods")).toEqual(["member1 Failed", "member2 Succeeded"]);
    expect(world.attempts("pods")[0]?.reason).toBe("PodFailures");
    expect(timesDone(world.runs("pods"))).toEqual({ 0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1 });
  });

  it("a cluster without room loses the work after pendingAfterSeconds, and nothing ran there", async () => {
    world.fill("member1");
    await world.submit("pending", { spec: { failover: { pendingAfterSeconds: 1 } } });
    await world.phase("pending", "Complete");
    expect(courses("pending")).toEqual(["member2 done"]);
    expect(world.attempts("pending")[0]).toMatchObject({ cluster: "member1", state: "Moved", reason: "Pending" });
    world.empty("member1");
    await world.clean("pending");
  });

  it.each([
    ["drained", { key: "lockstep.karmada.io/drain", effect: "NoSchedule" }],
    ["tainted", { key: "example.com/repair", effect: "NoExecute" }],
  ])("a cluster that is %s loses the work: it is ended there before it starts elsewhere", async (name, taint) => {
    const taintIn = (taints: (typeof taint)[]) =>
      world.fleet.client().patch(CLUSTERS, { name: "member1" }, { type: "merge", body: { spec: { taints } } });
    world.close("all");
    await world.submit(name);
    await world.until("it runs", () => world.runs(name).length === 1, name);
    await taintIn([taint]);
    await world.until("it runs elsewhere", () => world.runs(name).length === 2, name);
    world.open("all");
    await world.phase(name, "Complete");
    const [first, second] = world.runs(name);
    expect(courses(name)).toEqual(["member1 stopped", "member2 done"]);
    expect(second?.fromMs).toBeGreaterThan(first?.end?.atMs ?? Number.POSITIVE_INFINITY);
    expect(world.attempts(name)[0]).toMatchObject({ state: "Moved", reason: "Drained" });
    await taintIn([]);
    await world.clean(name);
  });

  it("counted work continues with what is left of its number", async () => {
    world.close("all");
    world.open("member2");
    await world.submit("counted", {
      job: { completions: 8, parallelism: 2 },
      spec: { division: "Completions", clusterParallelism: 2 },
    });
    await world.until(
      "both clusters work",
      () => new Set(world.runs("counted").map(({ cluster }) => cluster)).size === 2,
    );
    world.open("all");
    await world.phase("counted", "Complete");
    expect(courses("counted").filter((course) => course.endsWith("done"))).toHaveLength(8);
    expect(world.runs("counted")).toHaveLength(8);
    expect(world.status("counted")).toMatchObject({ succeeded: 8, completions: 8 });
  });

  it("a suspended Job has no process left, starts none, and continues with what is left", async () => {
    world.close("all");
    await world.submit("suspended", {
      job: { completions: 3, parallelism: 1, completionMode: "Indexed" },
      spec: { division: "Indexes" },
    });
    const alive = () => world.runs("suspended").filter(({ end }) => end === undefined).length;
    world.open("all");
    await world.until("one is done", () => Object.keys(timesDone(world.runs("suspended"))).length >= 1, "suspended");
    world.close("all");
    await world.until("one runs", () => alive() === 1, "suspended");
    await world.patch("suspended", { suspend: true });
    await world.phase("suspended", "Suspended");
    await world.until("none runs", () => alive() === 0, "suspended");
    const before = world.runs("suspended").length;
    world.open("all");
    await world.stopController();
    world.startController();
    await world.roundTrip();
    expect(world.runs("suspended")).toHaveLength(before);
    await world.patch("suspended", { suspend: false });
    await world.phase("suspended", "Complete");
    expect(timesDone(world.runs("suspended"))).toEqual({ 0: 1, 1: 1, 2: 1 });
  });
});

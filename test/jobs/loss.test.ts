import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { overlaps, timesDone } from "./runs.ts";
import { JobWorld, LOST_AFTER_SECONDS } from "./world.ts";

const INDEXES = 20;
const ONCE = Object.fromEntries(Array.from({ length: INDEXES }, (_, index) => [`${index}`, 1]));
/** Two of a cluster's indexes run at a time, so some are done, some run and some have not started when it is cut off. */
const INDEXED = { completions: INDEXES, parallelism: 2, completionMode: "Indexed" };
const onLoss = (guarantee: string, more = {}) => ({
  failover: { onClusterLoss: { guarantee, afterSeconds: LOST_AFTER_SECONDS, clockAllowanceSeconds: 1, ...more } },
});
const divided = (guarantee: string, more = {}) => ({
  job: INDEXED,
  spec: { division: "Indexes", clusterParallelism: 2, ...onLoss(guarantee, more) },
});

describe("twenty indexes over three clusters, one of which is cut off", () => {
  const world = new JobWorld();
  beforeAll(() => world.start());
  afterAll(() => world.stop());
  beforeEach(() => {
    for (const cluster of ["member2", "member3"]) world.open(cluster);
  });
  afterEach(async () => {
    world.close("member1");
    await world.mend("member1");
  });

  /** Some indexes of member1 are done, two run, and the rest has not started. */
  const cutOffHalfway = async (name: string) => {
    world.open("member1");
    await world.until("member1 has done some", () => doneIn(name, "member1") >= 2, name);
    world.close("member1");
    await world.until("two run there", () => aliveIn(name, "member1") === 2, name);
    world.fleet.cut("member1");
  };
  const runsIn = (name: string, cluster: string) => world.runs(name).filter((run) => run.cluster === cluster);
  const doneIn = (name: string, cluster: string) =>
    runsIn(name, cluster).filter(({ end }) => end?.how === "done").length;
  const aliveIn = (name: string, cluster: string) =>
    runsIn(name, cluster).filter(({ end }) => end === undefined).length;

  it("with Wait nothing starts elsewhere, and when the cluster returns it continues; every index has run once", async () => {
    const name = "wait-return";
    await world.submit(name, divided("Wait"));
    await cutOffHalfway(name);
    await world.until("it waits for a proof", () => world.reasons(name).includes("AttemptLost"), name);
    await world.until("the other share is done", () => doneIn(name, "member2") === INDEXES / 2, name);
    expect(world.runs(name).map(({ cluster }) => cluster)).not.toContain("member3");
    await world.mend("member1");
    world.open("member1");
    await world.phase(name, "Complete");
    expect(world.status(name)).toMatchObject({ completedIndexes: `0-${INDEXES - 1}`, succeeded: INDEXES });
    expect(timesDone(world.runs(name))).toEqual(ONCE);
    expect(world.runs(name)).toHaveLength(INDEXES);
  });

  it("with Wait a confirmed loss hands over what is not known to be done, and nothing that is", async () => {
    const name = "wait-confirm";
    await world.submit(name, divided("Wait"));
    await cutOffHalfway(name);
    await world.until("it waits for a proof", () => world.reasons(name).includes("AttemptLost"), name);
    const known = new Set(
      runsIn(name, "member1")
        .filter(({ end }) => end)
        .map(({ index }) => index),
    );
    const confirmedLost = [{ name: "member1", at: new Date().toISOString() }];
    await world.patch(name, onLoss("Wait", { confirmedLost }));
    await world.phase(name, "Complete");
    const elsewhere = world.runs(name).filter(({ cluster }) => cluster !== "member1");
    // What the hub had heard of. An index that was done in the moment of the cut may run again: the user confirmed that.
    const twice = elsewhere.filter(({ index }) => known.has(index));
    expect(twice.length).toBeLessThanOrEqual(2);
    expect(world.status(name)).toMatchObject({ completedIndexes: `0-${INDEXES - 1}` });
    // The cluster returns with its old Job, which is stopped and removed; nothing of it runs again.
    const before = world.runs(name).length;
    await world.mend("member1");
    await world.clean(name);
    expect(world.runs(name)).toHaveLength(before);
    expect(aliveIn(name, "member1")).toBe(0);
  });

  it("with Exclusive the cluster ends its own work at the deadline, and the same index never runs twice at a time", async () => {
    const name = "exclusive";
    await world.submit(name, divided("Exclusive", { windowSeconds: 10 }));
    await cutOffHalfway(name);
    const cutMs = Date.now();
    await world.until("it waits for the deadline", () => world.reasons(name).includes("WaitingForDeadline"), name);
    await world.until("the cut-off cluster has ended its own work", () => aliveIn(name, "member1") === 0, name);
    const stopped = runsIn(name, "member1").filter(({ end }) => end?.how === "stopped");
    expect(stopped).toHaveLength(2);
    await world.phase(name, "Complete");
    const runs = world.runs(name);
    expect(overlaps(runs)).toEqual([]);
    for (const { index, end } of stopped) {
      const later = runs.find((run) => run.cluster !== "member1" && run.index === index);
      expect(later?.fromMs).toBeGreaterThan(end?.atMs ?? Number.POSITIVE_INFINITY);
    }
    expect(world.courses(name)).toContain("member1 Lost");
    expect(Object.keys(timesDone(runs))).toHaveLength(INDEXES);
    await world.mend("member1");
    await world.clean(name);
    expect(world.runs(name)).toHaveLength(runs.length);
    console.log(
      `Exclusive, window 10 s: the work continued ${Math.round(nextStart(name, cutMs) - cutMs)} ms after the cut`,
    );
  });

  it("with AtLeastOnce it continues at once, and status says which attempt may run twice", async () => {
    const name = "at-least-once";
    await world.submit(name, divided("AtLeastOnce"));
    await cutOffHalfway(name);
    const cutMs = Date.now();
    await world.phase(name, "Complete");
    const lost = world.attempts(name).find(({ cluster, state }) => cluster === "member1" && state === "Lost");
    expect(lost?.mayRunTwice).toContain("member1 did not report");
    expect(world.attempts(name).filter(({ mayRunTwice }) => mayRunTwice !== undefined)).toHaveLength(1);
    // It did run twice at a time: the processes in the cut-off cluster are alive.
    expect(overlaps(world.runs(name)).map(([one]) => one.cluster)).toEqual(["member1", "member1"]);
    console.log(`AtLeastOnce: the work continued ${Math.round(nextStart(name, cutMs) - cutMs)} ms after the cut`);
    await world.mend("member1");
    await world.clean(name);
  });

  const nextStart = (name: string, cutMs: number) =>
    Math.min(
      ...world
        .runs(name)
        .filter(({ fromMs, index }) => fromMs > cutMs && runsIn(name, "member1").some((run) => run.index === index))
        .map(({ fromMs }) => fromMs),
    );
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { seededRandom, systemClock } from "../runtime/index.ts";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { Delays } from "./delays.ts";
import { WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

function setUp(work: WorkQueueOptions["work"], options: Partial<WorkQueueOptions> = {}) {
  const clock = new VirtualClock();
  const queue = new WorkQueue({ clock, random: seededRandom(1), work, ...options });
  return { clock, queue };
}

function recording(tookMs = 0, options: Partial<WorkQueueOptions> = {}) {
  const runs: string[] = [];
  const made = setUp(async (key) => {
    runs.push(`${key}@${made.clock.monotonicMs()}`);
    if (tookMs > 0) await made.clock.sleep(tookMs);
    return undefined;
  }, options);
  return { ...made, runs };
}

it("a key added often while it waits runs once", async () => {
  const { clock, queue, runs } = recording();
  for (let round = 0; round < 3; round++) for (const key of ["a", "b"]) queue.add(key);
  expect(queue.stats.depth).toBe(2);
  queue.start();
  await clock.settle();
  expect(runs).toEqual(["a@0", "b@0"]);
});

it("a key added while it runs runs once more afterwards, never at the same time", async () => {
  const { clock, queue, runs } = recording(100);
  queue.start();
  queue.add("a");
  await clock.advance(10);
  for (let round = 0; round < 3; round++) queue.add("a");
  expect(queue.stats).toMatchObject({ running: 1, depth: 0 });
  await clock.advance(500);
  expect(runs).toEqual(["a@0", "a@100"]);
});

it("no more keys run at a time than allowed, and a busy key does not starve the others", async () => {
  const { clock, queue, runs } = recording(10, { concurrency: 2 });
  queue.start();
  for (const key of ["busy", "b", "c", "d"]) queue.add(key);
  for (let round = 0; round < 4; round++) {
    queue.add("busy");
    await clock.advance(5);
    expect(queue.stats.running).toBeLessThanOrEqual(2);
  }
  await clock.advance(100);
  expect(runs.slice(0, 4)).toEqual(["busy@0", "b@0", "c@10", "d@10"]);
});

it("of several delays for one key the earliest wins", async () => {
  const { clock, queue, runs } = recording();
  queue.start();
  queue.addAfter("a", 1_000);
  queue.addAfter("a", 200);
  queue.addAfter("a", 5_000);
  queue.addAfter("b", 100);
  expect(queue.stats.delayed).toBe(2);
  await clock.advance(60_000);
  expect(runs).toEqual(["b@100", "a@200"]);
  expect(clock.sleeping).toBe(0);
});

it("a delay survives a run in between, and a jump of the wall clock", async () => {
  const { clock, queue, runs } = recording();
  queue.start();
  queue.addAfter("a", 1_000);
  queue.add("a");
  await clock.advance(500);
  clock.jumpWall(86_400_000);
  await clock.advance(499);
  expect(runs).toEqual(["a@0"]);
  await clock.advance(1);
  expect(runs).toEqual(["a@0", "a@1000"]);
});

it("failed work is retried after delays that double with jitter up to a limit, and success resets the delay", async () => {
  const runs: number[] = [];
  let failing = true;
  const { clock, queue } = setUp(
    async () => {
      runs.push(clock.monotonicMs());
      if (failing) throw new Error("no");
      return undefined;
    },
    { retryBaseMs: 100, retryMaxMs: 1_000 },
  );
  queue.start();
  queue.add("a");
  await clock.advance(10_000);
  const gaps = runs.slice(1).map((at, index) => at - (runs[index] ?? 0));
  expect(gaps[0]).toBeGreaterThanOrEqual(50);
  expect(gaps[0]).toBeLessThanOrEqual(101);
  for (const gap of gaps.slice(4)) {
    expect(gap).toBeGreaterThanOrEqual(500);
    expect(gap).toBeLessThanOrEqual(1_001);
  }
  expect(new Set(gaps).size).toBe(gaps.length);
  failing = false;
  await clock.advance(2_000);
  expect(queue.stats.retrying).toBe(0);
  const before = runs.length;
  await clock.advance(10_000);
  expect(runs.length).toBe(before);
  failing = true;
  queue.add("a");
  await clock.advance(200);
  expect((runs.at(-1) ?? 0) - (runs.at(-2) ?? 0)).toBeLessThanOrEqual(101);
});

it("a failing key holds no worker while it waits", async () => {
  const runs: string[] = [];
  const { clock, queue } = setUp(
    async (key) => {
      runs.push(key);
      if (key === "bad") throw new Error("no");
      return undefined;
    },
    { concurrency: 1 },
  );
  queue.start();
  queue.add("bad");
  queue.add("good");
  await clock.settle();
  expect(runs).toEqual(["bad", "good"]);
});

it("work may ask to run again later", async () => {
  const runs: number[] = [];
  const { clock, queue } = setUp(async () => {
    runs.push(clock.monotonicMs());
    return runs.length < 3 ? { requeueAfterMs: 300 } : undefined;
  });
  queue.start();
  queue.add("a");
  await clock.advance(10_000);
  expect(runs).toEqual([0, 300, 600]);
});

it("shutdown completes the work in progress, starts nothing more, and leaves no timer", async () => {
  const { clock, queue, runs } = recording(100, { concurrency: 1 });
  queue.start();
  queue.add("a");
  queue.add("b");
  queue.addAfter("c", 10);
  await clock.advance(5);
  queue.add("a");
  const down = queue.shutdown();
  queue.add("d");
  await clock.run(down);
  expect(clock.monotonicMs()).toBe(100);
  await clock.advance(10_000);
  expect(runs).toEqual(["a@0"]);
  expect(clock.sleeping).toBe(0);
});

it("after the grace time of a shutdown the work's signal aborts", async () => {
  const { clock, queue } = setUp(async (_key, signal) => {
    await clock.sleep(60_000, signal);
    return undefined;
  });
  queue.start();
  queue.add("a");
  await clock.settle();
  await clock.run(queue.shutdown(5_000));
  expect(clock.monotonicMs()).toBe(5_000);
});

it("a key that cannot wait is not queued behind a thousand that can", async () => {
  const { clock, queue, runs } = recording(10, { concurrency: 8 });
  queue.start();
  for (let index = 0; index < 1_000; index++) queue.addWhenFree(`free${index}`);
  await clock.advance(5);
  queue.add("now");
  await clock.settle();
  expect(runs).toEqual(["free0@0", "now@5"]);
  await clock.advance(20_000);
  expect(runs).toHaveLength(1_001);
});

it("keys that can wait get their turn, regardless of how many cannot", async () => {
  const { clock, queue, runs } = recording(10, { concurrency: 1 });
  queue.start();
  for (let index = 0; index < 100; index++) queue.add(`now${index}`);
  queue.addWhenFree("free");
  await clock.advance(10);
  expect(runs.slice(0, 2)).toEqual(["now0@0", "free@0"]);
});

it("a key that is first added as able to wait and then as urgent runs once, with the urgent ones", async () => {
  const { clock, queue, runs } = recording(10, { concurrency: 1 });
  for (const key of ["a", "b", "c"]) queue.addWhenFree(key);
  queue.add("c");
  queue.addWhenFree("c");
  queue.start();
  await clock.advance(1_000);
  expect(runs).toEqual(["c@0", "a@0", "b@10"]);
});

it("work may ask to run again soon, and to run again when there is time", async () => {
  const runs: number[] = [];
  const { clock, queue } = setUp(async () => {
    runs.push(clock.monotonicMs());
    return runs.length < 3 ? { requeueAfterMs: 500, whenFreeAfterMs: 100 * runs.length } : undefined;
  });
  queue.start();
  queue.add("a");
  await clock.advance(1_000);
  expect(runs).toEqual([0, 100, 300]);
});

it("an earlier run's request is dropped when a later run does not repeat it", async () => {
  const runs: number[] = [];
  const { clock, queue } = setUp(async () => {
    runs.push(clock.monotonicMs());
    return runs.length === 1 ? { requeueAfterMs: 100, whenFreeAfterMs: 300 } : undefined;
  });
  queue.start();
  queue.add("a");
  await clock.advance(50);
  queue.add("a");
  await clock.advance(10_000);
  expect(runs).toEqual([0, 50]);
});

it("a time that is set again and again takes no additional memory", () => {
  const delays = new Delays<string>();
  for (let index = 0; index < 1_000; index++) {
    delays.set("a", 1_000_000 - index);
    delays.set("b", 1_000_000 + index);
  }
  expect(delays.entryCount).toBeLessThan(50);
  expect(delays.take(2_000_000)).toBe("a");
  expect(delays.take(2_000_000)).toBe("b");
  expect(delays.take(2_000_000)).toBeUndefined();
});

it("keys that can wait and have nothing to do yield the event loop in between", async () => {
  const runs: string[] = [];
  const work = async (key: string) => {
    runs.push(key);
    return undefined;
  };
  const queue = new WorkQueue({ clock: systemClock, random: seededRandom(1), concurrency: 1, work });
  for (let index = 0; index < 20; index++) queue.addWhenFree(`free${index}`);
  queue.start();
  await new Promise((resolve) => setImmediate(resolve));
  expect(runs.length).toBeLessThan(20);
  await queue.shutdown();
});

it("hooks receive how long keys waited and worked", async () => {
  const heard: string[] = [];
  const { clock, queue } = recording(50, {
    concurrency: 1,
    hooks: {
      started: (key, waitedMs, depth) => heard.push(`start ${key} ${waitedMs} ${depth}`),
      finished: (key, tookMs, failed) => heard.push(`end ${key} ${tookMs} ${failed}`),
    },
  });
  queue.start();
  queue.add("a");
  queue.add("b");
  await clock.advance(1_000);
  expect(heard).toEqual(["start a 0 0", "end a 50 false", "start b 50 0", "end b 50 false"]);
});

it("in every interleaving: one worker per key, none lost, and each add is followed by a run that began after it", async () => {
  const step = fc.record({
    key: fc.constantFrom("a", "b", "c"),
    kind: fc.constantFrom("add", "free", "after", "time"),
    ms: fc.integer({ min: 0, max: 40 }),
    fails: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer(), async (steps, seed) => {
      const random = seededRandom(seed);
      const clock = new VirtualClock({ random });
      const busy = new Set<string>();
      const lastStart = new Map<string, number>();
      const lastAdd = new Map<string, number>();
      const due = new Map<string, number>();
      let fails = false;
      let tick = 0;
      const queue: WorkQueue = new WorkQueue({
        clock,
        random,
        concurrency: 2,
        work: async (key) => {
          expect(busy.has(key)).toBe(false);
          busy.add(key);
          // Two, and one that can wait in addition.
          expect(busy.size).toBeLessThanOrEqual(3);
          lastStart.set(key, tick++);
          if (clock.monotonicMs() >= (due.get(key) ?? 0)) due.delete(key);
          const bad = fails;
          await clock.sleep(random.next() * 20);
          busy.delete(key);
          if (bad) throw new Error("no");
          return random.next() < 0.2 && tick < 100 ? { whenFreeAfterMs: 5 } : undefined;
        },
      });
      queue.start();
      for (const { key, kind, ms, fails: next } of steps) {
        fails = next;
        if (kind === "add" || kind === "free") {
          if (kind === "add") queue.add(key);
          else queue.addWhenFree(key);
          lastAdd.set(key, tick++);
        } else if (kind === "after") {
          queue.addAfter(key, ms);
          const dueMs = clock.monotonicMs() + ms;
          due.set(key, Math.min(due.get(key) ?? dueMs, dueMs));
        } else await clock.advance(ms);
      }
      fails = false;
      await clock.advance(10 * 60_000);
      // `work` starts a microtask after the add, so the run that an add causes always has the later tick.
      for (const [key, at] of lastAdd) expect(lastStart.get(key)).toBeGreaterThan(at);
      expect([...due.keys()]).toEqual([]);
      expect(queue.stats).toMatchObject({ depth: 0, running: 0, delayed: 0, retrying: 0 });
      expect(clock.sleeping).toBe(0);
    }),
    { numRuns: 300, seed: 11 },
  );
});

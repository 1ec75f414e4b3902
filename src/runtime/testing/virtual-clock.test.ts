import { expect, it } from "vitest";
import { VirtualClock } from "./virtual-clock.ts";

it("sleepers wake in the order of their time, each before the next one starts", async () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const note = async (name: string, ms: number) => {
    await clock.sleep(ms);
    await Promise.resolve();
    seen.push(`${name}@${clock.monotonicMs()}`);
  };
  void note("late", 20);
  void note("early", 10);
  void note("early too", 10);
  await clock.advance(15);
  expect(seen).toEqual(["early@10", "early too@10"]);
  expect(clock.monotonicMs()).toBe(15);
  await clock.advance(5);
  expect(seen).toHaveLength(3);
  expect(clock.sleeping).toBe(0);
});

it("an aborted sleep rejects with the signal's reason and is forgotten", async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const slept = clock.sleep(10, abort.signal);
  abort.abort(new Error("enough"));
  await expect(slept).rejects.toThrow("enough");
  await expect(clock.sleep(10, abort.signal)).rejects.toThrow("enough");
  expect(clock.sleeping).toBe(0);
});

it("a jump of the wall clock does not change durations", async () => {
  const clock = new VirtualClock();
  const before = clock.now();
  const slept = clock.sleep(1000);
  clock.jumpWall(-3_600_000);
  await clock.run(slept);
  expect(clock.monotonicMs()).toBe(1000);
  expect(clock.now()).toBe(before + 1000 - 3_600_000);
});

it("run fails if its promise can no longer settle", async () => {
  const clock = new VirtualClock();
  await expect(clock.run(new Promise(() => {}))).rejects.toThrow("virtual time has stopped");
});

import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { DeadlineReached, withDeadline } from "./deadline.ts";

const never = () => new Promise<never>(() => {});

it("a deadline returns the work's result, and leaves neither timer nor listener behind", async () => {
  const clock = new VirtualClock();
  const parent = new AbortController();
  let heard: AbortSignal | undefined;
  const done = withDeadline(clock, 1_000, parent.signal, async (signal) => {
    heard = signal;
    return "done";
  });
  expect(await done).toBe("done");
  await expect(withDeadline(clock, 1_000, parent.signal, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(clock.sleeping).toBe(0);
  expect(getEventListeners(parent.signal, "abort")).toEqual([]);
  expect(heard?.aborted).toBe(false);
});

it("a deadline cuts off work that takes too long, even if it ignores its signal", async () => {
  const clock = new VirtualClock();
  let heard: AbortSignal | undefined;
  const cut = withDeadline(clock, 1_000, undefined, (signal) => {
    heard = signal;
    return never();
  });
  const failed = cut.catch((error: unknown) => error);
  await clock.advance(1_000);
  expect(await failed).toBeInstanceOf(DeadlineReached);
  expect(heard?.reason).toBeInstanceOf(DeadlineReached);
});

it("a deadline ends with its parent, at once if the parent has already ended", async () => {
  const clock = new VirtualClock();
  const parent = new AbortController();
  const cut = withDeadline(clock, 1_000, parent.signal, never);
  parent.abort(new Error("enough"));
  await expect(cut).rejects.toThrow("enough");
  let began = false;
  const late = withDeadline(clock, 1_000, parent.signal, async () => {
    began = true;
  });
  await expect(late).rejects.toThrow("enough");
  expect(began).toBe(false);
  expect(clock.sleeping).toBe(0);
});

it("a deadline reuses a signal only if it was not aborted and has no listeners left", async () => {
  const clock = new VirtualClock();
  const seen: AbortSignal[] = [];
  const note = async (signal: AbortSignal) => void seen.push(signal);
  const listen = async (signal: AbortSignal) => {
    seen.push(signal);
    signal.addEventListener("abort", () => {});
  };
  await withDeadline(clock, 1_000, undefined, note);
  await withDeadline(clock, 1_000, undefined, listen);
  expect(seen[1]).toBe(seen[0]);
  await withDeadline(clock, 1_000, undefined, note);
  expect(seen[2]).not.toBe(seen[1]);
  let finish = () => {};
  const slow = withDeadline(clock, 1_000, undefined, (signal) => {
    seen.push(signal);
    return new Promise<void>((resolve) => {
      finish = resolve;
    });
  });
  const failed = slow.catch((error: unknown) => error);
  await clock.advance(1_000);
  expect(await failed).toBeInstanceOf(DeadlineReached);
  finish();
  await clock.settle();
  await withDeadline(clock, 1_000, undefined, note);
  expect(seen[4]).not.toBe(seen[3]);
  expect(seen[4]?.aborted).toBe(false);
});

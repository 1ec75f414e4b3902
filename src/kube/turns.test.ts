import { expect, it } from "vitest";
import { Turns } from "./turns.ts";

const never = new AbortController().signal;

it("as many callers as allowed have a turn at once, in the order in which they came", async () => {
  const turns = new Turns(2);
  const began: number[] = [];
  const ends: (() => void)[] = [];
  const taking = [0, 1, 2, 3].map(async (caller) => {
    const end = await turns.take(never);
    began.push(caller);
    ends.push(end);
  });
  await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(began).toEqual([0, 1]);
  ends[0]?.();
  ends[0]?.();
  await new Promise((resolve) => setImmediate(resolve));
  expect(began).toEqual([0, 1, 2]);
  ends[1]?.();
  await Promise.all(taking);
  expect(began).toEqual([0, 1, 2, 3]);
});

it("a caller that gives up while it waits takes no turn from others", async () => {
  const turns = new Turns(1);
  const end = await turns.take(never);
  const stop = new AbortController();
  const givenUp = turns.take(stop.signal);
  const next = turns.take(never);
  stop.abort(new Error("given up"));
  await expect(givenUp).rejects.toThrow("given up");
  end();
  (await next)();
  await expect(turns.take(stop.signal)).rejects.toThrow("given up");
  (await turns.take(never))();
});

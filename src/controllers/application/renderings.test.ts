import { describe, expect, it } from "vitest";
import { seededRandom } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { Bundled } from "./bundler.ts";
import { Renderings } from "./renderings.ts";

const bundled = (message: string): Bundled => ({ kind: "refused", message, remedy: "" });

function begin() {
  const clock = new VirtualClock({ random: seededRandom(1) });
  const changed: string[] = [];
  const ending = new AbortController();
  const renderings = new Renderings({ clock, changed: (key) => void changed.push(key), signal: ending.signal });
  return { clock, changed, renderings, ending };
}

describe("a source", () => {
  it("that is rendered at once is waited for", async () => {
    const { clock, changed, renderings } = begin();
    expect(await clock.run(renderings.of("a", "1", async () => bundled("one")))).toEqual(bundled("one"));
    expect(changed).toEqual([]);
  });

  it("that does not answer holds no worker up, is started once, and makes its application due when it is done", async () => {
    const { clock, changed, renderings } = begin();
    let answer: (made: Bundled) => void = () => {};
    let renders = 0;
    const render = () => {
      renders++;
      return new Promise<Bundled>((resolve) => {
        answer = resolve;
      });
    };
    expect(await clock.run(renderings.of("a", "1", render))).toBeUndefined();
    expect(await clock.run(renderings.of("a", "1", render))).toBeUndefined();
    answer(bundled("late"));
    await clock.settle();
    expect([changed, renders]).toEqual([["a"], 1]);
    expect(await clock.run(renderings.of("a", "1", render))).toEqual(bundled("late"));
  });

  it("that changes meanwhile is rendered again, and what was asked for before counts no more", async () => {
    const { clock, changed, renderings, ending } = begin();
    let answer: (made: Bundled) => void = () => {};
    let under: AbortSignal | undefined;
    const old = (signal: AbortSignal) => {
      under = signal;
      return new Promise<Bundled>((resolve) => {
        answer = resolve;
      });
    };
    expect(await clock.run(renderings.of("a", "1", old))).toBeUndefined();
    expect(under?.aborted).toBe(false);
    expect(await clock.run(renderings.of("a", "2", async () => bundled("two")))).toEqual(bundled("two"));
    // Its program is stopped: an edit a second must not leave a program of each behind.
    expect(under?.aborted).toBe(true);
    answer(bundled("one"));
    await clock.settle();
    expect(changed).toEqual([]);
    expect(await clock.run(renderings.of("b", "1", old))).toBeUndefined();
    renderings.forget("b");
    expect(under?.aborted).toBe(true);
    expect(await clock.run(renderings.of("c", "1", old))).toBeUndefined();
    ending.abort();
    expect(under?.aborted).toBe(true);
  });

  it("whose rendering fails unexpectedly fails the attempt, and the next one renders again", async () => {
    const { clock, renderings } = begin();
    const failing = async () => {
      throw new Error("the disk is full");
    };
    await expect(clock.run(renderings.of("a", "1", failing))).rejects.toThrow("the disk is full");
    expect(await clock.run(renderings.of("a", "1", async () => bundled("one")))).toEqual(bundled("one"));
  });
});

import { expect, it } from "vitest";
import type { KubeObject, Patch } from "../../kube/index.ts";
import { isKubeObject } from "../../kube/index.ts";
import { silentLog } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { LATE_MS, REPORTS } from "./lateness.ts";
import { FRESH_MS, SignsOfLife } from "./signs-of-life.ts";
import { orderFor, reported, withTimes, written } from "./testing/agent.ts";
import { askingPatch, sentMark } from "./works.ts";

/** Not a multiple of the time between two questions. */
const SEEN_EVERY_MS = 11_000;

const sentAtMs = (work: KubeObject) => sentMark(work)?.sentAtMs ?? 0;

/** A hub with one ManifestWork, and an agent that answers at once while it is alive. */
class Scene {
  readonly clock = new VirtualClock();
  readonly stop = new AbortController();
  isAgentAlive = true;
  /** How long it takes to report. */
  reportsAfterMs = 0;
  questions = 0;
  told = 0;
  work: KubeObject;
  readonly signs: SignsOfLife;

  constructor() {
    this.work = reported(written(orderFor(1), undefined, this.clock.now()));
    this.signs = new SignsOfLife({
      hub: { patch: async (_of: unknown, _name: unknown, patch: Patch) => this.#ask(patch) as never },
      clock: this.clock,
      log: silentLog,
      works: { get: () => this.work, wrote: () => {} },
      readFrom: () => [this.work],
      changed: () => this.told++,
    });
    void this.signs.run(this.stop.signal);
  }

  #ask(patch: Patch): KubeObject {
    this.questions++;
    expect(patch).toEqual(askingPatch(this.work, this.clock.now()));
    const text = JSON.stringify(this.work.spec);
    const mark = patch.type === "json" ? String(patch.operations.at(-1)?.value) : "";
    const asked: unknown = { ...this.work, spec: JSON.parse(text.replaceAll(/[a-z0-9]{8}\.\d+\.\d+/g, mark)) };
    if (!isKubeObject(asked)) throw new Error("the patch made no object");
    this.work = this.isAgentAlive && this.reportsAfterMs === 0 ? reported(asked) : asked;
    if (this.isAgentAlive && this.reportsAfterMs > 0) {
      this.clock.after(this.reportsAfterMs, () => {
        this.work = reported(this.work);
        this.signs.saw(this.work);
      });
    }
    return this.work;
  }
}

it("a report is fresh as long as requests are answered", async () => {
  const scene = new Scene();
  await scene.clock.advance(10 * FRESH_MS);
  expect(scene.questions).toBeGreaterThan(20);
  expect(scene.signs.isFresh(scene.work)).toBe(true);
  expect(scene.told).toBe(0);
  scene.stop.abort();
});

it("the last report of an agent that is gone soon proves nothing, and the application is notified; also when the agent is back", async () => {
  const scene = new Scene();
  await scene.clock.advance(FRESH_MS);
  scene.isAgentAlive = false;
  await scene.clock.advance(FRESH_MS / 2);
  expect(scene.signs.isFresh(scene.work)).toBe(true);
  await scene.clock.advance(FRESH_MS);
  expect(scene.signs.isFresh(scene.work)).toBe(false);
  expect(scene.told).toBe(1);
  scene.isAgentAlive = true;
  await scene.clock.advance(FRESH_MS);
  expect(scene.signs.isFresh(scene.work)).toBe(true);
  expect(scene.told).toBe(2);
  scene.stop.abort();
});

it("a report from before this process is as old as the write that it answers", () => {
  const scene = new Scene();
  const old = reported(written(orderFor(1), undefined, scene.clock.now() - 2 * FRESH_MS));
  expect(scene.signs.isFresh(old)).toBe(false);
  const strange = reported(written(orderFor(1), undefined, scene.clock.now() + 2 * FRESH_MS));
  expect(scene.signs.isFresh(strange)).toBe(false);
  scene.stop.abort();
});

it("a wall clock that jumps makes reports stale, but no cluster silent", async () => {
  const scene = new Scene();
  await scene.clock.advance(FRESH_MS);
  scene.clock.jumpWall(3_600_000);
  expect(scene.signs.isFresh(scene.work)).toBe(false);
  expect(scene.signs.silentSinceMs(scene.work)).toBe(scene.clock.now());
  await scene.clock.advance(FRESH_MS);
  expect(scene.signs.isFresh(scene.work)).toBe(true);
  scene.isAgentAlive = false;
  await scene.clock.advance(2 * FRESH_MS);
  expect(scene.clock.now() - scene.signs.silentSinceMs(scene.work)).toBeGreaterThan(FRESH_MS);
  scene.stop.abort();
});

it("a wall clock that jumps back does not make the last report of a dead agent count again", async () => {
  const scene = new Scene();
  await scene.clock.advance(FRESH_MS);
  scene.isAgentAlive = false;
  await scene.clock.advance(2 * FRESH_MS);
  expect(scene.signs.isFresh(scene.work)).toBe(false);
  scene.clock.jumpWall(-2 * FRESH_MS);
  expect(scene.signs.isFresh(scene.work)).toBe(false);
  scene.stop.abort();
});

it("a report without this generation proves nothing if the object is absent", () => {
  const scene = new Scene();
  const work = { ...written(orderFor(1), undefined, scene.clock.now()) };
  const absent = { ...work, metadata: { ...work.metadata, uid: "u2" } };
  expect(scene.signs.isFresh(reported(absent, { there: false, generation: 0 }))).toBe(false);
  expect(scene.signs.isFresh(reported(absent, { there: false }))).toBe(true);
  scene.stop.abort();
});

it("an agent that takes seconds to report is slow, and the application is notified; also when it is quick again", async () => {
  const scene = new Scene();
  await scene.clock.advance(FRESH_MS);
  expect(scene.signs.paceOf("east")).toBe("prompt");
  scene.reportsAfterMs = 8_000;
  await scene.clock.advance(3 * FRESH_MS);
  expect(scene.signs.paceOf("east")).toBe("slow");
  expect(scene.told).toBe(1);
  scene.reportsAfterMs = 0;
  await scene.clock.advance(3 * FRESH_MS);
  expect(scene.signs.paceOf("east")).toBe("prompt");
  expect(scene.told).toBe(2);
  scene.stop.abort();
});

it("an agent that answers at once and reports the cluster's own changes late is named, and the application is notified", async () => {
  const scene = new Scene();
  for (let at = 1; at <= 2 * REPORTS; at++) {
    await scene.clock.advance(SEEN_EVERY_MS);
    const changedMs = scene.clock.now() - 2 * LATE_MS;
    scene.work = withTimes(scene.work, { appliedMs: sentAtMs(scene.work), changedMs });
    scene.signs.saw(scene.work);
  }
  expect(scene.signs.paceOf("east")).toBe("late");
  expect(scene.told).toBe(1);
  scene.stop.abort();
});

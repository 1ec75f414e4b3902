import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CrossClusterStatefulsetStatus } from "../../api/index.ts";
import type { Cache, KubeObject } from "../../kube/index.ts";
import { seededRandom, silentLog } from "../../runtime/index.ts";
import { TestHub } from "../testing/objects.ts";
import { STATEFULSETS } from "./resources.ts";
import { StatusWriter } from "./status-writer.ts";

const KEY = "default/web";

let hub: TestHub;
let cache: Cache<KubeObject>;
let writer: StatusWriter<CrossClusterStatefulsetStatus>;
let mayAct: boolean;
let changed: string[];

beforeEach(async () => {
  hub = new TestHub();
  mayAct = true;
  hub.api.put(STATEFULSETS, object());
  cache = await hub.cacheOf(STATEFULSETS);
  const { clock, client } = hub;
  const random = seededRandom(3);
  changed = [];
  writer = new StatusWriter({
    hub: client,
    resource: STATEFULSETS,
    cache,
    clock,
    random,
    log: silentLog,
    mayAct: () => mayAct,
    changed: (key) => changed.push(key),
  });
});

afterEach(async () => {
  await writer.shutdown();
  await hub.stop();
});

function object(status?: CrossClusterStatefulsetStatus): KubeObject {
  const { apiVersion, kind } = STATEFULSETS;
  const metadata = { name: "web", namespace: "default", uid: "u", generation: 1 };
  return { apiVersion, kind, metadata, spec: {}, ...(status && { status: { ...status } }) };
}

const phase = () => (hub.api.list(STATEFULSETS)[0]?.status as CrossClusterStatefulsetStatus | undefined)?.phase;
const say = (text: string) => writer.say(KEY, () => ({ phase: text }));
const soon = () => hub.clock.run(hub.clock.sleep(1_500));

describe("a status", () => {
  it("is written soon, and of several only the newest", async () => {
    say("Deploying");
    say("Updating");
    say("Settled");
    expect(hub.writes()).toEqual([]);
    await soon();
    expect(phase()).toBe("Settled");
    expect(hub.writes()).toHaveLength(1);
  });

  it("is written at once when it is the first for a while, and then no more often than people read", async () => {
    for (let change = 0; change < 40; change++) {
      say(`change ${change}`);
      await hub.clock.run(hub.clock.sleep(100));
      if (change === 1) expect(hub.writes()).toHaveLength(1);
    }
    expect(hub.writes().length).toBeLessThanOrEqual(5);
    await soon();
    expect(phase()).toBe("change 39");
  });

  it("is not written if it would not change", async () => {
    say("Settled");
    await soon();
    say("Settled");
    await soon();
    expect(hub.writes()).toHaveLength(1);
  });

  it("is made from the one before at the moment of writing", async () => {
    say("Updating");
    await soon();
    writer.say(KEY, (before) => ({ phase: `after ${before?.phase}` }));
    await soon();
    expect(phase()).toBe("after Updating");
  });

  it("that could not be written is tried again, with what is newest then", async () => {
    hub.api.fault = ({ method }) => (method === "PUT" ? { kind: "answer", status: 403 } : undefined);
    say("Updating");
    await soon();
    say("Settled");
    hub.api.fault = () => undefined;
    await hub.clock.run(hub.clock.sleep(10_000));
    expect(phase()).toBe("Settled");
  });

  it("is written although a user has just changed the object, and keeps that change", async () => {
    let edits = 1;
    hub.api.fault = ({ method }) => {
      if (method === "PUT" && edits-- > 0) hub.api.put(STATEFULSETS, { ...object(), spec: { replicas: 5 } });
      return undefined;
    };
    say("Settled");
    await soon();
    expect(phase()).toBe("Settled");
    expect(hub.api.list(STATEFULSETS)[0]?.spec).toEqual({ replicas: 5 });
    expect(hub.writes()).toHaveLength(2);
  });

  it("is not written by a leader whose lease may have run out", async () => {
    mayAct = false;
    say("Settled");
    await soon();
    expect(hub.writes()).toEqual([]);
  });

  it("of an object that was deleted is dropped without an error", async () => {
    say("Settled");
    hub.api.remove(STATEFULSETS, { namespace: "default", name: "web" });
    await soon();
    expect(hub.api.list(STATEFULSETS)).toEqual([]);
  });

  it("is forgotten with its object", async () => {
    say("Settled");
    writer.forget(KEY);
    await soon();
    expect(hub.writes()).toEqual([]);
  });
});

describe("the echo of a write", () => {
  async function written(): Promise<{ now: KubeObject; before: KubeObject }> {
    const before = cache.getByKey(KEY);
    say("Settled");
    await soon();
    const now = cache.getByKey(KEY);
    if (!now || !before) throw new Error("the object is not in the cache");
    return { now, before };
  }

  it("is no news", async () => {
    const { now, before } = await written();
    expect(now.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion);
    expect(writer.isEcho(now, before)).toBe(true);
  });

  it("is news when it also contains another client's write from just before", async () => {
    const { now, before } = await written();
    const older = (metadata: object) => ({ ...before, metadata: { ...before.metadata, ...metadata } });
    expect(writer.isEcho(now, older({ generation: 0 }))).toBe(false);
    expect(writer.isEcho(now, older({ deletionTimestamp: "2025-01-01T00:00:00Z" }))).toBe(false);
    expect(writer.isEcho(now, older({ finalizers: ["a"] }))).toBe(false);
  });

  it("is no news when its event comes before its answer", async () => {
    hub.api.fault = ({ method }) => (method === "PUT" ? { kind: "slow", delayMs: 200 } : undefined);
    const news: boolean[] = [];
    cache.subscribe({ updated: (now, previous) => news.push(!writer.isEcho(now, previous)) });
    say("Settled");
    await soon();
    expect(news).toEqual([false]);
    expect(changed).toEqual([]);
  });

  it("does not hide what another client writes to the status meanwhile", async () => {
    hub.api.fault = ({ method }) => (method === "PUT" ? { kind: "slow", delayMs: 200 } : undefined);
    cache.subscribe({ updated: (now, previous) => writer.isEcho(now, previous) });
    say("Settled");
    await hub.clock.run(hub.clock.sleep(200));
    hub.api.put(STATEFULSETS, object({ phase: "Tampered" }));
    await soon();
    expect(changed).toEqual([KEY]);
  });

  it("is not a later write of another client", async () => {
    const { now } = await written();
    const later = { ...now, metadata: { ...now.metadata, resourceVersion: "999" } };
    expect(writer.isEcho(later, now)).toBe(false);
  });
});

import { afterEach, expect, it } from "vitest";
import { seededRandom } from "../runtime/index.ts";
import { collectGarbage } from "../runtime/testing/collect-garbage.ts";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { KubeClient } from "./client.ts";
import { EventRecorder } from "./events.ts";
import { resource } from "./resource.ts";
import { FakeApi } from "./testing/fake-api.ts";
import { configMap, configMaps } from "./testing/resources.ts";

const events = resource({ apiVersion: "v1", kind: "Event", plural: "events", namespaced: true });
const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort(new Error("test over"));
});

function setUp() {
  const clock = new VirtualClock();
  const api = new FakeApi({ clock });
  const client = new KubeClient({ transport: api, clock, random: seededRandom(1) });
  const recorder = new EventRecorder({ client, clock, random: seededRandom(2), component: "test", instance: "test-0" });
  const stop = new AbortController();
  stops.push(stop);
  const object = api.put(configMaps, configMap("db"));
  const warn = (message: string, reason = "Broken") => recorder.record(object, { type: "Warning", reason, message });
  const written = () => api.list(events).map((event) => `${event.reason} x${event.count}: ${event.message}`);
  return { clock, api, recorder, stop, object, warn, written };
}

it("an event names its object as kubectl describe looks for it", async () => {
  const { clock, api, recorder, stop, object, warn } = setUp();
  void recorder.run(stop.signal);
  warn("it broke");
  await clock.settle();
  expect(api.list(events)[0]).toMatchObject({
    metadata: { namespace: "default", name: expect.stringMatching(/^db\.[0-9a-f]{16}$/) },
    involvedObject: { kind: "ConfigMap", name: "db", namespace: "default", uid: object.metadata.uid },
    type: "Warning",
    reason: "Broken",
    message: "it broke",
    count: 1,
    firstTimestamp: "2025-01-01T00:00:00Z",
    source: { component: "test" },
  });
});

it("a remembered event does not keep its object in memory", async () => {
  const { clock, recorder, stop } = setUp();
  void recorder.run(stop.signal);
  const recordOne = () => {
    const object = configMap("large");
    recorder.record(object, { type: "Normal", reason: "Seen", message: "once" });
    return new WeakRef(object);
  };
  const object = recordOne();
  await clock.settle();
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(recorder.stats.written).toBe(1);
  expect(object.deref()).toBeUndefined();
});

it("repeated events become one event with a count", async () => {
  const { clock, api, recorder, stop, warn, written } = setUp();
  void recorder.run(stop.signal);
  for (let round = 0; round < 3; round++) {
    warn("it broke");
    await clock.advance(10_000);
  }
  expect(written()).toEqual(["Broken x3: it broke"]);
  expect(api.list(events)[0]).toMatchObject({
    firstTimestamp: "2025-01-01T00:00:00Z",
    lastTimestamp: "2025-01-01T00:00:20Z",
  });
});

it("an expired event is written again", async () => {
  const { clock, api, recorder, stop, warn, written } = setUp();
  void recorder.run(stop.signal);
  warn("it broke");
  await clock.settle();
  api.remove(events, { namespace: "default", name: api.list(events)[0]!.metadata.name });
  warn("it broke");
  await clock.settle();
  expect(written()).toEqual(["Broken x1: it broke"]);
});

it("many different messages with one reason are combined", async () => {
  const { clock, recorder, stop, warn, written } = setUp();
  void recorder.run(stop.signal);
  for (let index = 0; index < 15; index++) {
    warn(`pod ${index} broke`);
    await clock.advance(100);
  }
  expect(written()).toHaveLength(11);
  expect(written()).toContain("Broken x5: (combined from similar events): pod 14 broke");
});

it("one object cannot flood the server, and suppressed events are counted later", async () => {
  const { clock, api, recorder, stop, warn, written } = setUp();
  void recorder.run(stop.signal);
  for (let index = 0; index < 200; index++) {
    warn("again");
    await clock.advance(100);
  }
  expect(api.requests.length).toBe(25);
  expect(recorder.stats.suppressed).toBe(175);
  await clock.advance(5 * 60_000);
  warn("again");
  await clock.settle();
  expect(written()).toEqual(["Broken x201: again"]);
});

it("a failure after many routine events of one object is written at once", async () => {
  const { clock, recorder, stop, object, warn, written } = setUp();
  void recorder.run(stop.signal);
  for (let index = 0; index < 40; index++) {
    recorder.record(object, { type: "Normal", reason: `Step${index % 8}`, message: `step ${index}` });
    await clock.advance(100);
  }
  expect(written()).toHaveLength(25);
  for (let index = 0; index < 40; index++) warn("it broke", `Broken${index}`);
  await clock.advance(100);
  for (let index = 0; index < 40; index++) expect(written()).toContain(`Broken${index} x1: it broke`);
});

it("a warning that exceeds its object's limit is counted within a minute, even if it never occurs again", async () => {
  const { clock, api, recorder, stop, warn, written } = setUp();
  void recorder.run(stop.signal);
  for (let index = 0; index < 100; index++) {
    warn("again");
    await clock.advance(100);
  }
  expect(written()).toEqual(["Broken x25: again"]);
  await clock.advance(60_000);
  expect(written()).toEqual(["Broken x100: again"]);
  expect(api.requests.length).toBe(26);
  expect(clock.sleeping).toBe(0);
});

it("a warning that could not be written is written when the server is back; a routine event is not", async () => {
  const { clock, api, recorder, stop, object, warn, written } = setUp();
  void recorder.run(stop.signal);
  api.fault = () => ({ kind: "hang" });
  warn("it broke");
  recorder.record(object, { type: "Normal", reason: "Step", message: "one more" });
  await clock.advance(300_000);
  expect(written()).toEqual([]);
  api.fault = () => undefined;
  await clock.advance(60_000);
  expect(written()).toEqual(["Broken x1: it broke"]);
});

it("a warning that the server refuses is not retried forever", async () => {
  const { clock, api, recorder, stop, warn } = setUp();
  void recorder.run(stop.signal);
  api.fault = () => ({ kind: "answer", status: 403 });
  warn("it broke");
  await clock.advance(600_000);
  expect(recorder.stats).toMatchObject({ waiting: 0, dropped: 1 });
  expect(api.requests.length).toBeLessThanOrEqual(3);
});

it("while nothing can be written, routine events are dropped in favour of warnings", async () => {
  const { clock, api, recorder, stop, warn, written } = setUp();
  api.fault = () => ({ kind: "hang" });
  for (let index = 0; index < 1_000; index++) {
    recorder.record(configMap(`o${index}`), { type: "Normal", reason: "Seen", message: "m" });
  }
  warn("it broke");
  expect(recorder.stats).toMatchObject({ waiting: 1_000, dropped: 1 });
  api.fault = () => undefined;
  void recorder.run(stop.signal);
  await clock.advance(60_000);
  expect(written()).toContain("Broken x1: it broke");
});

it("an unreachable server neither blocks the caller nor fills the memory", async () => {
  const { clock, api, recorder, stop } = setUp();
  api.fault = () => ({ kind: "hang" });
  void recorder.run(stop.signal);
  for (let index = 0; index < 3_000; index++) {
    recorder.record(configMap(`o${index}`), { type: "Normal", reason: "Seen", message: "m" });
  }
  expect(recorder.stats).toMatchObject({ waiting: 1_000, dropped: 2_000 });
  api.fault = () => undefined;
  await clock.advance(60_000);
  expect(recorder.stats.waiting).toBe(0);
});

it("a shutdown writes the remaining events, for a limited time", async () => {
  const { clock, api, recorder, stop, warn, written } = setUp();
  warn("one");
  warn("two");
  stop.abort(new Error("over"));
  await clock.run(recorder.run(stop.signal));
  expect(written()).toHaveLength(2);
  api.fault = () => ({ kind: "hang" });
  warn("three");
  const startMs = clock.monotonicMs();
  await clock.run(recorder.run(stop.signal));
  expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(3_000);
  expect(clock.sleeping).toBe(0);
});

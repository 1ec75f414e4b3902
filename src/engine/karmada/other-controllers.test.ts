import { expect, it } from "vitest";
import { KubeClient } from "../../kube/index.ts";
import { type HttpResponse, type JsonObject, seededRandom, silentLog, type Transport } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { fightingControllers, Watchman } from "./other-controllers.ts";

const TEMPLATE = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "shop", name: "web" };
const EVERY_MS = 60_000;

const rebalancer = {
  metadata: { name: "again" },
  spec: { workloads: [{ ...TEMPLATE }] },
};
const autoscaler = {
  metadata: { name: "web", namespace: "shop", labels: { long: "x".repeat(1_000) } },
  spec: { scaleTargetRef: { kind: "StatefulSet", name: "web" }, maxReplicas: 9 },
};

/** Lists by the end of their path; a number is an answer without a list. */
type Lists = Record<string, JsonObject[] | number | "never" | "nonsense">;

function setUp(lists: Lists) {
  const clock = new VirtualClock();
  let asked = 0;
  const transport: Transport = {
    request: async ({ path, signal }): Promise<HttpResponse> => {
      asked += 1;
      const [where = ""] = path.split("?");
      const found = Object.entries(lists).find(([end]) => where.endsWith(end))?.[1] ?? 404;
      const headers = { "content-type": "application/json" };
      if (found === "never")
        return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      if (found === "nonsense") return { status: 200, headers, body: '{"kind":"List","items":[null,7]}' };
      if (typeof found === "number") {
        return { status: found, headers, body: JSON.stringify({ kind: "Status", code: found, message: "no" }) };
      }
      const list = { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "1" }, items: found };
      return { status: 200, headers, body: JSON.stringify(list) };
    },
    stream: () => {
      throw new Error("nothing is watched");
    },
  };
  const hub = new KubeClient({ transport, clock, random: seededRandom(1), log: silentLog });
  let changes = 0;
  const watchman = new Watchman({
    hub,
    member: (cluster) => hub.below("members", cluster),
    clusters: () => ["member1"],
    clock,
    log: silentLog,
    everyMs: EVERY_MS,
    changed: () => {
      changes += 1;
    },
  });
  const stop = new AbortController();
  const running = watchman.run(stop.signal);
  return {
    clock,
    found: () => fightingControllers(watchman.others, TEMPLATE).map(({ remedy }) => remedy),
    changes: () => changes,
    asked: () => asked,
    kept: () => JSON.stringify([...watchman.others.autoscalers]),
    stop: async () => {
      stop.abort(new Error("the test is over"));
      await clock.run(running);
    },
  };
}

it("finds what fights, tells of a change once, and keeps only what it judges by", async () => {
  const lists: Lists = {
    workloadrebalancers: [rebalancer],
    "member1/apis/autoscaling/v2/horizontalpodautoscalers": [autoscaler],
  };
  const { clock, found, changes, kept, stop } = setUp(lists);
  await clock.advance(1_000);
  expect(found()).toEqual([
    "kubectl delete workloadrebalancer again",
    "kubectl --context member1 -n shop delete hpa web",
  ]);
  expect(kept()).not.toContain("xxx");
  await clock.advance(2 * EVERY_MS);
  expect(changes()).toBe(1);
  lists.workloadrebalancers = [];
  await clock.advance(EVERY_MS);
  expect(found()).toHaveLength(1);
  expect(changes()).toBe(2);
  await stop();
});

it("keeps what it read last of a member that does not answer, and asks no more than three lists each time", async () => {
  const path = "member1/apis/autoscaling/v2/horizontalpodautoscalers";
  const lists: Lists = { [path]: [autoscaler] };
  const { clock, found, asked, stop } = setUp(lists);
  await clock.advance(1_000);
  expect(asked()).toBe(3);
  lists[path] = 503;
  await clock.advance(EVERY_MS);
  expect(found()).toEqual(["kubectl --context member1 -n shop delete hpa web"]);
  lists[path] = 404;
  await clock.advance(EVERY_MS);
  expect(found()).toEqual([]);
  expect(asked()).toBeLessThanOrEqual(9);
  await stop();
});

it("ends without an error while a question is not answered, and outlives an answer that makes no sense", async () => {
  const path = "member1/apis/autoscaling/v2/horizontalpodautoscalers";
  const lists: Lists = { [path]: "nonsense" };
  const { clock, found, asked, stop } = setUp(lists);
  await clock.advance(1_000);
  lists[path] = [autoscaler];
  await clock.advance(EVERY_MS);
  expect(found()).toEqual(["kubectl --context member1 -n shop delete hpa web"]);
  const before = asked();
  lists[path] = "never";
  await clock.advance(EVERY_MS);
  expect(asked()).toBeGreaterThan(before);
  await stop();
});

import { expect, it } from "vitest";
import type { JsonObject } from "../runtime/index.ts";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { Discovery } from "./discovery.ts";
import { NotFoundError, ServerError } from "./errors.ts";

const kinds = (...names: string[]) => ({
  resources: names.flatMap((kind) => [
    { name: `${kind.toLowerCase()}s`, kind, namespaced: true },
    { name: `${kind.toLowerCase()}s/status`, kind, namespaced: true },
  ]),
});
const group = (...versions: string[]) => ({ versions: versions.map((groupVersion) => ({ groupVersion })) });
const ANSWERS: Record<string, JsonObject> = {
  "/version": { gitVersion: "v1.36.4" },
  "/api": { versions: ["v1"] },
  "/apis": { groups: [group("apps/v1"), group("metrics.k8s.io/v1", "metrics.k8s.io/v1beta1")] },
  "/api/v1": kinds("Pod", "Secret"),
  "/apis/apps/v1": kinds("StatefulSet"),
};

function discovery(answers: Record<string, JsonObject>) {
  const asked: string[] = [];
  const clock = new VirtualClock();
  const getJson = async (path: string): Promise<JsonObject> => {
    asked.push(path);
    const answer = answers[path];
    if (answer) return answer;
    const status = { code: 503, reason: "", message: "down", causes: [], retryAfterMs: undefined };
    const request = { method: "GET", path, object: "kinds" };
    const Failure = path.endsWith("v1beta1") ? NotFoundError : ServerError;
    throw new Failure(request, status);
  };
  return { asked, clock, discovery: new Discovery({ clock, getJson }) };
}

it("lists everything that the server serves, once in a while", async () => {
  const all = { ...ANSWERS, "/apis/metrics.k8s.io/v1": kinds("NodeMetrics") };
  const { asked, clock, discovery: found } = discovery(all);
  const served = [
    "v1",
    "v1/Pod",
    "v1/Secret",
    "apps/v1",
    "apps/v1/StatefulSet",
    "metrics.k8s.io/v1",
    "metrics.k8s.io/v1/NodeMetrics",
    "metrics.k8s.io/v1beta1",
  ];
  expect(await found.served()).toEqual(served);
  const count = asked.length;
  expect(await found.served()).toEqual(served);
  expect(asked).toHaveLength(count);
  await clock.advance(600_000);
  await found.served();
  expect(asked).toHaveLength(2 * count);
  expect(await found.serverVersion()).toBe("v1.36.4");
});

it("a group whose server is down has no kinds, and is asked again the next time", async () => {
  const answers = { ...ANSWERS };
  const { discovery: found } = discovery(answers);
  expect(await found.served()).not.toContain("metrics.k8s.io/v1/NodeMetrics");
  expect(await found.served()).toContain("apps/v1/StatefulSet");
  answers["/apis/metrics.k8s.io/v1"] = kinds("NodeMetrics");
  expect(await found.served()).toContain("metrics.k8s.io/v1/NodeMetrics");
});

it("a server that does not tell its version has none", async () => {
  expect(await discovery({ "/version": {} }).discovery.serverVersion()).toBeUndefined();
});

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { World } from "../testing/world.ts";

const JOBS = "batch/jobs";

describe("a member's Job controller", () => {
  let world: World;
  const api = () => world.fleet.member("member1").api;
  const job = () => api().get(JOBS, "default", "work");
  const status = (): JsonObject => (isJsonObject(job()?.status) ? (job()?.status as JsonObject) : {});
  const has = (type: string) => JSON.stringify(status().conditions ?? []).includes(`"type":"${type}","status":"True"`);
  const pods = () => api().list("/pods", "default");

  beforeEach(async () => {
    world = new World(1);
    await world.ask(world.fleet.start());
  });
  afterEach(() => world.ask(world.fleet.stop()));

  const create = (spec: JsonObject, image = "worker:1", annotations: Record<string, string> = {}) =>
    world.ask(api().create(jobOf(spec, image, annotations)));

  it("runs as many pods at a time as parallelism allows, until completions have succeeded", async () => {
    await create({ completions: 4, parallelism: 2 });
    await world.until("two pods", () => status().active === 2);
    await world.until("complete", () => has("Complete"));
    expect(status()).toMatchObject({ succeeded: 4, active: 0, terminating: 0 });
  });

  it("gives each pod of an Indexed Job its index, and lists the completed ones", async () => {
    await create({ completions: 3, parallelism: 3, completionMode: "Indexed" });
    await world.until("complete", () => has("Complete"));
    expect(status().completedIndexes).toBe("0-2");
    const indexes = pods().map((pod) => /"JOB_COMPLETION_INDEX","value":"(\d)"/.exec(JSON.stringify(pod.spec))?.[1]);
    expect(indexes.sort()).toEqual(["0", "1", "2"]);
  });

  it("fails when more pods have failed than backoffLimit", async () => {
    await create({ backoffLimit: 1 }, "broken:1");
    await world.until("failed", () => has("Failed"));
    expect(JSON.stringify(status())).toContain("BackoffLimitExceeded");
    expect(status().failed).toBe(2);
  });

  it("ends at startTime and activeDeadlineSeconds, which may be extended, and waits for its pods to go", async () => {
    await create({ activeDeadlineSeconds: 5 }, "worker:1", { "lockstep.test/run-ms": "60000" });
    await world.until("runs", () => status().active === 1);
    const startTime = status().startTime;
    const found = job();
    if (found)
      await world.ask(api().update({ ...found, spec: { ...(found.spec as JsonObject), activeDeadlineSeconds: 9 } }));
    await world.until("failed", () => has("Failed"));
    expect(JSON.stringify(status())).toContain("DeadlineExceeded");
    expect(status()).toMatchObject({ startTime, active: 0, terminating: 0 });
    expect(world.clock.now() - Date.parse(String(startTime))).toBeGreaterThanOrEqual(9_000);
  });

  it("with parallelism 0 has a startTime and no pod; raised, it runs with the same startTime", async () => {
    await create({ parallelism: 0, completions: 1 });
    await world.until("started", () => status().startTime !== undefined);
    const startTime = status().startTime;
    expect(pods()).toEqual([]);
    const found = job();
    if (found) await world.ask(api().update({ ...found, spec: { ...(found.spec as JsonObject), parallelism: 1 } }));
    await world.until("complete", () => has("Complete"));
    expect(status().startTime).toBe(startTime);
  });

  it("deletes a finished Job after ttlSecondsAfterFinished", async () => {
    await create({ ttlSecondsAfterFinished: 10 });
    await world.until("complete", () => has("Complete"));
    await world.until("gone", () => job() === undefined);
  });

  it("refuses a Job whose pods carry the uid of another one", async () => {
    const labels = { "batch.kubernetes.io/controller-uid": "another" };
    const pinned = { template: { metadata: { labels }, spec: podSpec("worker:1") } };
    await expect(create(pinned)).rejects.toThrow("must be");
  });
});

function podSpec(image: string): JsonObject {
  return { restartPolicy: "Never", containers: [{ name: "main", image }] };
}

function jobOf(spec: JsonObject, image: string, annotations: Record<string, string>): KubeObject {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "work", namespace: "default" },
    spec: { template: { metadata: { annotations }, spec: podSpec(image) }, ...spec },
  };
}

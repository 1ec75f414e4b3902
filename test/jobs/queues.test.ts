/** docs/guides/kueue.md: a Job that a queue or another controller manages in the member is left to it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isKubeObject, resource } from "../../src/kube/index.ts";
import type { JsonObject } from "../../src/runtime/index.ts";
import { valueAt } from "../../src/runtime/index.ts";
import { saved } from "../attacks/page.ts";
import { JobWorld } from "./world.ts";

const JOBS = resource({ apiVersion: "batch/v1", kind: "Job", plural: "jobs", namespaced: true });
const QUEUE = { "kueue.x-k8s.io/queue-name": "team-a" };

describe("a Job that is managed in the member", () => {
  const world = new JobWorld();
  /** Clusters whose queue admits Jobs. */
  const admitting = new Set<string>();

  beforeAll(async () => {
    await world.start();
    world.open("all");
    for (const object of saved("docs/guides/kueue.md", "retain-queued-jobs.yaml")) {
      if (isKubeObject(object)) await world.create(object);
    }
    for (const member of world.fleet.memberNames) playQueue(member);
  });
  afterAll(() => world.stop());

  const write = (member: string, name: string, body: JsonObject, subresource?: "status") =>
    world.fleet
      .client(member)
      .patch(JOBS, { namespace: "default", name }, { type: "merge", body }, subresource ? { subresource } : {});

  /** As Kueue does: whatever runs without being admitted is suspended. */
  function playQueue(member: string): void {
    world.fleet.member(member).api.on("batch/jobs", ({ type, object }) => {
      const isQueued = object.metadata.labels?.["kueue.x-k8s.io/queue-name"] !== undefined;
      if (type === "DELETED" || !isQueued) return;
      const suspend = !admitting.has(member);
      if ((valueAt(object, "spec", "suspend") ?? false) !== suspend)
        void write(member, object.metadata.name, { spec: { suspend } });
    });
  }
  const jobIn = (member: string, name: string) =>
    world.fleet
      .member(member)
      .api.list("batch/jobs", "default")
      .find(({ metadata }) => metadata.name.startsWith(`${name}-`));
  const isSuspended = (member: string, name: string) => valueAt(jobIn(member, name), "spec", "suspend") === true;

  it("waits in the queue while the queue holds it, also after it was granted, and runs once when it is admitted", async () => {
    await world.submit("queued", { labels: QUEUE });
    await world.until(
      "it is granted",
      () => valueAt(jobIn("member1", "queued"), "spec", "parallelism") === 1,
      "queued",
    );
    await world.until("it is suspended", () => isSuspended("member1", "queued"), "queued");
    await world.roundTrip();
    expect(isSuspended("member1", "queued")).toBe(true);
    expect(world.runs("queued")).toEqual([]);
    expect(world.reasons("queued")).toContain("AttemptPending");
    admitting.add("member1");
    await write("member1", jobIn("member1", "queued")?.metadata.name ?? "", { spec: { suspend: false } });
    await world.phase("queued", "Complete");
    expect(world.runs("queued").map(({ cluster, end }) => `${cluster} ${end?.how}`)).toEqual(["member1 done"]);
    admitting.delete("member1");
  });

  it("goes to the next cluster if it was not admitted for pendingAfterSeconds", async () => {
    admitting.add("member2");
    await world.submit("moved", { labels: QUEUE, spec: { failover: { pendingAfterSeconds: 1 } } });
    await world.phase("moved", "Complete");
    expect(world.runs("moved").map(({ cluster, end }) => `${cluster} ${end?.how}`)).toEqual(["member2 done"]);
    await world.clean("moved");
  });

  it("with managedBy no pod is created by Kubernetes' own controller, and the other controller's end counts", async () => {
    await world.submit("managed", { job: { managedBy: "example.com/runner" } });
    await world.until(
      "it is granted",
      () => valueAt(jobIn("member1", "managed"), "spec", "parallelism") === 1,
      "managed",
    );
    await world.roundTrip();
    expect(world.runs("managed")).toEqual([]);
    const done = { type: "Complete", status: "True", reason: "Ran", lastTransitionTime: new Date().toISOString() };
    const status = { active: 0, terminating: 0, succeeded: 1, conditions: [done] };
    await write("member1", jobIn("member1", "managed")?.metadata.name ?? "", { status }, "status");
    await world.phase("managed", "Complete");
    await world.clean("managed");
  });
});

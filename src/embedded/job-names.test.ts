/** Other writers in a member: one that has an attempt's name, and one that removes Lockstep's label from an attempt. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { attemptRef } from "../controllers/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { World } from "./testing/world.ts";

const CCJ = "apps.karmada.io/crossclusterjobs";
const OWNER_LABEL = "lockstep.karmada.io/owner";
let world: World;

beforeEach(async () => {
  world = new World(7);
  await world.start();
});
afterEach(() => world.stop());

function jobOf(more: JsonObject = {}, runMs = 5_000): KubeObject {
  const pods = {
    metadata: { annotations: { "lockstep.test/run-ms": String(runMs) } },
    spec: { restartPolicy: "Never", containers: [{ name: "main", image: "worker:1" }] },
  };
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name: "train", namespace: "default" },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { backoffLimit: 0, template: pods } },
      clusters: { names: ["member1", "member2", "member3"] },
      ...more,
    },
  };
}

const onHub = () => world.fleet.hubObject(CCJ, "default", "train");
function status(): JsonObject {
  const found = onHub()?.status;
  return isJsonObject(found) ? found : {};
}
const attempts = () =>
  (Array.isArray(status().attempts) ? status().attempts : []) as unknown as readonly Record<string, string>[];
const courses = () => attempts().map(({ cluster, state, reason }) => `${cluster} ${state} ${reason ?? ""}`);
const jobsIn = (cluster: string) => world.fleet.member(cluster).api.list("batch/jobs", "default");

/** Another writer's Job, under the name of an attempt that has not started. */
async function take(cluster: string, number: number): Promise<string> {
  const { name } = attemptRef(onHub() as never, number);
  const pods = { spec: { restartPolicy: "Never", containers: [{ name: "own", image: "other:1" }] } };
  const spec = { parallelism: 0, template: pods };
  const metadata = { name, namespace: "default" };
  await world.ask(
    world.fleet.member(cluster).api.create({ apiVersion: "batch/v1", kind: "Job", metadata, spec } as KubeObject),
  );
  return name;
}

it("[J19] work continues under another name if another writer's Job has the attempt's, and that Job is left alone", async () => {
  await world.apply(jobOf({ suspend: true }));
  await world.until("suspended", () => status().phase === "Suspended");
  const name = await take("member1", 1);
  const strangers = () =>
    jobsIn("member1").map(({ metadata: { uid, labels, annotations }, spec }) => [uid, labels, annotations, spec]);
  const before = strangers();
  await world.apply(jobOf());
  await world.until("complete", () => status().phase === "Complete");
  expect(courses()).toEqual(["member1 Unused NameTaken", "member2 Succeeded CompletionsReached"]);
  expect(attempts()[0]?.message).toContain(`Job default/${name}`);
  await world.until("cleaned up", () => jobsIn("member2").length === 0);
  expect(strangers()).toEqual(before);
});

it("[J19] an attempt waits with ForeignObject if every name is taken, and starts when the object is deleted", async () => {
  const only = { clusters: { names: ["member1"] }, failover: { maxAttempts: 1 } };
  await world.apply(jobOf({ ...only, suspend: true }));
  await world.until("suspended", () => status().phase === "Suspended");
  await take("member1", 1);
  const second = await take("member1", 2);
  await world.apply(jobOf(only));
  await world.until("waits", () => status().reason === "ForeignObject");
  expect(status().message).toContain(second);
  expect(status().message).toContain("delete or rename that object in member1");
  const [stranger] = jobsIn("member1").filter(({ metadata }) => metadata.name === second);
  if (stranger) await world.ask(world.fleet.member("member1").api.delete(stranger));
  await world.until("complete", () => status().phase === "Complete");
  expect(courses()).toEqual(["member1 Unused NameTaken", "member1 Succeeded CompletionsReached"]);
});

it("[J8] a Job from which a user removes Lockstep's label is still the attempt: nothing starts elsewhere", async () => {
  await world.apply(jobOf({}, 300_000));
  await world.until("running", () => status().active === 1);
  const { api } = world.fleet.member("member1");
  const strip = async () => {
    const [job] = jobsIn("member1");
    if (job?.metadata.labels?.[OWNER_LABEL] === undefined) return;
    const { [OWNER_LABEL]: _removed, ...labels } = job.metadata.labels;
    await api.update({ ...job, metadata: { ...job.metadata, labels } }).catch(() => {});
  };
  for (let times = 0; times < 100; times++) {
    await world.ask(strip());
    await world.ask(world.clock.sleep(1_000));
  }
  expect(attempts().map(({ cluster, state }) => `${cluster} ${state}`)).toEqual(["member1 Running"]);
  await world.until("complete", () => status().phase === "Complete");
  expect(attempts()).toHaveLength(1);
});

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WORKS } from "../engine/testing/contract/index.ts";
import { type KubeObject, resource } from "../kube/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../runtime/index.ts";
import { World } from "./testing/world.ts";

const CCJ = "apps.karmada.io/crossclusterjobs";
const CROSS_CLUSTER_JOBS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterJob",
  plural: "crossclusterjobs",
  namespaced: true,
});

/** Every pod that ever ran, by cluster, with the moments at which it started and was gone. */
class Runs {
  readonly all: { cluster: string; pod: string; from: number; to: number | undefined }[] = [];

  constructor(world: World) {
    for (const cluster of world.fleet.memberNames) {
      world.fleet.member(cluster).api.on("/pods", ({ type, object }) => {
        const pod = object.metadata.uid ?? "";
        const known = this.all.find((run) => run.pod === pod);
        const phase = valueAt(object, "status", "phase");
        if (!known && phase === "Running") this.all.push({ cluster, pod, from: world.clock.now(), to: undefined });
        const isOver = type === "DELETED" || phase === "Succeeded" || phase === "Failed";
        if (known && isOver) known.to ??= world.clock.now();
      });
    }
  }

  clusters(): string[] {
    return this.all.map(({ cluster }) => cluster);
  }

  overlap(): boolean {
    return this.all.some((one) =>
      this.all.some(
        (other) =>
          one.cluster < other.cluster && one.from < (other.to ?? Infinity) && other.from < (one.to ?? Infinity),
      ),
    );
  }
}

describe("a CrossClusterJob on the embedded fleet", () => {
  let world: World;
  let runs: Runs;
  const job = () => world.fleet.hubObject(CCJ, "default", "train");
  const status = (): JsonObject => {
    const found = job()?.status;
    return isJsonObject(found) ? found : {};
  };
  const is = (phase: string) => () => status().phase === phase;
  const attempts = () =>
    (Array.isArray(status().attempts) ? (status().attempts as JsonObject[]) : []).map(
      ({ cluster, state }) => `${cluster} ${state}`,
    );
  const leftovers = () =>
    world.fleet.memberNames.flatMap((name) => world.fleet.member(name).api.list("batch/jobs", "default"));

  const pass = (ms: number) => {
    const endMs = world.clock.now() + ms;
    return world.until("time has passed", () => world.clock.now() >= endMs);
  };

  beforeEach(async () => {
    world = new World(7);
    await world.start();
    runs = new Runs(world);
  });
  afterEach(() => world.stop());

  it("runs in the first cluster, is Complete on the hub, and is cleaned up in the member", async () => {
    await world.apply(ccj());
    await world.until("complete", is("Complete"));
    expect(attempts()).toEqual(["member1 Succeeded"]);
    expect(JSON.stringify(status().conditions)).toContain('"type":"Complete","status":"True"');
    await world.until("cleaned up", () => leftovers().length === 0);
    expect(runs.clusters()).toEqual(["member1"]);
  });

  it("continues in the next cluster when the Job has failed, and fails after maxAttempts", async () => {
    await world.apply(ccj({}, { image: "broken:1", failover: { maxAttempts: 2 } }));
    await world.until("failed", is("Failed"));
    expect(attempts()).toEqual(["member1 Failed", "member2 Failed"]);
    expect(status().reason).toBe("AttemptsExhausted");
  });

  it("waits for a lost cluster unless told otherwise", async () => {
    await world.apply(ccj({}, { runMs: 400_000 }));
    await world.until("running", is("Running"));
    cut(world, "member1");
    await world.until("waits", () => status().reason === "AttemptLost");
    expect(attempts()).toEqual(["member1 Running"]);
    expect(runs.clusters()).toEqual(["member1"]);
  });

  it("with Exclusive continues elsewhere after the lost cluster has ended the work by itself", async () => {
    const onClusterLoss = { guarantee: "Exclusive", afterSeconds: 10, windowSeconds: 60, clockAllowanceSeconds: 5 };
    await world.apply(ccj({}, { runMs: 100_000, failover: { onClusterLoss } }));
    await world.until("running", () => runs.all.length === 1);
    cut(world, "member1");
    await world.until("complete", is("Complete"));
    expect(attempts()).toEqual(["member1 Lost", "member2 Succeeded"]);
    expect(runs.overlap()).toBe(false);
    mend(world, "member1");
    await world.until("cleaned up", () => leftovers().length === 0);
    expect(runs.all).toHaveLength(2);
  });

  it("with Exclusive the next attempt starts at once when the lost one must be over", async () => {
    const onClusterLoss = { guarantee: "Exclusive", afterSeconds: 10, windowSeconds: 60, clockAllowanceSeconds: 5 };
    await world.apply(ccj({}, { runMs: 100_000, failover: { onClusterLoss } }));
    await world.until("running", () => runs.all.length === 1);
    cut(world, "member1");
    await world.until("waits", () => status().reason === "WaitingForDeadline");
    const [, due = ""] = /another one starts at ([^.]+Z)/.exec(String(status().message)) ?? [];
    const created: number[] = [];
    const note = () => created.push(world.clock.now());
    world.fleet.member("member2").api.on("batch/jobs", note);
    await world.until("created", () => created.length > 0);
    // The time in the message is in whole seconds.
    expect((created[0] ?? 0) - Date.parse(due)).toBeLessThan(1_500);
  });

  it("[J11] with Exclusive the deadline of a Job that a user suspends and resumes in its member counts from its new start", async () => {
    const onClusterLoss = { guarantee: "Exclusive", afterSeconds: 10, windowSeconds: 60, clockAllowanceSeconds: 5 };
    await world.apply(ccj({}, { runMs: 400_000, failover: { onClusterLoss } }));
    await world.until("running", () => runs.all.length === 1);
    await pass(200_000);
    const { api } = world.fleet.member("member1");
    const [found] = api.list("batch/jobs", "default");
    if (!found) throw new Error("there is no Job");
    const before = valueAt(found, "status", "startTime");
    const suspend = (is: boolean) => {
      const [job] = api.list("batch/jobs", "default");
      if (!job) throw new Error("there is no Job");
      return api.update({ ...job, spec: { ...(job.spec as JsonObject), suspend: is } });
    };
    await world.ask(suspend(true));
    await pass(1_000);
    await world.ask(suspend(false));
    await world.until("it runs again", () => runs.all.length === 2);
    expect(valueAt(api.list("batch/jobs", "default")[0] ?? {}, "status", "startTime")).not.toBe(before);
    await pass(1_000);
    cut(world, "member1");
    await world.until("it runs elsewhere", () => runs.all.length === 3);
    expect(runs.clusters()).toEqual(["member1", "member1", "member2"]);
    expect(runs.overlap()).toBe(false);
  });

  it("an ordinary job costs six writes of its ledger, and one dispatch object that is created once", async () => {
    const ledgers: string[] = [];
    const works = new Set<string>();
    world.fleet.onChange(({ server, resource, object }) => {
      if (server !== "") return;
      const { uid = "", resourceVersion = "" } = object.metadata;
      if (resource === "apps.karmada.io/crossclusterledgers") ledgers.push(resourceVersion);
      if (resource === "work.karmada.io/works") works.add(uid);
    });
    await world.apply(ccj());
    await world.until("complete", is("Complete"));
    await world.until("cleaned up", () => leftovers().length === 0);
    await world.clock.run(world.clock.sleep(10_000));
    expect(works.size).toBe(1);
    expect(ledgers).toHaveLength(6);
  });

  it("the longest time of a pod cannot be changed: a cluster would refuse every later grant", async () => {
    const onClusterLoss = { guarantee: "Exclusive", podDeadlineSeconds: 3_600 };
    await world.apply(ccj({}, { failover: { onClusterLoss } }));
    for (const podDeadlineSeconds of [60, null]) {
      const body = { spec: { failover: { onClusterLoss: { podDeadlineSeconds } } } };
      const changed = world.hub.patch(
        CROSS_CLUSTER_JOBS,
        { namespace: "default", name: "train" },
        { type: "merge", body },
      );
      await expect(world.ask(changed)).rejects.toThrow("podDeadlineSeconds is immutable");
    }
  });

  it("with AtLeastOnce continues elsewhere at once, and says what may run twice", async () => {
    const onClusterLoss = { guarantee: "AtLeastOnce", afterSeconds: 10 };
    await world.apply(ccj({}, { runMs: 100_000, failover: { onClusterLoss } }));
    await world.until("running", () => runs.all.length === 1);
    cut(world, "member1");
    await world.until("continues", () => runs.all.length === 2);
    expect(JSON.stringify(status().attempts)).toContain("mayRunTwice");
    await world.until("complete", is("Complete"));
  });

  it("divides indexes over clusters, and every index runs once", async () => {
    const spec = { completions: 6, parallelism: 6, completionMode: "Indexed" };
    await world.apply(ccj(spec, { division: "Indexes", clusterParallelism: 3 }));
    await world.until("complete", is("Complete"));
    expect(status()).toMatchObject({ completedIndexes: "0-5", succeeded: 6 });
    expect(runs.clusters().sort()).toEqual(["member1", "member1", "member2", "member2", "member3", "member3"]);
  });

  it("an Indexed Job that is not divided shows its completions, and its last status after its end", async () => {
    const shown = new Set<string>();
    world.fleet.onChange(({ resource, object }) => {
      if (resource === CCJ)
        shown.add(`${valueAt(object, "status", "phase")} ${valueAt(object, "status", "display", "completions")}`);
    });
    await world.apply(ccj({ completions: 3, parallelism: 1, completionMode: "Indexed" }));
    await world.until("complete", is("Complete"));
    await world.until("cleaned up", () => leftovers().length === 0);
    expect([...shown]).toEqual(expect.arrayContaining(["Running 0/3", "Running 1/3", "Complete 3/3"]));
    expect([...shown].filter((each) => each === "Running 3/3" || each.endsWith("/1"))).toEqual([]);
    expect(status()).toMatchObject({ succeeded: 3, workload: { succeeded: 3 } });
    expect(valueAt(status(), "workload", "active") ?? 0).toBe(0);
  });

  it("a template that no Job controller would run is refused at once, with the field and the remedy", async () => {
    await world.apply(ccj({ completion: 10, completionMode: "Indexed" }));
    await world.until("refused", is("Invalid"));
    expect(status().message).toContain("spec.template.spec.completion: a Job has no such field; use completions");
    expect(status().message).toContain("spec.template.spec.completions: it is required with completionMode: Indexed");
    expect(leftovers()).toEqual([]);
  });

  it("a new leader continues with the same attempt", async () => {
    await world.apply(ccj({}, { runMs: 60_000 }));
    await world.until("running", () => runs.all.length === 1);
    await world.stopController();
    world.startController();
    await world.until("complete", is("Complete"));
    expect(runs.clusters()).toEqual(["member1"]);
  });

  it("[J10] a Job that is deleted in its member is not created again from the grant that let it run", async () => {
    await world.apply(ccj({}, { runMs: 60_000 }));
    await world.until("running", () => runs.all.length === 1);
    await world.stopController();
    const [running] = leftovers();
    if (running) await world.ask(world.fleet.member("member1").api.delete(running));
    await world.ask(world.clock.sleep(600_000));
    expect(leftovers()).toEqual([]);
    const { items } = await world.ask(world.hub.listAll(WORKS));
    expect(JSON.stringify(items)).toContain("`selector` not auto-generated");
    world.startController();
    await world.until("complete", is("Complete"));
    expect(attempts()).toEqual(["member1 Moved", "member2 Succeeded"]);
    expect(runs.clusters()).toEqual(["member1", "member2"]);
  });

  it("what has ended never runs again: neither a lost ledger of a member's clean-up nor a new leader starts it", async () => {
    await world.apply(ccj({}, { memberCleanup: "Never" }));
    await world.until("complete", is("Complete"));
    await world.until("kept", () => leftovers().length === 1);
    const [left] = leftovers();
    if (left) await world.ask(world.fleet.member("member1").api.delete(left));
    await world.stopController();
    world.startController();
    await world.ask(world.clock.sleep(600_000));
    expect(runs.all).toHaveLength(1);
  });

  it("is deleted with what it left in members, and goes away itself after its TTL", async () => {
    await world.apply(ccj({}, { ttlSecondsAfterFinished: 60, memberCleanup: "AfterTTL" }));
    await world.until("complete", is("Complete"));
    expect(leftovers()).toHaveLength(1);
    await world.until("gone", () => job() === undefined);
    expect(leftovers()).toEqual([]);
  });
});

function cut(world: World, name: string): void {
  world.fleet.cut(name);
}

function mend(world: World, name: string): void {
  world.fleet.mend(name);
}

interface Asked extends JsonObject {
  image?: string;
  runMs?: number;
}

function ccj(spec: JsonObject = {}, { image = "worker:1", runMs = 5_000, ...more }: Asked = {}): KubeObject {
  const annotations = { "lockstep.test/run-ms": String(runMs) };
  const pods = { metadata: { annotations }, spec: { restartPolicy: "Never", containers: [{ name: "main", image }] } };
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name: "train", namespace: "default" },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { backoffLimit: 0, template: pods, ...spec } },
      clusters: { names: ["member1", "member2", "member3"] },
      ...more,
    },
  };
}

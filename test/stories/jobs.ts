import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { attemptRef } from "../../src/controllers/index.ts";
import type { KubeObject } from "../../src/kube/index.ts";
import { ensurePrograms } from "../tools/programs.ts";
import { type AskedJob, CCJ, jobObject, lockstepOn } from "./job-objects.ts";
import { JobPods } from "./job-pods.ts";
import { MANAGER, type World } from "./world.ts";

const INDEXED = { completions: 4, parallelism: 2, completionMode: "Indexed" };

interface JobStatus {
  readonly phase?: string;
  readonly completedIndexes?: string;
  readonly succeeded?: number;
  readonly attempts?: readonly { cluster: string; state: string; reason?: string; indexes?: string }[];
  readonly waiting?: readonly { reason: string }[];
}

/** CrossClusterJobs with Kubernetes' real Job controller in every member, from their start to what is left of them: nothing. */
export function jobStory(on: () => World): void {
  let world: World;
  let pods: JobPods;

  beforeAll(() => {
    world = on();
    pods = new JobPods(world);
  });
  afterAll(() => pods?.stop());

  const submit = (name: string, asked: AskedJob = {}) => world.hub.apply(CCJ, jobObject(name, asked), MANAGER);
  const statusOf = async (name: string): Promise<JobStatus> =>
    ((await world.hub.find(CCJ, { namespace: "default", name }))?.status ?? {}) as JobStatus;
  /** Its status, and how its dispatch objects fare, for the message of a failure. */
  const told = async (name: string): Promise<string> => {
    const { items } = await world.hub.listAll(world.stage.works);
    const own = items.filter(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"] === name);
    return JSON.stringify({ status: await statusOf(name), works: own.map(({ spec, status }) => ({ spec, status })) });
  };
  const isIn = (name: string, phase: string) => async () => {
    const status = await statusOf(name);
    return status.phase === phase || told(name);
  };
  const waitsFor = (name: string, reason: string) => async () => {
    const status = await statusOf(name);
    return (status.waiting ?? []).some((each) => each.reason === reason) || JSON.stringify(status);
  };
  const courses = async (name: string) =>
    ((await statusOf(name)).attempts ?? []).map(({ cluster, state }) => `${cluster} ${state}`);

  /** Jobs and pods in the members, and dispatch objects on the hub, of this work. */
  const leftovers = async (name: string): Promise<string[]> => {
    const found: string[] = [];
    for (const [cluster, api] of world.stack.members) {
      for (const path of ["/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/pods"]) {
        const list = await api.get<{ items: KubeObject[] }>(path);
        found.push(...(list?.items ?? []).map(({ metadata }) => `${cluster} ${metadata.name}`));
      }
      const { items } = await world.hub.listAll(world.stage.works, { namespace: world.stage.namespaceOf(cluster) });
      found.push(
        ...items.map(({ metadata }) => `${cluster} ${metadata.annotations?.["lockstep.karmada.io/app-name"]}-`),
      );
    }
    return found.filter((each) => each.includes(` ${name}-`));
  };
  const clean = (name: string) =>
    world.until(`nothing is left of ${name}`, async () => (await leftovers(name)).join() || true);

  const lockstep = (...args: string[]) => lockstepOn(world, args);

  it("runs to its end, which kubectl waits for, and leaves nothing behind", async () => {
    const { kubectl } = await ensurePrograms(["kubectl"]);
    await submit("plain", { job: { completions: 3, parallelism: 3 } });
    const wait = ["wait", "--for=condition=Complete", "ccj/plain", "--timeout=60s"];
    const { stdout } = await promisify(execFile)(kubectl, ["--kubeconfig", world.stack.kubeconfig, ...wait]).catch(
      async (error) => {
        throw new Error(`${error}; ${await told("plain")}`);
      },
    );
    expect(stdout).toContain("condition met");
    expect(pods.of("plain").map(({ cluster, phase }) => `${cluster} ${phase}`)).toEqual(
      Array.from({ length: 3 }, () => "member1 Succeeded"),
    );
    await clean("plain");
  });

  it("continues in another cluster when the member's Job has failed", async () => {
    await submit("failing", { pods: { "fail-in": "member1" } });
    await world.until("it is complete", isIn("failing", "Complete"));
    expect(await courses("failing")).toEqual(["member1 Failed", "member2 Succeeded"]);
    expect(pods.of("failing").map(({ cluster, phase }) => `${cluster} ${phase}`)).toEqual([
      "member1 Failed",
      "member2 Succeeded",
    ]);
    await clean("failing");
  });

  it("work continues under another name if another writer's Job has the attempt's, and that Job is left alone", async () => {
    await submit("taken", { spec: { suspend: true } });
    await world.until("it is suspended", isIn("taken", "Suspended"));
    const object = await world.hub.find(CCJ, { namespace: "default", name: "taken" });
    const { name } = attemptRef(object as never, 1);
    const path = "/apis/batch/v1/namespaces/default/jobs";
    const containers = [{ name: "own", image: "other:1" }];
    const template = { spec: { restartPolicy: "Never", containers } };
    const metadata = { name, namespace: "default" };
    const other = { apiVersion: "batch/v1", kind: "Job", metadata, spec: { suspend: true, template } };
    const member = world.stack.members.get("member1");
    await member?.request("POST", path, other);
    const shown = async () => {
      const job = await member?.get<KubeObject>(`${path}/${name}`);
      const { uid, labels, annotations, generation } = job?.metadata ?? {};
      return { uid, labels, annotations, generation, spec: job?.spec };
    };
    const before = await shown();
    expect(before.uid).toBeDefined();
    await submit("taken", { spec: { suspend: false } });
    await world.until("it is complete", isIn("taken", "Complete"));
    const attempts = (await statusOf("taken")).attempts ?? [];
    expect(attempts.map(({ cluster, state, reason }) => `${cluster} ${state} ${reason}`)).toEqual([
      "member1 Unused NameTaken",
      "member2 Succeeded CompletionsReached",
    ]);
    await world.hub.delete(CCJ, { namespace: "default", name: "taken" });
    await world.until(
      "it is gone",
      async () => (await world.hub.find(CCJ, { namespace: "default", name: "taken" })) === undefined,
    );
    expect(await shown()).toEqual(before);
    expect(pods.of("taken").map(({ cluster }) => cluster)).toEqual(["member2"]);
    await member?.request("DELETE", `${path}/${name}?propagationPolicy=Background`);
  });

  it("a cluster that is cut off ends exclusive work by itself, and another one starts only after it; other work waits", async () => {
    const held = { "hold-in": "member1" };
    const onClusterLoss = { afterSeconds: 1, windowSeconds: 10, clockAllowanceSeconds: 1 };
    await submit("exclusive", {
      pods: held,
      spec: { failover: { onClusterLoss: { ...onClusterLoss, guarantee: "Exclusive" } } },
    });
    await submit("waiting", { pods: held, job: INDEXED, spec: { division: "Indexes", failover: { onClusterLoss } } });
    await submit("counted", {
      pods: held,
      job: { completions: 4, parallelism: 2 },
      spec: { division: "Completions", failover: { onClusterLoss } },
    });
    const many = { exclusive: 1, waiting: 2, counted: 2 };
    await world.until("all run", () => Object.entries(many).every(([name, count]) => pods.of(name).length === count));
    // Found in the member, on each engine in its own way. Simulated kubelets have no logs.
    const { said } = await lockstep("logs", "ccj/waiting");
    for (const { pod } of pods.of("waiting")) expect(said).toContain(`member1 ${pod}: `);
    // Two of its four indexes are done, and the hub knows it.
    for (const { cluster, pod } of [...pods.of("waiting"), ...pods.of("counted")]) await succeed(world, cluster, pod);
    await world.until("two indexes are done", async () => (await statusOf("waiting")).completedIndexes === "0-1");
    await world.until("two completions are done", async () => (await statusOf("counted")).succeeded === 2);
    await world.until("the others run", () => pods.of("waiting").length === 4 && pods.of("counted").length === 4);

    world.isolate("member1");
    const cutMs = Date.now();
    await world.until("exclusive work waits for the deadline", waitsFor("exclusive", "WaitingForDeadline"));
    await world.until("other work waits for a proof", waitsFor("waiting", "AttemptLost"));
    await world.until("exclusive work is complete", isIn("exclusive", "Complete"));
    const [first, second, ...more] = pods.of("exclusive");
    expect(more).toEqual([]);
    expect([first?.cluster, second?.cluster]).toEqual(["member1", "member2"]);
    // The cut-off cluster's own Job controller ended it, before the other one started.
    expect(first?.phase).toBe("Failed");
    expect(first?.toMs).toBeLessThan(second?.fromMs ?? 0);
    console.log(
      `Exclusive, window 10 s: ended in the cut-off cluster ${(first?.toMs ?? 0) - cutMs} ms after the cut, continued elsewhere after ${(second?.fromMs ?? 0) - cutMs} ms`,
    );
    // Nothing of the other work has moved.
    expect(pods.clusters("waiting")).toEqual(["member1"]);
    expect(pods.of("waiting").filter(({ phase }) => phase === "Running")).toHaveLength(2);
  });

  it("a confirmed loss hands over the indexes that are left, and completed ones never run again", async () => {
    const { code, said } = await lockstep("confirm-lost", "member1", "ccj/waiting", "--yes");
    expect([code, said]).toEqual([0, expect.stringContaining("member1")]);
    await world.until("it is complete", isIn("waiting", "Complete"));
    expect((await statusOf("waiting")).completedIndexes).toBe("0-3");
    const attempts = (await statusOf("waiting")).attempts ?? [];
    expect(attempts.map(({ cluster, indexes, state }) => `${cluster} ${indexes} ${state}`)).toEqual([
      "member1 0-3 Lost",
      "member2 2-3 Succeeded",
    ]);
    expect(pods.of("waiting").filter(({ cluster }) => cluster === "member2")).toHaveLength(2);
  });

  it("a confirmed loss hands over the completions that are left, and no more", async () => {
    const { code, said } = await lockstep("confirm-lost", "member1", "ccj/counted", "--yes");
    expect([code, said]).toEqual([0, expect.stringContaining("member1")]);
    await world.until("it is complete", isIn("counted", "Complete"));
    expect((await statusOf("counted")).succeeded).toBe(4);
    expect(await courses("counted")).toEqual(["member1 Lost", "member2 Succeeded"]);
    expect(pods.of("counted").filter(({ cluster }) => cluster === "member2")).toHaveLength(2);
  });

  it("when the cluster returns its old work is stopped and removed, and nothing runs again", async () => {
    const left = ["exclusive", "waiting", "counted"];
    const before = left.flatMap((name) => pods.of(name)).length;
    world.rejoin("member1");
    for (const name of left) await clean(name);
    expect(left.flatMap((name) => pods.of(name))).toHaveLength(before);
    for (const name of ["plain", "failing", ...left]) {
      await world.hub.delete(CCJ, { namespace: "default", name });
      await world.until(
        `${name} is gone`,
        async () => (await world.hub.find(CCJ, { namespace: "default", name })) === undefined,
      );
    }
  });
}

/** As its node would report it. */
async function succeed(world: World, cluster: string, pod: string): Promise<void> {
  const path = `/api/v1/namespaces/default/pods/${pod}/status`;
  await world.stack.members
    .get(cluster)
    ?.request("PATCH", path, { status: { phase: "Succeeded" } }, "application/merge-patch+json");
}

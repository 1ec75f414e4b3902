/** Members that nothing gives access to: all that is known of them is what their agents report. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ANNOTATIONS } from "../../src/contract/index.ts";
import type { Engine, EngineApp, Snapshot } from "../../src/engine/index.ts";
import { ContractBench, imageOf, orderOf } from "../../src/engine/testing/contract/bench.ts";
import { dispatchContract } from "../../src/engine/testing/contract/dispatch.ts";
import { OCM_HUB } from "../../src/engine/testing/contract/index.ts";
import {
  appOf,
  configMap,
  NAMESPACE,
  STATEFULSETS,
  specOf,
  statefulSet,
} from "../../src/engine/testing/contract/objects.ts";
import { rivalsContract } from "../../src/engine/testing/contract/rivals.ts";
import type { KubeObject } from "../../src/kube/index.ts";
import { isJsonObject } from "../../src/runtime/index.ts";
import { type OcmFleet, startOcmFleet } from "./fleet.ts";

const MANAGER = { fieldManager: "somebody-else", force: true };

describe("a real OCM whose members are seen through their agents alone", () => {
  const bench = new ContractBench(OCM_HUB);
  let fleet: OcmFleet;
  beforeAll(async () => {
    await bench.start(async () => {
      fleet = await startOcmFleet();
      return fleet;
    });
  });
  afterAll(() => bench.stop());

  const { startEngine, memberObject, client, withdrawn } = bench;
  const present = async (engine: Engine, app: EngineApp, cluster: string, is: (seen: Present) => boolean) => {
    const found: Present[] = [];
    await bench.fleet.until(`${cluster} is seen as expected`, () => {
      const seen = engine.snapshot(app, cluster);
      if (seen.kind !== "present" || !is(seen)) return JSON.stringify(seen);
      found.push(seen);
      return true;
    });
    const [seen] = found;
    if (!seen) throw new Error("it is not present");
    return seen;
  };
  /** With what a grant writes into it. */
  const granted = (app: EngineApp, replicas: number, image: string, epoch: number): KubeObject => {
    const object = statefulSet(app.name, replicas, image);
    const annotations = { [ANNOTATIONS.epoch]: String(epoch), [ANNOTATIONS.clusterToken]: "token" };
    // Slow enough to be seen going away, however busy the machine is.
    const metadata = { labels: { app: app.name }, annotations: { "lockstep.test/stop-ms": "1500" } };
    const template = { metadata, spec: { containers: [{ name: "app", image }] } };
    const spec = { ...specOf(object), ordinals: { start: 100 }, template };
    return { ...object, metadata: { ...object.metadata, annotations }, spec };
  };

  dispatchContract(bench);
  rivalsContract(bench);

  it("knows nothing of a cluster before something is reserved there, then that the object is absent", async () => {
    const engine = await startEngine();
    const app = appOf("asked");
    engine.track(app, () => {});
    expect(engine.snapshot(app, "member1")).toMatchObject({ kind: "unreachable", isUnasked: true });
    await engine.reserve(app, [app.template], { cluster: "member1", term: 1 });
    await bench.fleet.until("it is absent", () => engine.snapshot(app, "member1").kind === "absent");
    expect(await memberObject("member1", app)).toBeUndefined();
  });

  it("shows generation, epoch, counts and pods of one version of the object, through an update and a scale-down", async () => {
    const engine = await startEngine();
    const app = appOf("values");
    engine.track(app, () => {});
    const order = (replicas: number, image: string, epoch: number) => ({
      cluster: "member1",
      manifest: granted(app, replicas, image, epoch),
      term: 1,
      notes: {},
    });
    const isDone = (epoch: number, replicas: number) => (seen: Present) => {
      const { metadata, status } = seen.object;
      const counts = status as Record<string, unknown> | undefined;
      return (
        metadata.annotations?.[ANNOTATIONS.epoch] === String(epoch) &&
        counts?.observedGeneration === metadata.generation &&
        counts?.readyReplicas === replicas &&
        counts?.updatedReplicas === replicas &&
        seen.pods?.length === replicas
      );
    };
    const first = await engine.dispatch(app, { ...order(3, "app:1", 1), expected: null });
    const seen = await present(engine, app, "member1", isDone(1, 3));
    const live = await memberObject("member1", app);
    expect(seen.source).toBe("values");
    expect(seen.object.metadata).toMatchObject({
      uid: live?.metadata.uid,
      generation: live?.metadata.generation,
      annotations: { [ANNOTATIONS.clusterToken]: "token" },
    });
    const { status } = seen.object;
    expect(live?.status).toMatchObject(isJsonObject(status) ? status : {});
    expect(imageOf(seen.object)).toBe("app:1");
    expect(seen.pods?.map(({ metadata }) => metadata.name).sort()).toEqual(["values-100", "values-101", "values-102"]);
    // Agents report single fields; all labels only with a gate that is off by default.
    const shown = live?.status as { updateRevision?: string } | undefined;
    const revisions = seen.pods?.map(({ metadata }) => metadata.labels?.["controller-revision-hash"]);
    expect(new Set(revisions)).toEqual(new Set([shown?.updateRevision]));
    expect(seen.lacksLabels).toBe(true);

    const second = await engine.dispatch(app, { ...order(3, "app:2", 2), expected: first });
    await present(engine, app, "member1", isDone(2, 3));
    await engine.dispatch(app, { ...order(1, "app:2", 3), expected: second });
    // Pods that go away are seen until they have gone.
    await present(engine, app, "member1", ({ pods }) =>
      (pods ?? []).some(({ metadata }) => metadata.deletionTimestamp !== undefined),
    );
    await present(engine, app, "member1", isDone(3, 1));
  });

  it("leaves an object of another writer alone: it is not shown, not overwritten, not removed", async () => {
    const engine = await startEngine();
    const app = appOf("taken");
    engine.track(app, () => {});
    await client("member1").apply(STATEFULSETS, statefulSet(app.name, 1, "app:theirs"), MANAGER);
    await engine.reserve(app, [app.template], { cluster: "member1", term: 1 });
    await bench.fleet.until("the name is taken", () => {
      const seen = engine.snapshot(app, "member1");
      return seen.kind === "unreachable" && seen.message.includes("did not come from this dispatch");
    });
    const [reserved] = engine.dispatched(app);
    await engine.dispatch(app, orderOf(app, "member1", "app:ours", 1, reserved ?? null));
    await bench.fleet.until("it is refused", () => engine.dispatched(app)[0]?.delivery.state === "failed");
    expect(engine.snapshot(app, "member1")).toMatchObject({ kind: "unreachable" });
    await withdrawn(engine, app, "member1", "remove");
    expect(imageOf(await memberObject("member1", app))).toBe("app:theirs");
  });

  it("writes exactly what is granted to what it has taken over: what a revision drops is gone", async () => {
    const engine = await startEngine();
    const app = appOf("dropped");
    engine.track(app, () => {});
    const withEnv = (...names: string[]): KubeObject => {
      const object = statefulSet(app.name, 1, "app:1");
      const env = names.map((name) => ({ name, value: "x" }));
      const containers = [{ name: "app", image: "app:1", env }];
      const template = { metadata: { labels: { app: app.name } }, spec: { containers } };
      return { ...object, spec: { ...specOf(object), template } };
    };
    await client("member1").apply(STATEFULSETS, withEnv("A", "B"), MANAGER);
    const taken = { cluster: "member1", term: 1, notes: {}, takeOver: true };
    const first = await engine.dispatch(app, { ...taken, manifest: withEnv("A", "B"), expected: null });
    await present(engine, app, "member1", () => true);
    await engine.dispatch(app, { ...taken, manifest: withEnv("A"), expected: first });
    await bench.fleet.until("B is gone", async () => {
      const text = JSON.stringify((await memberObject("member1", app))?.spec);
      return text.includes('"name":"A"') && !text.includes('"name":"B"');
    });
  });

  it("loses nothing when a removal that has begun is taken back", async () => {
    const engine = await startEngine();
    const app = appOf("spared");
    engine.track(app, () => {});
    await engine.dispatch(app, orderOf(app, "member1", "app:1", 1, null));
    await bench.fleet.until("it is delivered", () => engine.dispatched(app)[0]?.delivery.state === "delivered");
    const uid = (await memberObject("member1", app))?.metadata.uid;
    const [dispatched] = engine.dispatched(app);
    if (!dispatched) throw new Error("nothing is dispatched");
    expect(await engine.withdraw(app, dispatched, "remove")).toBe(false);
    await withdrawn(engine, app, "member1", "keep");
    expect((await memberObject("member1", app))?.metadata.uid).toBe(uid);
    expect((await memberObject("member1", app))?.metadata.deletionTimestamp).toBeUndefined();
  });

  it("removes what it delivered, also when the member refuses what was dispatched last", async () => {
    const engine = await startEngine();
    const app = appOf("immutable");
    engine.track(app, () => {});
    const first = await engine.dispatch(app, orderOf(app, "member1", "app:1", 1, null));
    await bench.fleet.until("it is delivered", () => engine.dispatched(app)[0]?.delivery.state === "delivered");
    const next = orderOf(app, "member1", "app:1", 1, first);
    const spec = { ...specOf(next.manifest), serviceName: "another" };
    await engine.dispatch(app, { ...next, manifest: { ...next.manifest, spec } });
    await bench.fleet.until("it is refused", () => engine.dispatched(app)[0]?.delivery.state === "failed");
    await withdrawn(engine, app, "member1", "remove");
    await bench.fleet.until("it is gone", async () => (await memberObject("member1", app)) === undefined);
  });

  it("sees a ConfigMap by the mark that comes back from it, and says what it cannot do without access", async () => {
    const engine = await startEngine();
    const app = appOf("part");
    engine.track(app, () => {});
    const member = engine.member("member2");
    const part = configMap("part-1", "one");
    expect((await member.holds(part)).kind).toBe("missing");
    await engine.dispatch(app, { cluster: "member2", manifest: part, term: 1, notes: {}, expected: null });
    await bench.fleet.until("member2 holds it", async () => (await member.holds(part)).kind === "held");
    expect((await member.holds(configMap("part-1", "another"))).kind).toBe("missing");
    expect(await member.dryRun(statefulSet(app.name, 1, "app:1"))).toEqual({ kind: "unsupported" });
    expect(await member.volumes(NAMESPACE, { workload: "web" })).toBeUndefined();
    const pod = { name: "web-0", uid: "1", version: "1" };
    await expect(member.deletePod(NAMESPACE, pod)).rejects.toThrow("lockstep.karmada.io/member-access");
  });

  it("takes an agent that is gone for unreachable, whatever its last report says", async () => {
    const engine = await startEngine();
    const app = appOf("lost");
    engine.track(app, () => {});
    await engine.dispatch(app, orderOf(app, "member3", "app:1", 1, null));
    await present(engine, app, "member3", ({ object }) => JSON.stringify(object.status).includes('"readyReplicas":1'));
    fleet.stack.processes.kill("member3-agent");
    await bench.fleet.until("it is unreachable", () => engine.snapshot(app, "member3").kind === "unreachable");
    const states = engine.clusters().map(({ name, state }) => [name, state]);
    expect(states).toContainEqual(["member3", "Unknown"]);
    fleet.stack.processes.restart("member3-agent");
    await bench.fleet.until("it is seen again", () => engine.snapshot(app, "member3").kind === "present");
  });
});

type Present = Extract<Snapshot, { kind: "present" }>;

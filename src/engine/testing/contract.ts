/**
 * What every engine adapter must do, as one suite: it runs on the simulator's model, on the embedded fleet and on the real
 * engine, with the same scenarios and the same observer.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeClient, KubeObject, Resource } from "../../kube/index.ts";
import { resource } from "../../kube/index.ts";
import { type Clock, type Random, seededRandom } from "../../runtime/index.ts";
import { DispatchConflictError, SupersededError } from "../errors.ts";
import type { Dispatched, Engine, EngineApp } from "../port.ts";
import { Observer } from "./observer.ts";

export interface ContractFleet {
  readonly hub: KubeClient;
  /** member1, member2, member3: direct clients, past the engine. */
  readonly members: ReadonlyMap<string, KubeClient>;
  readonly clock: Clock;
  /** A fresh adapter on this hub, as another process would have it. */
  engine(): Engine;
  /** Makes a member unreachable, and reachable again. */
  cut(member: string): Promise<void>;
  mend(member: string): Promise<void>;
  /** Waits until the condition is true; fails with `what`, and the text it may give instead, after a generous time. */
  until(what: string, condition: () => boolean | string | Promise<boolean | string>): Promise<void>;
  stop(): Promise<void>;
}

export const STATEFULSETS = resource({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
});
const POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "PropagationPolicy",
  plural: "propagationpolicies",
  namespaced: true,
});
export const WORKS: Resource = resource({
  apiVersion: "work.karmada.io/v1alpha1",
  kind: "Work",
  plural: "works",
  namespaced: true,
});

const NAMESPACE = "default";
const CLUSTERS = ["member1", "member2", "member3"];
const MANAGER = { fieldManager: "contract", force: true };
const QUICK_EDITS = 50;

export function statefulSet(name: string, replicas: number, image: string): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      replicas,
      serviceName: name,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "app", image }] } },
    },
  };
}

/** Five instances over three clusters, 2 + 2 + 1. */
export function propagation(name: string): KubeObject {
  const weight = (cluster: string, share: number) => ({ targetCluster: { clusterNames: [cluster] }, weight: share });
  return {
    apiVersion: POLICIES.apiVersion,
    kind: POLICIES.kind,
    metadata: { name, namespace: NAMESPACE },
    spec: {
      resourceSelectors: [{ apiVersion: "apps/v1", kind: "StatefulSet", name, namespace: NAMESPACE }],
      placement: {
        clusterAffinity: { clusterNames: CLUSTERS },
        replicaScheduling: {
          replicaSchedulingType: "Divided",
          replicaDivisionPreference: "Weighted",
          weightPreference: { staticWeightList: [weight("member1", 2), weight("member2", 2), weight("member3", 1)] },
        },
      },
    },
  };
}

function appOf(name: string): EngineApp {
  return {
    namespace: NAMESPACE,
    name,
    template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: NAMESPACE, name },
  };
}

export function engineContract(name: string, start: () => Promise<ContractFleet>): void {
  describe(`engine contract: ${name}`, () => {
    const random: Random = seededRandom(1);
    const stop = new AbortController();
    const running: Promise<void>[] = [];
    let fleet: ContractFleet;
    let observer: Observer;

    const startEngine = async (): Promise<Engine> => {
      const engine = fleet.engine();
      running.push(engine.run(stop.signal));
      await fleet.until("the engine has read the hub", () => engine.synced());
      return engine;
    };
    const held = async (engine: Engine, app: EngineApp, replicas: number): Promise<void> => {
      engine.track(app, () => {});
      await engine.hold(app);
      await fleet.hub.apply(POLICIES, propagation(app.name), MANAGER);
      await fleet.hub.apply(STATEFULSETS, statefulSet(app.name, replicas, "app:1"), MANAGER);
      await fleet.until(`${app.name} is scheduled`, () => engine.schedule(app).kind === "known");
    };
    const order = (app: EngineApp, cluster: string, image: string, term: number, expected: Dispatched | null) => ({
      cluster,
      manifest: statefulSet(app.name, 1, image),
      term,
      notes: { grant: `{"image":"${image}"}` },
      expected,
    });
    const memberObject = (cluster: string, app: EngineApp) => client(cluster).find(STATEFULSETS, app.template);
    const client = (cluster: string): KubeClient => {
      const found = fleet.members.get(cluster);
      if (!found) throw new Error(`no member ${cluster}`);
      return found;
    };
    const imageOf = (object: KubeObject | undefined): string | undefined =>
      /"image":"([^"]+)"/.exec(JSON.stringify(object?.spec ?? {}))?.[1];

    beforeAll(async () => {
      fleet = await start();
      observer = new Observer({ ...fleet, random, workload: STATEFULSETS, works: WORKS });
      await observer.start();
    });
    afterAll(async () => {
      stop.abort(new Error("the suite is over"));
      await Promise.all(running);
      await observer?.stop();
      await fleet?.stop();
    });

    it("knows the clusters and whether they are Ready", async () => {
      const engine = await startEngine();
      await fleet.until("all clusters are Ready", () => engine.clusters().every(({ state }) => state === "Ready"));
      expect(
        engine
          .clusters()
          .map((cluster) => cluster.name)
          .sort(),
      ).toEqual(CLUSTERS);
    });

    it("reads the schedule, and takes a missing one for unknown, never for no clusters", async () => {
      const engine = await startEngine();
      const app = appOf("schedule");
      engine.track(app, () => {});
      expect(engine.schedule(app).kind).toBe("unknown");
      await held(engine, app, 5);
      await fleet.until("the schedule is 2, 2, 1", () => {
        const schedule = engine.schedule(app);
        if (schedule.kind === "unknown") return false;
        const replicas = Object.fromEntries(schedule.clusters.map((one) => [one.cluster, one.replicas]));
        return replicas.member1 === 2 && replicas.member2 === 2 && replicas.member3 === 1;
      });
    });

    it("lets nothing of a held template reach a member by itself, also under fifty quick edits", async () => {
      const engine = await startEngine();
      const app = appOf("held");
      await held(engine, app, 5);
      for (let edit = 0; edit < QUICK_EDITS; edit++) {
        await fleet.hub.apply(STATEFULSETS, statefulSet(app.name, 5 + (edit % 3), `app:${edit}`), MANAGER);
      }
      const dispatched = await engine.dispatch(app, order(app, "member1", "app:granted", 1, null));
      await fleet.until("the granted manifest has arrived", async () => {
        return imageOf(await memberObject("member1", app)) === "app:granted";
      });
      for (let edit = 0; edit < QUICK_EDITS; edit++) {
        await fleet.hub.apply(STATEFULSETS, statefulSet(app.name, 5, `app:later-${edit}`), MANAGER);
      }
      // A second dispatch that arrives after all edits shows that the engine had time to leak, and did not.
      await engine.dispatch(app, order(app, "member2", "app:second", 1, null));
      await fleet.until("the second manifest has arrived", async () => {
        return imageOf(await memberObject("member2", app)) === "app:second";
      });
      expect(imageOf(await memberObject("member1", app))).toBe("app:granted");
      expect(await memberObject("member3", app)).toBeUndefined();
      expect(dispatched.notes.grant).toBe('{"image":"app:granted"}');
    });

    it("shows the member's live object, and its pods", async () => {
      const engine = await startEngine();
      const app = appOf("live");
      await held(engine, app, 1);
      await fleet.until("the stream from member1 works", () => engine.snapshot(app, "member1").kind === "absent");
      await engine.dispatch(app, order(app, "member1", "app:1", 1, null));
      await fleet.until("the snapshot shows a ready pod", () => {
        const snapshot = engine.snapshot(app, "member1");
        if (snapshot.kind !== "present" || snapshot.source !== "live") return false;
        return (
          (snapshot.pods?.length ?? 0) === 1 && JSON.stringify(snapshot.object.status).includes('"readyReplicas":1')
        );
      });
    });

    it("writes by compare-and-swap: a writer that has not seen the latest version is refused", async () => {
      const [first, second] = [await startEngine(), await startEngine()];
      const app = appOf("swap");
      await held(first, app, 1);
      second.track(app, () => {});
      const seen = await first.dispatch(app, order(app, "member1", "app:1", 1, null));
      await expect(second.dispatch(app, order(app, "member1", "app:other", 1, null))).rejects.toThrow(
        DispatchConflictError,
      );
      await first.dispatch(app, order(app, "member1", "app:2", 1, seen));
      await expect(second.dispatch(app, order(app, "member1", "app:other", 1, seen))).rejects.toThrow(
        DispatchConflictError,
      );
      await fleet.until("member1 runs what was granted last", async () => {
        return imageOf(await memberObject("member1", app)) === "app:2";
      });
    });

    it("refuses a leader of an earlier term once a later one has stamped", async () => {
      const [old, young] = [await startEngine(), await startEngine()];
      const app = appOf("terms");
      await held(old, app, 1);
      young.track(app, () => {});
      const seen = await old.dispatch(app, order(app, "member1", "app:1", 1, null));
      const stamped = await young.stamp(app, 2);
      expect(stamped.map(({ term }) => term)).toEqual([2]);
      await expect(old.dispatch(app, order(app, "member1", "app:stale", 1, seen))).rejects.toThrow(SupersededError);
      await expect(old.stamp(app, 1)).rejects.toThrow(SupersededError);
      await young.dispatch(app, order(app, "member1", "app:2", 2, stamped[0] ?? null));
    });

    it("reserves what says nothing yet; stamped by a later leader, it is its maker's no longer", async () => {
      const [old, young] = [await startEngine(), await startEngine()];
      const app = appOf("reserved");
      await held(old, app, 1);
      young.track(app, () => {});
      const [reserved] = await old.reserve(app, [app.template], { cluster: "member1", term: 1 });
      expect(reserved).toMatchObject({ cluster: "member1", ref: app.template, manifest: {}, term: 1 });
      expect(await old.reserve(app, [app.template], { cluster: "member1", term: 1 })).toEqual([]);
      const [stamped] = await young.stamp(app, 2, ["member1"]);
      expect(stamped).toMatchObject({ ref: app.template, term: 2 });
      const late = order(app, "member1", "app:late", 1, reserved ?? null);
      await expect(old.dispatch(app, late)).rejects.toThrow(SupersededError);
      await young.dispatch(app, order(app, "member1", "app:1", 2, stamped ?? null));
      await fleet.until("member1 runs what the later leader granted", async () => {
        return imageOf(await memberObject("member1", app)) === "app:1";
      });
    });

    it("withdraws and keeps the member's object, or removes it", async () => {
      const engine = await startEngine();
      const app = appOf("withdraw");
      await held(engine, app, 1);
      for (const cluster of ["member1", "member2"]) {
        await engine.dispatch(app, order(app, cluster, "app:1", 1, null));
        await fleet.until(`${cluster} has it`, async () => (await memberObject(cluster, app)) !== undefined);
      }
      const uid = (await memberObject("member1", app))?.metadata.uid;
      await withdrawn(engine, app, "member1", "keep");
      await withdrawn(engine, app, "member2", "remove");
      await fleet.until("member2's is gone", async () => (await memberObject("member2", app)) === undefined);
      expect((await memberObject("member1", app))?.metadata.uid).toBe(uid);
    });

    it("makes what somebody deleted again: it takes over what is there only if told to, and can then remove it", async () => {
      const engine = await startEngine();
      const app = appOf("deleted");
      await held(engine, app, 1);
      await engine.dispatch(app, order(app, "member1", "app:1", 1, null));
      await fleet.until("member1 has it", async () => (await memberObject("member1", app)) !== undefined);
      const uid = (await memberObject("member1", app))?.metadata.uid;

      const namespace = "karmada-es-member1";
      const works = await fleet.hub.listAll(WORKS, { namespace });
      const work = works.items.find(({ metadata }) => metadata.name.startsWith(`${app.name}-statefulset-`));
      if (!work) throw new Error("there is no Work to delete");
      const labels = { "resourcetemplate.karmada.io/deletion-protected": null };
      await fleet.hub.patch(WORKS, work.metadata, { type: "merge", body: { metadata: { labels } } });
      await fleet.hub.delete(WORKS, work.metadata);
      await fleet.until("it is gone", () => engine.dispatched(app).length === 0);
      expect((await memberObject("member1", app))?.metadata.uid).toBe(uid);

      const delivery = () => engine.dispatched(app)[0]?.delivery.state;
      const again = await engine.dispatch(app, order(app, "member1", "app:2", 1, null));
      await fleet.until("it is refused", () => delivery() === "failed");
      expect(imageOf(await memberObject("member1", app))).toBe("app:1");
      await engine.dispatch(app, { ...order(app, "member1", "app:3", 1, again), takeOver: true });
      await fleet.until("it is taken over", async () => imageOf(await memberObject("member1", app)) === "app:3");
      expect((await memberObject("member1", app))?.metadata.uid).toBe(uid);
      await withdrawn(engine, app, "member1", "remove");
      await fleet.until("it is gone there, too", async () => (await memberObject("member1", app)) === undefined);
    });

    it("adopts what the engine had rendered without moving it", async () => {
      const engine = await startEngine();
      const app = appOf("adopted");
      await fleet.hub.apply(POLICIES, propagation(app.name), MANAGER);
      await fleet.hub.apply(STATEFULSETS, statefulSet(app.name, 5, "app:1"), MANAGER);
      await fleet.until("all members run it", async () => {
        const found = await Promise.all(CLUSTERS.map((cluster) => memberObject(cluster, app)));
        return found.every((object) => object !== undefined);
      });
      const before = await memberObject("member1", app);
      engine.track(app, () => {});
      await fleet.until(
        "the hold says that it is an adoption",
        async () => (await engine.hold(app)).kind === "adopting",
      );
      await engine.adopt(app, "member1");
      const manifest = { ...statefulSet(app.name, 2, "app:1") };
      const first = { cluster: "member1", manifest, term: 1, notes: {}, expected: null, takeOver: true };
      const adopted = await engine.dispatch(app, first);
      await fleet.until("the dispatch is delivered", () =>
        engine.dispatched(app).some(({ cluster, delivery }) => cluster === "member1" && delivery.state === "delivered"),
      );
      const after = await memberObject("member1", app);
      expect(after?.metadata.uid).toBe(before?.metadata.uid);
      expect(after?.metadata.generation).toBe(before?.metadata.generation);
      // Whatever of the engine's own ends later: what was taken over goes on being written to.
      await fleet.until("the engine's own is gone there", async () => {
        const state = await engine.hold(app);
        return state.kind !== "adopting" || !state.clusters.includes("member1");
      });
      await engine.dispatch(app, order(app, "member1", "app:2", 1, adopted));
      await fleet.until("member1 runs the next revision", async () => {
        return imageOf(await memberObject("member1", app)) === "app:2";
      });
    });

    it("tells beforehand what a member's API server would refuse, without changing anything", async () => {
      const engine = await startEngine();
      const app = appOf("dryrun");
      await held(engine, app, 1);
      await engine.dispatch(app, order(app, "member1", "app:1", 1, null));
      await fleet.until("member1 has it", async () => (await memberObject("member1", app)) !== undefined);
      const member = engine.member("member1");
      expect(await member.dryRun(statefulSet(app.name, 1, "app:2"))).toEqual({ kind: "accepted" });
      const changed = statefulSet(app.name, 1, "app:2");
      const immutable = { ...changed, spec: { ...(changed.spec as object), serviceName: "another" } };
      expect((await member.dryRun(immutable)).kind).toBe("refused");
      expect(imageOf(await memberObject("member1", app))).toBe("app:1");
    });

    it("finds a member that cannot be reached unreachable, and goes on when it is back", async () => {
      const engine = await startEngine();
      const app = appOf("cut");
      await held(engine, app, 1);
      await engine.dispatch(app, order(app, "member3", "app:1", 1, null));
      await fleet.until("the live object is seen", () => engine.snapshot(app, "member3").kind === "present");
      await fleet.cut("member3");
      await fleet.until("it is unreachable", () => engine.snapshot(app, "member3").kind === "unreachable");
      await fleet.mend("member3");
      await fleet.until("it is seen again", () => engine.snapshot(app, "member3").kind === "present");
    });

    it("never let a member run what no dispatch object had asked for", () => {
      // Adoption begins with objects that the engine rendered by itself: they are what is adopted.
      const violations = observer.violations().filter(({ name: object }) => object !== "adopted");
      expect(violations).toEqual([]);
      expect(observer.states).toBeGreaterThan(5);
    });

    async function withdrawn(engine: Engine, app: EngineApp, cluster: string, what: "keep" | "remove"): Promise<void> {
      await fleet.until(`${cluster} is withdrawn`, async () => {
        const found = (await engine.readDispatched(app)).find((one) => one.cluster === cluster);
        return found === undefined || (await engine.withdraw(app, found, what));
      });
    }
  });
}

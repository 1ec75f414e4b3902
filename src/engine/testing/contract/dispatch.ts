/** What the adapter writes: one writer at a time, in one term, until it is withdrawn. */
import { expect, it } from "vitest";
import { DispatchConflictError, SupersededError } from "../../errors.ts";
import { type ContractBench, imageOf, orderOf } from "./bench.ts";
import { appOf, CLUSTERS, statefulSet } from "./objects.ts";

export function dispatchContract(bench: ContractBench): void {
  const { startEngine, held, memberObject, withdrawn } = bench;

  it("writes by compare-and-swap: a writer that has not seen the latest version is refused", async () => {
    const [first, second] = [await startEngine(), await startEngine()];
    const app = appOf("swap");
    await held(first, app, 1);
    second.track(app, () => {});
    const seen = await first.dispatch(app, orderOf(app, "member1", "app:1", 1, null));
    await expect(second.dispatch(app, orderOf(app, "member1", "app:other", 1, null))).rejects.toThrow(
      DispatchConflictError,
    );
    await first.dispatch(app, orderOf(app, "member1", "app:2", 1, seen));
    await expect(second.dispatch(app, orderOf(app, "member1", "app:other", 1, seen))).rejects.toThrow(
      DispatchConflictError,
    );
    await bench.fleet.until("member1 runs what was granted last", async () => {
      return imageOf(await memberObject("member1", app)) === "app:2";
    });
  });

  it("refuses a leader of an earlier term once a later one has stamped", async () => {
    const [old, young] = [await startEngine(), await startEngine()];
    const app = appOf("terms");
    await held(old, app, 1);
    young.track(app, () => {});
    const seen = await old.dispatch(app, orderOf(app, "member1", "app:1", 1, null));
    const stamped = await young.stamp(app, 2);
    expect(stamped.map(({ term }) => term)).toEqual([2]);
    await expect(old.dispatch(app, orderOf(app, "member1", "app:stale", 1, seen))).rejects.toThrow(SupersededError);
    await expect(old.stamp(app, 1)).rejects.toThrow(SupersededError);
    await young.dispatch(app, orderOf(app, "member1", "app:2", 2, stamped[0] ?? null));
  });

  it("reserves an empty dispatch object; once a later leader has stamped it, its creator cannot write it", async () => {
    const [old, young] = [await startEngine(), await startEngine()];
    const app = appOf("reserved");
    await held(old, app, 1);
    young.track(app, () => {});
    const [reserved] = await old.reserve(app, [app.template], { cluster: "member1", term: 1 });
    expect(reserved).toMatchObject({ cluster: "member1", ref: app.template, manifest: {}, term: 1 });
    expect(await old.reserve(app, [app.template], { cluster: "member1", term: 1 })).toEqual([]);
    const [stamped] = await young.stamp(app, 2, ["member1"]);
    expect(stamped).toMatchObject({ ref: app.template, term: 2 });
    const late = orderOf(app, "member1", "app:late", 1, reserved ?? null);
    await expect(old.dispatch(app, late)).rejects.toThrow(SupersededError);
    await young.dispatch(app, orderOf(app, "member1", "app:1", 2, stamped ?? null));
    await bench.fleet.until("member1 runs what the later leader granted", async () => {
      return imageOf(await memberObject("member1", app)) === "app:1";
    });
  });

  it("withdraws and keeps the member's object, or removes it", async () => {
    const engine = await startEngine();
    const app = appOf("withdraw");
    await held(engine, app, 1);
    for (const cluster of ["member1", "member2"]) {
      await engine.dispatch(app, orderOf(app, cluster, "app:1", 1, null));
      await bench.fleet.until(`${cluster} has it`, async () => (await memberObject(cluster, app)) !== undefined);
    }
    const uid = (await memberObject("member1", app))?.metadata.uid;
    await withdrawn(engine, app, "member1", "keep");
    await withdrawn(engine, app, "member2", "remove");
    await bench.fleet.until("member2's is gone", async () => (await memberObject("member2", app)) === undefined);
    expect((await memberObject("member1", app))?.metadata.uid).toBe(uid);
  });

  it("withdraws what the member never accepted", async () => {
    const engine = await startEngine();
    const app = appOf("refused");
    await held(engine, app, 1);
    const sent = orderOf(app, "member1", "app:1", 1, null);
    const spec = { ...(sent.manifest.spec as object), selector: { matchLabels: { app: "of-another" } } };
    await engine.dispatch(app, { ...sent, manifest: { ...sent.manifest, spec } });
    await withdrawn(engine, app, "member1", "keep");
  });

  it("recreates a deleted Work: it takes over an existing object only on request, and can then remove it", async () => {
    const engine = await startEngine();
    const app = appOf("deleted");
    await held(engine, app, 1);
    await engine.dispatch(app, orderOf(app, "member1", "app:1", 1, null));
    await bench.fleet.until("member1 has it", async () => (await memberObject("member1", app)) !== undefined);
    const uid = (await memberObject("member1", app))?.metadata.uid;

    const { works, namespaceOf, deleteWork } = bench.kind;
    const { items } = await bench.fleet.hub.listAll(works, { namespace: namespaceOf("member1") });
    const work = items.find(({ metadata }) => metadata.name.startsWith(`${app.name}-statefulset-`));
    if (!work) throw new Error("there is no dispatch object to delete");
    await bench.delivered(work.metadata);
    await deleteWork(bench.fleet.hub, work);
    await bench.fleet.until("it is gone", () => engine.dispatched(app).length === 0);
    expect((await memberObject("member1", app))?.metadata.uid).toBe(uid);

    const delivery = () => engine.dispatched(app)[0]?.delivery.state;
    const again = await engine.dispatch(app, orderOf(app, "member1", "app:2", 1, null));
    await bench.fleet.until("it is refused", () => delivery() === "failed");
    expect(imageOf(await memberObject("member1", app))).toBe("app:1");
    await engine.dispatch(app, { ...orderOf(app, "member1", "app:3", 1, again), takeOver: true });
    await bench.fleet.until("it is taken over", async () => imageOf(await memberObject("member1", app)) === "app:3");
    expect((await memberObject("member1", app))?.metadata.uid).toBe(uid);
    await withdrawn(engine, app, "member1", "remove");
    await bench.fleet.until("it is gone there, too", async () => (await memberObject("member1", app)) === undefined);
  });

  it("adopts what runs without Lockstep, and moves nothing", async () => {
    const engine = await startEngine();
    const app = appOf("adopted");
    await bench.kind.runWithoutLockstep(bench.fleet.hub, app);
    await bench.fleet.until("all members run it", async () => {
      const found = await Promise.all(CLUSTERS.map((cluster) => memberObject(cluster, app)));
      return found.every((object) => object !== undefined);
    });
    const before = await memberObject("member1", app);
    engine.track(app, () => {});
    await bench.fleet.until(
      "the hold says that it is an adoption",
      async () => (await engine.hold(app)).kind === "adopting",
    );
    await engine.adopt(app, "member1");
    const manifest = { ...statefulSet(app.name, 2, "app:1") };
    const first = { cluster: "member1", manifest, term: 1, notes: {}, expected: null, takeOver: true };
    const adopted = await engine.dispatch(app, first);
    await bench.fleet.until("the dispatch is delivered", () =>
      engine.dispatched(app).some(({ cluster, delivery }) => cluster === "member1" && delivery.state === "delivered"),
    );
    const after = await memberObject("member1", app);
    expect(after?.metadata.uid).toBe(before?.metadata.uid);
    expect(after?.metadata.generation).toBe(before?.metadata.generation);
    // If Works of the engine end later, Lockstep still writes the objects that it took over.
    await bench.fleet.until("the engine's own is gone there", async () => {
      const state = await engine.hold(app);
      return state.kind !== "adopting" || !state.clusters.includes("member1");
    });
    await engine.dispatch(app, orderOf(app, "member1", "app:2", 1, adopted));
    await bench.fleet.until("member1 runs the next revision", async () => {
      return imageOf(await memberObject("member1", app)) === "app:2";
    });
  });
}

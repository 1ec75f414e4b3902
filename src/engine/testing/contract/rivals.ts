/** Dispatch objects that other writers create for an object that Lockstep manages. */
import { expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import { DispatchConflictError } from "../../errors.ts";
import { type ContractBench, imageOf, orderOf } from "./bench.ts";
import { appOf, NAMESPACE, statefulSet } from "./objects.ts";

export function rivalsContract(bench: ContractBench): void {
  const { startEngine, held, memberObject, defeated } = bench;

  it("names a dispatch object of another writer for a managed object, and continues when it is gone", async () => {
    const engine = await startEngine();
    const app = appOf("rival");
    await held(engine, app, 1);
    let told = 0;
    engine.track(app, () => told++);
    const mine = await engine.dispatch(app, orderOf(app, "member1", "app:1", 1, null));
    await bench.fleet.until("member1 has it", async () => (await memberObject("member1", app)) !== undefined);
    const { works, namespaceOf } = bench.kind;
    const at = { namespace: namespaceOf("member1"), name: "made-by-hand" };
    const other: KubeObject = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "rival", namespace: NAMESPACE },
    };
    const carried = [other, statefulSet(app.name, 1, "app:1")];
    await bench.fleet.hub.create(works, bench.kind.foreignWork(at, carried));
    const state = await defeated(engine, app);
    expect(state.message).toContain("StatefulSet default/rival");
    expect(state.message).toContain(`${works.kind} ${at.namespace}/made-by-hand (cluster member1)`);
    expect(state.remedy).toMatch(
      new RegExp(`kubectl \\w+ ${works.kind.toLowerCase()} made-by-hand -n ${at.namespace}`),
    );
    await expect(engine.dispatch(app, orderOf(app, "member1", "app:2", 1, mine))).rejects.toThrow(
      DispatchConflictError,
    );

    await bench.delivered(at);
    const before = told;
    await bench.fleet.hub.delete(works, at);
    await bench.fleet.until("the other has gone", async () => (await bench.fleet.hub.find(works, at)) === undefined);
    await bench.fleet.until("it is held again", async () => (await engine.hold(app)).kind === "held");
    expect(told).toBeGreaterThan(before);
    const [dispatched] = engine.dispatched(app);
    await engine.dispatch(app, orderOf(app, "member1", "app:3", 1, dispatched ?? null));
    await bench.fleet.until("member1 is written to as before", async () => {
      return imageOf(await memberObject("member1", app)) === "app:3";
    });
  });
}

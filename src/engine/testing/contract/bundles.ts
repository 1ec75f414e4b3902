/** Several objects of one owner, cluster-scoped ones among them, that are no objects on the hub. */
import { expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import { appMark } from "../../dispatch-objects.ts";
import { OWNER_LABEL } from "../../marks.ts";
import type { Dispatched, DispatchOrder, EngineBundle, ObjectRef } from "../../port.ts";
import type { ContractBench } from "./bench.ts";
import { appOf } from "./objects.ts";

const NAME = "bundle";
const SETTINGS = { apiVersion: "v1", kind: "ConfigMap", namespace: appOf(NAME).namespace, name: NAME };
const ROLE = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", namespace: "", name: NAME };

const BUNDLE: EngineBundle = {
  kind: "DistributedApplication",
  namespace: SETTINGS.namespace,
  name: NAME,
  objects: [SETTINGS, ROLE],
};

function orderOf(manifest: KubeObject, expected: Dispatched | null): DispatchOrder {
  return { cluster: "member1", term: 1, manifest, notes: { content: manifest.kind }, expected };
}

function settings(mode: string): KubeObject {
  const labels = { [OWNER_LABEL]: appMark(BUNDLE) };
  const { apiVersion, kind, namespace, name } = SETTINGS;
  return { apiVersion, kind, metadata: { name, namespace, labels }, data: { mode } };
}

function role(): KubeObject {
  const { apiVersion, kind, name } = ROLE;
  const labels = { [OWNER_LABEL]: appMark(BUNDLE) };
  return { apiVersion, kind, metadata: { name, labels }, rules: [] };
}

export function bundlesContract(bench: ContractBench): void {
  it("dispatches several objects of one owner, shows each, and removes each", async () => {
    const engine = await bench.startEngine();
    let news = 0;
    engine.track(BUNDLE, () => news++);
    const sent = await engine.dispatch(BUNDLE, orderOf(settings("first"), null));
    await engine.dispatch(BUNDLE, orderOf(role(), null));
    for (const ref of BUNDLE.objects) {
      const isSeen = () => engine.snapshot(BUNDLE, "member1", ref).kind === "present";
      await bench.fleet.until(`${ref.kind} is seen in member1`, isSeen);
    }
    expect(news).toBeGreaterThan(0);
    expect(await engine.member("member1").read(ROLE)).toMatchObject({ kind: "present" });
    expect(await engine.member("member1").read({ ...SETTINGS, name: "no-such" })).toEqual({ kind: "absent" });

    await engine.dispatch(BUNDLE, orderOf(settings("second"), sent));
    await bench.fleet.until("member1 has the second content", async () => {
      const found = await engine.member("member1").read(SETTINGS);
      return found.kind === "present" && JSON.stringify(found.object.data) === '{"mode":"second"}';
    });

    const dispatched = engine.dispatched(BUNDLE);
    expect(dispatched.map(({ ref }) => ref.kind).sort()).toEqual(["ClusterRole", "ConfigMap"]);
    const delivers = (ref: ObjectRef, cluster = "member1") => engine.delivers(appMark(BUNDLE), cluster, ref);
    expect(BUNDLE.objects.map((ref) => delivers(ref))).toEqual([true, true]);
    expect(delivers({ ...ROLE, apiVersion: "rbac.authorization.k8s.io/v2" })).toBe(true);
    expect([delivers(ROLE, "member2"), delivers({ ...SETTINGS, name: "no-such" })]).toEqual([false, false]);
    // What others have in a namespace would go with it.
    expect(engine.hasOthersIn("another", "member1", SETTINGS.namespace)).toBe(true);
    expect(engine.hasOthersIn("another", "member1", "no-such")).toBe(false);
    for (const one of dispatched) {
      await bench.fleet.until(`${one.ref.kind} is withdrawn`, () => engine.withdraw(BUNDLE, one, "remove"));
    }
    for (const ref of BUNDLE.objects) {
      const isGone = async () => (await engine.member("member1").read(ref)).kind === "absent";
      await bench.fleet.until(`${ref.kind} is gone`, isGone);
    }
    expect(BUNDLE.objects.map((ref) => delivers(ref))).toEqual([false, false]);
  });

  it("gives owners of two kinds with one name dispatch objects of their own", async () => {
    const engine = await bench.startEngine();
    const job: EngineBundle = { ...BUNDLE, kind: "CrossClusterJob" };
    await engine.reserve(BUNDLE, [SETTINGS], { cluster: "member2", term: 1 });
    await engine.reserve(job, [SETTINGS], { cluster: "member2", term: 1 });
    expect(engine.dispatched(BUNDLE)).toHaveLength(1);
    expect(engine.dispatched(job)).toHaveLength(1);
    expect(engine.delivers(appMark(job), "member2", SETTINGS)).toBe(true);
    expect(engine.hasOthersIn(appMark(BUNDLE), "member2", SETTINGS.namespace)).toBe(true);
    for (const owner of [BUNDLE, job]) {
      for (const one of engine.dispatched(owner)) {
        await bench.fleet.until("it is withdrawn", () => engine.withdraw(owner, one, "keep"));
      }
    }
  });
}

/** Holds, for engines that would render a template by themselves, such as Karmada. */
import { expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject, sameJson } from "../../../runtime/index.ts";
import type { EngineApp } from "../../port.ts";
import { type ContractBench, imageOf, orderOf } from "./bench.ts";
import { HOLDS, WORKS } from "./karmada-hub.ts";
import { appOf, CLUSTERS, MANAGER, NAMESPACE, STATEFULSETS, specOf, statefulSet } from "./objects.ts";

/** More edits than any engine's debounce merges. */
const QUICK_EDITS = 50;

/** Ways in which a hold may be edited. */
const labels = (value: string): JsonObject => ({ labelsOverrider: [{ operator: "add", value: { edited: value } }] });
const selectors = (name: string): JsonObject[] => [
  { apiVersion: "apps/v1", kind: "StatefulSet", namespace: NAMESPACE, name },
];
const rulesOf = ({ overrideRules }: JsonObject): JsonObject[] =>
  Array.isArray(overrideRules) ? overrideRules.filter(isJsonObject) : [];
const rulesFor = (spec: JsonObject, cluster: string): JsonObject[] =>
  rulesOf(spec).map((rule) => ({ ...rule, targetCluster: { clusterNames: [cluster] } }));
const rulesAnd = (spec: JsonObject, overriders: JsonObject): JsonObject[] => [...rulesOf(spec), { overriders }];

/** What the engine itself has rendered of the application. */
async function renderedWorks({ fleet }: ContractBench, app: EngineApp): Promise<KubeObject[]> {
  const { items } = await fleet.hub.listAll(WORKS, { labelSelector: "!lockstep.karmada.io/app" });
  return items.filter((work) => JSON.stringify(work.spec).includes(`"name":"${app.name}"`));
}

export function holdsContract(bench: ContractBench): void {
  const { startEngine, held, memberObject, holdOf, defeated } = bench;

  it.each<[string, string, (spec: JsonObject) => JsonObject]>([
    [
      "whose patch does not fail any more",
      "toothless",
      (spec) => ({ ...spec, overrideRules: [{ overriders: labels("other") }] }),
    ],
    ["that holds another object", "elsewhere", (spec) => ({ ...spec, resourceSelectors: selectors("other") })],
    ["that holds one cluster only", "narrowed", (spec) => ({ ...spec, overrideRules: rulesFor(spec, "member1") })],
    [
      "that does something else, too",
      "widened",
      (spec) => ({ ...spec, overrideRules: rulesAnd(spec, labels("more")) }),
    ],
  ])("repairs a hold %s", async (_what, name, edited) => {
    const engine = await startEngine();
    const app = appOf(name);
    let told = 0;
    engine.track(app, () => told++);
    await engine.hold(app);
    const hold = await holdOf(app);
    const before = told;
    await bench.fleet.hub.update(HOLDS, { ...hold, spec: edited(specOf(hold)) });
    await bench.fleet.until("it is repaired", async () => {
      const { kind } = await engine.hold(app);
      return kind === "held" && sameJson(specOf(await holdOf(app)), specOf(hold));
    });
    expect(told).toBeGreaterThan(before);
  });

  it("lets no part of a held template reach a member by itself, even after fifty quick edits", async () => {
    const engine = await startEngine();
    const app = appOf("held");
    await held(engine, app, 5);
    for (let edit = 0; edit < QUICK_EDITS; edit++) {
      await bench.fleet.hub.apply(STATEFULSETS, statefulSet(app.name, 5 + (edit % 3), `app:${edit}`), MANAGER);
    }
    const dispatched = await engine.dispatch(app, orderOf(app, "member1", "app:granted", 1, null));
    await bench.fleet.until("the granted manifest has arrived", async () => {
      return imageOf(await memberObject("member1", app)) === "app:granted";
    });
    for (let edit = 0; edit < QUICK_EDITS; edit++) {
      await bench.fleet.hub.apply(STATEFULSETS, statefulSet(app.name, 5, `app:later-${edit}`), MANAGER);
    }
    // A second dispatch that arrives after all edits shows that the engine had time to leak an edit, and did not.
    await engine.dispatch(app, orderOf(app, "member2", "app:second", 1, null));
    await bench.fleet.until("the second manifest has arrived", async () => {
      return imageOf(await memberObject("member2", app)) === "app:second";
    });
    expect(imageOf(await memberObject("member1", app))).toBe("app:granted");
    expect(await memberObject("member3", app)).toBeUndefined();
    expect(dispatched.notes.grant).toBe('{"image":"app:granted"}');
  });

  it("names what the engine rendered while its hold was defeated, also to a process that comes later", async () => {
    const engine = await startEngine();
    const app = appOf("defeated");
    await held(engine, app, 5);
    expect((await engine.hold(app)).kind).toBe("held");
    await engine.dispatch(app, orderOf(app, "member1", "app:granted", 1, null));
    await bench.fleet.until("member1 has it", async () => (await memberObject("member1", app)) !== undefined);
    const hold = await holdOf(app);
    await bench.fleet.hub.update(HOLDS, {
      ...hold,
      spec: { ...specOf(hold), overrideRules: [{ overriders: labels("x") }] },
    });
    const rendered = () => renderedWorks(bench, app);
    await bench.fleet.until("the engine renders by itself", async () => (await rendered()).length === CLUSTERS.length);

    for (const one of [engine, await startEngine()]) {
      one.track(app, () => {});
      const { message } = await defeated(one, app);
      expect(message).toMatch(/Work karmada-es-member1\/\S+ \(cluster member1\)/);
      // Without a Work of ours there is nothing to defeat: what runs there can be adopted.
      expect(message).not.toContain("cluster member2");
    }
    await bench.fleet.until("the hold is repaired", async () => {
      await engine.hold(app);
      return sameJson(specOf(await holdOf(app)), specOf(hold));
    });

    // The engine may still render once more what it began to render before the repair.
    await bench.fleet.until("it is held again", async () => {
      const left = (await rendered()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      for (const { metadata } of left) {
        await bench.delivered(metadata);
        const body = { spec: { preserveResourcesOnDeletion: true } };
        await bench.fleet.hub.patch(WORKS, metadata, { type: "merge", body });
        await bench.fleet.hub.delete(WORKS, metadata);
      }
      return (await engine.hold(app)).kind === "held";
    });
    const [dispatched] = engine.dispatched(app);
    await engine.dispatch(app, orderOf(app, "member1", "app:after", 1, dispatched ?? null));
    await bench.fleet.until("member1 is written to as before", async () => {
      return imageOf(await memberObject("member1", app)) === "app:after";
    });
  });
}

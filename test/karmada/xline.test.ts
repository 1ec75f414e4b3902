import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SEED_ANNOTATIONS } from "../../src/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { isLongForm } from "../form.ts";
import { CCS, MANAGER, startWorld, type World } from "./world.ts";
import { installXline, POLICY, SEED_MANIFEST, XLINES, xline } from "./xline.ts";
import { startXlineOperator, type XlineOperator } from "./xline-operator.ts";

/** Seeds have operators of both sorts; here each starts a Karmada of its own. */
const OPERATORS: [string, boolean][] = [
  ["written to the proposal's annotations", true],
  ...(isLongForm ? [["that ignores every annotation", false] satisfies [string, boolean]] : []),
];

describe.each(OPERATORS)("the proposal's manifest and XlineCluster with an operator %s", (_what, readsAnnotations) => {
  let world: World;
  let observer: Observer;
  let operators: XlineOperator[];

  beforeAll(async () => {
    world = await startWorld();
    await installXline(world);
    observer = await world.watch(XLINES);
    operators = [...world.stack.members].map(([name, api]) => startXlineOperator(name, api, { readsAnnotations }));
  });
  afterAll(async () => {
    await Promise.all((operators ?? []).map((operator) => operator.stop()));
    await world?.stop();
  });

  const settled = async () => {
    const status = await world.status("xline");
    return status.phase === "Settled" && status.readyReplicas === 3;
  };

  it("is deployed with one instance in each cluster, one cluster at a time", async () => {
    await world.hub.apply(CCS, SEED_MANIFEST, MANAGER);
    await world.until("the hold is in place", async () => (await world.status("xline")).reason === "TemplateMissing");
    await world.stack.hub.apply(POLICY);
    await world.hub.apply(XLINES, xline("xline:1"), MANAGER);
    await world.until("three instances are ready", settled);
    expect(XlineLog.overlap(operators)).toEqual([]);
  });

  it("tells every member the replicas of all, in the proposal's own words", async () => {
    const clusters = ["member1", "member2", "member3"];
    for (const name of clusters) {
      const told = clusters.map((cluster) => ({ [cluster]: "1", self: cluster === name }));
      await world.until(`${name} has the topology`, async () => {
        const { metadata } = await world.member(name).get(XLINES, { namespace: "default", name: "xline" });
        const { [SEED_ANNOTATIONS.replicas]: replicas, [SEED_ANNOTATIONS.processer]: processer } =
          metadata.annotations ?? {};
        const isTold = replicas === JSON.stringify(told) && (processer === "true" || processer === "false");
        return isTold || `${replicas}, ${processer}`;
      });
    }
  });

  it("is updated one cluster at a time", async () => {
    for (const operator of operators) operator.log.length = 0;
    await world.hub.apply(XLINES, xline("xline:2"), MANAGER);
    await world.until("all run the new image", () => operators.every((operator) => operator.image === "xline:2"));
    await world.until("it is settled", settled);
    expect(XlineLog.overlap(operators)).toEqual([]);
  });

  it("never ran what it was not granted", () => {
    expect(observer.violations()).toEqual([]);
    expect(observer.states).toBeGreaterThan(5);
  });
});

/** Whether two operators were ever at work at the same time. */
const XlineLog = {
  overlap(operators: readonly XlineOperator[]): string[] {
    const spans = operators.flatMap((operator) => operator.log.map((span) => ({ ...span, name: operator.name })));
    return spans.flatMap((a) =>
      spans
        .filter((b) => a.name < b.name && a.fromMs < b.toMs && b.fromMs < a.toMs)
        .map((b) => `${a.name} ${a.what} and ${b.name} ${b.what} at the same time`),
    );
  },
};

import { afterAll, beforeAll, expect, it } from "vitest";
import { SEED_ANNOTATIONS } from "../../src/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import type { World } from "./world.ts";
import { XLINES, xline } from "./xline.ts";
import { startXlineOperator, type XlineOperator, type XlineOperatorOptions } from "./xline-operator.ts";

/** The proposal's own manifest and kind, in a world that has the kind. */
export function xlineStory(on: () => World, { object: app, readsAnnotations }: XlineOperatorOptions): void {
  let world: World;
  let observer: Observer;
  let operators: XlineOperator[];

  beforeAll(async () => {
    world = on();
    observer = await world.watch(XLINES);
    operators = [...world.stack.members].map(([name, api]) =>
      startXlineOperator(name, api, { object: app, readsAnnotations }),
    );
  });
  afterAll(async () => {
    await Promise.all((operators ?? []).map((operator) => operator.stop()));
  });

  const settled = () => world.settled(app, 3);

  it("is deployed with one instance in each cluster, one cluster at a time", async () => {
    await world.stage.declare(world, app, xline("xline:1", app));
    await world.until("three instances are ready", settled);
    expect(XlineLog.overlap(operators)).toEqual([]);
  });

  it("tells every member the replicas of all, in the proposal's own words", async () => {
    const clusters = ["member1", "member2", "member3"];
    for (const name of clusters) {
      const told = clusters.map((cluster) => ({ [cluster]: "1", self: cluster === name }));
      await world.until(`${name} has the topology`, async () => {
        const { metadata } = await world.member(name).get(XLINES, { namespace: "default", name: app });
        const { [SEED_ANNOTATIONS.replicas]: replicas, [SEED_ANNOTATIONS.processer]: processer } =
          metadata.annotations ?? {};
        const isTold = replicas === JSON.stringify(told) && (processer === "true" || processer === "false");
        return isTold || `${replicas}, ${processer}`;
      });
    }
  });

  it("is updated one cluster at a time", async () => {
    for (const operator of operators) operator.log.length = 0;
    await world.stage.declare(world, app, xline("xline:2", app));
    await world.until("all run the new image", () => operators.every((operator) => operator.image === "xline:2"));
    await world.until("it is settled", settled);
    expect(XlineLog.overlap(operators)).toEqual([]);
  });

  it("never ran what it was not granted", () => {
    expect(observer.violations().filter(({ name }) => name === app)).toEqual([]);
    expect(observer.states).toBeGreaterThan(5);
  });
}

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

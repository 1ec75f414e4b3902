/** What a DistributedApplication's page shows of its changes, against a fleet with the real controller, on virtual time. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { application, configMap, inline, settle, statusOf } from "../../embedded/testing/application.ts";
import { seededRandom } from "../../runtime/index.ts";
import type { DistributionView } from "../../web/index.ts";
import { CliWorld } from "../testing/harness.ts";
import { HubViewer } from "./viewer.ts";

const AT = { type: "dapp", namespace: "default", name: "shop" } as const;
const shop = (source: ReturnType<typeof inline>) =>
  application("shop", {
    source,
    clusters: { names: ["member1", "member2"] },
    revisionSettleSeconds: 0,
    rollout: { waves: [{ clusters: ["member1"], approval: "Manual" }] },
  });

describe("the page of an application", () => {
  const cli = new CliWorld(51);
  const { world } = cli;
  const shown = async (): Promise<DistributionView> => {
    const transport = world.fleet.hub.transport();
    const viewer = new HubViewer({
      connection: {
        transport,
        context: "hub",
        server: "https://hub.test",
        namespace: "default",
        close: async () => {},
      },
      user: "ada",
      clock: world.clock,
      random: seededRandom(1),
      program: "lockstep",
    });
    const stop = new AbortController();
    let view: DistributionView | undefined;
    const watching = viewer.watch(
      { kind: "application", ...AT },
      (event) => {
        if (event.event !== "distribution") return;
        view = event.data;
        stop.abort();
      },
      stop.signal,
    );
    await world.clock.run(watching);
    if (!view) throw new Error("nothing was shown");
    return view;
  };

  beforeAll(async () => {
    await world.start();
    await world.apply(shop(inline(configMap("settings", { value: "1" }))));
    await world.until("it waits", () => statusOf(world, "shop").reason === "AwaitingApproval");
  });
  afterAll(() => world.stop());

  it("shows what each cluster still gets, and its remedy ends the wait", async () => {
    const { plan, why } = await shown();
    expect(plan.diffs).toEqual([
      { clusters: ["member2"], objects: [{ object: "v1 ConfigMap default/settings", change: "new", lines: [] }] },
    ]);
    const [, approve = ""] = why.remedy;
    expect(approve).toBe("lockstep approve dapp/shop -n default");
    expect(await cli.run(approve.split(" ").slice(1))).toMatchObject({ code: 0 });
    await settle(world, "shop");
    expect((await shown()).plan).toEqual({ ahead: [], blockedBy: [], diffs: [] });
  });

  it("shows the lines that change, and runs no program to know them", async () => {
    await world.apply(shop(inline(configMap("settings", { value: "2" }))));
    await world.until("it waits", () => statusOf(world, "shop").reason === "AwaitingApproval");
    const { diffs } = (await shown()).plan;
    expect(diffs.map(({ clusters }) => clusters)).toEqual([["member2"]]);
    expect(diffs[0]?.objects[0]?.lines.map((line) => line.trim().replace(/\s+/g, " "))).toEqual(
      expect.arrayContaining(['- value: "1"', '+ value: "2"']),
    );
    const archive = { configMap: { name: "site" } };
    await world.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "site", namespace: "default" },
      binaryData: { "site.tgz": "H4sIAAAAAAAAAwMAAAAAAAAAAAA=" },
    });
    await world.apply(shop({ kustomize: { path: "site", archive: { configMap: archive.configMap.name } } }));
    await world.until("it cannot be rendered", () => String(statusOf(world, "shop").reason).startsWith("Revision"));
    expect((await shown()).plan.diffsProblem).toMatch(/^it is rendered by a program/);
  });
});

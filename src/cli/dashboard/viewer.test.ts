/** A viewer of the page, against a fleet with the real controller, on virtual time. */
import { beforeAll, describe, expect, it } from "vitest";
import { CROSS_CLUSTER_STATEFULSETS } from "../../embedded/testing/world.ts";
import { isJsonObject, seededRandom, type Transport } from "../../runtime/index.ts";
import type { Act } from "../../web/index.ts";
import { seenOf } from "../hub/seen.ts";
import { CliWorld, exampleObjects, exampleTemplate } from "../testing/harness.ts";
import { HubViewer } from "./viewer.ts";

const AT = { type: "ccs", namespace: "default", name: "web" } as const;

function viewerOf({ world }: CliWorld, transport: Transport = world.fleet.hub.transport()): HubViewer {
  return new HubViewer({
    connection: { transport, context: "hub", server: "https://hub.test", namespace: "default", close: async () => {} },
    user: "ada",
    clock: world.clock,
    random: seededRandom(1),
    program: "lockstep",
  });
}

describe("an act that a person has confirmed", () => {
  const cli = new CliWorld(41);
  const { world } = cli;
  const viewer = viewerOf(cli);
  const object = () => world.ask(world.hub.get(CROSS_CLUSTER_STATEFULSETS, AT));
  const act = (what: Pick<Act, "action" | "seen"> & Partial<Act>) => world.clock.run(viewer.act({ ...AT, ...what }));
  const rollout = () => {
    const { rollout: found } = world.status("web");
    return isJsonObject(found) ? found : {};
  };

  beforeAll(async () => {
    await world.start();
    const waves = [
      { clusters: ["member3"], approval: "Manual" },
      { clusters: ["member2"], soakSeconds: 3_600 },
    ];
    for (const one of exampleObjects("nginx:1.27", { updateStrategy: { rollingUpdate: { waves } } }))
      await world.apply(one);
    await world.until("deployed", () => world.isSettled("web", 5));
    await world.apply(exampleTemplate("nginx:1.28"));
    await world.until("it waits", () => rollout().awaitingApproval === true);
  });

  it("is refused with 409 and changes nothing if the rollout goes to another revision by now", async () => {
    const seen = seenOf(await object());
    await world.apply(exampleTemplate("nginx:1.29"));
    await world.until(
      "the other one waits",
      () => rollout().to !== seen.revision && rollout().awaitingApproval === true,
    );
    const before = await object();
    for (const action of ["approve", "promote", "abort", "resume", "undo"] as const) {
      await expect(act({ action, seen }), action).rejects.toMatchObject({
        name: "Refused",
        status: 409,
        message: expect.stringMatching(/has changed since you looked: it was to run revision .* Nothing was done\./),
      });
    }
    const after = await object();
    expect(after.spec).toEqual(before.spec);
    expect(rollout()).toMatchObject({ awaitingApproval: true, wave: 1 });
  });

  it("is refused if another object has the name by now", async () => {
    const seen = { ...seenOf(await object()), uid: "another" };
    for (const action of ["pause", "resume", "approve", "promote", "abort", "undo"] as const) {
      await expect(act({ action, seen }), action).rejects.toMatchObject({ status: 409 });
    }
  });

  it("is carried out on what was seen, and only once for one wave", async () => {
    const seen = seenOf(await object());
    expect(await act({ action: "approve", seen })).toContain(
      "wave 1 of CrossClusterStatefulset default/web is approved",
    );
    await world.until("the next wave soaks", () => rollout().wave === 2 && rollout().soakUntil !== undefined);
    await expect(act({ action: "promote", seen })).rejects.toThrow("it was at wave 1, and is now at wave 2");
    await act({ action: "pause", seen });
    await act({ action: "resume", seen });
    expect(await act({ action: "promote", seen: seenOf(await object()) })).toContain("past the soak of wave 2");
  });
});

describe("[R10] a rollout of the past", () => {
  const cli = new CliWorld(42);
  const { world } = cli;
  beforeAll(() => cli.deploy());

  it("is shown step by step, with what held it, from the status alone, when others have followed it", async () => {
    const first = String(world.status("web").updateRevision);
    const rollOut = async (image: string): Promise<string> => {
      const before = world.status("web").updateRevision;
      await world.apply(exampleTemplate(image));
      await world.until("it is rolled out", () => {
        const { updateRevision, rollout } = world.status("web");
        return updateRevision !== before && rollout === undefined && world.isSettled("web", 5);
      });
      return String(world.status("web").updateRevision);
    };
    const second = await rollOut("nginx:1.28");
    await rollOut("nginx:1.29");
    const of = (revision: string) => world.clock.run(viewerOf(cli).record({ ...AT, revision }));
    const { type, from, timeline } = await of(second);
    expect({ type, from }).toEqual({ type: "Update", from: first });
    expect(timeline.spans.map(({ what, cluster }) => `${what} ${cluster}`)).toEqual([
      "Updating member3",
      "Updating member2",
      "Updating member1",
    ]);
    for (const { fromMs, toMs, why } of timeline.spans) {
      expect(toMs).toBeGreaterThan(fromMs);
      expect(why).not.toBe("");
    }
    expect(timeline.holds.map(({ reason }) => reason)).toContain("WaitingForReady");
    expect([...timeline.spans, ...timeline.holds].filter(({ toMs }) => toMs === undefined)).toEqual([]);
    expect((await of(first)).type).toBe("Deploy");
    await expect(of("web-never")).rejects.toMatchObject({ status: 404 });
  });
});

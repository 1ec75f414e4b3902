import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { isLongForm } from "../form.ts";
import { EtcdWorld, GIVE_UP_MS, Writer } from "./world.ts";

/** Who leads changes when it is asked to or dies, not because the machine is busy for a second. */
const CALM = ["--heartbeat-interval=500", "--election-timeout=5000"];

/** In the long form it is moved and updated again and again, under the same writes. */
const MORE_ROUNDS = isLongForm ? [1, 2, 3, 4, 5, 6, 7, 8] : [];

describe("a real etcd over embedded clusters, written to all the time", () => {
  const world = new EtcdWorld(["member1", "member2", "member3", "member4"]);
  const instances = () => Object.keys(world.pods.images()).map((place) => place.split("/")[1] ?? "");
  const urls = () => instances().map((instance) => `http://${world.address(instance)}:2379`);
  const writer = new Writer(urls);
  const members = () => [...(world.application.membership?.members ?? [])].sort();

  // A wait that fails says what it waited for.
  vi.setConfig({ testTimeout: 4 * GIVE_UP_MS });
  beforeAll(() => world.start());
  afterAll(async () => {
    await writer.stop();
    await world.stop();
  });

  it("is deployed one membership change at a time", async () => {
    await world.scale({ member1: 2, member2: 2, member3: 1 });
    await world.until("the hold is in place", () => world.status().reason === "TemplateMissing");
    await world.template(CALM);
    await world.settled(5);
    expect(world.pods.order).toEqual([
      "member1/etcd-0",
      "member1/etcd-1",
      "member2/etcd-2",
      "member2/etcd-3",
      "member3/etcd-4",
    ]);
    await world.until("etcd lists five members", () => members().length === 5);
    expect(members()).toEqual(["etcd-0", "etcd-1", "etcd-2", "etcd-3", "etcd-4"]);
    writer.start();
    await world.until("writes are acknowledged", () => writer.acknowledged.length > 20);
  });

  it("is updated with the leader's cluster last and one instance down at a time, across a restart of the controller", async () => {
    const home = (instance: string | undefined) =>
      Object.keys(world.pods.images())
        .find((place) => place.endsWith(`/${instance}`))
        ?.split("/")[0];
    const leaders = home(world.application.leader);
    world.pods.expect(5);
    await world.template([...CALM, "--snapshot-count=5000"]);
    await world.until("the first is updated", () => world.pods.order.length === 1);
    await world.stopController();
    world.startController();
    await world.until("all five were restarted", () => world.pods.order.length === 5);
    await world.settled(5);
    expect(world.pods.worst).toBe(1);
    const order = world.pods.order.map((place) => place.split("/")[0]);
    expect(order.slice(-order.filter((cluster) => cluster === leaders).length)).toEqual(
      order.filter((cluster) => cluster === leaders),
    );
    expect(home(world.application.leader)).not.toBe(leaders);
  });

  it("moves: a cluster comes, another goes, and etcd's own member list follows", async () => {
    await world.scale({ member1: 2, member3: 1, member4: 2 });
    await world.settled(5);
    await world.until("nothing is left in member2", () => instances().length === 5);
    await world.until("etcd lists the five", () => members().join() === instances().sort().join());
    expect(Object.keys(world.pods.images()).filter((place) => place.startsWith("member2/"))).toEqual([]);
  });

  it.each(MORE_ROUNDS)("is moved and updated at once, round %i, and etcd's own member list follows", async (round) => {
    const other = round % 2 === 1 ? "member2" : "member4";
    await world.scale({ member1: 2, member3: 1, [other]: 2 });
    await world.template([...CALM, `--snapshot-count=${5000 + round}`]);
    await world.settled(5);
    await world.until("nothing is left where it was", () => instances().length === 5);
    await world.until("etcd lists the five", () => members().join() === instances().sort().join());
  });

  it("keeps accepting writes when a cluster with all its instances is lost", async () => {
    const before = writer.acknowledged.length;
    await world.lose("member3");
    await world.until("writes continue", () => writer.acknowledged.length > before + 50);
  });

  it("has lost no write that it acknowledged", async () => {
    await writer.stop();
    expect(writer.acknowledged.length).toBeGreaterThan(200);
    for (const url of urls().filter((each) => !each.includes(world.address("etcd-4")))) {
      expect(await writer.missing(url)).toEqual([]);
    }
    console.log(
      `${writer.acknowledged.length} writes acknowledged, none lost; the longest time without one was ${Math.round(writer.longestGapMs)} ms`,
    );
  });
});

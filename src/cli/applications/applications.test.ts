/** Commands on `dapp/NAME`, against a fleet with the real controller, on virtual time. */
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { CONTROLLER_REASONS, namedRemedy as named } from "../../controllers/index.ts";
import { application, configMap, inline, settle, statusOf } from "../../embedded/testing/application.ts";
import { resource } from "../../kube/index.ts";
import { REASONS } from "../../rollout/index.ts";
import { valueAt } from "../../runtime/index.ts";
import { CliWorld } from "../testing/harness.ts";
import { type RemedyFacts, remedyOf } from "./remedies.ts";

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const shop = (value: string, more: object = {}) =>
  application("shop", {
    source: inline(configMap("settings", { value })),
    clusters: { names: ["member1", "member2"] },
    revisionSettleSeconds: 0,
    ...more,
  });

describe("an application on the command line", () => {
  const cli = new CliWorld();
  beforeAll(async () => {
    await cli.world.start();
    await cli.world.apply(shop("1"));
    await settle(cli.world, "shop");
    await cli.world.apply(shop("2"));
    await settle(cli.world, "shop");
  });
  afterAll(() => cli.world.stop());

  it("status shows clusters and objects with their health", async () => {
    const { code, out } = await cli.run(["status", "dapp/shop"]);
    expect(code).toBe(0);
    expect(out).toContain("DistributedApplication default/shop  Settled  clusters 2/2, objects 2/2 healthy");
    expect(out).toMatch(/├─ member1 {2}Settled {2}1\/1/);
    expect(out).toMatch(/└─ ConfigMap\/settings {2}Healthy {2}in 2 clusters/);
  });

  it("wait returns when it has settled, why says that nothing is waited for", async () => {
    expect(await cli.run(["wait", "dapp/shop"])).toMatchObject({
      code: 0,
      out: "DistributedApplication default/shop is settled\n",
    });
    expect((await cli.run(["why", "dapp/shop"])).out).toContain("nothing is waited for");
  });

  it("a name that does not exist is answered with those that do", async () => {
    const { code, err } = await cli.run(["status", "dapp/shob"]);
    expect(code).toBe(1);
    expect(err).toContain("DistributedApplication default/shob does not exist; did you mean 'shop'?");
  });

  it("render shows the objects of each cluster, without a hub too", async () => {
    const files = { "shop.yaml": stringify(shop("3")) };
    const { code, out } = await cli.run(["render", "-f", "shop.yaml", "--cluster", "member1"], { files });
    expect(code).toBe(0);
    expect(out).toContain("# cluster member1\n---\n");
    expect(out).toContain('value: "3"');
    expect(out).not.toContain("member2");
    expect((await cli.run(["render", "-f", "shop.yaml", "--offline"], { files })).out).toContain("# cluster member2");
  });

  it("render names a program that is not there, and the option that gives its path", async () => {
    const source = { kustomize: { path: "site", archive: { configMap: "site" } } };
    const archive = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "site" },
      binaryData: { "site.tgz": "H4sIAAAAAAAAAwMAAAAAAAAAAAA=" },
    };
    const files = { "site.yaml": `${stringify(shop("3", { source }))}---\n${stringify(archive)}` };
    const { code, err } = await cli.run(
      ["render", "-f", "site.yaml", "--offline", "--kustomize", "/nowhere/kustomize"],
      { files },
    );
    expect(code).toBe(1);
    expect(err).toContain("kustomize is needed to render this application, and there is none at '/nowhere/kustomize'");
    expect(err).toContain("or give its path with --kustomize");
  });

  it("plan shows what would change in each cluster, in order", async () => {
    const files = { "shop.yaml": stringify(shop("3")) };
    const { code, out } = await cli.run(["plan", "-f", "shop.yaml"], { files });
    expect(code).toBe(0);
    expect(out).toMatch(/1\. member1 {2}0 new, 1 changed, 0 removed\n {3}~ v1 ConfigMap default\/settings/);
    expect(out).toMatch(/- {3}value: "2"\n.*\+ {3}value: "3"/);
  });

  it("history lists revisions, and undo returns to the one before", async () => {
    expect((await cli.run(["history", "dapp/shop"])).out).toMatch(/^2 {2}shop-\w+ .*current\n1 {2}shop-/);
    const second = await cli.run(["history", "dapp/shop", "--revision", "2"]);
    expect(second.out).toMatch(/^2 {2}shop-\w+ .*current\nits last rollout began at /);
    expect(second.out).toMatch(/member\d +Updating +\d+s/);
    const { err } = await cli.run(["history", "dapp/shop", "--revision", "9"]);
    expect(err).toContain("has no revision '9'; there are: 2, 1");
    const { out } = await cli.run(["undo", "dapp/shop"]);
    expect(out).toMatch(/returns to revision 1 \(shop-\w+\), in order/);
    await settle(cli.world, "shop");
    expect((await cli.run(["history", "dapp/shop"])).out).toMatch(/^2 {2}shop-\w+ .*rejected\n1 {2}shop-.*current/);
  });

  it("pause holds a rollout, why says so, and resume lets it continue", async () => {
    expect((await cli.run(["pause", "dapp/shop"])).out).toContain("is paused");
    await cli.world.apply(shop("4", { rollout: { paused: true } }));
    await cli.world.until("it waits", () => statusOf(cli.world, "shop").reason === "Paused");
    expect((await cli.run(["why", "dapp/shop"])).out).toContain("Paused");
    expect((await cli.run(["resume", "dapp/shop"])).out).toContain("continues");
    await cli.world.apply(shop("4"));
    await settle(cli.world, "shop");
  });

  it("a wave waits for its approval, and approve lets the next clusters follow", async () => {
    const rollout = { waves: [{ clusters: ["member1"], approval: "Manual" }] };
    const { world } = cli;
    const rolled = async () => {
      const values: unknown[] = [];
      for (const member of ["member1", "member2"]) {
        const found = world.fleet.client(member).find(CONFIG_MAPS, { namespace: "default", name: "settings" });
        values.push(valueAt(await world.ask(found), "data", "value"));
      }
      return values;
    };
    expect(await cli.run(["approve", "dapp/shop"])).toMatchObject({
      code: 1,
      err: "error: no wave of DistributedApplication default/shop waits for approval: it is Settled\n",
    });
    await world.apply(shop("5", { rollout }));
    await world.until("it waits", () => statusOf(world, "shop").reason === "AwaitingApproval");
    expect(await rolled()).toEqual(["5", "4"]);
    const why = (await cli.run(["why", "dapp/shop"])).out;
    expect(why).toContain("Run 'lockstep approve dapp/shop'");
    expect(why).toContain("Remedy\n  lockstep plan dapp/shop -n default\n  lockstep approve dapp/shop -n default\n");
    expect((await cli.run(["promote", "dapp/shop", "--yes"])).err).toContain(
      "waits neither for a soak nor for a maintenance window: it is Waiting; it waits for approval: lockstep approve dapp/shop",
    );
    expect((await cli.run(["approve", "dapp/shop", "--wave", "2"])).err).toContain("wave 1 of");
    const { code, out } = await cli.run(["approve", "dapp/shop", "--comment", "looks good"]);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^wave 1 of DistributedApplication default\/shop is approved/),
    ]);
    await settle(world, "shop");
    expect(await rolled()).toEqual(["5", "5"]);

    // Another revision needs an approval of its own.
    await world.apply(shop("6", { rollout }));
    await world.until("it waits again", () => statusOf(world, "shop").reason === "AwaitingApproval");
    expect(await rolled()).toEqual(["6", "5"]);
  });

  it("abort returns the clusters that have started, and there is nothing to abort afterwards", async () => {
    const { world } = cli;
    const { code, out } = await cli.run(["abort", "dapp/shop", "--yes"]);
    expect([code, out]).toEqual([0, expect.stringMatching(/aborts shop-\w+ and returns to shop-\w+, in order/)]);
    await settle(world, "shop");
    const found = world.fleet.client("member1").find(CONFIG_MAPS, { namespace: "default", name: "settings" });
    expect(valueAt(await world.ask(found), "data", "value")).toBe("5");
    expect((await cli.run(["abort", "dapp/shop"])).err).toContain("there is nothing to abort in");
  });

  it("promote ends a soak, and continues outside the maintenance windows", async () => {
    const { world } = cli;
    const rollout = { waves: [{ clusters: ["member1"], soakSeconds: 86_400 }] };
    await world.apply(shop("7", { rollout }));
    await world.until("it soaks", () => statusOf(world, "shop").reason === "Soaking");
    expect((await cli.run(["why", "dapp/shop"])).out).toContain("run 'lockstep promote dapp/shop' to end the soak now");
    expect((await cli.run(["promote", "dapp/shop", "--yes"])).out).toContain("continues past the soak of wave 1");
    await settle(world, "shop");

    const maintenanceWindows = [{ cron: "0 3 29 2 *", durationSeconds: 3600 }];
    await world.apply(shop("8", { rollout: { maintenanceWindows } }));
    await world.until("it waits for a window", () => statusOf(world, "shop").reason === "WindowClosed");
    expect((await cli.run(["promote", "dapp/shop", "--yes"])).out).toContain("continues outside the windows");
    await world.until("it is settled", () => statusOf(world, "shop").phase === "Settled");
  });

  it("status without a name lists every kind, what needs a person first and with its remedy", async () => {
    const { world } = cli;
    const source = inline(configMap("settings", { value: "1" }));
    await world.apply(application("broken", { source, clusters: { names: ["member1"] }, serviceAccountName: "none" }));
    await world.until("it is refused", () => statusOf(world, "broken").reason !== undefined);
    const { out } = await cli.run(["status"]);
    expect(out).toMatch(/^NAME +READY .*\ndapp\/broken .*\ndapp\/shop +2\/2 +2\/2 +Settled /);
    expect(out).toMatch(/\ndapp\/broken needs a person: \w+: .*\n {2}lockstep why dapp\/broken\n/);
    expect((await cli.run(["status", "-o", "name"])).out).toContain("distributedapplication.apps.karmada.io/shop\n");
  });
});

describe("the remedy of every reason of an application", () => {
  const facts: RemedyFacts = {
    ...{ program: "lockstep", namespace: "default", name: "shop", serviceAccount: "default", cluster: "a" },
    engine: "karmada",
  };
  const codes = Object.keys({ ...REASONS, ...CONTROLLER_REASONS });

  it.each(codes)("%s: every command of Lockstep names dapp/shop, and is one that works on it", (code) => {
    for (const command of remedyOf(code, facts)) {
      if (!command.startsWith("lockstep ") || command === "lockstep doctor") continue;
      expect(command).toMatch(
        /^lockstep (status|plan|render|history|undo|resume|approve|promote) dapp\/shop -n default$/,
      );
    }
  });

  it("the planner's own remedies name it as well", () => {
    const folder = new URL("../../", import.meta.url);
    const files = readdirSync(new URL("applications/", folder)).filter((file) => file.endsWith(".ts"));
    const sources = [...files.map((file) => `applications/${file}`), "rollout/waves.ts"];
    const commands = sources.flatMap(
      (file) => readFileSync(new URL(file, folder), "utf8").match(/'lockstep [^']*'/g) ?? [],
    );
    expect(commands.length).toBeGreaterThan(5);
    for (const command of commands) expect(named(command, "shop")).toMatch(/^'lockstep \w+ dapp\/shop/);
  });
});

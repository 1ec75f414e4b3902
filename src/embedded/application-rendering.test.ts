/** What is rendered once stays: passwords and other random values, over edits, restarts and changes of the fleet. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import type { RenderedObject, Renderer } from "../charts/index.ts";
import { type KubeObject, resource } from "../kube/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../runtime/index.ts";
import { application, DISTRIBUTED_APPLICATIONS, settle, statusOf } from "./testing/application.ts";
import { World } from "./testing/world.ts";

const MEMBERS = ["member1", "member2"];
const schemas = new SchemaCache();
const SECRETS = resource({ apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true });
const CLUSTERS = resource({
  apiVersion: "cluster.karmada.io/v1alpha1",
  kind: "Cluster",
  plural: "clusters",
  namespaced: false,
});

/** A chart with a password that it looks up, and one that differs in every render. */
class Chart implements Pick<Renderer, "render"> {
  renders = 0;
  digest = "sha256:one";

  readonly render: Renderer["render"] = async ({ source, previousObjects }) => {
    if (source.kind !== "helm") throw new Error("only charts are rendered here");
    const values: JsonObject = Object.assign({}, ...source.values);
    const fresh = `r${++this.renders}`;
    const known = previousObjects.find(({ metadata }) => metadata.name === "login");
    const data = (password: string) => ({ password: Buffer.from(password).toString("base64") });
    const secret = (name: string, content: JsonObject, keep = false): RenderedObject => {
      const metadata = { name, ...(keep && { annotations: { "helm.sh/resource-policy": "keep" } }) };
      return { object: { apiVersion: "v1", kind: "Secret", metadata, data: content }, keep, isCrd: false };
    };
    const settings: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: {} };
    const objects = [
      { object: { ...settings, data: { values: JSON.stringify(values) } }, keep: false, isCrd: false },
      secret("random", data(fresh)),
      ...(values.login === false
        ? []
        : [secret("login", isJsonObject(known?.data) ? known.data : data(fresh), values.keeps === true)]),
    ];
    const warnings = values.warns === true ? ["a later render changes it"] : [];
    return { kind: "rendered", objects, digest: fresh, sourceDigest: this.digest, warnings };
  };
}

let world: World;
let chart: Chart;
beforeEach(async () => {
  chart = new Chart();
  world = new World(76, { schemas, members: MEMBERS }, { renderer: chart });
  await world.start();
});
afterEach(() => world.stop());

const declare = (values: JsonObject, more: JsonObject = {}, helm: JsonObject = {}) =>
  world.apply(
    application("shop", {
      source: { helm: { repository: "https://charts.example", chart: "shop", version: "^1", values, ...helm } },
      clusters: { names: MEMBERS },
      revisionSettleSeconds: 0,
      ...more,
    }),
  );
const settled = () => settle(world, "shop");
const password = async (member: string, name: string) => {
  const secret = await world.ask(world.fleet.client(member).find(SECRETS, { namespace: "default", name }));
  const encoded = valueAt(secret, "data", "password");
  return typeof encoded === "string" ? Buffer.from(encoded, "base64").toString() : undefined;
};
const revision = () => String(statusOf(world, "shop").revision);

describe("a revision", () => {
  it("is made with an Event for what the program warned of, and no other render says it again", async () => {
    await declare({ warns: true });
    await settled();
    const said = async () => (await world.events("shop")).filter((event) => event.startsWith("RenderWarning"));
    const [first, ...more] = await said();
    expect([first, more]).toEqual([`RenderWarning ${revision()}: a later render changes it`, []]);
    await world.clock.advance(120_000);
    await declare({});
    await settled();
    expect(await said()).toEqual([first]);
  });

  it("is not rendered again by another controller", async () => {
    await declare({});
    await settled();
    await world.stopController();
    world.startController();
    await world.clock.advance(60_000);
    await settled();
    expect(chart.renders).toBe(1);
  });

  it("[A32] is not rendered again when only one cluster's values change, for the others", async () => {
    const overrides = (a: string) => ({ overrides: [{ clusters: { names: ["member2"] }, values: { a } }] });
    await declare({}, overrides("1"));
    await settled();
    const before = await Promise.all(MEMBERS.map((member) => password(member, "random")));
    await declare({}, overrides("2"));
    await settled();
    const after = await Promise.all(MEMBERS.map((member) => password(member, "random")));
    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
  });

  it("[A32] is rendered whole when what the source names has changed", async () => {
    const overrides = (a: string) => ({ overrides: [{ clusters: { names: ["member2"] }, values: { a } }] });
    await declare({}, overrides("1"));
    await settled();
    const before = await password("member1", "random");
    chart.digest = "sha256:two";
    await declare({}, overrides("2"));
    await settled();
    expect(await password("member1", "random")).not.toBe(before);
  });

  it("[A32] is not rendered again when a cluster's labels select other values for it", async () => {
    const overrides = [{ clusters: { selector: { matchLabels: { tier: "gold" } } }, values: { a: "gold" } }];
    await declare({}, { overrides });
    await settled();
    expect(chart.renders).toBe(1);
    const before = await password("member1", "random");
    const labels = { type: "merge", body: { metadata: { labels: { tier: "gold" } } } } as const;
    await world.ask(world.hub.patch(CLUSTERS, { name: "member2" }, labels));
    await world.clock.advance(60_000);
    await settled();
    expect(chart.renders).toBe(2);
    expect(await password("member1", "random")).toBe(before);
  });

  it("[A32] is not rendered again when the source's credentials change", async () => {
    const secret = (text: string) =>
      world.apply({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "repo", namespace: "default" },
        data: { password: Buffer.from(text).toString("base64") },
      });
    await secret("one");
    await declare({}, {}, { credentials: { secret: "repo" } });
    await settled();
    const before = revision();
    await secret("two");
    await world.clock.advance(120_000);
    await settled();
    expect([chart.renders, revision()]).toEqual([1, before]);
  });
});

describe("a revision whose content was deleted in Lockstep's namespace", () => {
  const lose = async () => {
    await world.stopController();
    const { items } = await world.ask(world.hub.listAll(SECRETS, { namespace: "lockstep-system" }));
    const lost = items.filter(({ type }) => type === "lockstep.karmada.io/revision");
    for (const { metadata } of lost) await world.ask(world.hub.delete(SECRETS, metadata));
    world.startController();
  };
  const isRefused = () => statusOf(world, "shop").reason === "RevisionRefused";

  it("makes no new password: an edit is refused with the remedy, and what runs stays", async () => {
    await declare({});
    await settled();
    const before = await password("member1", "login");
    await lose();
    await declare({ other: true });
    await world.until("it is refused", isRefused);
    expect(String(statusOf(world, "shop").message)).toContain("lookups: Empty");
    await world.clock.advance(120_000);
    expect([chart.renders, await password("member1", "login")]).toEqual([1, before]);
    await declare({ other: true }, { lookups: "Empty" });
    await settled();
    expect(chart.renders).toBe(2);
  });

  it("does not hold a deletion up", async () => {
    await declare({});
    await settled();
    await lose();
    await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: "default", name: "shop" }));
    const isGone = () =>
      world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", "shop") === undefined;
    await world.until("it is gone", isGone);
    expect(await password("member1", "login")).toBeUndefined();
  });
});

describe("a lookup", () => {
  it("[A33] finds what the clusters have, although a revision that never began has it no more", async () => {
    await declare({});
    await settled();
    const before = await password("member1", "login");
    await declare({ login: false }, { rollout: { paused: true } });
    await world.clock.advance(10_000);
    expect(chart.renders).toBe(2);
    await declare({ other: true });
    await settled();
    expect(await password("member1", "login")).toBe(before);
  });

  it("[A33] finds what an earlier revision left in the clusters to be kept", async () => {
    await declare({ keeps: true });
    await settled();
    const before = await password("member1", "login");
    await declare({ login: false });
    await settled();
    expect(await password("member1", "login")).toBe(before);
    await declare({ keeps: true });
    await settled();
    expect(await password("member1", "login")).toBe(before);
  });

  it("[A33] finds nothing that the clusters have no more", async () => {
    await declare({});
    await settled();
    const before = await password("member1", "login");
    await declare({ login: false });
    await settled();
    expect(await password("member1", "login")).toBeUndefined();
    await declare({});
    await settled();
    expect(await password("member1", "login")).not.toBe(before);
  });
});

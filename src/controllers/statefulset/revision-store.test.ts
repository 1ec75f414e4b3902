import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Cache, KubeObject } from "../../kube/index.ts";
import { type RevisionContent, snapshotRevision } from "../../render/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { REVISIONS, SECRETS } from "./resources.ts";
import { RevisionStore } from "./revision-store.ts";
import { TestHub } from "./testing/objects.ts";

const OWNER = { namespace: "default", name: "web" };
const PASSWORD = "aHVudGVyMg==";

let hub: TestHub;
let cache: Cache<KubeObject>;
let store: RevisionStore;

beforeEach(async () => {
  hub = new TestHub();
  cache = await hub.cacheOf(REVISIONS);
  store = new RevisionStore(hub.client, cache);
});

afterEach(() => hub.stop());

function content(image: string, dependencies: readonly JsonObject[] = []): RevisionContent {
  const template = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default" },
    spec: { replicas: 3, template: { spec: { containers: [{ name: "app", image }] } } },
  };
  return snapshotRevision({ template, dependencies });
}

function save(to: RevisionStore, saved: RevisionContent) {
  return to.save(OWNER, saved, async () => {});
}

const secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "login", namespace: "default" },
  data: { password: PASSWORD },
};
const config = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "conf", namespace: "default" },
  data: { key: "value" },
};

describe("revisions on the hub", () => {
  it("are stored once, however often the same content is saved", async () => {
    const first = await hub.ask(save(store, content("app:1")));
    const again = await hub.ask(save(store, content("app:1")));
    expect(again.id).toBe(first.id);
    expect(hub.api.list(REVISIONS)).toHaveLength(1);
  });

  it("are not made for an owner that is gone, and an unchanged one asks nobody", async () => {
    const gone = async () => {
      throw new Error("default/web was deleted meanwhile");
    };
    await expect(hub.ask(store.save(OWNER, content("app:1"), gone))).rejects.toThrow("deleted meanwhile");
    expect(hub.api.list(REVISIONS)).toHaveLength(0);
    const { id } = await hub.ask(save(store, content("app:1")));
    expect((await hub.ask(store.save(OWNER, content("app:1"), gone))).id).toBe(id);
  });

  it("are numbered upwards, and listed with the newest first", async () => {
    const ids: string[] = [];
    for (const image of ["app:1", "app:2", "app:3"]) ids.push((await hub.ask(save(store, content(image)))).id);
    expect(store.list(OWNER).map(({ id, number }) => [id, number])).toEqual([
      [ids[2], 3],
      [ids[1], 2],
      [ids[0], 1],
    ]);
  });

  it("come back as they were saved, also in a process that has not saved them", async () => {
    const saved = content("app:1", [config, secret]);
    const { id } = await hub.ask(save(store, saved));
    const other = new RevisionStore(hub.anotherClient(), await hub.cacheOf(REVISIONS));
    expect(await hub.ask(other.content(OWNER, id))).toEqual(saved);
  });

  it("never hold a Secret's content: that is in a Secret beside them", async () => {
    await hub.ask(save(store, content("app:1", [config, secret])));
    const revisions = JSON.stringify(hub.api.list(REVISIONS));
    expect(revisions).not.toContain(PASSWORD);
    expect(revisions).toContain("conf");
    const [kept] = hub.api.list(SECRETS);
    const data = kept?.data as { content: string };
    expect(Buffer.from(data.content, "base64").toString()).toContain(PASSWORD);
  });

  it("write the Secret first: a revision that is there is whole", async () => {
    await hub.ask(save(store, content("app:1", [secret])));
    expect(hub.writes().map((write) => write.split("/").at(-1))).toEqual(["secrets", "controllerrevisions"]);
  });

  it("without their Secret are not there: half of a revision is none", async () => {
    const { id } = await hub.ask(save(store, content("app:1", [secret])));
    hub.api.remove(SECRETS, { namespace: "default", name: id });
    const other = new RevisionStore(hub.anotherClient(), await hub.cacheOf(REVISIONS));
    expect(await hub.ask(other.content(OWNER, id))).toBeUndefined();
  });

  it("remember that a member accepted them", async () => {
    const { id, dryRun } = await hub.ask(save(store, content("app:1")));
    expect(dryRun).toBe("unknown");
    await hub.ask(store.markAccepted(OWNER, id));
    expect(store.list(OWNER)[0]?.dryRun).toBe("accepted");
  });

  it("beyond the limit go, the oldest first, unless something refers to them", async () => {
    const ids: string[] = [];
    for (const image of ["app:1", "app:2", "app:3", "app:4"]) {
      ids.push((await hub.ask(save(store, content(image, [secret])))).id);
    }
    const [oldest = "", , , newest = ""] = ids;
    await hub.ask(store.prune(OWNER, new Set([oldest, newest]), 1));
    expect(store.list(OWNER).map(({ id }) => id)).toEqual([newest, ids[2], oldest]);
    expect(hub.api.list(SECRETS)).toHaveLength(3);
  });

  it("of one application are not those of another", async () => {
    await hub.ask(save(store, content("app:1")));
    expect(store.list({ namespace: "default", name: "db" })).toEqual([]);
    await hub.ask(store.removeAll({ namespace: "default", name: "db" }));
    expect(store.list(OWNER)).toHaveLength(1);
    await hub.ask(store.removeAll(OWNER));
    expect(hub.api.list(REVISIONS)).toEqual([]);
  });
});

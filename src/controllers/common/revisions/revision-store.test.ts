import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RevisionContent, snapshotRevision } from "../../../render/index.ts";
import { type JsonObject, silentLog } from "../../../runtime/index.ts";
import { TestHub } from "../../testing/objects.ts";
import { REVISIONS, SECRETS } from "../resources.ts";
import { RevisionDamagedError, RevisionTooLargeError } from "./revision-content.ts";
import { RevisionStore } from "./revision-store.ts";

const OWNER = { namespace: "default", name: "web", uid: "uid-web" };
const OTHER = { namespace: "default", name: "db", uid: "uid-db" };
const SYSTEM = "lockstep-system";
const PASSWORD = "aHVudGVyMg==";

let hub: TestHub;
let store: RevisionStore;

beforeEach(() => {
  hub = new TestHub();
  store = storeOf(hub);
});

afterEach(() => hub.stop());

/** A process of its own, which knows only what the ledger says. */
function storeOf({ clock }: TestHub): RevisionStore {
  return new RevisionStore({ client: hub.anotherClient(), clock, log: silentLog, namespace: SYSTEM });
}

function another(): RevisionStore {
  const other = storeOf(hub);
  other.open(OWNER, store.entries(OWNER));
  return other;
}

function content(image: string, dependencies: readonly JsonObject[] = []): RevisionContent {
  const template = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default" },
    spec: { replicas: 3, template: { spec: { containers: [{ name: "app", image }] } } },
  };
  return snapshotRevision({ template, dependencies });
}

function save(to: RevisionStore, saved: RevisionContent, owner = OWNER) {
  return hub.ask(to.save(owner, saved, async () => {}));
}

const secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "login", namespace: "default" },
  data: { password: PASSWORD },
};
const config = (name: string, value: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data: { key: value },
});

/** Text that does not compress: every character is another digest's. */
function noise(bytes: number): string {
  let state = 1;
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state;
  };
  return Array.from({ length: bytes }, () => String.fromCharCode(33 + (next() % 90))).join("");
}

describe("revisions", () => {
  it("are stored once, however often the same content is saved", async () => {
    const first = await save(store, content("app:1"));
    const again = await save(store, content("app:1"));
    expect(again.id).toBe(first.id);
    expect(hub.api.list(SECRETS)).toHaveLength(1);
  });

  it("are not made for an owner that is gone, and an unchanged one is not asked about", async () => {
    const gone = async () => {
      throw new Error("default/web was deleted meanwhile");
    };
    await expect(hub.ask(store.save(OWNER, content("app:1"), gone))).rejects.toThrow("deleted meanwhile");
    expect(hub.api.list(SECRETS)).toHaveLength(0);
    const { id } = await save(store, content("app:1"));
    expect((await hub.ask(store.save(OWNER, content("app:1"), gone))).id).toBe(id);
  });

  it("that were dropped and are saved again before the ledger was written stay", async () => {
    const { id } = await save(store, content("app:1"));
    store.prune(OWNER, new Set(), 0);
    expect(store.list(OWNER)).toEqual([]);
    await save(store, content("app:1"));
    await hub.ask(store.deleteDropped(OWNER));
    expect(hub.api.list(SECRETS)).toHaveLength(1);
    expect(await hub.ask(another().content(OWNER, id))).toEqual(content("app:1"));
  });

  it("are numbered upwards, and listed with the newest first", async () => {
    const ids: string[] = [];
    for (const image of ["app:1", "app:2", "app:3"]) ids.push((await save(store, content(image))).id);
    expect(store.list(OWNER).map(({ id, number }) => [id, number])).toEqual([
      [ids[2], 3],
      [ids[1], 2],
      [ids[0], 1],
    ]);
  });

  it("come back as they were saved in a process that knows only the ledger", async () => {
    const saved = content("app:1", [config("conf", "value"), secret]);
    const { id } = await save(store, saved);
    expect(await hub.ask(another().content(OWNER, id))).toEqual(saved);
  });

  it("keep everything in Lockstep's own namespace, and in the tenant's a copy without Secrets' content", async () => {
    await save(store, content("app:1", [config("conf", "value"), secret]));
    expect(hub.api.list(SECRETS).map(({ metadata }) => metadata.namespace)).toEqual([SYSTEM]);
    const [copy] = hub.api.list(REVISIONS);
    expect(copy?.metadata).toMatchObject({ namespace: "default", ownerReferences: [{ uid: OWNER.uid }] });
    const shown = JSON.stringify(copy);
    expect(shown).not.toContain(PASSWORD);
    expect(shown).toContain('"value"');
    expect(shown).toContain("login");
  });

  it("are never read from the copy: a tenant's edit of it changes nothing", async () => {
    const saved = content("app:1");
    const { id } = await save(store, saved);
    const [copy] = hub.api.list(REVISIONS);
    if (!copy) throw new Error("no copy");
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "mine" } };
    hub.api.put(REVISIONS, { ...copy, data: { content: { template: saved.template, dependencies: [role] } } });
    expect(await hub.ask(another().content(OWNER, id))).toEqual(saved);
  });

  it("whose stored content was changed are not used, and say so by name", async () => {
    const { id } = await save(store, content("app:1"));
    const [kept] = hub.api.list(SECRETS);
    if (!kept) throw new Error("no Secret");
    const evil = storeOf(hub);
    await hub.ask(evil.save(OTHER, content("app:evil"), async () => {}));
    const other = hub.api.list(SECRETS).find(({ metadata }) => metadata.name !== kept.metadata.name);
    hub.api.put(SECRETS, { ...kept, data: other?.data ?? {} });
    const read = hub.ask(another().content(OWNER, id));
    await expect(read).rejects.toThrow(RevisionDamagedError);
    await expect(read).rejects.toThrow(
      `revision ${id} cannot be used: its content is not what the ledger's digest says`,
    );
  });

  it("with a part missing are not used either", async () => {
    const { id } = await save(store, content("app:1"));
    const [kept] = hub.api.list(SECRETS);
    hub.api.remove(SECRETS, { namespace: SYSTEM, name: kept?.metadata.name ?? "" });
    await expect(hub.ask(another().content(OWNER, id))).rejects.toThrow("is missing");
  });

  it("with several ConfigMaps of 900 KB are split over several Secrets, and come back whole", async () => {
    const large = ["a", "b", "c"].map((name) => config(name, `${name}${noise(900_000)}`));
    const saved = content("app:1", large);
    const { id } = await save(store, saved);
    const kept = hub.api.list(SECRETS);
    expect(kept.length).toBeGreaterThan(3);
    for (const each of kept) expect(JSON.stringify(each).length).toBeLessThan(1_000_000);
    expect(await hub.ask(another().content(OWNER, id))).toEqual(saved);
    // Its readable copy names them, and holds none of them.
    expect(JSON.stringify(hub.api.list(REVISIONS)[0]).length).toBeLessThan(10_000);
  });

  it("that are too large are refused by the object's name, and nothing is stored", async () => {
    const failure = await save(store, content("app:1", [config("huge", noise(1_400_000))])).catch((error) => error);
    expect(failure).toBeInstanceOf(RevisionTooLargeError);
    expect(failure.message).toContain("ConfigMap default/huge has");
    expect(hub.writes()).toEqual([]);
  });

  it("are stored although their copy cannot be", async () => {
    hub.api.fault = ({ path }) => (path.includes("controllerrevisions") ? { kind: "answer", status: 403 } : undefined);
    const { id } = await save(store, content("app:1"));
    expect(store.has(OWNER, id)).toBe(true);
    expect(hub.api.list(REVISIONS)).toEqual([]);
  });

  it("remember that a member accepted them", async () => {
    const { id, dryRun } = await save(store, content("app:1"));
    expect(dryRun).toBe("unknown");
    store.markAccepted(OWNER, id);
    expect(store.list(OWNER)[0]?.dryRun).toBe("accepted");
  });

  it("beyond the limit are dropped from the ledger first, then their content goes, the oldest first", async () => {
    const ids: string[] = [];
    for (const image of ["app:1", "app:2", "app:3", "app:4"]) {
      ids.push((await save(store, content(image, [secret]))).id);
    }
    const [oldest = "", , , newest = ""] = ids;
    store.prune(OWNER, new Set([oldest, newest]), 1);
    expect(store.list(OWNER).map(({ id }) => id)).toEqual([newest, ids[2], oldest]);
    expect(hub.api.list(SECRETS)).toHaveLength(4);
    await hub.ask(store.deleteDropped(OWNER));
    expect(hub.api.list(SECRETS)).toHaveLength(3);
    expect(hub.api.list(REVISIONS)).toHaveLength(3);
  });

  it("of one application are not those of another, nor of another life of the same name", async () => {
    await save(store, content("app:1"));
    const reborn = { ...OWNER, uid: "uid-of-the-next-life" };
    expect(store.list(OTHER)).toEqual([]);
    expect(store.list(reborn)).toEqual([]);
    await hub.ask(store.removeAll(OTHER));
    expect(store.list(OWNER)).toHaveLength(1);
    await hub.ask(store.removeAll(OWNER));
    expect([...hub.api.list(SECRETS), ...hub.api.list(REVISIONS)]).toEqual([]);
  });

  it("leave a tenant's own ControllerRevision of the same name alone", async () => {
    const { id } = await save(store, content("app:1"));
    hub.api.remove(REVISIONS, { namespace: "default", name: id });
    hub.api.put(REVISIONS, {
      apiVersion: REVISIONS.apiVersion,
      kind: REVISIONS.kind,
      metadata: { namespace: "default", name: id },
    });
    await hub.ask(store.removeAll(OWNER));
    expect(hub.api.list(REVISIONS)).toHaveLength(1);
  });
});

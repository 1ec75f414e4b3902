import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KubeObject, SchemaCache } from "../../apiserver/index.ts";
import { seededRandom, silentLog } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { conditionOf, objectAt, textAt } from "../values.ts";
import { MemberCluster } from "./member.ts";

const schemas = new SchemaCache();
let clock: VirtualClock;
let member: MemberCluster;

beforeEach(async () => {
  clock = new VirtualClock();
  member = new MemberCluster({
    name: "member1",
    clock,
    random: seededRandom(1),
    log: silentLog,
    schemas,
    podStartMs: 1_000,
    podStopMs: 500,
    reactionMs: 5,
    trackUpdates: false,
  });
  await member.start();
});
afterEach(async () => {
  await clock.run(member.stop());
  expect(clock.sleeping).toBe(0);
});

function web(spec: object = {}, image = "web:1"): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default" },
    spec: {
      replicas: 3,
      serviceName: "web",
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app", image }] } },
      ...spec,
    },
  };
}

const CLAIMS = [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }];
const rolling = (partition: number) => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } } });

/** As a user edits: regardless of the version. */
async function edit(set: KubeObject): Promise<void> {
  await member.api.update(set);
  await clock.settle();
}
const set = () => member.api.get("apps/statefulsets", "default", "web");
const status = () => objectAt(set(), "status");
const pods = () =>
  member.api
    .list("/pods")
    .map(({ metadata, spec }) => `${metadata.name} ${/"image":"([^"]+)"/.exec(JSON.stringify(spec))?.[1]}`)
    .sort();
const claims = () =>
  member.api
    .list("/persistentvolumeclaims")
    .map(({ metadata }) => metadata.name)
    .sort();
const pod = (name: string) => member.api.get("/pods", "default", name);
const later = (seconds: number) => clock.advance(seconds * 1_000);

describe("OrderedReady", () => {
  it("starts one pod after the other, from ordinals.start up, with claims", async () => {
    await member.api.create(web({ ordinals: { start: 100 }, volumeClaimTemplates: CLAIMS }));
    await later(1.5);
    expect(pods()).toEqual(["web-100 web:1", "web-101 web:1"]);
    await later(10);
    expect(pods()).toEqual(["web-100 web:1", "web-101 web:1", "web-102 web:1"]);
    expect(claims()).toEqual(["data-web-100", "data-web-101", "data-web-102"]);
    expect(status()).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      updatedReplicas: 3,
      observedGeneration: 1,
    });
    expect(textAt(status(), "currentRevision")).toBe(textAt(status(), "updateRevision"));
    expect(pod("web-100")?.metadata.labels).toMatchObject({
      "controller-revision-hash": textAt(status(), "updateRevision"),
      "statefulset.kubernetes.io/pod-name": "web-100",
      "apps.kubernetes.io/pod-index": "100",
    });
  });

  it("updates from the highest ordinal down, waiting for each", async () => {
    await member.api.create(web());
    await later(10);
    await edit(web({}, "web:2"));
    await later(1.8);
    expect(pods()).toEqual(["web-0 web:1", "web-1 web:1", "web-2 web:2"]);
    expect(textAt(status(), "currentRevision")).not.toBe(textAt(status(), "updateRevision"));
    await later(10);
    expect(pods()).toEqual(["web-0 web:2", "web-1 web:2", "web-2 web:2"]);
    expect(textAt(status(), "currentRevision")).toBe(textAt(status(), "updateRevision"));
  });

  it("interprets the partition relative to ordinals.start", async () => {
    await member.api.create(web({ ordinals: { start: 10 } }));
    await later(10);
    await edit(web({ ordinals: { start: 10 }, ...rolling(2) }, "web:2"));
    await later(10);
    expect(pods()).toEqual(["web-10 web:1", "web-11 web:1", "web-12 web:2"]);
  });

  it("recreates a killed updated pod on the old revision if a newer update started inside the partition", async () => {
    await member.api.create(web());
    await later(10);
    await edit(web(rolling(2), "web:2"));
    await later(10);
    await edit(web(rolling(3), "web:3"));
    await later(10);
    const updated = pod("web-2");
    if (updated) await member.api.delete(updated);
    await later(10);
    expect(pods()).toEqual(["web-0 web:1", "web-1 web:1", "web-2 web:1"]);
  });

  it("stays stuck on a broken pod after a rollback, until a user deletes it", async () => {
    await member.api.create(web());
    await later(10);
    await edit(web({}, "web:broken"));
    await later(10);
    await edit(web());
    await later(60);
    expect(pods()).toEqual(["web-0 web:1", "web-1 web:1", "web-2 web:broken"]);
    expect(status()).toMatchObject({ readyReplicas: 2, replicas: 3 });
    const broken = pod("web-2");
    if (broken) await member.api.delete(broken);
    await later(10);
    expect(pods()).toEqual(["web-0 web:1", "web-1 web:1", "web-2 web:1"]);
  });

  it("scales down from the top, one at a time, and keeps the claims", async () => {
    await member.api.create(web({ volumeClaimTemplates: CLAIMS }));
    await later(10);
    await edit(web({ replicas: 1, volumeClaimTemplates: CLAIMS }));
    await later(0.3);
    expect(conditionOf(pod("web-2") ?? web(), "Ready")?.status).toBe("True");
    expect(pod("web-2")?.metadata.deletionTimestamp).toBeDefined();
    expect(pod("web-1")?.metadata.deletionTimestamp).toBeUndefined();
    // A terminating pod still counts.
    expect(status()).toMatchObject({ replicas: 3, readyReplicas: 3 });
    await later(10);
    expect(pods()).toEqual(["web-0 web:1"]);
    expect(claims()).toEqual(["data-web-0", "data-web-1", "data-web-2"]);
  });

  it("deletes claims with their pods if the retention policy requires it", async () => {
    const spec = {
      volumeClaimTemplates: CLAIMS,
      persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Delete" },
    };
    await member.api.create(web(spec));
    await later(10);
    await edit(web({ ...spec, replicas: 1 }));
    await later(10);
    expect(claims()).toEqual(["data-web-0"]);
    const found = set();
    if (found) await member.api.delete(found);
    await later(10);
    expect([...pods(), ...claims()]).toEqual([]);
  });

  it("waits for minReadySeconds before it continues", async () => {
    await member.api.create(web({ replicas: 2, minReadySeconds: 10 }));
    await later(8);
    expect(pods()).toEqual(["web-0 web:1"]);
    expect(status()).toMatchObject({ readyReplicas: 1, availableReplicas: 0 });
    await later(60);
    expect(status()).toMatchObject({ readyReplicas: 2, availableReplicas: 2 });
  });

  it("does nothing by itself with OnDelete", async () => {
    await member.api.create(web({ updateStrategy: { type: "OnDelete" } }));
    await later(10);
    await edit(web({ updateStrategy: { type: "OnDelete" } }, "web:2"));
    await later(10);
    const one = pod("web-1");
    if (one) await member.api.delete(one);
    await later(10);
    expect(pods()).toEqual(["web-0 web:1", "web-1 web:2", "web-2 web:1"]);
  });
});

describe("Parallel", () => {
  const parallel = { podManagementPolicy: "Parallel" };

  it("starts and stops all at once, and updates one after the other", async () => {
    await member.api.create(web(parallel));
    await later(0.5);
    expect(pods()).toHaveLength(3);
    await later(5);
    await edit(web(parallel, "web:2"));
    await later(1.8);
    expect(pods()).toEqual(["web-0 web:1", "web-1 web:1", "web-2 web:2"]);
    await later(10);
    await edit(web({ ...parallel, replicas: 0 }, "web:2"));
    await later(1);
    expect(pods()).toEqual([]);
  });

  it("recovers from a broken revision by itself", async () => {
    await member.api.create(web(parallel));
    await later(5);
    await edit(web(parallel, "web:broken"));
    await later(5);
    await edit(web(parallel));
    await later(10);
    expect(pods()).toEqual(["web-0 web:1", "web-1 web:1", "web-2 web:1"]);
  });

  it("restarts as many at a time as maxUnavailable allows", async () => {
    const two = { ...parallel, updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } } };
    await member.api.create(web(two));
    await later(5);
    await edit(web(two, "web:2"));
    await later(0.2);
    expect(["web-0", "web-1", "web-2"].map((name) => pod(name)?.metadata.deletionTimestamp !== undefined)).toEqual([
      false,
      true,
      true,
    ]);
  });
});

describe("revisions", () => {
  const revisions = () => member.api.list("apps/controllerrevisions").map(({ metadata }) => metadata.name);

  it("return under their old name on a rollback, and are deleted beyond the limit", async () => {
    await member.api.create(web({ replicas: 1, revisionHistoryLimit: 1 }));
    await later(5);
    const first = textAt(status(), "updateRevision");
    for (const image of ["web:2", "web:1", "web:3", "web:4"]) {
      await edit(web({ replicas: 1, revisionHistoryLimit: 1 }, image));
      await later(10);
      if (image === "web:1") expect(textAt(status(), "updateRevision")).toBe(first);
    }
    expect(revisions()).toHaveLength(2);
  });

  it("do not change with fields outside of the template", async () => {
    await member.api.create(web());
    await later(10);
    const before = status();
    await edit(web({ replicas: 2, minReadySeconds: 1 }));
    await later(10);
    expect(textAt(status(), "updateRevision")).toBe(textAt(before, "updateRevision"));
  });
});

/**
 * What users do to an application on an ordinary day, as far as its revisions are concerned: one test for each action.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../../apiserver/index.ts";
import { CROSS_CLUSTER_STATEFULSETS } from "../../embedded/testing/world.ts";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { CliWorld, exampleObjects, exampleTemplate } from "../testing/harness.ts";

const schemas = new SchemaCache();
let cli: CliWorld;
beforeEach(() => {
  cli = new CliWorld(7, { schemas });
});
afterEach(() => cli.world.stop());

const AT = { name: "web-config", namespace: "default" };

function config(value: string): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: AT, data: { mode: value } };
}

/** The example with its configuration in a ConfigMap. */
function template(image: string, edit: (spec: JsonObject) => JsonObject = (spec) => spec): KubeObject {
  const object = exampleTemplate(image);
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const pod = isJsonObject(spec.template) ? spec.template : {};
  const podSpec = isJsonObject(pod.spec) ? pod.spec : {};
  const volumes = [{ name: "config", configMap: { name: AT.name } }];
  return { ...object, spec: edit({ ...spec, template: { ...pod, spec: { ...podSpec, volumes } } }) };
}

/** Every StatefulSet in the members, by the image and the ConfigMap that it runs with. */
function running(): string[] {
  const { fleet } = cli.world;
  return fleet.memberNames.map((name) => {
    const { api } = fleet.member(name);
    const image = /"image":"([^"]+)"/.exec(JSON.stringify(api.get("apps/statefulsets", "default", "web")?.spec))?.[1];
    const data = api.get("/configmaps", "default", AT.name)?.data;
    return `${image} ${isJsonObject(data) ? data.mode : "none"}`;
  });
}

const all = (what: string) => running().every((each) => each === what);

function history(): string[] {
  const { history: kept } = cli.world.status("web");
  return Array.isArray(kept) ? kept.filter(isJsonObject).map(({ number }) => String(number)) : [];
}

async function settled(what: string): Promise<void> {
  const { world } = cli;
  await world.until(`all run ${what}`, () => all(what));
  await world.until("it is settled", () => world.isSettled("web", 5));
}

async function deploy(): Promise<void> {
  const { world } = cli;
  await world.start();
  // As `kubectl apply -f` of a folder does: in any order of the files.
  for (const object of [...exampleObjects("web:1").filter(({ kind }) => kind !== "StatefulSet"), template("web:1")]) {
    await world.apply(object);
  }
  await world.clock.advance(500);
  await world.apply(config("a"));
  await settled("web:1 a");
}

describe("kubectl apply of a ConfigMap and an image", () => {
  it("is one revision, whichever comes first, also for a new application", async () => {
    const { world } = cli;
    await deploy();
    expect(history()).toEqual(["1"]);
    await world.apply(config("b"));
    await world.clock.advance(1_000);
    expect(world.status("web")).toMatchObject({
      reason: "RevisionPending",
      message: expect.stringMatching(/^settling, 2 s: /),
    });
    await world.apply(template("web:2"));
    await settled("web:2 b");
    expect(history()).toEqual(["2", "1"]);
  });

  it("becomes a revision after ten times the quiet time, however long the edits continue", async () => {
    const { world } = cli;
    await deploy();
    for (let edit = 0; edit < 30; edit++) {
      await world.apply(config(`b${edit}`));
      await world.clock.advance(1_000);
    }
    expect(history()).toEqual(["2", "1"]);
    expect(running().some((each) => each.startsWith("web:1 b"))).toBe(true);
  });

  it("becomes a revision at once if revisionSettleSeconds is 0", async () => {
    const { world } = cli;
    await deploy();
    const patch = { type: "merge", body: { spec: { revisionSettleSeconds: 0 } } } as const;
    await world.ask(world.hub.patch(CROSS_CLUSTER_STATEFULSETS, { name: "web", namespace: "default" }, patch));
    await world.clock.advance(100);
    await world.apply(config("b"));
    // A status is written once a second at most.
    await world.clock.advance(1_100);
    expect(history()).toEqual(["2", "1"]);
  });
});

describe("undo", () => {
  it("skips a revision that never completed, and goes further back each time", async () => {
    const { world } = cli;
    await deploy();
    await world.apply(template("web:2"));
    await settled("web:2 a");
    await world.apply(template("web:3"));
    await world.until("the third has begun", () => running().includes("web:3 a"));
    await world.apply(template("web:4"));
    await settled("web:4 a");
    expect((await cli.run(["undo", "web"])).out).toMatch(/returns to revision 2 /);
    const again = await cli.run(["undo", "web"]);
    expect(again).toMatchObject({ code: 1 });
    expect(again.err).toMatch(/already returns to web-\w+; for another revision, use --to-revision/);
    await restsOn("web:2 a");
    expect((await cli.run(["undo", "web"])).out).toMatch(/returns to revision 1 /);
    await restsOn("web:1 a");
    expect((await cli.run(["undo", "web"])).err).toContain("has no earlier revision that completed");
  });

  it("right after an edit keeps what runs, although the edit has not become a revision yet", async () => {
    const { world } = cli;
    await deploy();
    await world.apply(template("web:2"));
    await settled("web:2 a");
    await world.apply(template("web:bad"));
    await world.until("the edit is seen", () => world.status("web").reason === "RevisionPending");
    expect((await cli.run(["undo", "web"])).out).toMatch(/returns to revision 2 /);
    await world.until("it is rejected", () => world.status("web").rejectedRevision !== undefined);
    await restsOn("web:2 a");
  });

  it("does not list a revision that was superseded before any cluster got it", async () => {
    const { world } = cli;
    await deploy();
    await cli.run(["pause", "web"]);
    await world.apply(template("web:2"));
    await world.until("it is a revision", () => history().length === 2);
    await world.apply(template("web:3"));
    await world.until("it has gone", () => history().join() === "3,1");
    await cli.run(["resume", "web"]);
    await settled("web:3 a");
    expect(history()).toEqual(["3", "1"]);
    expect((await cli.run(["undo", "web", "--to-revision", "2"])).err).toContain("has no revision '2'");
  });
});

describe("set image :bad; undo; then", () => {
  beforeEach(async () => {
    const { world } = cli;
    await deploy();
    await world.apply(template("web:bad"));
    await settled("web:bad a");
    await cli.run(["undo", "web"]);
    await restsOn("web:1 a");
  });

  it("restart restarts what is in force", async () => {
    const { world } = cli;
    const before = pods();
    await cli.run(["restart", "web"]);
    await world.until("every pod was replaced", () => pods().every((uid) => !before.includes(uid)));
    await restsOn("web:1 a");
    expect(running().join()).not.toContain("web:bad");
    const { out } = await cli.run(["history", "web"]);
    expect(out).toMatch(
      /^3 {2}web-\w+ {2}.* {2}current\n {3}spec\.template\.spec\.containers\[0\]\.image: web:bad -> web:1\n {3}restarted at /,
    );
    // The undo also applies under the new leader.
    await world.stopController();
    world.startController();
    await world.clock.advance(60_000);
    expect(all("web:1 a")).toBe(true);
  });

  it("a restart and reverting the undo go directly to the template with the restart", async () => {
    const { world } = cli;
    const undone = world.status("web").rejectedRevision;
    await cli.run(["restart", "web"]);
    await world.until("the restart has begun", () => history().length === 3);
    await restsOn("web:1 a");
    const granted = new Set<unknown>();
    for (const name of world.fleet.memberNames) {
      world.fleet.member(name).api.on("apps/statefulsets", ({ object }) => {
        granted.add(object.metadata.annotations?.["crossclusterstatefulset.karmada.io/revision"]);
      });
    }
    await cli.run(["undo", "web", "--to-revision", String(undone)]);
    await settled("web:bad a");
    expect(granted).not.toContain(undone);
  });

  it("kubectl rollout restart restarts what is in force", async () => {
    const { world } = cli;
    const before = pods();
    const mark = { "kubectl.kubernetes.io/restartedAt": "2025-01-01T00:00:00Z" };
    await world.apply(template("web:bad", (spec) => withPodAnnotations(spec, mark)));
    await world.until("every pod was replaced", () => pods().every((uid) => !before.includes(uid)));
    await restsOn("web:1 a");
  });

  it("an edit of a ConfigMap waits, with the object and the remedy, which then works", async () => {
    const { world } = cli;
    await world.apply(config("b"));
    await world.until("it is shown", () => world.status("web").reason === "OverrideHolds");
    const { phase, message } = world.status("web");
    expect(phase).toBe("Waiting");
    expect(message).toMatch(
      /^ConfigMap default\/web-config changed, and waits as part of web-\w+: revision web-\w+ was undone, and the clusters stay on web-\w+\. Edit the template itself, or run 'lockstep undo NAME --to-revision web-\w+' to take that back and roll the change out\.$/,
    );
    await world.clock.advance(60_000);
    expect(all("web:1 a")).toBe(true);
    const to = /--to-revision (web-\w+)/.exec(String(message))?.[1] ?? "";
    expect((await cli.run(["undo", "web", "--to-revision", to])).code).toBe(0);
    await settled("web:bad b");
  });

  it("labels and replicas of the template may change, and the undo stays in force", async () => {
    const { world } = cli;
    const labelled = template("web:bad", (spec) => ({ ...spec, replicas: 9 }));
    await world.apply({ ...labelled, metadata: { ...labelled.metadata, labels: { team: "a" } } });
    await world.clock.advance(60_000);
    expect(all("web:1 a")).toBe(true);
  });

  it("an edit of the template itself ends the undo", async () => {
    const { world } = cli;
    await world.apply(template("web:fixed"));
    await settled("web:fixed a");
    expect(world.status("web").rejectedRevision).toBeUndefined();
  });
});

describe("a revision that failed and was rolled back", () => {
  it("does not return because of a restart, or an edit of a ConfigMap", async () => {
    const { world } = cli;
    await deploy();
    const rollingUpdate = { onFailure: "Rollback", progressDeadlineSeconds: 30 };
    const body = { spec: { updateStrategy: { rollingUpdate } } };
    await world.ask(
      world.hub.patch(CROSS_CLUSTER_STATEFULSETS, { name: "web", namespace: "default" }, { type: "merge", body }),
    );
    await world.apply(template("web:broken"));
    await world.until("it failed", () => world.status("web").rejectedRevision !== undefined);
    await restsOn("web:1 a");
    const before = pods();
    await cli.run(["restart", "web"]);
    await world.until("every pod was replaced", () => pods().every((uid) => !before.includes(uid)));
    await restsOn("web:1 a");
    await world.apply(config("b"));
    await world.clock.advance(60_000);
    expect(all("web:1 a")).toBe(true);
  });
});

function withPodAnnotations(spec: JsonObject, annotations: JsonObject): JsonObject {
  const pod = isJsonObject(spec.template) ? spec.template : {};
  const metadata = isJsonObject(pod.metadata) ? pod.metadata : {};
  return { ...spec, template: { ...pod, metadata: { ...metadata, annotations } } };
}

/** All clusters run it, ready and on one revision, while the template has something else. */
async function restsOn(what: string): Promise<void> {
  const { world } = cli;
  await world.until(`all run ${what}`, () => {
    const { reason, rejectedRevision, updateRevision, currentRevision } = world.status("web");
    const isHeld = reason === "RevisionRejected" && rejectedRevision !== undefined;
    return all(what) && isHeld && world.isSettled("web", 5) && updateRevision === currentRevision;
  });
}

/** The uids of all pods. */
function pods(): string[] {
  const { fleet } = cli.world;
  return fleet.memberNames.flatMap((name) => {
    const { api } = fleet.member(name);
    return api.list("/pods").map(({ metadata }) => String(metadata.uid));
  });
}

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { CliWorld, exampleTemplate } from "../testing/harness.ts";
import { applicationView, ranges } from "./application.ts";
import { fleetCluster } from "./fleet-cluster.ts";
import { ROWS } from "./overview.ts";

const NO_PLAN = { ahead: [], blockedBy: [], diffs: [] };

function view(object: KubeObject | undefined, nowMs: number) {
  if (!object) throw new Error("there is no object");
  return applicationView({
    object,
    events: [],
    eventsProblem: undefined,
    plan: NO_PLAN,
    changes: new Map(),
    rights: { change: true, approve: false },
    program: "lockstep",
    engine: "karmada",
    nowMs,
  });
}

describe("an application on the page", () => {
  const cli = new CliWorld(3);
  const { world } = cli;
  const now = () => view(world.statefulset("web"), world.clock.now());
  beforeAll(() => cli.deploy());
  afterAll(() => world.stop());

  it("at rest shows every cluster with its instances and ordinals, and what it could lose", () => {
    expect(now()).toMatchObject({
      namespace: "default",
      name: "web",
      kind: "StatefulSet",
      phase: "Settled",
      isCurrent: true,
      quorum: { voters: 5, ready: 5, needed: 3, maxUnavailable: 1, spare: 2 },
      why: { needsPerson: false, remedy: [] },
      clusters: [
        { name: "member1", ready: 2, replicas: 2, ordinals: "0-1", gate: "Open", health: "Healthy" },
        { name: "member2", ordinals: "100-101" },
        { name: "member3", ordinals: "200", instances: [{ name: "web-200", ordinal: 200, ready: true }] },
      ],
    });
  });

  it("during an update shows the rollout, the wait with its evidence, and the instances of both revisions", async () => {
    await world.apply(exampleTemplate("nginx:1.28"));
    await world.until("an instance is down", () => now().quorum.ready === 4);
    const shown = now();
    expect(shown.rollout).toMatchObject({ from: shown.currentRevision, to: shown.updateRevision, type: "Update" });
    expect(shown.quorum).toMatchObject({ ready: 4, spare: 1 });
    expect(shown.why).toMatchObject({ reason: expect.any(String), meaning: expect.any(String) });
    expect(shown.why.evidence.length).toBeGreaterThan(0);
    const revisions = new Set(shown.clusters.flatMap(({ instances }) => instances.map(({ revision }) => revision)));
    expect(revisions.has(shown.currentRevision)).toBe(true);
    expect(shown.history.map(({ state }) => state)).toEqual([["being rolled out"], ["current"]]);
    await world.until("it is settled", () => world.isSettled("web", 5));
  });

  it("is a row of the list, and what runs in each cluster of the fleet", () => {
    const object = world.statefulset("web");
    if (!object) throw new Error("there is no object");
    const cluster: KubeObject = {
      apiVersion: "cluster.karmada.io/v1alpha1",
      kind: "Cluster",
      metadata: { name: "member1" },
      spec: { taints: [{ key: "lockstep.karmada.io/drain", effect: "NoSchedule" }] },
      status: { conditions: [{ type: "Ready", status: "True" }], kubernetesVersion: "v1.36.0" },
    };
    expect(ROWS.ccs(object)).toMatchObject({
      name: "web",
      phase: "Settled",
      ready: 5,
      desired: 5,
      needsPerson: false,
      clusters: expect.arrayContaining([{ name: "member1", count: 2 }]),
    });
    expect(fleetCluster(cluster)).toMatchObject({
      name: "member1",
      health: "Ready",
      draining: true,
      taints: [],
      version: "v1.36.0",
    });
  });
});

it("a row says what needs a user, also if only one cluster does", () => {
  const object = (name: string, status: object): KubeObject => ({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name, namespace: "default" },
    spec: { resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name } },
    ...JSON.parse(JSON.stringify({ status })),
  });
  expect(ROWS.ccs(object("b", { phase: "Updating", reason: "WaitingForReady" }))).toMatchObject({ needsPerson: false });
  const waiting = { name: "west", reason: "AwaitingApproval", message: "approve it" };
  expect(ROWS.ccs(object("c", { phase: "Waiting", clusters: [waiting] }))).toMatchObject({
    needsPerson: true,
    reason: "AwaitingApproval",
    message: "approve it",
  });
});

it("a row whose cluster is drained calls for no other person; a step that is due there does", () => {
  const row = (reason: string) =>
    ROWS.ccs({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name: "a", namespace: "default" },
      spec: { resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "a" } },
      status: { phase: "Settled", clusters: [{ name: "west", reason, message: "it is drained" }] },
    });
  expect(row("InMaintenance")).toMatchObject({
    needsPerson: false,
    reason: "InMaintenance",
    message: "it is drained",
  });
  expect(row("WaitingForMaintenance")).toMatchObject({ needsPerson: true });
});

it("ordinals are shown as ranges", () => {
  expect(ranges([2, 0, 1, 7, 9, 10])).toBe("0-2, 7, 9-10");
  expect(ranges([])).toBe("");
});

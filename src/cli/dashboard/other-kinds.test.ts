import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { distributionView } from "./distribution.ts";
import { fleetCluster } from "./fleet-cluster.ts";
import { jobView } from "./job.ts";
import { ROWS } from "./overview.ts";
import { jobPlanView } from "./plan.ts";

const SOURCE = { manifests: { inline: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "notes" } }] } };

function application(status: JsonObject, source: JsonObject = SOURCE): KubeObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "DistributedApplication",
    metadata: { name: "notes", namespace: "shop" },
    spec: {
      source,
      clusters: { names: ["east", "north", "west"] },
      rollout: { waves: [{ clusters: ["west"] }, { clusters: ["north"] }] },
    },
    status,
  };
}

function view(status: JsonObject, source?: JsonObject) {
  return distributionView({
    object: application(status, source),
    events: [],
    eventsProblem: undefined,
    rights: { change: true, approve: true },
    program: "lockstep",
    engine: "karmada",
    nowMs: 0,
  });
}

it("a spec that is not valid does not hide the status that says why", () => {
  const { phase, why } = view({ phase: "Invalid", reason: "InvalidSpec", message: "spec.source has none" }, {});
  expect(phase).toBe("Invalid");
  expect(why).toMatchObject({ sentence: "spec.source has none", needsPerson: true });
});

describe("a DistributedApplication in a rollout", () => {
  const rollout = { from: "notes-1", to: "notes-2", wave: 1 };
  const clusters = [
    { name: "east", phase: "Settled", deployed: "notes-1", reason: "WaveNotReached", message: "its wave comes later" },
    { name: "north", phase: "Settled", deployed: "notes-1" },
    { name: "west", phase: "Settled", revision: "notes-2", deployed: "notes-2" },
  ];

  it("can be aborted, and says which clusters return", () => {
    const { actions } = view({ phase: "Updating", revision: "notes-2", rollout, clusters });
    const abort = actions.find(({ action }) => action === "abort");
    expect(abort).toMatchObject({ allowed: true, command: "lockstep abort dapp/notes -n shop --revision notes-2" });
    expect(abort?.consequence).toBe("Ends the rollout to notes-2. Back to notes-1: west.");
    expect(actions.map(({ action }) => action)).not.toContain("undo");
  });

  it("can be promoted while it soaks or its window is closed, and only then", () => {
    const offered = (reason: string) =>
      view({ phase: "Updating", reason, revision: "notes-2", rollout, clusters }).actions.map(({ action }) => action);
    expect(offered("Soaking")).toContain("promote");
    expect(offered("WindowClosed")).toContain("promote");
    expect(offered("WaitingForHealth")).not.toContain("promote");
  });

  it("cannot be aborted while it returns", () => {
    const back = { from: "notes-2", to: "notes-1", wave: 1 };
    const status = { phase: "RollingBack", revision: "notes-1", rejectedRevision: "notes-2", rollout: back, clusters };
    expect(view(status).actions.map(({ action }) => action)).not.toContain("abort");
  });

  it("shows the clusters that follow, in the order of their waves, with the reason why they wait", () => {
    const { plan } = view({ phase: "Updating", revision: "notes-2", rollout, clusters });
    expect(plan.ahead).toMatchObject([
      { kind: "step", cluster: "north", step: "follows" },
      { kind: "step", cluster: "east", why: "wave 3; its wave comes later" },
    ]);
  });
});

describe("the wait of a DistributedApplication", () => {
  const clusters = [
    { name: "west", phase: "Settled", deployed: "notes-1", objects: 4, ready: 4 },
    { name: "north", phase: "Pending", reason: "WaveNotReached", message: "its wave comes later" },
  ];

  it("for an approval has the commands that end it, and the wave that is complete as evidence", () => {
    const rollout = { to: "notes-1", wave: 1 };
    const { why, rollout: shown } = view({ phase: "Waiting", reason: "AwaitingApproval", rollout, clusters });
    expect(why.remedy).toEqual(["lockstep plan dapp/notes -n shop", "lockstep approve dapp/notes -n shop"]);
    expect(why.evidence).toEqual([
      { object: "west", field: "status.clusters.ready", value: "4 of 4 objects, all of wave 1" },
    ]);
    // Waves of west and north, and east, which no wave names.
    expect(shown?.waves).toBe(2);
  });

  it("for health names the objects that are not healthy, with their own words, and not those that are", () => {
    const broken = [
      { name: "west", phase: "Updating", reason: "Unhealthy", stage: "objects (3 of 4)", objects: 4, ready: 3 },
    ];
    const objects = [
      { kind: "Service", name: "notes", namespace: "shop", health: "Healthy" },
      { kind: "StatefulSet", name: "notes", namespace: "shop", health: "Unhealthy", message: "0 of 2 are ready" },
    ];
    const { why } = view({ phase: "Halted", reason: "Unhealthy", clusters: broken, objects });
    expect(why).toMatchObject({ cluster: "west", needsPerson: true });
    expect(why.evidence.map(({ object, value }) => `${object}: ${value}`)).toEqual([
      "west: 3 of 4 objects, at objects (3 of 4)",
      "StatefulSet notes: Unhealthy: 0 of 2 are ready",
    ]);
    expect(why.remedy).toContain("lockstep undo dapp/notes -n shop");
  });

  it("after a halt names the cluster that failed, whatever that one waits for", () => {
    const failed = [
      { name: "west", phase: "Failed", reason: "WaitingForReady", message: "0 of 2", objects: 4, ready: 3 },
    ];
    const { why } = view({ phase: "Halted", reason: "ProgressDeadlineExceeded", clusters: failed });
    expect(why).toMatchObject({ cluster: "west", needsPerson: true, others: [] });
  });
});

it("an application that has reached one of three clusters is updated in one of three, however many objects that is", () => {
  const clusters = [
    { name: "west", phase: "Settled", deployed: "notes-1", objects: 4, ready: 4 },
    { name: "north" },
    { name: "east" },
  ];
  const row = ROWS.dapp(application({ revision: "notes-1", clusters }));
  expect(row).toMatchObject({ ready: 4, desired: 4, updated: { done: 1, of: 3 } });
});

it("a job that has failed shows its attempts as evidence, and the logs before the retry", () => {
  const { why } = jobView({
    object: {
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterJob",
      metadata: { name: "train", namespace: "shop" },
      spec: { template: { apiVersion: "batch/v1", kind: "Job", spec: {} }, clusters: { names: ["east", "west"] } },
      status: {
        phase: "Failed",
        reason: "AttemptsExhausted",
        message: "2 attempts failed",
        attempts: [
          { number: 1, cluster: "east", state: "Failed", reason: "BackoffLimitExceeded" },
          { number: 2, cluster: "west", state: "Failed", reason: "BackoffLimitExceeded" },
        ],
      },
    },
    events: [],
    eventsProblem: undefined,
    rights: { change: true, approve: true },
    program: "lockstep",
    engine: "karmada",
    nowMs: 0,
    plan: { ahead: [], blockedBy: [], diffs: [] },
  });
  expect(why.remedy).toEqual(["lockstep logs ccj/train -n shop", "lockstep retry ccj/train -n shop"]);
  expect(why.evidence.map(({ object, value }) => `${object}: ${value}`)).toEqual([
    "attempt 2 in west: Failed, BackoffLimitExceeded",
    "attempt 1 in east: Failed, BackoffLimitExceeded",
  ]);
});

it("a job's plan has what runs, what starts, and what happens after a failure", () => {
  const { ahead, blockedBy } = jobPlanView({
    running: [{ number: 1, cluster: "east", work: "indexes 0-3" }],
    starts: [{ number: 2, cluster: "west", work: "indexes 4-7" }],
    afterFailure: [
      { failed: 1, next: { number: 3, cluster: "north", work: "indexes 2-3" } },
      { failed: 2, otherwise: "the work has failed: all attempts are used" },
    ],
    waiting: [{ code: "ClusterLost", message: "west is lost", remedy: "lockstep confirm-lost west" }],
  });
  expect(ahead).toMatchObject([
    { cluster: "east", step: "finish attempt 1", why: "indexes 0-3" },
    { cluster: "west", step: "start attempt 2" },
    { kind: "otherwise", message: "If attempt 1 fails: its work continues in north" },
    { kind: "otherwise", message: "If attempt 2 fails: the work has failed: all attempts are used" },
  ]);
  expect(blockedBy).toMatchObject([{ code: "ClusterLost", remedy: "lockstep confirm-lost west" }]);
});

it("a cluster of an Open Cluster Management hub is shown with its health, version, region, room and taints", () => {
  const managed: KubeObject = {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "cluster1" },
    spec: { hubAcceptsClient: true, taints: [{ key: "gpu", value: "true", effect: "NoSelect" }] },
    status: {
      version: { kubernetes: "v1.34.1" },
      allocatable: { cpu: "8", memory: "32Gi" },
      clusterClaims: [{ name: "region.open-cluster-management.io", value: "eu-1" }],
      conditions: [
        { type: "HubAcceptedManagedCluster", status: "True" },
        {
          type: "ManagedClusterConditionAvailable",
          status: "Unknown",
          message: "Registration agent stopped updating its lease.",
        },
      ],
    },
  };
  expect(fleetCluster(managed)).toMatchObject({
    name: "cluster1",
    health: "Unknown",
    message: "Registration agent stopped updating its lease.",
    version: "v1.34.1",
    region: "eu-1",
    taints: ["gpu=true:NoSelect"],
    load: [
      { resource: "cpu", of: 8, text: "8 cores" },
      { resource: "memory", text: "32 GiB" },
    ],
  });
});

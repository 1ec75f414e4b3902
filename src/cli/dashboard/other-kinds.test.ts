import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { distributionView } from "./distribution.ts";
import { fleetCluster } from "./fleet-cluster.ts";
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

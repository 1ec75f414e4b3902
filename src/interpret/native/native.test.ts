import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import type { Inputs, Operation, Results } from "../operations.ts";
import { bench, known } from "../testing/interpreter.ts";

function read<O extends Operation>(operation: O, input: Inputs[O]): Results[O] {
  return known(bench().interpreter.interpret(operation, input));
}

function workload(kind: string, spec: JsonObject, status?: JsonObject, metadata: JsonObject = {}): JsonObject {
  const apiVersion = { Job: "batch/v1", CronJob: "batch/v1", Pod: "v1" }[kind] ?? "apps/v1";
  return {
    apiVersion,
    kind,
    metadata: { name: "web", namespace: "shop", generation: 2, ...metadata },
    spec,
    ...(status && { status }),
  };
}

const container = (resources: JsonObject) => ({ name: "c", image: "i", resources });

describe("replicas", () => {
  const template = {
    spec: {
      nodeSelector: { disk: "ssd" },
      containers: [
        container({ requests: { cpu: "250m", memory: "1Gi" } }),
        container({ limits: { cpu: "250m", "example.com/gpu": 1 } }),
      ],
      initContainers: [container({ requests: { memory: "2Gi", cpu: "100m" } })],
      overhead: { cpu: "10m" },
    },
  };

  it("of Deployment, ReplicaSet and StatefulSet, with the requirements of each replica", () => {
    for (const kind of ["Deployment", "ReplicaSet", "StatefulSet"]) {
      expect(read("InterpretReplica", { object: workload(kind, { replicas: 3, template }) })).toEqual({
        replicas: 3,
        requirements: {
          nodeClaim: { nodeSelector: { disk: "ssd" } },
          resourceRequest: { cpu: "510m", memory: "2Gi", "example.com/gpu": "1" },
        },
      });
    }
  });

  it("need amounts in the unit they were computed in", () => {
    const bytes = { spec: { containers: [container({ requests: { "ephemeral-storage": "2k", memory: "1k" } })] } };
    expect(
      read("InterpretReplica", { object: workload("StatefulSet", { replicas: 1, template: bytes }) }),
    ).toMatchObject({
      requirements: { resourceRequest: { "ephemeral-storage": "2000", memory: "1k" } },
    });
  });

  it("of a Job never exceed its completions, and a Pod is one", () => {
    const job = (spec: JsonObject) => read("InterpretReplica", { object: workload("Job", spec) });
    expect(job({ parallelism: 5, completions: 2 })).toEqual({ replicas: 2 });
    expect(job({ parallelism: 5 })).toEqual({ replicas: 5 });
    expect(read("InterpretReplica", { object: workload("Pod", template.spec) })).toMatchObject({
      replicas: 1,
      requirements: { resourceRequest: { cpu: "510m" } },
    });
  });

  it("differs from Karmada: absent replicas are Kubernetes' default of one, not none", () => {
    expect(read("InterpretReplica", { object: workload("StatefulSet", {}) })).toEqual({ replicas: 1 });
    expect(read("InterpretReplica", { object: workload("Job", {}) })).toEqual({ replicas: 1 });
  });

  it("differs from Karmada: revising also sets replicas that were left to the default", () => {
    const revise = (kind: string, spec: JsonObject) =>
      read("ReviseReplica", { object: workload(kind, spec), replicas: 4 }).spec;
    expect(revise("StatefulSet", { serviceName: "web" })).toEqual({ serviceName: "web", replicas: 4 });
    expect(revise("Deployment", { replicas: 1 })).toEqual({ replicas: 4 });
    expect(revise("Job", { parallelism: 1 })).toEqual({ parallelism: 4 });
  });

  it("of the wrong type are reported as an error of the object", () => {
    const outcome = bench().interpreter.interpret("InterpretReplica", {
      object: workload("StatefulSet", { replicas: "3" }),
    });
    expect(outcome).toMatchObject({
      state: "failed",
      code: "BadObject",
      reason: expect.stringContaining("spec.replicas"),
    });
  });

  it("do not change the input object", () => {
    const object = workload("StatefulSet", { replicas: 1 });
    const before = structuredClone(object);
    read("ReviseReplica", { object, replicas: 9 });
    read("Prune", { object });
    expect(object).toEqual(before);
  });
});

describe("health", () => {
  const healthy = (object: JsonObject) => read("InterpretHealth", { object });
  const done = { observedGeneration: 2, replicas: 3, readyReplicas: 3, updatedReplicas: 3, availableReplicas: 3 };

  it("of Deployment, StatefulSet and ReplicaSet needs this generation and every replica", () => {
    for (const kind of ["Deployment", "StatefulSet", "ReplicaSet"]) {
      expect(healthy(workload(kind, { replicas: 3 }, done)), kind).toBe(true);
      expect(healthy(workload(kind, { replicas: 3 }, { ...done, observedGeneration: 1 })), kind).toBe(false);
      expect(healthy(workload(kind, { replicas: 3 }, { ...done, availableReplicas: 2 })), kind).toBe(false);
      expect(healthy(workload(kind, { replicas: 3 })), kind).toBe(false);
      expect(healthy(workload(kind, { replicas: 0 }, { observedGeneration: 2 })), kind).toBe(true);
    }
    for (const kind of ["Deployment", "StatefulSet"]) {
      expect(healthy(workload(kind, { replicas: 3 }, { ...done, updatedReplicas: 2 })), kind).toBe(false);
    }
  });

  it("differs from Karmada: a stuck rollout of one replica is not healthy while its old pod is available", () => {
    const stuck = { observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1 };
    expect(healthy(workload("Deployment", { replicas: 1 }, stuck))).toBe(false);
  });

  it("differs from Karmada: a rollout past its progress deadline is not healthy", () => {
    const conditions = [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }];
    expect(healthy(workload("Deployment", { replicas: 3 }, { ...done, conditions }))).toBe(false);
  });

  it("differs from Karmada: a StatefulSet's partition and OnDelete hold pods back without making it unhealthy", () => {
    const held = { ...done, updatedReplicas: 1 };
    const rollingUpdate = { partition: 2 };
    expect(healthy(workload("StatefulSet", { replicas: 3, updateStrategy: { rollingUpdate } }, held))).toBe(true);
    expect(healthy(workload("StatefulSet", { replicas: 3, updateStrategy: { type: "OnDelete" } }, held))).toBe(true);
    expect(healthy(workload("StatefulSet", { replicas: 3 }, held))).toBe(false);
    const notAvailable = { ...held, availableReplicas: 1 };
    expect(healthy(workload("StatefulSet", { replicas: 3, updateStrategy: { rollingUpdate } }, notAvailable))).toBe(
      false,
    );
  });

  it("of a DaemonSet counts nodes; with OnDelete a user updates them", () => {
    const status = { observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 };
    expect(healthy(workload("DaemonSet", {}, status))).toBe(true);
    expect(healthy(workload("DaemonSet", {}, { ...status, updatedNumberScheduled: 2 }))).toBe(false);
    expect(healthy(workload("DaemonSet", {}, { ...status, numberAvailable: 2 }))).toBe(false);
    const byHand = { updateStrategy: { type: "OnDelete" } };
    expect(healthy(workload("DaemonSet", byHand, { ...status, updatedNumberScheduled: 0 }))).toBe(true);
  });

  it("of kinds that are not workloads", () => {
    const of = (apiVersion: string, kind: string, rest: JsonObject) =>
      healthy({ apiVersion, kind, metadata: { name: "x" }, ...rest });
    const address = { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } };
    expect(of("v1", "Service", { spec: { type: "ClusterIP" } })).toBe(true);
    expect(of("v1", "Service", { spec: { type: "LoadBalancer" }, status: { loadBalancer: {} } })).toBe(false);
    expect(of("v1", "Service", { spec: { type: "LoadBalancer" }, status: address })).toBe(true);
    expect(of("networking.k8s.io/v1", "Ingress", { status: address })).toBe(true);
    expect(of("networking.k8s.io/v1", "Ingress", {})).toBe(false);
    expect(of("v1", "PersistentVolumeClaim", { status: { phase: "Bound" } })).toBe(true);
    expect(of("v1", "PersistentVolumeClaim", { status: { phase: "Pending" } })).toBe(false);
    expect(of("policy/v1", "PodDisruptionBudget", { status: { currentHealthy: 1, desiredHealthy: 2 } })).toBe(false);
    expect(of("policy/v1", "PodDisruptionBudget", { status: { currentHealthy: 2, desiredHealthy: 2 } })).toBe(true);
    const ready = (status: string) => ({ status: { phase: "Running", conditions: [{ type: "Ready", status }] } });
    expect(of("v1", "Pod", ready("True"))).toBe(true);
    expect(of("v1", "Pod", ready("False"))).toBe(false);
    expect(of("v1", "Pod", { status: { phase: "Succeeded" } })).toBe(true);
  });
});

describe("progress", () => {
  const progress = (object: JsonObject) => read("InterpretProgress", { object });
  const done = {
    observedGeneration: 2,
    replicas: 3,
    readyReplicas: 3,
    updatedReplicas: 3,
    availableReplicas: 3,
    updateRevision: "web-2",
  };

  it("of a StatefulSet requires all pods updated, ready and available, for this generation", () => {
    const of = (status: JsonObject, spec: JsonObject = { replicas: 3 }) =>
      progress(workload("StatefulSet", spec, status));
    expect(of(done)).toEqual({
      desired: 3,
      updated: 3,
      ready: 3,
      available: 3,
      total: 3,
      revision: "web-2",
      observed: "current",
      complete: true,
    });
    expect(of({ ...done, observedGeneration: 1 })).toMatchObject({ observed: "stale", complete: false });
    expect(of({ ...done, observedGeneration: undefined })).toMatchObject({ observed: "unknown", complete: false });
    expect(of({ ...done, updatedReplicas: 2 })).toMatchObject({ complete: false, message: "2 of 3 updated" });
    expect(of({ ...done, replicas: 4 })).toMatchObject({ complete: false, message: "4 instances exist, 3 are wanted" });
    expect(of({ ...done, readyReplicas: 2 })).toMatchObject({ complete: false, message: "2 of 3 ready" });
    expect(of({ ...done, availableReplicas: 2 })).toMatchObject({ complete: false, message: "2 of 3 available" });
    const partition = { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } };
    expect(of({ ...done, updatedReplicas: 1 }, partition)).toMatchObject({ updated: 1, complete: true });
  });

  it("of Deployment, ReplicaSet, DaemonSet, Job and Pod", () => {
    expect(progress(workload("Deployment", { replicas: 3 }, done))).toMatchObject({ complete: true });
    const conditions = [{ type: "Progressing", reason: "ProgressDeadlineExceeded" }];
    expect(
      progress(workload("Deployment", { replicas: 3 }, { ...done, updatedReplicas: 1, conditions })),
    ).toMatchObject({
      phase: "Failed",
      complete: false,
    });
    expect(progress(workload("ReplicaSet", { replicas: 3 }, done))).toMatchObject({ complete: true });
    const nodes = {
      observedGeneration: 2,
      desiredNumberScheduled: 2,
      currentNumberScheduled: 2,
      updatedNumberScheduled: 2,
      numberReady: 2,
      numberAvailable: 2,
    };
    expect(progress(workload("DaemonSet", {}, nodes))).toMatchObject({ desired: 2, complete: true });
    expect(progress(workload("DaemonSet", {}, { ...nodes, updatedNumberScheduled: 1 }))).toMatchObject({
      complete: false,
    });
    const complete = { succeeded: 2, conditions: [{ type: "Complete", status: "True" }] };
    expect(progress(workload("Job", { completions: 2 }, complete))).toMatchObject({ complete: true, ready: 2 });
    const failed = { conditions: [{ type: "Failed", status: "True" }] };
    expect(progress(workload("Job", {}, failed))).toMatchObject({ complete: false, phase: "Failed" });
    const ready = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
    expect(progress(workload("Pod", {}, ready))).toMatchObject({ complete: true });
    expect(progress(workload("Pod", {}, { phase: "Pending" }))).toMatchObject({ complete: false });
  });

  it("of any kind on the member contract is its report, for the reported epoch", () => {
    const report = { epoch: 7, revision: "r2", phase: "Done", desired: 2, updated: 2, ready: 2 };
    const of = (crossCluster: JsonObject, status: JsonObject = {}) =>
      progress({
        apiVersion: "apps.my.io/v1",
        kind: "Xline",
        metadata: { generation: 4 },
        status: { crossCluster, ...status },
      });
    expect(of(report)).toEqual({
      desired: 2,
      updated: 2,
      ready: 2,
      epoch: 7,
      revision: "r2",
      phase: "Done",
      observed: "current",
      complete: true,
    });
    expect(of({ ...report, phase: "Working" })).toMatchObject({ complete: false });
    expect(of({ ...report, ready: 1 })).toMatchObject({ complete: false });
    expect(of(report, { observedGeneration: 3 })).toMatchObject({ observed: "stale", complete: false });
    expect(of({ ...report, phase: "Failed", message: "no disk" })).toMatchObject({
      phase: "Failed",
      message: "no disk",
    });
  });

  it("of any kind with the common fields is read from them; of any other kind it is unknown", () => {
    const xline = (rest: JsonObject) => ({
      apiVersion: "apps.my.io/v1",
      kind: "Xline",
      metadata: { generation: 4 },
      ...rest,
    });
    expect(
      progress(xline({ spec: { replicas: 2 }, status: { readyReplicas: 2, observedGeneration: 4 } })),
    ).toMatchObject({
      desired: 2,
      ready: 2,
      complete: true,
    });
    expect(progress(xline({ spec: { replicas: 2 }, status: { readyReplicas: 2 } }))).toMatchObject({
      observed: "unknown",
      complete: false,
    });
    const elsewhere = xline({ spec: { size: 2 }, status: { readyReplicas: 2, observedGeneration: 4 } });
    expect(read("InterpretProgress", { object: elsewhere, replicas: 2 })).toMatchObject({ desired: 2, complete: true });
    expect(bench().interpreter.interpret("InterpretProgress", { object: xline({}) })).toMatchObject({
      state: "failed",
      code: "NoInterpreter",
    });
  });
});

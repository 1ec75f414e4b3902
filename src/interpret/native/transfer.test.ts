/** What is sent between hub and members: pruning, retaining, reflecting, aggregating, dependencies. */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import type { Inputs, Operation, Results } from "../operations.ts";
import { bench, known } from "../testing/interpreter.ts";

function read<O extends Operation>(operation: O, input: Inputs[O]): Results[O] {
  return known(bench().interpreter.interpret(operation, input));
}

const object = (apiVersion: string, kind: string, rest: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion,
  kind,
  metadata: { name: "web", namespace: "shop", ...metadata },
  ...rest,
});

describe("packing a template", () => {
  const prune = (given: JsonObject) => read("Prune", { object: given });

  it("removes what the hub's API server adds, for every kind", () => {
    const populated = {
      uid: "u",
      resourceVersion: "1",
      generation: 4,
      creationTimestamp: "2026-01-01T00:00:00Z",
      deletionTimestamp: "2026-01-01T00:00:00Z",
      deletionGracePeriodSeconds: 1,
      managedFields: [],
      selfLink: "/",
      ownerReferences: [{ name: "o" }],
      finalizers: ["f"],
    };
    const given = object(
      "foo.example.com/v1",
      "Foo",
      { spec: { a: 1 }, status: { b: 1 } },
      { ...populated, labels: { l: "1" } },
    );
    expect(prune(given)).toEqual(object("foo.example.com/v1", "Foo", { spec: { a: 1 } }, { labels: { l: "1" } }));
  });

  it("removes what the hub's controllers add, kind by kind", () => {
    const annotations = { "deployment.kubernetes.io/revision": "3", mine: "1" };
    expect(prune(object("apps/v1", "Deployment", {}, { annotations })).metadata).toMatchObject({
      annotations: { mine: "1" },
    });
    expect(
      prune(object("v1", "Service", { spec: { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1"], ports: [] } })).spec,
    ).toEqual({
      ports: [],
    });
    expect(prune(object("v1", "Service", { spec: { clusterIP: "None" } })).spec).toEqual({ clusterIP: "None" });
    const token = object("v1", "Secret", { type: "kubernetes.io/service-account-token", data: { token: "x" } });
    expect(prune(token)).not.toHaveProperty("data");
    expect(prune(object("v1", "Secret", { type: "Opaque", data: { token: "x" } }))).toHaveProperty("data");
    const labels = { "controller-uid": "u", "job-name": "j", "batch.kubernetes.io/job-name": "j", mine: "1" };
    const job = {
      selector: { matchLabels: { "batch.kubernetes.io/controller-uid": "u" } },
      template: { metadata: { labels } },
    };
    expect(prune(object("batch/v1", "Job", { spec: job })).spec).toEqual({
      selector: { matchLabels: {} },
      template: { metadata: { labels: { mine: "1" } } },
    });
    const manual = { ...job, manualSelector: true };
    expect(prune(object("batch/v1", "Job", { spec: manual })).spec).toEqual(manual);
    const selected = { annotations: { "volume.kubernetes.io/selected-node": "n" } };
    expect(prune(object("v1", "PersistentVolumeClaim", {}, selected)).metadata).toMatchObject({ annotations: {} });
  });

  it("differs from Karmada: every generated token of a service account is removed, and kinds of other groups stay unchanged", () => {
    const secrets = [{ name: "web-token-a" }, { name: "web-token-b" }, { name: "own" }];
    expect(prune(object("v1", "ServiceAccount", { secrets })).secrets).toEqual([{ name: "own" }]);
    const knative = object("serving.knative.dev/v1", "Service", { spec: { clusterIP: "mine" } });
    expect(prune(knative)).toEqual(knative);
  });
});

describe("retaining what the member set", () => {
  const retain = (desired: JsonObject, observed: JsonObject) => read("Retain", { object: desired, observed });

  it("keeps a Deployment's replicas only if its label requests it", () => {
    const observed = object("apps/v1", "Deployment", { spec: { replicas: 7 } });
    const labelled = object(
      "apps/v1",
      "Deployment",
      { spec: { replicas: 1 } },
      { labels: { "resourcetemplate.karmada.io/retain-replicas": "true" } },
    );
    expect(retain(labelled, observed).spec).toEqual({ replicas: 7 });
    expect(retain(object("apps/v1", "Deployment", { spec: { replicas: 1 } }), observed).spec).toEqual({ replicas: 1 });
    const outcome = bench().interpreter.interpret("Retain", {
      object: labelled,
      observed: object("apps/v1", "Deployment"),
    });
    expect(outcome).toMatchObject({ state: "failed", code: "BadObject" });
  });

  it("keeps a Pod's node, identity and volumes", () => {
    const desired = object("v1", "Pod", {
      spec: { nodeName: "x", containers: [{ name: "a", image: "2" }, { name: "new" }], volumes: [{ name: "v" }] },
    });
    const observed = object("v1", "Pod", {
      spec: {
        nodeName: "n",
        serviceAccountName: "default",
        containers: [{ name: "a", image: "1", volumeMounts: [{ name: "t" }] }],
      },
    });
    expect(retain(desired, observed).spec).toEqual({
      nodeName: "n",
      serviceAccountName: "default",
      containers: [{ name: "a", image: "2", volumeMounts: [{ name: "t" }] }, { name: "new" }],
    });
  });

  it("keeps what the member allocated: addresses, volumes, claims, selectors, tokens", () => {
    const pair = (apiVersion: string, kind: string, desired: JsonObject, observed: JsonObject) =>
      retain(object(apiVersion, kind, desired), object(apiVersion, kind, observed));
    expect(
      pair("v1", "Service", { spec: { ports: [] } }, { spec: { clusterIP: "10.1.1.1", healthCheckNodePort: 30000 } })
        .spec,
    ).toEqual({ ports: [], clusterIP: "10.1.1.1", healthCheckNodePort: 30000 });
    expect(pair("v1", "PersistentVolumeClaim", { spec: {} }, { spec: { volumeName: "pv" } }).spec).toEqual({
      volumeName: "pv",
    });
    const claimRef = { name: "c" };
    expect(pair("v1", "PersistentVolume", { spec: {} }, { spec: { claimRef } }).spec).toEqual({ claimRef });
    const generated = {
      selector: { matchLabels: { "controller-uid": "m" } },
      template: { metadata: { labels: { a: "1" } } },
    };
    expect(pair("batch/v1", "Job", { spec: { parallelism: 1 } }, { spec: generated }).spec).toEqual({
      parallelism: 1,
      ...generated,
    });
    const type = "kubernetes.io/service-account-token";
    expect(pair("v1", "Secret", { type }, { type, data: { token: "t" } }).data).toEqual({ token: "t" });
    expect(pair("v1", "Secret", { type: "Opaque", data: { a: "1" } }, { data: { a: "2" } }).data).toEqual({ a: "1" });
  });

  it("differs from Karmada: a service account without secrets on either side gets no empty list", () => {
    const merged = retain(
      object("v1", "ServiceAccount", { secrets: [{ name: "a" }] }),
      object("v1", "ServiceAccount", { secrets: [{ name: "a" }, { name: "web-token-x" }] }),
    );
    expect(merged.secrets).toEqual([{ name: "a" }, { name: "web-token-x" }]);
    expect(merged).not.toHaveProperty("imagePullSecrets");
  });
});

describe("reflecting a status", () => {
  const reflect = (given: JsonObject) => read("InterpretStatus", { object: given });
  const metadata = { generation: 5, annotations: { "resourcetemplate.karmada.io/generation": "3" } };

  it("shows a Deployment's counts with both generations, zeros left out", () => {
    const status = { observedGeneration: 5, replicas: 2, readyReplicas: 0, updatedReplicas: 2, conditions: [{}] };
    expect(reflect(object("apps/v1", "Deployment", { status }, metadata))).toEqual({
      generation: 5,
      resourceTemplateGeneration: 3,
      observedGeneration: 5,
      replicas: 2,
      updatedReplicas: 2,
    });
    expect(reflect(object("apps/v1", "Deployment", {}, metadata))).toBeNull();
  });

  it("differs from Karmada: a StatefulSet keeps its observed generation, revisions and conditions", () => {
    const status = {
      observedGeneration: 5,
      replicas: 2,
      readyReplicas: 2,
      currentRevision: "web-1",
      updateRevision: "web-2",
      conditions: [{ type: "X" }],
    };
    expect(reflect(object("apps/v1", "StatefulSet", { status }, metadata))).toEqual({
      ...status,
      generation: 5,
      resourceTemplateGeneration: 3,
      availableReplicas: 0,
    });
  });

  it("differs from Karmada: a copy without the generation annotation is reflected too", () => {
    const status = { observedGeneration: 5, replicas: 1 };
    expect(reflect(object("apps/v1", "ReplicaSet", { status }, { generation: 5 }))).toEqual({
      ...status,
      generation: 5,
    });
  });

  it("shows the status fields that Karmada shows of every other kind", () => {
    const nodes = { desiredNumberScheduled: 2, numberReady: 1, observedGeneration: 5 };
    expect(reflect(object("apps/v1", "DaemonSet", { status: nodes }, { generation: 5 }))).toEqual({
      ...nodes,
      generation: 5,
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
    });
    const job = { active: 1, startTime: "2026-01-01T00:00:00Z", ready: 1 };
    expect(reflect(object("batch/v1", "Job", { status: job }))).toEqual({
      active: 1,
      startTime: "2026-01-01T00:00:00Z",
    });
    const loadBalancer = { ingress: [{ ip: "1.1.1.1" }] };
    const service = (type: string) =>
      reflect(object("v1", "Service", { spec: { type }, status: { loadBalancer, conditions: [] } }));
    expect(service("LoadBalancer")).toEqual({ loadBalancer });
    expect(service("ClusterIP")).toBeNull();
    const hpa = { currentReplicas: 2, desiredReplicas: 3, lastScaleTime: "x" };
    expect(reflect(object("autoscaling/v2", "HorizontalPodAutoscaler", { status: hpa }))).toEqual({
      currentReplicas: 2,
      desiredReplicas: 3,
    });
    const pdb = { currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 1, observedGeneration: 1 };
    expect(reflect(object("policy/v1", "PodDisruptionBudget", { status: pdb }))).not.toHaveProperty(
      "observedGeneration",
    );
    expect(reflect(object("foo.example.com/v1", "Foo", { status: { any: [1] } }))).toEqual({ any: [1] });
    expect(reflect(object("foo.example.com/v1", "Foo"))).toBeNull();
  });
});

describe("aggregating the statuses of all clusters", () => {
  const item = (clusterName: string, status?: JsonObject) => ({ clusterName, ...(status && { status }) });
  const aggregate = (given: JsonObject, ...items: ReturnType<typeof item>[]) =>
    read("AggregateStatus", { object: given, items });
  const current = { generation: 7, observedGeneration: 7, resourceTemplateGeneration: 3 };

  it("adds counts, and sets the generation once every member has it", () => {
    const given = object(
      "apps/v1",
      "Deployment",
      { status: { observedGeneration: 2, conditions: [{ type: "Kept" }] } },
      { generation: 3 },
    );
    const east = item("east", { ...current, replicas: 2, readyReplicas: 1 });
    expect(aggregate(given, east, item("west", { ...current, replicas: 1, readyReplicas: 1 })).status).toEqual({
      observedGeneration: 3,
      replicas: 3,
      readyReplicas: 2,
      updatedReplicas: 0,
      availableReplicas: 0,
      unavailableReplicas: 0,
      conditions: [{ type: "Kept" }],
    });
    const behind = [
      item("west"),
      item("west", { ...current, observedGeneration: 6 }),
      item("west", { ...current, resourceTemplateGeneration: 2 }),
    ];
    for (const west of behind) expect(aggregate(given, east, west).status).toMatchObject({ observedGeneration: 2 });
  });

  it("returns the identical object when nothing changed", () => {
    const given = object("apps/v1", "ReplicaSet", { spec: {} }, { generation: 3 });
    const east = item("east", { ...current, replicas: 2 });
    const once = aggregate(given, east);
    expect(aggregate(once, east)).toBe(once);
  });

  it("differs from Karmada: a StatefulSet's generation is compared with the template's, and shared revisions are kept", () => {
    const given = object("apps/v1", "StatefulSet", {}, { generation: 3 });
    const member = { ...current, replicas: 1, updateRevision: "web-2", currentRevision: "web-1" };
    expect(
      aggregate(given, item("east", member), item("west", { ...member, currentRevision: "web-2" })).status,
    ).toMatchObject({
      observedGeneration: 3,
      replicas: 2,
      updateRevision: "web-2",
    });
    const old = aggregate(
      given,
      item("east", { ...member, generation: 1, observedGeneration: 1, resourceTemplateGeneration: 2 }),
    );
    expect(old.status).toMatchObject({ observedGeneration: 0 });
  });

  it("a Job is complete when it is complete in every cluster, failed when it failed in one, and then does not change", () => {
    const done = { succeeded: 1, startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T01:00:00Z" };
    const is = (type: string) => ({ conditions: [{ type, status: "True" }] });
    const given = object("batch/v1", "Job", { spec: {} });
    const complete = aggregate(
      given,
      item("east", { ...done, ...is("Complete") }),
      item("west", { ...done, startTime: "2025-12-31T00:00:00Z", ...is("Complete") }),
    );
    expect(complete.status).toMatchObject({
      succeeded: 2,
      startTime: "2025-12-31T00:00:00Z",
      completionTime: "2026-01-01T01:00:00Z",
      conditions: [{ type: "Complete", status: "True", lastTransitionTime: "2025-01-01T00:00:00Z" }],
    });
    const half = aggregate(given, item("east", { ...done, ...is("Complete") }), item("west", { active: 1 }));
    expect(half.status).toEqual({ succeeded: 1, active: 1 });
    const failed = aggregate(given, item("east", { failed: 1, ...is("Failed") }), item("west", { active: 1 }));
    expect(failed.status).toMatchObject({ conditions: [{ type: "Failed", message: "failed in east" }] });
    expect(aggregate(failed, item("east", { active: 9 }))).toBe(failed);
  });

  it("takes the worst phase", () => {
    const phase = (apiVersion: string, kind: string, ...phases: (string | undefined)[]) => {
      const items = phases.map((each, index) => item(`m${index}`, each === undefined ? undefined : { phase: each }));
      return (aggregate(object(apiVersion, kind), ...items).status as JsonObject | undefined)?.phase;
    };
    expect(phase("v1", "Pod", "Running", "Succeeded")).toBe("Running");
    expect(phase("v1", "Pod", "Running", "Failed")).toBe("Failed");
    expect(phase("v1", "Pod", "Running", undefined)).toBe("Pending");
    expect(phase("v1", "PersistentVolume", "Bound", "Available")).toBe("Available");
    expect(phase("v1", "PersistentVolumeClaim", "Bound", "Bound")).toBe("Bound");
    expect(phase("v1", "PersistentVolumeClaim", "Bound", "Lost", "Pending")).toBe("Lost");
    expect(phase("v1", "PersistentVolumeClaim")).toBeUndefined();
  });

  it("differs from Karmada: a claim is not bound while a cluster has not reported", () => {
    const given = object("v1", "PersistentVolumeClaim");
    expect(aggregate(given, item("east", { phase: "Bound" }), item("west")).status).toEqual({ phase: "Pending" });
  });

  it("lists the addresses of all clusters, each once, in a fixed order", () => {
    const given = object("v1", "Service", { spec: { type: "LoadBalancer" } });
    const from = (...ingress: JsonObject[]) => ({ loadBalancer: { ingress } });
    const status = aggregate(
      given,
      item("east", from({ ip: "2.2.2.2", ports: [{ port: 443, protocol: "TCP" }] }, { hostname: "b.test" })),
      item(
        "west",
        from({ ip: "2.2.2.2", ports: [{ port: 80, protocol: "TCP" }] }, { hostname: "a.test" }, { ip: "1.1.1.1" }),
      ),
    ).status;
    expect(status).toEqual(
      from(
        { hostname: "a.test" },
        { hostname: "b.test" },
        { ip: "1.1.1.1" },
        {
          ip: "2.2.2.2",
          ports: [
            { port: 80, protocol: "TCP" },
            { port: 443, protocol: "TCP" },
          ],
        },
      ),
    );
    const internal = object("v1", "Service", { spec: { type: "ClusterIP" } });
    expect(aggregate(internal, item("east", from({ ip: "1.1.1.1" })))).toBe(internal);
    expect(aggregate(object("networking.k8s.io/v1", "Ingress"), item("east", from({ ip: "1.1.1.1" }))).status).toEqual(
      from({ ip: "1.1.1.1" }),
    );
  });

  it("adds up every remaining kind as Karmada does", () => {
    const pdb = aggregate(
      object("policy/v1", "PodDisruptionBudget"),
      item("east", { currentHealthy: 1, desiredHealthy: 1, disruptedPods: { p: "t" } }),
      item("west", { currentHealthy: 2, desiredHealthy: 2, expectedPods: 3 }),
    );
    expect(pdb.status).toEqual({
      currentHealthy: 3,
      desiredHealthy: 3,
      expectedPods: 3,
      disruptionsAllowed: 0,
      disruptedPods: { "east/p": "t" },
    });
    const hpa = aggregate(
      object("autoscaling/v2", "HorizontalPodAutoscaler"),
      item("east", { currentReplicas: 2, desiredReplicas: 3 }),
    );
    expect(hpa.status).toEqual({ currentReplicas: 2, desiredReplicas: 3 });
    const cron = aggregate(
      object("batch/v1", "CronJob"),
      item("east", { active: [{ name: "a" }], lastScheduleTime: "2026-01-01T00:00:00Z" }),
      item("west", { lastScheduleTime: "2026-01-02T00:00:00Z" }),
    );
    expect(cron.status).toEqual({ active: [{ name: "a" }], lastScheduleTime: "2026-01-02T00:00:00Z" });
    const nodes = aggregate(
      object("apps/v1", "DaemonSet"),
      item("east", { numberReady: 2 }),
      item("west", { numberReady: 1 }),
    );
    expect(nodes.status).toMatchObject({ numberReady: 3 });
  });
});

describe("dependencies", () => {
  const find = (given: JsonObject) =>
    read("InterpretDependency", { object: given }).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
  const template = {
    spec: {
      serviceAccountName: "web",
      imagePullSecrets: [{ name: "pull" }],
      initContainers: [{ name: "i", env: [{ name: "E", valueFrom: { secretKeyRef: { name: "key" } } }] }],
      containers: [{ name: "c", envFrom: [{ configMapRef: { name: "settings" } }, { secretRef: { name: "env" } }] }],
      volumes: [
        { name: "a", configMap: { name: "settings" } },
        { name: "b", projected: { sources: [{ secret: { name: "projected" } }, { configMap: { name: "merged" } }] } },
        { name: "data", persistentVolumeClaim: { claimName: "data" } },
        { name: "csi", csi: { nodePublishSecretRef: { name: "csi" } } },
      ],
    },
  };
  const all = [
    "ConfigMap shop/merged",
    "ConfigMap shop/settings",
    "PersistentVolumeClaim shop/data",
    "Secret shop/csi",
    "Secret shop/env",
    "Secret shop/key",
    "Secret shop/projected",
    "Secret shop/pull",
    "ServiceAccount shop/web",
  ];

  it("are all objects that the pods name", () => {
    for (const [apiVersion, kind] of [
      ["apps/v1", "Deployment"],
      ["apps/v1", "ReplicaSet"],
      ["apps/v1", "DaemonSet"],
      ["apps/v1", "StatefulSet"],
      ["batch/v1", "Job"],
    ] as const) {
      expect(find(object(apiVersion, kind, { spec: { template } })), kind).toEqual(all);
    }
    expect(find(object("batch/v1", "CronJob", { spec: { jobTemplate: { spec: { template } } } }))).toEqual(all);
    expect(find(object("v1", "Pod", template))).toEqual(all);
    expect(find(object("v1", "Pod", { spec: { serviceAccountName: "default", containers: [] } }))).toEqual([]);
  });

  it("of a StatefulSet omit the claims that it creates itself", () => {
    const volumeClaimTemplates = [{ metadata: { name: "data" } }];
    const found = find(object("apps/v1", "StatefulSet", { spec: { template, volumeClaimTemplates } }));
    expect(found).toEqual(all.filter((each) => !each.startsWith("PersistentVolumeClaim")));
  });

  it("differs from Karmada: an Ingress's TLS without a secret is no error", () => {
    const spec = { tls: [{ secretName: "cert" }, { hosts: ["a.test"] }] };
    expect(find(object("networking.k8s.io/v1", "Ingress", { spec }))).toEqual(["Secret shop/cert"]);
  });

  it("of a ServiceImport are what Karmada derives from it", () => {
    expect(read("InterpretDependency", { object: object("multicluster.x-k8s.io/v1alpha1", "ServiceImport") })).toEqual([
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        namespace: "shop",
        labelSelector: { matchLabels: { "kubernetes.io/service-name": "derived-web" } },
      },
      { apiVersion: "v1", kind: "Service", namespace: "shop", name: "derived-web" },
    ]);
  });
});

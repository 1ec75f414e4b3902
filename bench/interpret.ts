/**
 * How fast the Lua engine interprets: the four most frequent operations, on an object of about 3 KB. Each call starts
 * from a clean state, with JSON in and out.
 */
import { performance } from "node:perf_hooks";
import { LuaScript } from "../src/interpret/lua/index.ts";
import type { JsonObject } from "../src/runtime/index.ts";
import type { BenchRow } from "./main.ts";

export const title =
  "Lua customizations on a 3 KB object; Karmada's figures were measured elsewhere on this kind of machine";

const SCRIPT = `
local kube = require("kube")

function InterpretHealth(observedObj)
  if observedObj.status == nil or observedObj.status.observedGeneration ~= observedObj.metadata.generation then
    return false
  end
  if observedObj.status.readyReplicas ~= observedObj.spec.replicas then
    return false
  end
  for _, condition in ipairs(observedObj.status.conditions) do
    if condition.type == "Ready" then
      return condition.status == "True"
    end
  end
  return false
end

function GetReplicas(obj)
  local requires = kube.accuratePodRequirements(obj.spec.template)
  return obj.spec.replicas, requires
end

function ReviseReplica(obj, desiredReplica)
  obj.spec.replicas = desiredReplica
  return obj
end

function AggregateStatus(desiredObj, statusItems)
  local ready, updated, generation = 0, 0, 0
  local conditions = {}
  for i = 1, #statusItems do
    local item = statusItems[i]
    if item.status ~= nil then
      ready = ready + (item.status.readyReplicas or 0)
      updated = updated + (item.status.updatedReplicas or 0)
      for _, condition in ipairs(item.status.conditions or {}) do
        if conditions[condition.type] == nil then
          conditions[condition.type] = { type = condition.type, status = condition.status, message = "" }
        end
        local merged = conditions[condition.type]
        merged.message = merged.message .. item.clusterName .. "=" .. condition.message .. ";"
      end
    end
  end
  desiredObj.status = { readyReplicas = ready, updatedReplicas = updated, conditions = {} }
  for _, condition in pairs(conditions) do
    table.insert(desiredObj.status.conditions, condition)
  end
  return desiredObj
end
`;

/** The time of Karmada's engine for one call, in microseconds. Measured elsewhere on this kind of machine, not here. */
const KARMADA_US: Record<string, number> = { InterpretHealth: 463, ReviseReplica: 1430 };
const WARM_UP_CALLS = 20_000;
const MEASURE_MS = 1_500;
const COMPILE_TIMES = 300;

export async function run(): Promise<BenchRow[]> {
  const object = workload();
  const items = ["member1", "member2", "member3"].map((clusterName) => ({
    clusterName,
    status: object.status ?? null,
  }));
  const script = LuaScript.compile(SCRIPT, { name: "bench" });
  const bytes = JSON.stringify(object).length;
  return [
    measure("InterpretHealth", bytes, () => script.call("InterpretHealth", [object])),
    measure("GetReplicas", bytes, () => script.call("GetReplicas", [object])),
    measure("ReviseReplica", bytes, () => script.call("ReviseReplica", [object, 5], { references: [object] })),
    measure("AggregateStatus", bytes, () => script.call("AggregateStatus", [object, items])),
    compileRow(),
  ];
}

function measure(operation: string, bytes: number, call: () => unknown): BenchRow {
  for (let i = 0; i < WARM_UP_CALLS; i++) call();
  const start = performance.now();
  const cpuBefore = process.cpuUsage();
  let calls = 0;
  let elapsedMs = 0;
  while (elapsedMs < MEASURE_MS) {
    for (let i = 0; i < 200; i++) call();
    calls += 200;
    elapsedMs = performance.now() - start;
  }
  const microseconds = (elapsedMs * 1000) / calls;
  const cpu = process.cpuUsage(cpuBefore);
  const karmada = KARMADA_US[operation];
  return {
    operation,
    "object bytes": bytes,
    "calls/s": Math.round((calls / elapsedMs) * 1000),
    "us/call": Number(microseconds.toFixed(2)),
    // The time of the call when nothing else runs on the machine, including garbage collection.
    "CPU us/call": Number(((cpu.user + cpu.system) / calls).toFixed(2)),
    "Karmada us (measured elsewhere)": karmada ?? "",
    "times faster": karmada === undefined ? "" : Math.round(karmada / microseconds),
  };
}

function compileRow(): BenchRow {
  for (let i = 0; i < COMPILE_TIMES; i++) LuaScript.compile(SCRIPT, { name: "bench" });
  const start = performance.now();
  for (let i = 0; i < COMPILE_TIMES; i++) LuaScript.compile(SCRIPT, { name: "bench" });
  const elapsedMs = performance.now() - start;
  return {
    operation: `compile ${SCRIPT.split("\n").length} lines`,
    "object bytes": "",
    "calls/s": Math.round((COMPILE_TIMES / elapsedMs) * 1000),
    "us/call": Number(((elapsedMs * 1000) / COMPILE_TIMES).toFixed(1)),
    "CPU us/call": "",
    "Karmada us (measured elsewhere)": "",
    "times faster": "",
  };
}

function workload(): JsonObject {
  const container = (name: string): JsonObject => ({
    name,
    image: `registry.example.com/store/${name}:1.27.3`,
    ports: [{ name: "client", containerPort: 2379, protocol: "TCP" }],
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "MODE", value: "cluster" },
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "store-auth", key: "password" } } },
    ],
    resources: { requests: { cpu: "250m", memory: "512Mi" }, limits: { cpu: "1", memory: "1Gi" } },
    volumeMounts: [{ name: "data", mountPath: "/var/lib/store" }],
    readinessProbe: { httpGet: { path: "/health", port: 2379 }, periodSeconds: 10, failureThreshold: 3 },
  });
  return {
    apiVersion: "apps.example.com/v1alpha1",
    kind: "Store",
    metadata: {
      name: "store",
      namespace: "databases",
      uid: "3d3f2c6e-7a53-4a2e-9f0b-0d6c2b9d7c11",
      generation: 7,
      resourceVersion: "184467",
      labels: { app: "store", tier: "data", "example.com/team": "storage" },
      annotations: { "example.com/owner": "team-storage", "example.com/contact": "storage@example.com" },
    },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "store" } },
      template: {
        metadata: { labels: { app: "store" } },
        spec: {
          serviceAccountName: "store",
          nodeSelector: { disktype: "ssd" },
          tolerations: [{ key: "dedicated", operator: "Equal", value: "data", effect: "NoSchedule" }],
          containers: [container("server"), container("exporter")],
          initContainers: [container("prepare")],
          volumes: [{ name: "config", configMap: { name: "store-config" } }],
          securityContext: {},
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Gi" } } },
        },
      ],
    },
    status: {
      observedGeneration: 7,
      replicas: 3,
      readyReplicas: 3,
      updatedReplicas: 3,
      conditions: ["Progressing", "Available", "Ready"].map((type) => ({
        type,
        status: "True",
        reason: "AllReplicasUp",
        message: "all replicas are up and running",
        lastTransitionTime: "2024-03-01T10:00:00Z",
        observedGeneration: 7,
      })),
    },
  };
}

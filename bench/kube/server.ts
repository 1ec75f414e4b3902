/**
 * A server in its own process that plays a cluster with many pods: list in pages, and watches whose events are sent on
 * command. It only replays prepared text, so that the measurement is of the client.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ServerReady {
  readonly port: number;
}

const PODS = Number(process.argv[2] ?? "10000");
const WATCH_PATH = /[?&]watch=(?:1|true)/;
const watches = new Set<ServerResponse>();
let version = 1_000_000;

function pod(index: number, podVersion: number, sentNs?: bigint) {
  const name = `db-${String(index).padStart(5, "0")}`;
  return {
    metadata: {
      name,
      namespace: `team-${index % 20}`,
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
      resourceVersion: String(podVersion),
      labels: { app: "db", "statefulset.kubernetes.io/pod-name": name, "controller-revision-hash": "db-6d9f7c8b54" },
      annotations: { sent: String(sentNs ?? 0), "cni.projectcalico.org/podIP": `10.0.${index >> 8}.${index & 255}/32` },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "db", uid: "u", controller: true }],
      managedFields: ["kube-controller-manager", "kubelet"].map((manager) => ({
        manager,
        operation: "Update",
        apiVersion: "v1",
        fieldsV1: Object.fromEntries(Array.from({ length: 30 }, (_, field) => [`f:field-${field}`, { ".": {} }])),
      })),
    },
    spec: {
      nodeName: `node-${index % 100}`,
      containers: Array.from({ length: 2 }, (_, container) => ({
        name: `c${container}`,
        image: "registry.example.com/team/db:1.2.3",
        env: Array.from({ length: 10 }, (_, variable) => ({
          name: `VARIABLE_${variable}`,
          value: `value ${variable}`,
        })),
        resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      })),
    },
    status: {
      phase: "Running",
      podIP: `10.0.${index >> 8}.${index & 255}`,
      conditions: ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({ type, status: "True" })),
    },
  };
}

const items = Array.from({ length: PODS }, (_, index) => JSON.stringify(pod(index, 1000 + index)));

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://bench");
  response.setHeader("content-type", "application/json");
  if (WATCH_PATH.test(request.url ?? "")) {
    response.writeHead(200);
    response.flushHeaders();
    watches.add(response);
    response.on("close", () => watches.delete(response));
    return;
  }
  const limit = Number(url.searchParams.get("limit") ?? PODS) || PODS;
  const start = Number(url.searchParams.get("continue") ?? 0);
  const end = Math.min(PODS, start + limit);
  const metadata = { resourceVersion: String(version), ...(end < PODS && { continue: String(end) }) };
  const head = `{"kind":"PodList","apiVersion":"v1","metadata":${JSON.stringify(metadata)},"items":[`;
  response.end(`${head}${items.slice(start, end).join(",")}]}`);
});

function send(index: number): void {
  const object = { apiVersion: "v1", kind: "Pod", ...pod(index % PODS, ++version, process.hrtime.bigint()) };
  const line = `${JSON.stringify({ type: "MODIFIED", object })}\n`;
  for (const watch of watches) watch.write(line);
}

process.on("message", (command: { burst?: number; trickle?: number }) => {
  for (let index = 0; index < (command.burst ?? 0); index++) send(index);
  let left = command.trickle ?? 0;
  const timer = setInterval(() => (left-- > 0 ? send(left) : clearInterval(timer)), 2);
});
process.on("disconnect", () => process.exit(0));

server.listen(0, "127.0.0.1", () => {
  const ready: ServerReady = { port: (server.address() as AddressInfo).port };
  process.send?.(ready);
});

import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import { definitionOf } from "../testing/definitions.ts";
import type { KubeObject, PrinterColumn } from "../types.ts";
import { renderTable } from "./table.ts";

const NOW = Date.parse("2030-01-01T01:00:00Z");

function object(kind: string, rest: JsonObject = {}): KubeObject {
  const { metadata, ...others } = rest;
  return {
    apiVersion: "v1",
    kind,
    ...others,
    metadata: { name: "one", creationTimestamp: "2030-01-01T00:00:00Z", ...(metadata as JsonObject) },
  };
}

/** The row as {heading: cell}. */
function row(group: string, kind: string, value: KubeObject, columns: PrinterColumn[] = []): Record<string, unknown> {
  const definition = definitionOf({ group, kind, builtIn: columns.length === 0, columns });
  const table = renderTable(definition, [value], {
    includeObject: "None",
    metadata: {},
    withColumns: true,
    nowMs: NOW,
  }) as unknown as { columnDefinitions: { name: string }[]; rows: { cells: unknown[] }[] };
  return Object.fromEntries(table.columnDefinitions.map(({ name }, index) => [name, table.rows[0]?.cells[index]]));
}

describe("renderTable", () => {
  const definition = definitionOf({ group: "", kind: "ConfigMap", builtIn: true });
  const options = { metadata: { resourceVersion: "7" }, withColumns: true, nowMs: NOW } as const;
  const map = object("ConfigMap", { data: { a: "1" } });

  it("contains each object's metadata, the whole object, or neither, as requested", () => {
    const rowWith = (includeObject: "None" | "Metadata" | "Object") =>
      (renderTable(definition, [map], { ...options, includeObject }).rows as JsonObject[])[0]?.object;
    expect(rowWith("None")).toBeUndefined();
    expect(rowWith("Metadata")).toEqual({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: map.metadata,
    });
    expect(rowWith("Object")).toEqual(map);
  });

  it("omits the column headings in later events, and keeps the list's version", () => {
    const table = renderTable(definition, [map], { ...options, includeObject: "None", withColumns: false });
    expect(table).toMatchObject({ kind: "Table", metadata: { resourceVersion: "7" }, columnDefinitions: [] });
    expect(table.rows).toEqual([{ cells: ["one", 1, "60m"] }]);
  });
});

describe("custom columns", () => {
  const column = (type: string, jsonPath: string, priority = 0): PrinterColumn => ({
    name: "Value",
    type,
    jsonPath,
    priority,
  });
  const custom = object("Thing", {
    spec: { replicas: 3, ratio: 1.5, on: true, text: "hello", map: { a: 1 }, when: "2030-01-01T00:58:00Z" },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  });

  it.each([
    ["integer", ".spec.replicas", 3],
    ["number", ".spec.ratio", 1.5],
    ["boolean", ".spec.on", true],
    ["string", ".spec.text", "hello"],
    ["string", ".spec.replicas", "3"],
    ["string", ".spec.map", '{"a":1}'],
    ["date", ".spec.when", "2m"],
    ["string", '.status.conditions[?(@.type=="Ready")].status', "True"],
    ["integer", ".spec.text", null],
    ["string", ".spec.missing", null],
    ["string", ".spec[", null],
  ])("a %s at %s shows %j", (type, jsonPath, expected) =>
    expect(row("example.io", "Thing", custom, [column(type, jsonPath)])).toEqual({ Name: "one", Value: expected }),
  );

  it("are the name and the age if the CRD defines none", () => {
    const plain = definitionOf({ group: "example.io", kind: "Thing", builtIn: false });
    const table = renderTable(plain, [custom], { includeObject: "None", metadata: {}, withColumns: true, nowMs: NOW });
    expect(table.rows).toEqual([{ cells: ["one", "60m"] }]);
  });

  it("keep their priority, so that only -o wide shows them", () => {
    const wide = definitionOf({
      group: "example.io",
      kind: "Thing",
      builtIn: false,
      columns: [column("string", ".a", 1)],
    });
    const table = renderTable(wide, [], { includeObject: "None", metadata: {}, withColumns: true, nowMs: NOW });
    expect((table.columnDefinitions as JsonObject[]).map((each) => each.priority)).toEqual([0, 1]);
  });
});

describe("built-in columns", () => {
  it("show a StatefulSet's ready pods of the desired", () => {
    const set = object("StatefulSet", { spec: { replicas: 3 }, status: { readyReplicas: 2 } });
    expect(row("apps", "StatefulSet", set)).toMatchObject({ Name: "one", Ready: "2/3", Age: "60m" });
  });

  it("show a Service's type, address and ports", () => {
    const service = object("Service", {
      spec: {
        type: "NodePort",
        clusterIP: "10.0.0.1",
        ports: [
          { port: 80, nodePort: 30080 },
          { port: 53, protocol: "UDP" },
        ],
      },
    });
    expect(row("", "Service", service)).toMatchObject({
      Type: "NodePort",
      "Cluster-IP": "10.0.0.1",
      "External-IP": "<none>",
      "Port(s)": "80:30080/TCP,53/UDP",
    });
  });

  it("show a Node's readiness, cordon and roles", () => {
    const node = object("Node", {
      metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } },
      spec: { unschedulable: true },
      status: { conditions: [{ type: "Ready", status: "False" }], nodeInfo: { kubeletVersion: "v1" } },
    });
    expect(row("", "Node", node)).toMatchObject({
      Status: "NotReady,SchedulingDisabled",
      Roles: "control-plane",
      Version: "v1",
    });
  });

  it("show a claim's size only once it is bound", () => {
    const status = { phase: "Bound", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
    const pending = object("PersistentVolumeClaim", { spec: {}, status });
    const bound = object("PersistentVolumeClaim", { spec: { volumeName: "v" }, status });
    expect(row("", "PersistentVolumeClaim", pending)).toMatchObject({ Capacity: "", "Access Modes": "" });
    expect(row("", "PersistentVolumeClaim", bound)).toMatchObject({ Capacity: "1Gi", "Access Modes": "RWO" });
  });

  it("show an Event of either API by when it was last seen", () => {
    const old = object("Event", {
      lastTimestamp: "2030-01-01T00:59:00Z",
      involvedObject: { kind: "Pod", name: "p" },
      reason: "Started",
      message: "go\n",
      type: "Normal",
    });
    expect(row("", "Event", old)).toMatchObject({
      "Last Seen": "60s",
      Object: "pod/p",
      Message: "go",
      Reason: "Started",
    });
    const recent = object("Event", {
      eventTime: "2030-01-01T00:59:30.000000Z",
      regarding: { kind: "Pod", name: "p" },
      note: "go",
    });
    expect(row("events.k8s.io", "Event", recent)).toMatchObject({ "Last Seen": "30s", Object: "pod/p", Message: "go" });
  });

  describe("of a Pod", () => {
    const container = { name: "main" };
    const running = { name: "main", ready: true, restartCount: 0, state: { running: {} } };
    const status = (pod: JsonObject) => row("", "Pod", object("Pod", pod)).Status;

    it("show ready containers, restarts and when the last one was", () => {
      const pod = object("Pod", {
        spec: { containers: [container, { name: "side" }] },
        status: {
          phase: "Running",
          containerStatuses: [
            { ...running, restartCount: 2, lastState: { terminated: { finishedAt: "2030-01-01T00:59:00Z" } } },
            { name: "side", ready: false, restartCount: 1, state: { waiting: { reason: "CrashLoopBackOff" } } },
          ],
        },
      });
      expect(row("", "Pod", pod)).toMatchObject({ Ready: "1/2", Status: "CrashLoopBackOff", Restarts: "3 (60s ago)" });
    });

    it("name the first container's problem when several have one", () => {
      const waiting = (reason: string) => ({ state: { waiting: { reason } } });
      const containerStatuses = [waiting("ImagePullBackOff"), waiting("CrashLoopBackOff")];
      expect(status({ status: { phase: "Pending", containerStatuses } })).toBe("ImagePullBackOff");
    });

    it.each<[string, JsonObject]>([
      ["Running", { status: { phase: "Running", containerStatuses: [running] } }],
      ["Pending", { status: { phase: "Pending" } }],
      ["Evicted", { status: { phase: "Failed", reason: "Evicted" } }],
      ["Terminating", { metadata: { deletionTimestamp: "2030-01-01T00:00:00Z" }, status: { phase: "Running" } }],
      [
        "Init:0/1",
        {
          spec: { initContainers: [{ name: "i" }] },
          status: { phase: "Pending", initContainerStatuses: [{ name: "i", state: { running: {} } }] },
        },
      ],
      [
        "Init:Error",
        {
          spec: { initContainers: [{ name: "i" }] },
          status: { initContainerStatuses: [{ name: "i", state: { terminated: { exitCode: 1, reason: "Error" } } }] },
        },
      ],
      [
        "Completed",
        { status: { phase: "Succeeded", containerStatuses: [{ state: { terminated: { reason: "Completed" } } }] } },
      ],
      ["ExitCode:3", { status: { phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 3 } } }] } }],
    ])("say %s", (expected, pod) => expect(status(pod)).toBe(expected));
  });
});

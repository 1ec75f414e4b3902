import { describe, expect, it } from "vitest";
import type { Json } from "../../runtime/index.ts";
import { LuaScript } from "./index.ts";

const script = LuaScript.compile(
  `
  local kube = require("kube")
  function add(...) return kube.resourceAdd(...) end
  function amount(q) return kube.getResourceQuantity(q) end
  function requirements(template) return kube.accuratePodRequirements(template) end
  function dependencies(template, namespace) return kube.getPodDependencies(template, namespace) end
  function raw(...) return pcall(kube.getPodDependencies, ...) end
  `,
  { name: "kube" },
);
const call = (name: string, ...args: Json[]): Json | undefined => script.call(name, args)[0];

describe("resourceAdd and getResourceQuantity", () => {
  it("accept quantities as text, and treat nil as zero", () => {
    expect(call("add", "100m", null, "1")).toBe("1100m");
    expect(call("add")).toBe("0");
    expect(call("amount", "1.5Gi")).toBe(1610612736);
    expect(call("amount", null)).toBe(0);
  });

  it("refuse a value that is not a quantity", () => {
    expect(() => call("add", 1)).toThrow("bad argument #1 to resourceAdd (string expected, got number)");
    expect(() => call("add", "abc")).toThrow("cannot parse 'abc': quantities must match");
    expect(() => call("amount", "-1")).toThrow("int approximation unexpectedly returned a negative value");
    expect(() => call("add", "9".repeat(1000))).toThrow("quantities have at most 400 characters");
  });
});

const container = (requests?: Json, limits?: Json): Json => ({
  name: "c",
  resources: { ...(requests !== undefined && { requests }), ...(limits !== undefined && { limits }) },
});

describe("accuratePodRequirements", () => {
  it("sums the containers, takes the largest init container and adds the overhead", () => {
    const spec = {
      containers: [
        container({ cpu: "250m", memory: "512Mi" }),
        container({ cpu: 1, memory: "0.5Gi", "nvidia.com/gpu": 2, "hugepages-2Mi": "4Mi", unknown: 7 }),
      ],
      initContainers: [container({ cpu: "3", memory: "100Mi" }), container({ memory: "200Mi" })],
      overhead: { cpu: "10m" },
    };
    expect(call("requirements", { spec })).toEqual({
      resourceRequest: { cpu: "3010m", memory: "1Gi", "nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi" },
    });
  });

  it("a limit without a request is a request", () => {
    const spec = { containers: [container({ cpu: "100m" }, { cpu: "1", memory: "1Gi" })] };
    expect(call("requirements", { spec })).toEqual({ resourceRequest: { cpu: "100m", memory: "1Gi" } });
  });

  it("lists the requirements for a node", () => {
    const terms = { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }] };
    const spec = {
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "dedicated", operator: "Exists" }],
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
      containers: [],
    };
    expect(call("requirements", { spec })).toEqual({
      nodeClaim: {
        hardNodeAffinity: terms,
        nodeSelector: { disk: "ssd" },
        tolerations: [{ key: "dedicated", operator: "Exists" }],
      },
    });
  });

  it("is nil for a pod without requirements", () => {
    expect(call("requirements", { spec: { containers: [container()] } })).toBeNull();
    expect(call("requirements", {})).toBeNull();
  });

  it("refuses a value that is not a pod template", () => {
    expect(() => call("requirements", { spec: { containers: "x" } })).toThrow("the field containers must be a list");
    expect(() => call("requirements", { spec: { containers: [container({ cpu: "x" })] } })).toThrow("cannot parse 'x'");
    expect(() => call("requirements", null)).toThrow("bad argument #1 to accuratePodRequirements (table expected");
  });
});

describe("getPodDependencies", () => {
  const reference = (kind: string, name: string, namespace = "ns") => ({ apiVersion: "v1", kind, namespace, name });

  it("finds every config map, secret, service account and claim once", () => {
    const spec = {
      serviceAccountName: "runner",
      imagePullSecrets: [{ name: "pull" }, { name: "" }],
      initContainers: [{ envFrom: [{ configMapRef: { name: "init-env" } }] }],
      containers: [
        {
          envFrom: [{ secretRef: { name: "env-secret" } }, { configMapRef: { name: "init-env" } }],
          env: [
            { name: "A", valueFrom: { configMapKeyRef: { name: "key-map", key: "a" } } },
            { name: "B", valueFrom: { secretKeyRef: { name: "key-secret", key: "b" } } },
            { name: "C", value: "plain" },
          ],
        },
      ],
      volumes: [
        { name: "v1", configMap: { name: "volume-map" } },
        { name: "v2", secret: { secretName: "volume-secret" } },
        { name: "v3", projected: { sources: [{ secret: { name: "p-secret" } }, { configMap: { name: "p-map" } }] } },
        { name: "v4", persistentVolumeClaim: { claimName: "claim" } },
        { name: "v5", csi: { nodePublishSecretRef: { name: "csi-secret" } } },
        { name: "v6", emptyDir: {} },
      ],
    };
    expect(call("dependencies", { spec }, "ns")).toEqual([
      ...["init-env", "key-map", "volume-map", "p-map"].map((name) => reference("ConfigMap", name)),
      ...["pull", "env-secret", "key-secret", "volume-secret", "p-secret", "csi-secret"].map((name) =>
        reference("Secret", name),
      ),
      reference("ServiceAccount", "runner"),
      reference("PersistentVolumeClaim", "claim"),
    ]);
  });

  it("uses the namespace default if none is given, and does not count the default account", () => {
    const spec = { serviceAccountName: "default", volumes: [{ configMap: { name: "a" } }] };
    expect(call("dependencies", { spec }, null)).toEqual([reference("ConfigMap", "a", "default")]);
  });

  it("is nil for a pod without dependencies, and requires two arguments", () => {
    expect(call("dependencies", { spec: {} }, "ns")).toBeNull();
    expect(script.call("raw", [{}])).toEqual([false, expect.stringContaining("only accepts two argument")]);
  });
});

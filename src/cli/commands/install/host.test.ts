import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { version } from "../../../../package.json";
import { valueAt } from "../../../runtime/index.ts";
import { runAlone } from "../../testing/harness.ts";

async function hostObjects(...more: string[]) {
  const { code, out, err } = await runAlone(["install", "--set", "host", ...more]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return parseAllDocuments(out).map((document) => document.toJS());
}

describe("install --set host", () => {
  it("runs two replicas without rights, tokens or a writable disk, and keeps one through drains", async () => {
    const objects = await hostObjects("--workload", "xlineclusters.apps.my.io", "--image", "example.com/lockstep:1");
    expect(objects.map(({ kind }) => kind)).toEqual([
      "Namespace",
      "ServiceAccount",
      "Deployment",
      "PodDisruptionBudget",
      "Service",
      "NetworkPolicy",
    ]);
    const deployment = objects[2];
    expect(deployment.spec.replicas).toBe(2);
    const pod = deployment.spec.template.spec;
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
    });
    expect(pod.containers[0]).toMatchObject({
      image: "example.com/lockstep:1",
      args: [
        "controller",
        "--identity=$(POD_NAME)",
        "--unique-identity",
        "--metrics=0.0.0.0:8080",
        "--system-namespace=lockstep-system",
        "--workload=xlineclusters.apps.my.io",
      ],
      livenessProbe: { httpGet: { path: "/healthz", port: "metrics" } },
      readinessProbe: { httpGet: { path: "/readyz", port: "metrics" } },
      securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
    });
    expect(pod.volumes[0].secret).toEqual({ secretName: "lockstep-hub-kubeconfig", defaultMode: 0o440 });
    expect(pod.containers[0].volumeMounts).toContainEqual({ name: "work", mountPath: "/tmp" });
    const labels = deployment.spec.template.metadata.labels;
    for (const selector of [
      deployment.spec.selector.matchLabels,
      objects[3].spec.selector.matchLabels,
      objects[4].spec.selector,
      objects[5].spec.podSelector.matchLabels,
    ]) {
      expect(labels).toMatchObject(selector);
    }
  });

  it("passes the named engine on, and says where the image has helm and kustomize", async () => {
    const objects = await hostObjects("--engine", "ocm", "--applications");
    const { args } = objects[2].spec.template.spec.containers[0];
    expect(args).toContain("--engine=ocm");
    expect(args).toContain("--helm=/programs/helm");
    expect(args).toContain("--kustomize=/programs/kustomize");
    const { err } = await runAlone(["install", "--set", "host", "--engine", "nomad"]);
    expect(err).toContain("nomad");
  });

  it("is a Helm chart whose values are what the YAML has, in the same manifests", async () => {
    const written = new Map<string, string>();
    const args = ["install", "--set", "host", "--format", "helm", "--output", "chart"];
    expect((await runAlone(args, { written })).out).toContain("chart/Chart.yaml written\n");
    expect(parse(written.get("chart/Chart.yaml") ?? "")).toMatchObject({ name: "lockstep-controller", version });
    const values = parse(written.get("chart/values.yaml") ?? "");
    const rendered = (await hostObjects()).filter(({ kind }) => kind !== "Namespace");
    for (const object of rendered) {
      const text = written.get(`chart/templates/${object.kind.toLowerCase()}.yaml`) ?? "";
      // As Helm does it with toJson; the suite test:install asks Helm itself.
      const filled = text.replace(/\{\{ toJson \.([\w.]+) \}\}/g, (_, path: string) =>
        JSON.stringify(valueAt({ Values: values, Release: { Namespace: "lockstep-system" } }, ...path.split("."))),
      );
      expect(parse(filled)).toEqual(object);
    }
  });

  it("writes the Secret with the hub's kubeconfig if it is given one that works in a pod", async () => {
    const secretOf = async (user: object, ...more: string[]) => {
      const cluster = { server: "https://hub:5443", "certificate-authority-data": "Y2E=" };
      const kubeconfig = stringify({
        clusters: [{ name: "hub", cluster }],
        users: [{ name: "controller", user }],
        contexts: [{ name: "hub", context: { cluster: "hub", user: "controller" } }],
        "current-context": "hub",
      });
      const args = ["install", "--set", "host", "--hub-kubeconfig", "hub.kubeconfig", ...more];
      const { out, err } = await runAlone(args, { files: { "hub.kubeconfig": kubeconfig } });
      const objects = parseAllDocuments(out).map((document) => document.toJS());
      return { kubeconfig, err, secret: objects.find((object) => object?.kind === "Secret") };
    };
    const { kubeconfig, secret } = await secretOf({ token: "t" }, "--kubeconfig-secret", "hub");
    expect(secret).toMatchObject({
      metadata: { name: "hub", namespace: "lockstep-system" },
      stringData: { kubeconfig },
    });
    expect((await hostObjects()).map(({ kind }) => kind)).not.toContain("Secret");
    const refused = async (user: object, ...more: string[]) => (await secretOf(user, ...more)).err;
    expect(await refused({ tokenFile: "/token" })).toContain("user.tokenFile is the name of a file");
    expect(await refused({ exec: { command: "login" } })).toContain("user.exec runs a program");
    expect(await refused({ token: "t" }, "--format", "helm", "--output", "chart")).toContain(
      "--set-file hubKubeconfig=hub.kubeconfig",
    );
  });

  it("refuses what it cannot do, with the remedy", async () => {
    const errorOf = async (...args: string[]) => (await runAlone(["install", ...args])).err;
    expect(await errorOf("--set", "host", "--apply")).toContain("lockstep install --set host | kubectl apply -f -");
    expect(await errorOf("--set", "both")).toContain("use hub, host or kubeconfig");
    expect(await errorOf("--format", "helm")).toContain("give --output FOLDER");
    expect(await errorOf("--format", "jsonnet", "--output", "x")).toContain("use yaml, helm or kustomize");
  });
});

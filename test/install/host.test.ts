/** What runs the controller, applied in each format to a real Kubernetes: its pods start, and a drain leaves one. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../stack/fleet.ts";
import { MEMBER_CONTROLLERS, type Stack, startOn } from "../stack/ground.ts";
import { ensurePrograms } from "../tools/programs.ts";

const LOCKSTEP = new URL("../../bin/lockstep", import.meta.url).pathname;
const NAME = "lockstep-controller";
/** As the manifests' own namespace has it. */
const RESTRICTED = "pod-security.kubernetes.io/enforce=restricted";

interface Pods {
  readonly items: { readonly metadata: { readonly name: string } }[];
}

describe("the host's set on a real Kubernetes", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-host-"));
  let stack: Stack;
  let programs: Record<"helm" | "kubectl", string>;
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, KUBECONFIG: stack.kubeconfig },
    });
  const kubectl = (...args: string[]) => run(programs.kubectl, ...args);

  beforeAll(async () => {
    programs = await ensurePrograms(["helm", "kubectl"]);
    stack = await startOn(join(folder, "stack"), [], async (ground) => {
      const host = await ground.startCluster("host", await ground.startEtcd());
      ground.startControllers(host, MEMBER_CONTROLLERS);
      ground.startKubelets([host]);
      return ground.finish(host, [], []);
    });
  });
  afterAll(async () => {
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const formats: Record<string, (namespace: string) => void> = {
    yaml: (namespace) => {
      const secret = ["--hub-kubeconfig", stack.kubeconfig];
      run(LOCKSTEP, "install", "--set", "host", "--namespace", namespace, ...secret, "--output", "yaml");
      kubectl("apply", "-f", "yaml/manifests.yaml");
    },
    kustomize: (namespace) => {
      run(LOCKSTEP, "install", "--set", "host", "-n", namespace, "--format", "kustomize", "--output", "base");
      kubectl("apply", "-k", "base");
      const secret = [
        "generic",
        "lockstep-hub-kubeconfig",
        "-n",
        namespace,
        `--from-file=kubeconfig=${stack.kubeconfig}`,
      ];
      kubectl("create", "secret", ...secret);
    },
    helm: (namespace) => {
      run(LOCKSTEP, "install", "--set", "host", "--format", "helm", "--output", "chart");
      kubectl("create", "namespace", namespace);
      kubectl("label", "namespace", namespace, RESTRICTED);
      const secret = ["--set-file", `hubKubeconfig=${stack.kubeconfig}`];
      run(programs.helm, "install", "lockstep", "chart", "--namespace", namespace, ...secret);
    },
  };

  it.each(Object.keys(formats))(
    "%s: two pods pass the restricted pod security and are available; a drain takes one",
    async (format) => {
      const namespace = `by-${format}`;
      formats[format]?.(namespace);
      const secret = kubectl("get", "secret", "lockstep-hub-kubeconfig", "-n", namespace, "-o", "json");
      const { kubeconfig } = JSON.parse(secret).data;
      expect(Buffer.from(kubeconfig, "base64").toString()).toBe(readFileSync(stack.kubeconfig, "utf8"));
      expect(kubectl("get", "namespace", namespace, "-o", "jsonpath={.metadata.labels}")).toContain("restricted");
      await until("both replicas are available", () => {
        const object = JSON.parse(kubectl("get", "deployment", NAME, "-n", namespace, "-o", "json"));
        return object.status?.availableReplicas === 2 || JSON.stringify(object.status);
      });
      const path = `/api/v1/namespaces/${namespace}/pods`;
      const [first, second] = (await stack.hub.get<Pods>(path))?.items ?? [];
      await until("the budget allows one disruption", () => {
        const budget = JSON.parse(kubectl("get", "pdb", NAME, "-n", namespace, "-o", "json"));
        return budget.status?.disruptionsAllowed === 1 || JSON.stringify(budget.status);
      });
      const evict = (name = "") =>
        stack.hub.request("POST", `${path}/${name}/eviction`, {
          apiVersion: "policy/v1",
          kind: "Eviction",
          metadata: { name, namespace },
        });
      expect((await evict(first?.metadata.name)).status).toBe(201);
      const refused = await evict(second?.metadata.name);
      expect(refused).toMatchObject({ status: 429, text: expect.stringContaining("disruption budget") });
    },
  );

  it("may be applied again, and removed again", () => {
    expect(kubectl("apply", "-f", "yaml/manifests.yaml")).not.toMatch(/created/);
    kubectl("delete", "--wait=false", "-f", "yaml/manifests.yaml");
    run(programs.helm, "uninstall", "lockstep", "--namespace", "by-helm");
    expect(kubectl("get", "deployment", "-n", "by-helm", "-o", "name")).toBe("");
  });
});

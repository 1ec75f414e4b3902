/** `lockstep install` in its three formats, rendered by the real helm and kustomize, must be the same objects. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { ensurePrograms } from "../tools/programs.ts";

const LOCKSTEP = new URL("../../bin/lockstep", import.meta.url).pathname;
/** Settings that change both sets. */
const SETTINGS = ["--workload", "xlineclusters.apps.my.io", "--require-allowed-clusters"];
const KEEP = "helm.sh/resource-policy";

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; annotations?: Record<string, string> };
}

describe.each(["hub", "host"])("install --set %s", (set) => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-install-"));
  let programs: Record<"helm" | "kustomize", string>;
  beforeAll(async () => {
    programs = await ensurePrograms(["helm", "kustomize"]);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: folder, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const install = (...args: string[]) => run(LOCKSTEP, "install", "--set", set, ...SETTINGS, ...args);
  const plain = () => objectsOf(install());

  it("is the same as YAML and as a kustomize base", () => {
    install("--format", "kustomize", "--output", "base");
    const built = objectsOf(run(programs.kustomize, "build", "base"));
    expect(built).toEqual(plain());
    expect(Object.keys(built).length).toBeGreaterThan(5);
  });

  it("is the same as YAML and as a Helm chart, which helm lints", () => {
    install("--format", "helm", "--output", "chart");
    expect(run(programs.helm, "lint", "--strict", "chart")).toContain("1 chart(s) linted, 0 chart(s) failed");
    const rendered = objectsOf(run(programs.helm, "template", "lockstep", "chart", "--namespace", "lockstep-system"));
    const expected = plain();
    // Helm creates the namespace of the host's chart itself; that of the hub is part of the set.
    if (set === "host") delete expected["Namespace//lockstep-system"];
    // 'helm uninstall' must not delete the kinds, and with them everything that Lockstep manages.
    const kept = Object.values(rendered).filter(({ metadata }) => metadata.annotations?.[KEEP] === "keep");
    for (const { metadata } of kept) {
      delete metadata.annotations?.[KEEP];
      if (Object.keys(metadata.annotations ?? {}).length === 0) delete metadata.annotations;
    }
    expect(rendered).toEqual(expected);
    expect(new Set(kept.map(({ kind }) => kind))).toEqual(
      new Set(set === "hub" ? ["CustomResourceDefinition", "Namespace"] : []),
    );
  });
});

describe("the host's chart", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-chart-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("takes its values: image, replicas, resources, the Secret, arguments, ports and the release's namespace", async () => {
    const { helm } = await ensurePrograms(["helm"]);
    const run = (program: string, ...args: string[]) => execFileSync(program, args, { cwd: folder, encoding: "utf8" });
    run(LOCKSTEP, "install", "--set", "host", "--format", "helm", "--output", "chart");
    const sets = [
      "image=example.com/lockstep@sha256:abc",
      "replicas=3",
      "resources.limits.memory=4Gi",
      "nodeOptions=--max-old-space-size=3072",
      "kubeconfigSecret=hub",
      "priorityClassName=high",
    ].flatMap((value) => ["--set", value]);
    const objects = objectsOf(run(helm, "template", "lockstep", "chart", "--namespace", "elsewhere", ...sets));
    const deployment = objects["Deployment/elsewhere/lockstep-controller"];
    expect(deployment).toMatchObject({
      spec: {
        replicas: 3,
        template: {
          spec: {
            priorityClassName: "high",
            containers: [
              {
                image: "example.com/lockstep@sha256:abc",
                resources: { limits: { memory: "4Gi" } },
                env: expect.arrayContaining([{ name: "NODE_OPTIONS", value: "--max-old-space-size=3072" }]),
              },
            ],
            volumes: expect.arrayContaining([
              expect.objectContaining({ secret: expect.objectContaining({ secretName: "hub" }) }),
            ]),
          },
        },
      },
    });
  });
});

function objectsOf(yaml: string): Record<string, Manifest> {
  const found: Record<string, Manifest> = {};
  for (const document of parseAllDocuments(yaml)) {
    const object: Manifest | null = document.toJS();
    if (!object) continue;
    const key = `${object.kind}/${object.metadata.namespace ?? ""}/${object.metadata.name}`;
    expect(found[key], `${key} is there twice`).toBeUndefined();
    found[key] = object;
  }
  return found;
}

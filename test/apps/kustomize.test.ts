import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHART_LIMITS, type RenderRequest } from "../../src/charts/index.ts";
import { WorkFolder } from "../../src/charts/run/folder.ts";
import { ProgramRunner } from "../../src/charts/run/program.ts";
import { kustomizationArchive } from "../../src/charts/testing/sources.ts";
import { systemClock } from "../../src/runtime/index.ts";
import { never, type RealRenderer, realRenderer, refused, rendered } from "./harness.ts";

let renderer: RealRenderer;
beforeAll(async () => {
  renderer = await realRenderer();
});
afterAll(() => {
  expect(renderer.leftovers()).toEqual([]);
  renderer.stop();
});

const request = (bytes: Uint8Array, path = "site/overlays/prod"): RenderRequest => ({
  source: { kind: "kustomize", path, archive: { bytes } },
  namespace: "default",
  kubeVersion: "v1.36.4",
  apiVersions: [],
  isUpgrade: false,
  lookups: "Own",
  previousObjects: [],
  tenant: "default",
});
const base = (text: string) => kustomizationArchive({ "base/kustomization.yaml": text });
const refusal = async (bytes: Uint8Array, path?: string) => refused(await renderer.render(request(bytes, path), never));

describe("a kustomization", () => {
  it("becomes its objects: bases, components, generators, patches and images", async () => {
    const { objects, sourceDigest } = rendered(await renderer.render(request(kustomizationArchive()), never));
    expect(objects.map(({ object }) => `${object.kind} ${object.metadata.name}`)).toEqual([
      expect.stringMatching(/^ConfigMap prod-settings-[a-z0-9]{10}$/),
      "Service prod-tls",
      "Deployment prod-site",
    ]);
    const name = objects[0]?.object.metadata.name;
    expect(objects[2]?.object).toMatchObject({
      spec: {
        replicas: 3,
        template: { spec: { containers: [{ image: "site:2" }], volumes: [{ configMap: { name } }] } },
      },
    });
    expect(sourceDigest).toMatch(/^sha256:/);
  });

  it.each([
    ["an unknown field", "resource: [deployment.yaml]", 'invalid Kustomization: json: unknown field "resource"'],
    ["helm charts", "helmCharts: [{name: x, repo: charts.example}]", "must specify --enable-helm"],
    [
      "a program as generator",
      "generators:\n- |\n  apiVersion: example.io/v1\n  kind: Own\n  metadata: {name: x, annotations: {config.kubernetes.io/function: 'exec: {path: /bin/sh}'}}",
      "external plugins disabled",
    ],
    [
      "the same object twice",
      "resources: [deployment.yaml, other.yaml]",
      "may not add resource with an already registered id",
    ],
    [
      "a file outside its folder",
      "resources: [deployment.yaml]\nconfigMapGenerator: [{name: x, files: [../overlays/prod/kustomization.yaml]}]",
      "is not in or below",
    ],
  ])("is refused in kustomize's own words for %s", async (_what, text, message) => {
    const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: site}\n";
    const archive = kustomizationArchive({ "base/kustomization.yaml": text, "base/other.yaml": deployment });
    const result = await refusal(archive, "site/base");
    expect(result.reason).toBe("RenderFailed");
    expect(result.message).toContain(message);
    expect(result.message).not.toContain("/render-");
  });

  it("that renders nothing is refused", async () => {
    expect(await refusal(base("resources: []"), "site/base")).toMatchObject({ reason: "EmptyRender" });
  });
});

describe("the network", () => {
  it("is out of reach of a program, even if the scan overlooked an address", async () => {
    const { helm, kustomize } = renderer;
    const report = await renderer.programs();
    expect(report).toMatchObject({
      helm: { kind: "found", path: helm, version: "v3.22.0" },
      kustomize: { kind: "found", path: kustomize, version: "v5.8.2" },
    });
    const asked: string[] = [];
    const server = createServer((incoming, response) => {
      asked.push(incoming.url ?? "");
      response.end("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: remote}\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.yaml`;
    const runner = new ProgramRunner({ clock: systemClock, limits: CHART_LIMITS });
    const run = (needsLoopback: boolean) =>
      WorkFolder.within(renderer.workFolder, async (folder) => {
        await folder.write("app/kustomization.yaml", `resources: ["${url}"]`);
        return runner.run({ program: kustomize, args: ["build", `${folder.path}/app`], folder, needsLoopback }, never);
      });
    await run(false);
    // Without network namespaces only the dead proxies are left, and they do not cover loopback.
    expect(asked).toEqual(report.network === "Namespace" ? [] : ["/x.yaml"]);
    // Outside the namespace the same call does reach it.
    expect((await run(true)).exitCode).toBe(0);
    expect(asked).toContain("/x.yaml");
    await new Promise((resolve) => server.close(resolve));
  });
});

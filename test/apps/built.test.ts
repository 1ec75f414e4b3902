/** The program as `npm run build` bundles it: some of what it loads late is bundled in another way than tests load it. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { ChartHost } from "../../src/charts/testing/host.ts";
import { chartArchive, chartWithVersion, kustomizationArchive } from "../../src/charts/testing/sources.ts";
import { application } from "../../src/embedded/testing/application.ts";
import type { JsonObject } from "../../src/runtime/index.ts";
import { BIN } from "../start/fleet.ts";
import { type RealRenderer, realRenderer } from "./harness.ts";

let renderer: RealRenderer;
let host: ChartHost;
let folder: string;
beforeAll(async () => {
  renderer = await realRenderer();
  folder = mkdtempSync(join(tmpdir(), "lockstep-built-"));
  host = await ChartHost.start({
    charts: [{ name: "notes", version: "1.0.0", archive: chartWithVersion("notes", "1.0.0") }],
  });
});
afterAll(async () => {
  await host?.stop();
  renderer?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What `lockstep render` prints. */
async function render(source: JsonObject, archive?: Buffer): Promise<string> {
  const metadata = { name: "archive", namespace: "default" };
  const binaryData = { "archive.tgz": archive?.toString("base64") ?? "" };
  const objects: JsonObject[] = [application("notes", { source, clusters: { names: ["member1"] } })];
  if (archive) objects.push({ apiVersion: "v1", kind: "ConfigMap", metadata, binaryData });
  const file = join(folder, "app.yaml");
  writeFileSync(file, objects.map((object) => stringify(object)).join("---\n"));
  const programs = ["--helm", renderer.helm, "--kustomize", renderer.kustomize];
  const { stdout } = await promisify(execFile)(
    join(BIN, "lockstep"),
    ["render", "-f", file, "--offline", ...programs],
    { cwd: folder },
  );
  return stdout;
}

it("renders a chart of a repository and of a registry", async () => {
  expect(await render({ helm: { repository: host.repository, chart: "notes", version: "^1" } })).toContain(
    "kind: StatefulSet",
  );
  const oci = `oci://${host.address}/charts/notes`;
  expect(await render({ helm: { oci, version: "1.0.0" } })).toContain("kind: StatefulSet");
});

it("reads large text in its thread, and answers with what is refused in it", async () => {
  const line = (index: number) => `  k${index}: ${"x".repeat(1_000)}\n`;
  const data = Array.from({ length: 200 }, (_, index) => line(index)).join("");
  const large = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata:\n${data}`;
  const chart = chartArchive("notes", { "templates/large.yaml": large });
  expect(await render({ helm: { archive: { configMap: "archive" } } }, chart)).toContain("name: large");
  const site = (resources: string) =>
    kustomizationArchive({ "one/large.yaml": large, "one/kustomization.yaml": `resources: [large.yaml${resources}]` });
  const source = { kustomize: { path: "site/one", archive: { configMap: "archive" } } };
  expect(await render(source, site(""))).toContain("name: large");
  await expect(render(source, site(", https://example.com/x"))).rejects.toThrow("remote addresses are not fetched");
});

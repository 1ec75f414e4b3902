/** `lockstep render` without a hub shows what helm and kustomize print themselves. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { chartArchive, kustomizationArchive } from "../../src/charts/testing/sources.ts";
import { hideSecrets } from "../../src/cli/preview/rendering.ts";
import { runCli } from "../../src/cli/program.ts";
import { testIo } from "../../src/cli/testing/harness.ts";
import { application } from "../../src/embedded/testing/application.ts";
import type { KubeObject } from "../../src/kube/index.ts";
import { canonicalText, isJsonObject, type JsonObject, systemClock } from "../../src/runtime/index.ts";
import { type RealRenderer, realRenderer } from "./harness.ts";

let renderer: RealRenderer;
let folder: string;
beforeAll(async () => {
  renderer = await realRenderer();
  folder = mkdtempSync(join(tmpdir(), "lockstep-render-"));
});
afterAll(() => {
  renderer.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function rendered(archive: Buffer, source: JsonObject): Promise<KubeObject[]> {
  const metadata = { name: "archive", namespace: "default" };
  const binaryData = { "archive.tgz": archive.toString("base64") };
  const files = {
    "app.yaml": stringify(application("mine", { source, clusters: { names: ["member1"] } })),
    "archive.yaml": stringify({ apiVersion: "v1", kind: "ConfigMap", metadata, binaryData }),
  };
  const io = testIo(systemClock, undefined, { files });
  const programs = ["--helm", renderer.helm, "--kustomize", renderer.kustomize];
  const args = ["render", "-f", "app.yaml", "-f", "archive.yaml", "--offline", "-o", "json"];
  expect(await runCli([...args, ...programs], io), io.err.join("")).toBe(0);
  const [{ objects } = { objects: [] }] = JSON.parse(io.out.join(""));
  return objects;
}

/** Lists taken apart and Secrets hidden, as `render` has them. */
function printed(text: string): JsonObject[] {
  const documents = parseAllDocuments(text, { version: "1.1", uniqueKeys: false, logLevel: "error" });
  const split = (value: unknown): JsonObject[] => {
    if (!isJsonObject(value)) return [];
    const { kind, items } = value;
    return String(kind).endsWith("List") && Array.isArray(items) ? items.flatMap(split) : [hideSecrets(value)];
  };
  return documents.flatMap((document) => split(document.toJS()));
}

/** Without the namespace that Lockstep fills in where a source leaves it off, and without checksums of passwords. */
function comparable(objects: readonly JsonObject[]): string[] {
  return objects
    .map(({ metadata, ...object }) => {
      const { namespace: _any, ...rest } = isJsonObject(metadata) ? metadata : {};
      return canonicalText({ ...object, metadata: rest }).replaceAll(/[0-9a-f]{64}/g, "CHECKSUM");
    })
    .sort();
}

it.each(["shop", "notes", "orders"] as const)("a chart: %s", async (name) => {
  const archive = chartArchive(name);
  const file = join(folder, `${name}.tgz`);
  writeFileSync(file, archive);
  const args = ["template", "mine", file, "--namespace=default", "--include-crds", "--kube-version=v1.31.0"];
  const text = execFileSync(renderer.helm, args, { env: { HOME: folder, KUBECONFIG: "/dev/null" } }).toString();
  const own = printed(text);
  expect(own.length).toBeGreaterThan(2);
  const objects = await rendered(archive, { helm: { archive: { configMap: "archive" } } });
  expect(comparable(objects)).toEqual(comparable(own));
});

it("a kustomization", async () => {
  const archive = kustomizationArchive();
  const file = join(folder, "site.tgz");
  writeFileSync(file, archive);
  execFileSync("tar", ["-xzf", file, "-C", folder]);
  const text = execFileSync(renderer.kustomize, ["build", join(folder, "site/overlays/prod")]).toString();
  const objects = await rendered(archive, {
    kustomize: { path: "site/overlays/prod", archive: { configMap: "archive" } },
  });
  expect(comparable(objects)).toEqual(comparable(printed(text)));
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { kustomizationArchive } from "../../charts/testing/sources.ts";
import { application } from "../../embedded/testing/application.ts";
import { seededRandom, silentLog, systemClock } from "../../runtime/index.ts";
import { runCli } from "../program.ts";
import { testIo } from "../testing/harness.ts";
import { openLocalRenderer, openRenderer } from "./renderer.ts";

const folder = mkdtempSync(join(tmpdir(), "lockstep-programs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const parts = { clock: systemClock, random: seededRandom(1), log: silentLog };

function program(path: string, version: string, name = "helm"): void {
  mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, path, name), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
}

const REQUEST = {
  namespace: "default",
  kubeVersion: "v1.36.4",
  apiVersions: [],
  isUpgrade: false,
  lookups: "Own",
  previousObjects: [],
  tenant: "default",
} as const;

it("the fleet on this machine renders with what a checkout has built, unless PATH has a program", async () => {
  program("cache/programs", "v3.22.0");
  const env = { PATH: join(folder, "bin"), LOCKSTEP_CACHE: join(folder, "cache") };
  const built = await openLocalRenderer({ env }, parts).programs();
  expect(built.helm).toMatchObject({ kind: "found", path: join(folder, "cache/programs/helm"), version: "v3.22.0" });
  expect(built.kustomize).toMatchObject({ kind: "missing" });
  // A controller in a cluster takes nothing from a user's folder.
  expect((await openRenderer({ env }, parts).programs()).helm).toMatchObject({ kind: "missing" });
  program("bin", "v4.0.1");
  expect((await openLocalRenderer({ env }, parts).programs()).helm).toMatchObject({ version: "v4.0.1" });
});

it("a chart on loopback is for the fleet on this machine alone", async () => {
  program("kust", "v5.8.2", "kustomize");
  const env = { PATH: join(folder, "kust"), LOCKSTEP_CACHE: folder };
  const said = async (open: typeof openRenderer) => {
    const archive = { url: "http://127.0.0.1:1/site.tgz", sha256: "a".repeat(64) };
    const request = { source: { kind: "kustomize", path: "site", archive }, ...REQUEST } as const;
    const result = await open({ env }, parts).render(request, new AbortController().signal);
    return result.kind === "refused" ? result.message : "";
  };
  expect(await said(openRenderer)).toContain("is not allowed: a source must begin with https://");
  expect(await said(openLocalRenderer)).toContain("127.0.0.1:1 could not be reached");
});

it("lockstep render finds what the fleet on this machine finds", async () => {
  program("cache/programs", "v5.8.2", "kustomize");
  const says = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "built"}}';
  const script = `#!/bin/sh\nif [ "$1" = version ]; then echo v5.8.2; else echo '${says}'; fi\n`;
  writeFileSync(join(folder, "cache/programs/kustomize"), script);
  const binaryData = { "site.tgz": kustomizationArchive({ "kustomization.yaml": "{}" }).toString("base64") };
  const metadata = { name: "site", namespace: "default" };
  const source = { kustomize: { path: "site", archive: { configMap: "site" } } };
  const files = {
    "app.yaml": stringify(application("site", { source, clusters: { names: ["member1"] } })),
    "site.yaml": stringify({ apiVersion: "v1", kind: "ConfigMap", metadata, binaryData }),
  };
  const env = { PATH: "", LOCKSTEP_CACHE: join(folder, "cache") };
  const io = testIo(systemClock, undefined, { files, env });
  const code = await runCli(["render", "-f", "app.yaml", "-f", "site.yaml", "--offline"], io);
  expect([code, io.err.join("")]).toEqual([0, ""]);
  expect(io.out.join("")).toContain("name: built");
});

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import type { RenderRequest } from "../../src/charts/index.ts";
import { ChartHost, digestOf } from "../../src/charts/testing/host.ts";
import { chartArchive, chartWithVersion, kustomizationArchive } from "../../src/charts/testing/sources.ts";
import { canonicalText, type Json } from "../../src/runtime/index.ts";
import { chartRequest, never, type RealRenderer, realRenderer, refused, rendered } from "./harness.ts";

const run = promisify(execFile);
const CHARTS = ["1.3.0", "1.4.0", "2.0.0"].map((version) => ({
  name: "shop",
  version,
  archive: chartWithVersion("shop", version),
}));
const site = kustomizationArchive();

let renderer: RealRenderer;
let host: ChartHost;
let home: string;
beforeAll(async () => {
  renderer = await realRenderer();
  host = await ChartHost.start({ charts: [...CHARTS, { name: "site", version: "1.0.0", archive: site }] });
  home = mkdtempSync(join(tmpdir(), "lockstep-apps-home-"));
});
afterAll(async () => {
  expect(renderer.leftovers()).toEqual([]);
  renderer.stop();
  await host.stop();
  rmSync(home, { recursive: true, force: true });
});

/** What the program prints by itself, from the same host. */
async function plainHelm(args: readonly string[]): Promise<string[]> {
  const { stdout } = await run(
    renderer.helm,
    ["template", "mine", ...args, "-n", "default", "--include-crds", "--kube-version=v1.36.4"],
    {
      cwd: home,
      env: { HOME: home },
      maxBuffer: 100_000_000,
    },
  );
  const documents = parseAllDocuments(stdout, { version: "1.1", uniqueKeys: false }).map(
    (document) => document.toJS() as Json,
  );
  return documents
    .flatMap((value) => itemsOf(value))
    .map(comparable)
    .sort();
}

function itemsOf(value: Json): Json[] {
  if (value === null) return [];
  const { kind, items } = value as { kind: string; items: Json[] };
  return kind === "List" ? items : [value];
}

/** Two runs make two passwords. */
function comparable(value: Json): string {
  return canonicalText(value).replaceAll(/"(?:password|checksum\/secret)":"\w+"/g, "");
}

async function ours(request: RenderRequest) {
  const result = rendered(await renderer.render(request, never));
  return {
    objects: result.objects.map(({ object }) => comparable(object as Json)).sort(),
    version: result.chartVersion,
  };
}

describe("a chart gives the same objects as helm itself", () => {
  it("from a repository, by a range", async () => {
    const { objects, version } = await ours(
      chartRequest({ repository: host.repository, chart: "shop", version: "^1" }),
    );
    expect(version).toBe("1.4.0");
    expect(objects).toEqual(await plainHelm(["shop", "--repo", host.repository, "--version", "^1"]));
    expect(objects).toHaveLength(11);
  });

  it("from a registry, by a range and by a version", async () => {
    const oci = `oci://${host.address}/charts/shop`;
    for (const wanted of ["~1.3", "2.0.0"]) {
      const { objects, version } = await ours(chartRequest({ oci, version: wanted }));
      expect(version).toBe(wanted === "2.0.0" ? "2.0.0" : "1.3.0");
      expect(objects).toEqual(await plainHelm([oci, "--version", wanted, "--plain-http"]));
    }
  });

  it("from an archive, with layers of values", async () => {
    const values = [
      { replicas: 4, extraLabels: { a: "b" } },
      { cache: { size: "9Mi" }, extraLabels: { c: "d" } },
    ];
    writeFileSync(join(home, "shop.tgz"), CHARTS[1]!.archive);
    for (const [index, layer] of values.entries()) writeFileSync(join(home, `v${index}.json`), JSON.stringify(layer));
    const { objects } = await ours(chartRequest(CHARTS[1]!.archive, values));
    expect(objects).toEqual(await plainHelm(["./shop.tgz", "-f", "v0.json", "-f", "v1.json"]));
  });
});

describe("a source", () => {
  it("of a kustomization may be an address with a digest", async () => {
    const archive = { url: `${host.repository}/site-1.0.0.tgz`, sha256: digestOf(site) };
    const request = { ...chartRequest(site), source: { kind: "kustomize", path: "site/base", archive } } as const;
    const { objects, sourceDigest } = rendered(await renderer.render(request, never));
    expect(objects).toHaveLength(2);
    expect(sourceDigest).toBe(`sha256:${digestOf(site)}`);
  });

  it("that changes its content behind a version becomes another render", async () => {
    const before = rendered(
      await renderer.render(chartRequest({ repository: host.repository, chart: "shop", version: "1.4.0" }), never),
    );
    const moved = await ChartHost.start({
      charts: [
        {
          name: "shop",
          version: "1.4.0",
          archive: chartArchive("shop", { "values.yaml": "replicas: 1\nimage: {name: x}\nstorage: 1Gi\n" }),
        },
      ],
    });
    const after = rendered(
      await renderer.render(chartRequest({ repository: moved.repository, chart: "shop", version: "1.4.0" }), never),
    );
    expect(after.sourceDigest).not.toBe(before.sourceDigest);
    expect(after.digest).not.toBe(before.digest);
    await moved.stop();
  });

  it("that does not answer, or whose digest differs, is refused, and a later success is not held back", async () => {
    const broken = await ChartHost.start({ charts: [{ ...CHARTS[0]!, digest: "e".repeat(64) }] });
    const request = chartRequest({ repository: broken.repository, chart: "shop", version: "1.3.0" });
    expect(refused(await renderer.render(request, never)).reason).toBe("DigestMismatch");
    await broken.stop();
    expect(refused(await renderer.render(request, never))).toMatchObject({
      reason: "SourceUnavailable",
      message: expect.stringContaining("could not be reached"),
    });
    expect(
      rendered(
        await renderer.render(chartRequest({ repository: host.repository, chart: "shop", version: "1.3.0" }), never),
      ).chartVersion,
    ).toBe("1.3.0");
  });
});

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLog, systemClock, systemRandom } from "../runtime/index.ts";
import { createRenderer, type RendererOptions, type RenderRequest } from "./index.ts";
import { fakeProgram } from "./testing/programs.ts";
import { chartArchive, kustomizationArchive } from "./testing/sources.ts";
import { testTgz } from "./testing/tar.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-renderer-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const never = new AbortController().signal;
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };

function renderer(options: Partial<RendererOptions> = {}) {
  const workFolder = join(folder, "work");
  return createRenderer({
    searchPath: folder,
    workFolder,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    ...options,
  });
}

function request(source: RenderRequest["source"], more: Partial<RenderRequest> = {}): RenderRequest {
  const common = {
    namespace: "default",
    kubeVersion: "v1.36.4",
    apiVersions: [],
    isUpgrade: false,
    previousObjects: [],
    tenant: "default",
  };
  return { source, lookups: "Own", ...common, ...more };
}

const chart = (bytes: Uint8Array = chartArchive("odd")) =>
  request({ kind: "helm", chart: { archive: { bytes } }, releaseName: "r", values: [{ a: 1 }] });

/** Counts its calls in a file, and prints an object with the number of the call. */
function countingHelm(): () => number {
  const file = join(folder, "calls");
  fakeProgram(
    folder,
    "helm",
    `if [ "$1" = version ]; then echo v3.22.0; exit; fi
echo call >> ${file}
echo "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {count: \\"$(wc -l < ${file})\\"}}"`,
  );
  return () => readFileSync(file, "utf8").split("\n").length - 1;
}

describe("manifests", () => {
  it("given as objects or as text become objects, without any program", async () => {
    const inline = await renderer().render(request({ kind: "manifests", objects: [CONFIG_MAP] }), never);
    const text = await renderer().render(
      request({ kind: "manifestText", text: "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n" }),
      never,
    );
    expect(inline).toMatchObject({
      kind: "rendered",
      objects: [{ object: CONFIG_MAP, keep: false, isCrd: false }],
      warnings: [],
    });
    expect(text).toEqual(inline);
  });

  it("that are bad are refused with a reason and a remedy", async () => {
    expect(await renderer().render(request({ kind: "manifests", objects: [CONFIG_MAP, CONFIG_MAP] }), never)).toEqual({
      kind: "refused",
      reason: "DuplicateObject",
      message: "the source renders ConfigMap a twice",
      remedy: "rename or remove one of the two",
    });
    expect(await renderer().render(request({ kind: "manifestText", text: "" }), never)).toMatchObject({
      reason: "EmptyRender",
    });
    const small = renderer({ limits: { outputBytes: 10 } });
    expect(await small.render(request({ kind: "manifestText", text: "x".repeat(11) }), never)).toMatchObject({
      reason: "TooLarge",
    });
  });
});

describe("a program that is missing", () => {
  it("is one clear refusal, in the report as well", async () => {
    const remedy =
      "install helm 3.13 or newer (https://helm.sh/docs/intro/install) where the controller runs, or give its path with --helm";
    const message = "helm is needed to render this application, and there is none on the PATH of the controller";
    expect(await renderer().render(chart(), never)).toEqual({
      kind: "refused",
      reason: "ProgramMissing",
      message,
      remedy,
    });
    expect(await renderer().programs()).toMatchObject({
      helm: { kind: "missing", message, remedy },
      kustomize: { kind: "missing" },
    });
  });

  it("is found once it is there", async () => {
    const path = fakeProgram(folder, "kustomize", "echo v5.8.2");
    expect(await renderer().programs()).toMatchObject({
      kustomize: { kind: "found", path, version: "v5.8.2" },
      network: expect.stringMatching(/^(?:Namespace|DeadProxies)$/),
    });
  });
});

describe("a render", () => {
  it("is kept by the content of its inputs, and shared by those who ask at the same time", async () => {
    const calls = countingHelm();
    const own = renderer();
    const [first, second] = await Promise.all([own.render(chart(), never), own.render(chart(), never)]);
    expect(first).toMatchObject({
      kind: "rendered",
      chartVersion: "0.1.0",
      objects: [{ object: { stringData: { count: "1" } } }],
    });
    expect(second).toBe(first);
    expect(await own.render(chart(), never)).toBe(first);
    expect(calls()).toBe(2);
    await own.render({ ...chart(), kubeVersion: "v1.35.0" }, never);
    await own.render({ ...chart(), isUpgrade: true }, never);
    await own.render({ ...chart(), namespace: "other" }, never);
    await own.render({ ...chart(), apiVersions: ["example.io/v1"] }, never);
    await own.render({ ...chart(), previousObjects: [CONFIG_MAP] }, never);
    await own.render({ ...chart(), lookups: "Empty" }, never);
    expect(calls()).toBe(14);
    // Another tenant never gets a generated password, even if everything else is the same.
    await own.render({ ...chart(), tenant: "other" }, never);
    expect(calls()).toBe(16);
    expect(readdirSync(join(folder, "work"))).toEqual([]);
  });

  it("that one caller gives up is done for the other", async () => {
    countingHelm();
    const own = renderer();
    const gaveUp = new AbortController();
    const first = own.render(chart(), gaveUp.signal);
    const second = own.render(chart(), never);
    gaveUp.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    expect(await second).toMatchObject({ kind: "rendered" });
  });

  it("that was refused for good is not tried again, one that failed by chance is", async () => {
    const file = join(folder, "calls");
    const script = (end: string) => `if [ "$1" = version ]; then echo v3.22.0; exit; fi\necho call >> ${file}\n${end}`;
    fakeProgram(folder, "helm", script('echo "Error: the chart is wrong" >&2; exit 1'));
    const own = renderer();
    expect(await own.render(chart(), never)).toEqual({
      kind: "refused",
      reason: "RenderFailed",
      message: "the chart is wrong",
      remedy: "correct the chart or its values",
    });
    await own.render(chart(), never);
    expect(readFileSync(file, "utf8")).toBe("call\n");
    fakeProgram(folder, "helm", script("kill -9 $$"));
    const other = renderer();
    expect(await other.render(chart(), never)).toMatchObject({
      reason: "RenderFailed",
      message: "helm was ended by the signal SIGKILL",
    });
    await other.render(chart(), never);
    expect(readFileSync(file, "utf8")).toBe("call\ncall\ncall\n");
  });

  it("of a bad archive never starts a program", async () => {
    const calls = join(folder, "calls");
    for (const name of ["helm", "kustomize"])
      fakeProgram(folder, name, `if [ "$1" = version ]; then echo v5.8.2; exit; fi\necho call >> ${calls}`);
    fakeProgram(folder, "helm", 'if [ "$1" = version ]; then echo v3.22.0; exit; fi\necho call >> calls');
    const link = testTgz([{ path: "site/l", type: "2", link: "/etc" }]);
    expect(await renderer().render(chart(link), never)).toMatchObject({
      reason: "BadArchive",
      message: "the archive contains the link 'site/l'",
    });
    expect(
      await renderer().render(request({ kind: "kustomize", path: "site", archive: { bytes: link } }), never),
    ).toMatchObject({ reason: "BadArchive" });
    const remote = kustomizationArchive({ "base/kustomization.yaml": "resources: [https://example.io/x]" });
    expect(
      await renderer().render(request({ kind: "kustomize", path: "site/base", archive: { bytes: remote } }), never),
    ).toMatchObject({
      reason: "RenderFailed",
      message: expect.stringContaining("remote addresses are not fetched"),
    });
    expect(() => readFileSync(calls)).toThrow();
  });
});

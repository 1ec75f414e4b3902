import { describe, expect, it } from "vitest";
import { RefusalError } from "../refusal.ts";
import { scanKustomization } from "./scan.ts";

type Tree = Readonly<Record<string, string>>;

function scan(files: Tree, path = "app"): string | undefined {
  const folders = new Set(
    Object.keys(files).flatMap((name) => name.split("/").map((_, index, parts) => parts.slice(0, index).join("/"))),
  );
  try {
    scanKustomization({ text: (name) => files[name], hasFolder: (name) => folders.has(name) }, path);
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    expect(error).toMatchObject({ reason: "RenderFailed", remedy: expect.stringMatching(/./) });
    return error.message;
  }
  return undefined;
}

const app = (text: string): Tree => ({
  "app/kustomization.yaml": text,
  "app/a.yaml": "a: 1",
  "base/kustomization.yml": "resources: []",
});

describe("a kustomization", () => {
  it("may use whatever is in its archive", () => {
    expect(
      scan(
        app(
          "resources: [a.yaml, ../base]\nconfigMapGenerator: [{name: c, files: [k=a.yaml], literals: [url=https://shop.example]}]",
        ),
      ),
    ).toBeUndefined();
    expect(
      scan(app("commonAnnotations: {home: https://shop.example}\nimages: [{name: x, newName: registry.example/x}]")),
    ).toBeUndefined();
    expect(scan(app("patches: [{patch: '- {op: add, path: /x, value: https://shop.example}'}]"))).toBeUndefined();
    expect(scan({ "kustomization.yaml": "resources: []" }, "")).toBeUndefined();
  });

  it.each([
    ["resources: [https://example.io/a.yaml]", 'resources has "https://example.io/a.yaml"'],
    ["resources: [github.com/example/repo//base?ref=v1]", 'resources has "github.com/example/repo//base?ref=v1"'],
    ["bases: [git@example.io:org/repo]", "bases has"],
    ["components: [ssh://git@example.io/x]", "components has"],
    ["resources: [missing.yaml]", 'resources has "missing.yaml", which is not in the archive'],
    ["patches: [{path: https://example.io/p.yaml}]", "patches.path has"],
    ["patchesStrategicMerge: [https://example.io/p.yaml]", "patchesStrategicMerge has"],
    [
      "configMapGenerator: [{name: c, files: [k=https://example.io/f]}]",
      'configMapGenerator.files has "https://example.io/f"',
    ],
    ["secretGenerator: [{name: c, envs: [https://example.io/e]}]", "secretGenerator.envs has"],
    ["openapi: {path: https://example.io/o.json}", "openapi.path has"],
    ["crds: [https://example.io/c]", "crds has"],
    ["configurations: [https://example.io/c]", "configurations has"],
    ["replacements: [{path: https://example.io/r}]", "replacements.path has"],
    ["transformers: [https://example.io/t]", "transformers has"],
    ["generators:\n- |\n  kind: ConfigMapGenerator\n  files: [https://example.io/f]", "generators.files has"],
    ["resources: [", "is not a YAML map"],
  ])("is refused by name for %s", (text, message) => {
    expect(scan(app(text))).toContain(message);
    expect(scan(app(text))).toMatch(/^app\/kustomization\.yaml/);
  });

  it("is refused for remote addresses in a base, and in the files of its generators", () => {
    const base = { ...app("resources: [../base]"), "base/kustomization.yml": "resources: [https://example.io/x]" };
    expect(scan(base)).toContain("base/kustomization.yml: resources has");
    const generator = {
      ...app("generators: [g.yaml]"),
      "app/g.yaml": "kind: SecretGenerator\nfiles: [https://example.io/f]",
    };
    expect(scan(generator)).toContain("generators.files has");
  });

  it("is refused for remote addresses in what builds its generators, and in any document of them", () => {
    const built = {
      ...app("generators: [../gen]"),
      "gen/kustomization.yaml": "resources: [g.yaml]",
      "gen/g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nfiles: [http://127.0.0.1:8080/f]",
    };
    expect(scan(built)).toContain('gen/kustomization.yaml: resources.files has "http://127.0.0.1:8080/f"');
    // As a base, the same folder only has manifests: an address in them is data.
    expect(scan({ ...built, "app/kustomization.yaml": "resources: [../gen]" })).toBeUndefined();
    expect(scan({ ...built, "app/kustomization.yaml": "resources: [../gen]\ngenerators: [../gen]" })).toContain(
      "resources.files has",
    );
    const second = {
      ...app("transformers: [g.yaml]"),
      "app/g.yaml": "kind: A\n---\nkind: B\npath: https://example.io/p",
    };
    expect(scan(second)).toContain("transformers.path has");
    const broken = { ...app("validators: [g.yaml]"), "app/g.yaml": "a: [" };
    expect(scan(broken)).toContain("validators names a file that is not YAML");
  });

  it("never leaves its archive", () => {
    expect(scan(app("resources: [../../etc]"))).toBe(
      "app/kustomization.yaml: resources: '../../etc' leaves the archive",
    );
    expect(scan(app("resources: [/etc]"))).toContain("leaves the archive");
    expect(scan(app("resources: []"), "../app")).toBe("the path leaves the archive");
    expect(scan(app("resources: []"), "/app")).toBe("the path leaves the archive");
  });

  it("that is not where its path says is refused", () => {
    expect(scan(app("resources: []"), "overlays/prod")).toBe("the folder 'overlays/prod' is not in the archive");
    expect(scan({ "app/a.yaml": "" })).toBe("the folder 'app' has no kustomization.yaml");
  });

  it("that refers to itself is scanned once", () => {
    expect(scan(app("resources: [../app]"))).toBeUndefined();
  });
});

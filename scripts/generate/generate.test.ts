import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { customResourceDefinitions } from "../../src/api/index.ts";
import { generate, outdated, write } from "../generate.ts";

describe("generated files", () => {
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "lockstep-generate-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it("are the same bytes every time", async () => {
    expect(await generate()).toEqual(await generate());
  });

  it("are current once written; edited, missing and leftover files are named", async () => {
    const files = await generate();
    expect(await outdated(root, files)).toEqual(files.map((file) => file.path));
    write(root, files);
    expect(await outdated(root, files)).toEqual([]);

    const [first, second] = files;
    writeFileSync(join(root, first!.path), "edited");
    rmSync(join(root, second!.path));
    writeFileSync(join(root, "deploy/crds/old.yaml"), "old");
    expect(await outdated(root, files)).toEqual([first!.path, second!.path, "deploy/crds/old.yaml"].sort());

    write(root, files);
    expect(await outdated(root, files)).toEqual([]);
    expect(readdirSync(join(root, "deploy/crds"))).not.toContain("old.yaml");
  });

  it("name their generator, and parse as the CRDs that they were generated from", async () => {
    const files = await generate();
    // Two tables of SPEC.md are generated, and a comment above each says so; the rest is written by hand.
    // JSON has no comments.
    const silent = files
      .filter((file) => !file.path.endsWith(".json"))
      .filter((file) => {
        const [first = ""] = file.text.split("\n");
        return !/generated.*npm run generate/i.test(file.path === "SPEC.md" ? file.text : first);
      });
    expect(silent.map((file) => file.path)).toEqual([]);
    const crds = files.filter((file) => file.path.startsWith("deploy/crds/"));
    const read = crds.flatMap((file) => parseAllDocuments(file.text).map((document) => document.toJS()));
    const byName = (list: unknown[]) => new Set(list.map((item) => JSON.stringify(item)));
    expect(byName(read)).toEqual(byName(customResourceDefinitions()));
  });

  it("are current in this repository", async () => {
    const files = await generate();
    const repository = new URL("../..", import.meta.url).pathname;
    const different = files.filter((file) => readFileSync(join(repository, file.path), "utf8") !== file.text);
    expect(different.map((file) => file.path)).toEqual([]);
  });
});

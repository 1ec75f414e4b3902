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

  it("are current once written; what is edited, missing or left over is named", async () => {
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

  it("say how they came to be, and read back as the CRDs they were made from", async () => {
    const files = await generate();
    const silent = files.filter((file) => !/generated.*npm run generate/i.test(file.text.split("\n")[0] ?? ""));
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

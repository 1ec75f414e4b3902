import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { PAGE, pageFiles, STYLE } from "./bundle-page.mjs";

const MAX_BYTES = 60 * 1024;

it("the dashboard's page is below 60 KB, compressed", async () => {
  const built = await Promise.all([PAGE, STYLE].map((part) => build({ ...part, outdir: "dist/web", write: false })));
  const bytes = built.flatMap(({ outputFiles = [] }) => outputFiles.map(({ contents }) => gzipSync(contents).length));
  expect(bytes.length).toBe(2);
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(MAX_BYTES);
});

it("the page contains no code of the server, only its types", async () => {
  const ours = (await pageFiles()).filter((path) => !path.includes("node_modules"));
  expect(ours.filter((path) => path.startsWith("src/"))).toEqual([]);
});

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { PAGE, pageFiles } from "./bundle-page.mjs";

const MAX_BYTES = 60 * 1024;

it("the dashboard's page is below 60 KB, compressed", async () => {
  const { outputFiles = [] } = await build({ ...PAGE, outdir: "dist/web", write: false });
  const css = readFileSync(new URL("../web/app.css", import.meta.url));
  const bytes = [...outputFiles.map(({ contents }) => contents), css].map((file) => gzipSync(file).length);
  expect(bytes.length).toBe(2);
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(MAX_BYTES);
});

it("the page contains no code of the server, only its types", async () => {
  const ours = (await pageFiles()).filter((path) => !path.includes("node_modules"));
  expect(ours.filter((path) => path.startsWith("src/"))).toEqual([]);
});

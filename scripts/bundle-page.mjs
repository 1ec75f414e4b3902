// Bundles the dashboard's page (web/) into dist/web: one script, one style sheet, no other requests.
import { copyFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What both the build and the measurement of its size use. */
export const PAGE = {
  absWorkingDir: root,
  entryPoints: { app: "web/main.tsx" },
  bundle: true,
  format: "esm",
  platform: "browser",
  target: ["chrome111", "firefox113", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
};

/** The style sheet, from its parts. */
export const STYLE = {
  absWorkingDir: root,
  entryPoints: { app: "web/app.css" },
  bundle: true,
  minify: true,
  logLevel: "warning",
};

export async function bundlePage() {
  await build({ ...PAGE, outdir: "dist/web" });
  await build({ ...STYLE, outdir: "dist/web" });
  for (const file of ["index.html", "icon.svg"]) copyFileSync(`${root}web/${file}`, `${root}dist/web/${file}`);
}

/** The source files that the page contains code of. */
export async function pageFiles() {
  const { metafile } = await build({ ...PAGE, outdir: "dist/web", write: false, metafile: true });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  return [...new Set(inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path))].sort();
}

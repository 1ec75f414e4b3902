// Bundles each entry point into dist/, so that starting Lockstep reads few files and needs no dependency tree.
// Code splitting keeps what a command does not use (client-node, the API server ...) out of its start.
import { rmSync } from "node:fs";
import { build } from "esbuild";

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });

await build({
  absWorkingDir: new URL("..", import.meta.url).pathname,
  entryPoints: { lockstep: "src/cli/main.ts" },
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  sourcemap: "linked",
  legalComments: "none",
  logLevel: "warning",
  // CommonJS packages inside an ES module bundle still call require for Node's own modules.
  banner: {
    js: 'import { createRequire as __lockstepRequire } from "node:module"; const require = __lockstepRequire(import.meta.url);',
  },
});

// How to bundle, for the build and for benchmarks of the built program.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { build } from "esbuild";

/** The program that `npm run build` creates, and the thread in which it reads large output of helm and kustomize. */
export const PROGRAM = {
  entryPoints: { lockstep: "src/cli/main.ts", "read-worker": "src/charts/read/worker.ts" },
  outdir: "dist",
};

/** The package entry `lockstep/sdk`. On its own, so that it does not change how the program is split. */
export const SDK = { entryPoints: { index: "sdk/typescript/index.ts" }, outdir: "dist/sdk" };

/**
 * Bundles the entry points into ES modules that need no dependency tree. Code splitting keeps what a command does not
 * use (client-node, the API server ...) out of its start; without comments and indentation a process keeps a third less
 * source in memory. Names are not shortened, for stack traces.
 *
 * @param {{ entryPoints: Record<string, string>, outdir: string, extension?: string }} options
 */
export async function bundle({ entryPoints, outdir, extension = ".js" }) {
  const { outputFiles } = await build(optionsOf({ entryPoints, outdir, extension }));
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, path.endsWith(extension) ? inOneByte(text) : text);
  }
}

/** The source files, relative to the repository's root, that the program in dist/ contains code of. */
export async function bundledFiles() {
  const { metafile } = await build({ ...optionsOf(PROGRAM), metafile: true });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  return [...new Set(inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path))].sort();
}

/** @param {{ entryPoints: Record<string, string>, outdir: string, extension?: string }} options */
function optionsOf({ entryPoints, outdir, extension = ".js" }) {
  return {
    absWorkingDir: new URL("..", import.meta.url).pathname,
    entryPoints,
    outdir,
    outExtension: { ".js": extension },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    sourcemap: "linked",
    // NOTICE contains each licence text that must be kept, once (scripts/generate/notice.ts).
    legalComments: "none",
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: "warning",
    write: false,
    // CommonJS packages inside an ES module bundle still call require for Node's own modules.
    banner: {
      js: 'import { createRequire as __lockstepRequire } from "node:module"; const require = __lockstepRequire(import.meta.url);',
    },
  };
}

/**
 * A single character beyond Latin-1 makes the engine store a whole file with two bytes per character. esbuild escapes
 * them in strings but not in regular expressions, where the same escape works.
 *
 * @param {string} code
 */
function inOneByte(code) {
  return code.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

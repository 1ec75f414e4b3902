// One way of bundling, for the build and for whatever measures what the build makes.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { build } from "esbuild";

/**
 * Bundles the entry points into ES modules that need no dependency tree. Code splitting keeps what a command does not use
 * (client-node, the API server ...) out of its start; without comments and indentation a process keeps a third less source
 * in memory. Names stay as they are, for stack traces.
 *
 * @param {{ entryPoints: Record<string, string>, outdir: string, extension?: string }} options
 */
export async function bundle({ entryPoints, outdir, extension = ".js" }) {
  const { outputFiles } = await build({
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
    legalComments: "none",
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: "warning",
    write: false,
    // CommonJS packages inside an ES module bundle still call require for Node's own modules.
    banner: {
      js: 'import { createRequire as __lockstepRequire } from "node:module"; const require = __lockstepRequire(import.meta.url);',
    },
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, path.endsWith(extension) ? inOneByte(text) : text);
  }
}

/**
 * A single character beyond Latin-1 makes the engine keep a whole file in two bytes a character. esbuild escapes them in
 * strings and leaves them in regular expressions, where the same escape means the same.
 *
 * @param {string} code
 */
function inOneByte(code) {
  return code.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

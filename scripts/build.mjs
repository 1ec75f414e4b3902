// Bundles the command line into dist/, so that a start of Lockstep reads few files, and the SDK with its types into
// dist/sdk. dist/ also contains the licences of
// the bundled packages, because it may be copied alone (into an image, for example).
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { bundle, PROGRAM, SDK } from "./bundle.mjs";
import { bundlePage } from "./bundle-page.mjs";

const root = new URL("../", import.meta.url);
rmSync(new URL("dist", root), { recursive: true, force: true });
await bundle(PROGRAM);
await bundle(SDK);
const compiler = new URL("node_modules/typescript/bin/tsc", root).pathname;
execFileSync(process.execPath, [compiler, "-p", "sdk/typescript"], { cwd: root, stdio: "inherit" });
await bundlePage();
for (const file of ["LICENSE", "NOTICE"]) copyFileSync(new URL(file, root), new URL(`dist/${file}`, root));

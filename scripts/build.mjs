// Bundles the command line into dist/, so that a start of Lockstep reads few files. dist/ also contains the licences of
// the bundled packages, because it may be copied alone (into an image, for example).
import { copyFileSync, rmSync } from "node:fs";
import { bundle, PROGRAM } from "./bundle.mjs";
import { bundlePage } from "./bundle-page.mjs";

const root = new URL("../", import.meta.url);
rmSync(new URL("dist", root), { recursive: true, force: true });
await bundle(PROGRAM);
await bundlePage();
for (const file of ["LICENSE", "NOTICE"]) copyFileSync(new URL(file, root), new URL(`dist/${file}`, root));

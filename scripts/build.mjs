// Bundles the command line into dist/, so that starting Lockstep reads few files.
import { rmSync } from "node:fs";
import { bundle } from "./bundle.mjs";

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
await bundle({ entryPoints: { lockstep: "src/cli/main.ts" }, outdir: "dist" });

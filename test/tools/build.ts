/**
 * `tsx test/tools/build.ts NAME...`: builds programs ahead of a suite, so that CI shows the minutes where they are
 * spent.
 */
import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, ensurePrograms, type ProgramName } from "./programs.ts";

/** What `lockstep up` itself runs: it looks for them here, after PATH. */
const RUN_BY_UP: readonly string[] = ["helm", "kustomize"] satisfies ProgramName[];

const paths = await ensurePrograms(process.argv.slice(2) as ProgramName[]);
for (const [name, path] of Object.entries(paths)) {
  if (RUN_BY_UP.includes(name)) link(name, path);
  console.log(`${name} ${path}`);
}

/** In place of the link to an older build. */
function link(name: string, path: string): void {
  const folder = join(cacheFolder(), "programs");
  mkdirSync(folder, { recursive: true });
  const fresh = join(folder, `${name}.${process.pid}`);
  symlinkSync(path, fresh);
  renameSync(fresh, join(folder, name));
}

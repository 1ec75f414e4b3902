/**
 * `tsx test/tools/build.ts NAME...`: builds programs ahead of a suite, so that CI shows the minutes where they are
 * spent.
 */
import { ensurePrograms, type ProgramName } from "./programs.ts";

const paths = await ensurePrograms(process.argv.slice(2) as ProgramName[]);
for (const [name, path] of Object.entries(paths)) console.log(`${name} ${path}`);

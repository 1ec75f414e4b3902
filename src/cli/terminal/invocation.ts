import { basename, isAbsolute, relative } from "node:path";

/**
 * How the user can run this program again, in the current folder: './bin/lockstep' in a clone, where it is not on the
 * PATH. `script` is what Node runs (process.argv[1]).
 */
export function typedName(program: string, script: string | undefined, folder: string): string {
  if (script === undefined || !/^(?:kubectl-)?lockstep$/.test(basename(script))) return program;
  const path = relative(folder, script);
  return path.startsWith("..") || isAbsolute(path) ? program : `./${path}`;
}

import { basename, isAbsolute, relative } from "node:path";

/**
 * How the person can type this program again, in the folder where they are: './bin/lockstep' in a clone, where nothing is
 * on the PATH. `script` is what Node runs (process.argv[1]).
 */
export function typedName(program: string, script: string | undefined, folder: string): string {
  if (script === undefined || !/^(?:kubectl-)?lockstep$/.test(basename(script))) return program;
  const path = relative(folder, script);
  return path.startsWith("..") || isAbsolute(path) ? program : `./${path}`;
}

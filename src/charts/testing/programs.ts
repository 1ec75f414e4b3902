import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A shell script that stands for helm or kustomize in tests that need only Node. */
export function fakeProgram(folder: string, name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

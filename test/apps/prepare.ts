/** Builds helm and kustomize before the suite starts, so that no test waits for a compiler. */
import { ensurePrograms, ProgramUnavailableError } from "../tools/programs.ts";

try {
  const { helm, kustomize } = await ensurePrograms(["helm", "kustomize"]);
  console.log(`helm ${helm}\nkustomize ${kustomize}`);
} catch (error) {
  if (!(error instanceof ProgramUnavailableError)) throw error;
  console.error(`the suite of applications cannot run: ${error.message}`);
  process.exit(1);
}

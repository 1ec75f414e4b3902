/** Makes sure that the programs of the suite are there before it starts; without them it fails. */
import { ensurePrograms } from "../tools/programs.ts";

try {
  const { helm, kustomize } = await ensurePrograms(["helm", "kustomize"]);
  console.log(`helm ${helm}\nkustomize ${kustomize}`);
} catch (error) {
  console.error(`the install suite cannot run: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}

/** Makes sure that there is a real kubectl before the suite starts, and says which; without one the suite fails. */
import { findKubectl } from "./find.ts";

try {
  const { path, version, source } = await findKubectl();
  console.log(`kubectl ${version} (${source}: ${path})`);
} catch (error) {
  console.error(`the kubectl suite cannot run: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}

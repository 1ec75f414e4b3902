/** Builds every program of the suite before it starts: no test's time includes the build. */
import { ensurePrograms } from "../tools/programs.ts";

try {
  await ensurePrograms(["etcd", "etcd-3.5", "etcd-3.7", "probe", "go-operator"]);
} catch (error) {
  console.error(`the etcd suite cannot run: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}

/** `npm run karmada:up`: a real hub and three members on loopback; the kubeconfig's path is the last line printed. */
import { join } from "node:path";
import { cacheFolder, ProgramUnavailableError } from "../../tools/programs.ts";
import { startStack } from "./stack.ts";

export const STACK_FOLDER = join(cacheFolder(), "karmada-stack");

const started = performance.now();
try {
  const stack = await startStack(STACK_FOLDER, ["member1", "member2", "member3"], (line) => {
    console.error(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`);
  });
  console.error("contexts: hub, member1, member2, member3; 'npm run karmada:down' stops it");
  console.log(stack.kubeconfig);
  process.exit(0);
} catch (error) {
  console.error(error instanceof ProgramUnavailableError || error instanceof Error ? error.message : error);
  process.exit(1);
}

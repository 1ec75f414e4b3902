/** What `npm run NAME:up` and `npm run NAME:down` do, whatever the stack. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "../tools/programs.ts";
import type { Say, Stack } from "./ground.ts";
import { stopRecorded } from "./processes.ts";

export const MEMBERS = ["member1", "member2", "member3"];

/** Starts a stack that outlives this process; the kubeconfig's path is the last line printed. */
export async function bringUp(
  name: string,
  startStack: (folder: string, members: string[], say: Say) => Promise<Stack>,
): Promise<never> {
  const started = performance.now();
  try {
    const stack = await startStack(stackFolder(name), MEMBERS, (line) => {
      console.error(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`);
    });
    console.error(`contexts: hub, ${MEMBERS.join(", ")}; 'npm run ${name}:down' stops it`);
    console.log(stack.kubeconfig);
    process.exit(0);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}

/** Ends what `bringUp` started, by its recorded process ids, and removes its folder. */
export async function takeDown(name: string): Promise<void> {
  const stopped = await stopRecorded(stackFolder(name));
  rmSync(stackFolder(name), { recursive: true, force: true });
  console.log(stopped === 0 ? "nothing was running" : `${stopped} processes ended`);
}

function stackFolder(name: string): string {
  return join(cacheFolder(), `${name}-stack`);
}

/** `npm run karmada:down`: ends what `karmada:up` started, by its recorded ids, and removes its folder. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "../../tools/programs.ts";
import { stopRecorded } from "./processes.ts";

const folder = join(cacheFolder(), "karmada-stack");
const stopped = await stopRecorded(folder);
rmSync(folder, { recursive: true, force: true });
console.log(stopped === 0 ? "nothing was running" : `${stopped} processes ended`);

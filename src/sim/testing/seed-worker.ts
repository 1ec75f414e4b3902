/** A thread that plays seeds: it is told one after the other, and answers with what each came to. */
import { parentPort } from "node:worker_threads";
import { HubImage, runSeed, type Tier } from "../index.ts";

const image = new HubImage();

parentPort?.on("message", async ({ seed, tier }: { seed: number; tier: Tier }) => {
  parentPort?.postMessage(await runSeed(seed, { image, tier }));
});

/** A thread that runs seeds: it receives one after the other, and returns the result of each. */
import { parentPort } from "node:worker_threads";
import { HubImage, runSeed, type Tier } from "../index.ts";

const image = new HubImage();

parentPort?.on("message", async ({ seed, tier }: { seed: number; tier: Tier }) => {
  parentPort?.postMessage(await runSeed(seed, { image, tier }));
});

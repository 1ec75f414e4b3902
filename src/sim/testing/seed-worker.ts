/** A thread that runs seeds: it receives one after the other, and returns the result of each. */
import { parentPort } from "node:worker_threads";
import { type EngineName, HubImage, runSeed, type Tier } from "../index.ts";

const image = new HubImage();

parentPort?.on("message", async ({ seed, tier, engine }: { seed: number; tier: Tier; engine: EngineName }) => {
  parentPort?.postMessage(await runSeed(seed, { image, tier, engine }));
});

/** A thread that runs seeds: it says when it is there, receives one after the other, and returns the result of each. */
import { parentPort } from "node:worker_threads";
import { type EngineName, HubImage, runJobSeed, runSeed, type Tier } from "../index.ts";

export interface SeedOrder {
  readonly seed: number;
  readonly tier: Tier;
  readonly engine: EngineName;
  readonly kind: "statefulset" | "job";
}

const image = new HubImage();

parentPort?.on("message", async ({ seed, tier, engine, kind }: SeedOrder) => {
  const isJob = kind === "job";
  parentPort?.postMessage(
    isJob ? await runJobSeed(seed, { image, engine }) : await runSeed(seed, { image, tier, engine }),
  );
});

parentPort?.postMessage("ready");

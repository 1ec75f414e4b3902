import { KarmadaEngine } from "../../src/engine/index.ts";
import { systemClock, systemRandom } from "../../src/runtime/index.ts";
import { type RealFleet, startFleet } from "../stack/fleet.ts";
import { type KarmadaOptions, type KarmadaStack, startStack } from "./stack/stack.ts";

export interface KarmadaFleet extends RealFleet<KarmadaStack> {
  readonly engine: () => KarmadaEngine;
}

/** A real Karmada of one's own, in a temporary folder, gone at the end. */
export async function startKarmadaFleet(options: KarmadaOptions = {}): Promise<KarmadaFleet> {
  const fleet = await startFleet("karmada", (folder, members, say) => startStack(folder, members, say, options));
  const { hub, log } = fleet;
  return {
    ...fleet,
    engine: () => new KarmadaEngine({ hub, clock: systemClock, random: systemRandom, log }),
  };
}

/**
 * The world on virtual time: the real controller, Kubernetes runtime and engine adapter against a hub and members that
 * crash, lag, lie and disappear, all from one seed. After every event the properties; a failure prints its seed, and the
 * seed replays it event by event. Imports everything above it; never loaded by the production controller.
 */
export type { GivenApp } from "./app.ts";
export { Campaign, describeFailure, reachTable, SEEDS_FOR_REACH } from "./campaign.ts";
export { HubImage } from "./lean/hub.ts";
export { Reach, SITUATIONS } from "./reach.ts";
export { type RunOptions, runSeed, type SeedResult, type Tier } from "./run.ts";
export { LARGE_SEEDS } from "./scenario.ts";

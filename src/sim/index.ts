/**
 * The whole system on virtual time: the real controller, Kubernetes runtime and engine adapter run against a hub and
 * members that crash, lag, lie and disappear, all from one seed. After every event the properties are checked; a
 * failure prints its seed, and the seed replays it event by event. Imports everything above it; the production
 * controller never loads it.
 */

export { type JobRunOptions, runJobSeed } from "./jobs/run.ts";
export { FIRST_FORGETFUL_SEED, FIRST_SHAPED_SEED } from "./jobs/shape.ts";
export { JOB_SITUATIONS, KARMADA_JOB_SITUATIONS, SHAPED_JOB_SITUATIONS } from "./jobs/watch.ts";
export { type EngineName, HubImage } from "./lean/hub.ts";
export type { GivenApp } from "./seed/app.ts";
export { Campaign, describeFailure, SEEDS_FOR_REACH } from "./seed/campaign.ts";
export { Reach, SITUATIONS } from "./seed/reach.ts";
export { reachSummary, reachTable } from "./seed/reach-summary.ts";
export { type RunOptions, runScenario, runSeed, type SeedResult, type Tier } from "./seed/run.ts";
export { LARGE_SEEDS, type Scenario } from "./seed/scenario.ts";

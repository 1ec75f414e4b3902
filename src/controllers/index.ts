/**
 * The controllers: one folder per kind, each observing, acting and reporting around the planner. Imports everything
 * above it in ARCHITECTURE.md's table. What previews need to say the same as the controller is exported too.
 */
export { type ManagerOptions, runManager } from "./manager.ts";
export { type IntentFacts, intentOf, leaderSourceOf } from "./statefulset/intent.ts";
export { networkOf } from "./statefulset/network.ts";
export { observe } from "./statefulset/observe.ts";
export { appLabel, OWN as HUB_MARKS, REVISIONS } from "./statefulset/resources.ts";
export { ordinalsStart } from "./statefulset/template.ts";

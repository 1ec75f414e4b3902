/**
 * The controllers: one folder per kind, each observing, acting and reporting around the planner. Imports everything
 * above it in ARCHITECTURE.md's table.
 */
export { type ManagerOptions, runManager } from "./manager.ts";

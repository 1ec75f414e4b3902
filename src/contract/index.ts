/**
 * What members see and report: the annotation keys on a member's copy of the object, the topology they carry, and the
 * report an operator writes back. Imports nothing, so that an operator can ship it as it is.
 */
export { ANNOTATIONS, CONTRACT_PREFIX, SEED_ANNOTATIONS } from "./annotations.ts";
export type { MemberReport, ReportPhase } from "./report.ts";
export { parseMemberReport } from "./report.ts";
export type { InstanceState, SeedReplicas, TopologyCluster } from "./topology.ts";
export { seedReplicas } from "./topology.ts";

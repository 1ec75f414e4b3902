/**
 * What members see and report: the annotation keys on a member's copy of the object, the topology in them, and the
 * report that an operator writes. Imports nothing, so that an operator can ship it unchanged.
 */

export { ANNOTATIONS, CONTRACT_PREFIX, SEED_ANNOTATIONS } from "./annotations.ts";
export type { MemberReport, ReportPhase } from "./report.ts";
export { parseMemberReport } from "./report.ts";
export { GRANT_SCHEMA, REPORT_SCHEMA, TOPOLOGY_SCHEMA } from "./schema.ts";
export type { InstanceState, SeedReplicas, TopologyCluster } from "./topology.ts";
export { seedReplicas } from "./topology.ts";
export type { TopologyDocument, TopologyRef } from "./topology-ref.ts";
export {
  parseTopologyRef,
  TOPOLOGY_ELSEWHERE,
  TOPOLOGY_INLINE_MAX_BYTES,
  TOPOLOGY_PART_KEY,
  TOPOLOGY_PART_MAX_BYTES,
} from "./topology-ref.ts";

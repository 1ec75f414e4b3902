/**
 * The fleet on one machine: a hub with Karmada's interfaces and its member clusters on `apiserver`, with the
 * controllers that drive them (scheduling, rendering, delivery, StatefulSets, simulated nodes), and faults. It runs in
 * one process on a Clock, so it serves `lockstep up`, tests and the simulator. Imports everything above it; the
 * production controller never loads it.
 */
export { ADMIN_PREFIX } from "./admin.ts";
export {
  type Conduct,
  type Database,
  ETCD,
  SimulatedApplication,
  startDatabase,
  startXline,
} from "./database/index.ts";
export {
  EmbeddedFleet,
  type EmbeddedFleetOptions,
  type FleetChange,
  type FleetSnapshot,
  type FleetTimings,
} from "./fleet.ts";
export type { LinkFaults } from "./link.ts";
export { POD_TIMES, type PodRuntime, type PodState } from "./member/runtime.ts";

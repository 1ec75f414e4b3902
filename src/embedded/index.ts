/**
 * The fleet on one machine: a hub with Karmada's interfaces and its member clusters on `apiserver`, with the controllers
 * that make them live (scheduling, rendering, delivery, StatefulSets, simulated nodes), and faults. In one process and
 * on a Clock, so that it serves `lockstep up`, tests and the simulator alike. Imports everything above it; never loaded
 * by the production controller.
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
export { EmbeddedFleet, type EmbeddedFleetOptions, type FleetSnapshot, type FleetTimings } from "./fleet.ts";
export type { GateFaults } from "./gate.ts";
export { POD_TIMES, type PodRuntime, type PodState } from "./member/runtime.ts";

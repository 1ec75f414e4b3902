/**
 * The port to the hub's engine: the clusters, the engine's schedule, what was dispatched to each cluster, and each
 * cluster's live object. It returns raw snapshots and knows neither interpreters nor rules. Imports runtime, contract,
 * api and kube. Each adapter has its own folder and passes the contract suite.
 */

export { appMark as ownerMark, carriedBy } from "./dispatch-objects.ts";
export { DRAIN_TAINT, isDrainTaint } from "./drain.ts";
export { ENGINES, type EngineDefinition, findEngines, isEngineName } from "./engines.ts";
export { DispatchConflictError, SupersededError, TERM_ANNOTATION, TermOutOfRangeError } from "./errors.ts";
export type { Amounts } from "./headroom.ts";
export { KarmadaEngine, type KarmadaEngineOptions } from "./karmada/engine.ts";
export { type ReadHold, readHold, unprotectedHold } from "./karmada/left-holds.ts";
export {
  fightingControllers,
  listAutoscalers,
  listRebalancers,
  type OtherControllers,
} from "./karmada/other-controllers.ts";
export { OVERRIDE_POLICIES, RESOURCE_BINDINGS } from "./karmada/resources.ts";
export { bindingOf, fightingSettings } from "./karmada/settings.ts";
export { EPOCH_ANNOTATION, MARKS as DISPATCH_MARKS, OWNER_LABEL } from "./marks.ts";
export {
  type AccessPoint,
  accessPointOf,
  MEMBER_ACCESS_LABEL,
  type MemberConnection,
  openMemberOverHttp,
} from "./members/access.ts";
export { readLimits } from "./members/live-member.ts";
export { OcmEngine, type OcmEngineOptions } from "./ocm/engine.ts";
export { EXECUTOR_ANNOTATION, EXECUTOR_WORK, type Executor, executorOf, readExecutor } from "./ocm/executor.ts";
export { otherOwnerOf } from "./owners.ts";
export type * from "./port.ts";
export { nextTerm, readTerm } from "./terms.ts";

import { asks, waits } from "../../rollout/index.ts";

/** The controller's own reasons: nothing can be planned, or a write failed. The planner's reasons are REASONS. */
export const CONTROLLER_REASONS = {
  InvalidSpec: asks("The CrossClusterStatefulset's spec is not valid; what runs is left unchanged."),
  UnknownKind: asks("The hub does not serve the selected kind; nothing moves until it does."),
  KindNotAllowed: asks(
    "Objects of the selected kind may not be templates here; nothing moves until an administrator allows it.",
  ),
  TemplateClaimed: asks(
    "Another CrossClusterStatefulset manages the selected object; nothing is written for this one until it is gone.",
  ),
  HoldDefeated: asks(
    "A setting, or a Work or ManifestWork of another writer, delivers the template past every grant; nothing is " +
      "granted until it is gone.",
  ),
  Forbidden: asks(
    "The application's ServiceAccount may not distribute everything that the source has; nothing moves until it may.",
  ),
  LedgerUnreadable: asks("The ledger object is there but cannot be read by this version; nothing is done."),
  WaitingForInterpreter: waits("A webhook has not said yet how the grant is written; that cluster keeps what it has."),
  TermOutOfRange: asks(
    "A dispatch object carries a term that no leader gave; nothing is written for this application.",
  ),
  ReconcileFailed: waits(
    "Several attempts in a row failed; it is tried again, and what runs is not touched meanwhile.",
  ),
  DispatchFailed: asks(
    "A grant could not be rendered for a cluster or written to the hub; that cluster keeps what it has.",
  ),
};

export type ControllerReason = keyof typeof CONTROLLER_REASONS;

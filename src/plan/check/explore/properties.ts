import { leaderLeavesMaintenance, leaderRequestIsHeard, maintenanceHolds } from "./properties/acts.ts";
/** Every rule that is watched. One file for each kind of danger; see SPEC.md for the rules' numbers. */
import { adoptionComesFirst, adoptionMovesNothing } from "./properties/adoption.ts";
import { accidentsShrinkTheRoom, budgetHolds, lostVotersCount, majorityHolds } from "./properties/down.ts";
import { nothingDeletedUnseen, releaseMovesNothing, removedEmpty, teardownInReverse } from "./properties/ends.ts";
import {
  epochsRise,
  gateIsHeld,
  gateNeedsTheWork,
  nothingGoesBack,
  oneContentPerEpoch,
  turnsAreAcknowledged,
} from "./properties/gates.ts";
import {
  identityIsKept,
  membershipGoesAlone,
  oneMembershipChange,
  onlyWhatWasGranted,
  topologyIsVersioned,
} from "./properties/identity.ts";
import { leaverIsGone, lossIsProven, replacedOnEvidence } from "./properties/loss.ts";
import {
  leaderGoesLast,
  leaderIsAsked,
  partitionIsGlobal,
  pauseHolds,
  stepsRelease,
  wavesGoInOrder,
} from "./properties/order.ts";
import type { Property } from "./properties/property.ts";
import {
  everyWaitIsExplained,
  ledgerSurvivesStorage,
  planningAgainChangesNothing,
  rebuiltLedgerMovesNothing,
  requeueIsInTheFuture,
  sameInputsSameAnswer,
} from "./properties/purity.ts";
import {
  batchesHold,
  cordonHolds,
  figuresAreTrue,
  haltHolds,
  onDeleteRestartsNothing,
  overrideHolds,
  reassertsSparingly,
  roomHolds,
  soakHolds,
  unknownScalesNothing,
  windowHolds,
} from "./properties/settings.ts";

/** Checked on all that happens. */
export const PROPERTIES: readonly Property[] = [
  budgetHolds,
  majorityHolds,
  onlyWhatWasGranted,
  removedEmpty,
  accidentsShrinkTheRoom,
  lostVotersCount,
  oneMembershipChange,
  membershipGoesAlone,
  epochsRise,
  oneContentPerEpoch,
  gateNeedsTheWork,
  turnsAreAcknowledged,
  nothingDeletedUnseen,
  releaseMovesNothing,
  teardownInReverse,
  identityIsKept,
  topologyIsVersioned,
  partitionIsGlobal,
  leaderGoesLast,
  wavesGoInOrder,
  pauseHolds,
  stepsRelease,
  gateIsHeld,
  leaderIsAsked,
  leaderRequestIsHeard,
  leaderLeavesMaintenance,
  maintenanceHolds,
  windowHolds,
  cordonHolds,
  roomHolds,
  unknownScalesNothing,
  batchesHold,
  soakHolds,
  haltHolds,
  overrideHolds,
  onDeleteRestartsNothing,
  reassertsSparingly,
  leaverIsGone,
  lossIsProven,
  replacedOnEvidence,
  adoptionMovesNothing,
  adoptionComesFirst,
  figuresAreTrue,
  nothingGoesBack,
  everyWaitIsExplained,
  requeueIsInTheFuture,
  planningAgainChangesNothing,
];

/** Checked on a part of the plans: they cost much and depend on little. */
export const COSTLY_PROPERTIES: readonly Property[] = [
  sameInputsSameAnswer,
  ledgerSurvivesStorage,
  rebuiltLedgerMovesNothing,
];

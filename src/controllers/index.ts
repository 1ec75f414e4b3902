/**
 * The controllers: one folder per kind, each observing, acting and reporting around the planner. Imports everything
 * above it in ARCHITECTURE.md's table. What previews gather and render with, as the controller does, is exported too.
 */

export { type Bundled, type EarlierRenders, makeBundle } from "./application/bundler.ts";
export { type Bundle, type Part, packBundle, unpackBundle } from "./application/content.ts";
export { wantedClusters } from "./application/intent.ts";
export { type KeptApplication, readKept } from "./application/kept.ts";
export { Kinds } from "./application/kinds.ts";
export { managedIn } from "./application/managed.ts";
export { namedRemedy } from "./application/report.ts";
export { gatherInputs } from "./application/source.ts";
export { Way } from "./application/way.ts";
export type { HubRef } from "./common/hub/hub-objects.ts";
export type { HubReader } from "./common/hub/hub-reader.ts";
export type { Found, Outline } from "./common/hub/hub-readings.ts";
export { discovered } from "./common/interpretation.ts";
export { type Owner, ownerId, ownerOf } from "./common/owner.ts";
export { type PodTrouble, podTrouble, troubleWord } from "./common/pod-trouble.ts";
export { CONTROLLER_REASONS, type ControllerReason } from "./common/reasons.ts";
export { readRecord } from "./common/records.ts";
export { appLabel, OWN as HUB_MARKS, REVISIONS } from "./common/resources.ts";
export { packRevision } from "./common/revisions/revision-content.ts";
export type { StoredRevision } from "./common/revisions/revision-store.ts";
export { ATTEMPT_ANNOTATION, attemptRef } from "./job/attempt-marks.ts";
export { ordersStop } from "./job/ledger.ts";
export { jobIntentOf } from "./job/observe/intent.ts";
export { jobClusterOf } from "./job/observe/observe.ts";
export { recovered as recoveredJob } from "./job/recover.ts";
export { type ManagerOptions, type ManagerProbes, runManager } from "./manager.ts";
export { renderGrant } from "./statefulset/act/render-grant.ts";
export { readLedgerCopy } from "./statefulset/ledger/ledger-copy.ts";
export { ledgerName } from "./statefulset/ledger/ledger-store.ts";
export { claimantOf, claimedMessage, ownershipOf, selectedBy, targetKey } from "./statefulset/observe/claims.ts";
export { type Gathered, Gatherer } from "./statefulset/observe/gather.ts";
export { intentOf } from "./statefulset/observe/intent.ts";
export { isFresh, type Moment } from "./statefulset/observe/moment.ts";
export { networkOf } from "./statefulset/observe/network.ts";
export { quotaRoom } from "./statefulset/observe/quota-room.ts";
export { findTemplate, unknownKindText } from "./statefulset/observe/template.ts";
export { Reviser, type RevisionBook } from "./statefulset/revise/revise.ts";

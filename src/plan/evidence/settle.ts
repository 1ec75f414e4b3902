import type { Evidence } from "../../rollout/index.ts";
import { instanceKey } from "../identity/identity.ts";
import type { Draft } from "../ledger/draft.ts";
import { MAX_RETIRED } from "../limits/size.ts";
import { awaySinceOf } from "../membership/loss.ts";
import { isDispatched } from "../membership/removal.ts";
import type { ClusterEntry, ClusterName, Grant, PresentObservation, Turn } from "../types/index.ts";
import { driftOf, gateOf, isShrunk, isUndone, turnIsBack } from "./gate.ts";
import { noteDown } from "./restarts.ts";
import { isCounted, isObserved, observationOf, readsTurns, updatedSeen, viewIn, viewOf } from "./view.ts";
import { instancesText, RAISE_STREAMS } from "./words.ts";

const SECOND_MS = 1000;

/**
 * [G8] The shortest time between two re-assertions of the same cluster. If another client keeps rewriting the object
 * (an admission webhook, an autoscaler), not every snapshot may cause a write.
 */
export const REASSERT_INTERVAL_MS = 60_000;

/**
 * [G13] How long the delivery of a grant to an observable cluster may take. After that it is written again: if another
 * client overwrote the epoch before it was observed, the cluster must not wait forever. Longer than any engine's own
 * retry of one delivery, so that a slow delivery is not overtaken by newer epochs again and again.
 */
const DELIVERY_PATIENCE_MS = 300_000;

/** Reads every snapshot and moves the ledger as far as evidence goes: what is delivered, finished, joined, gone. */
export function settle(draft: Draft): void {
  for (const cluster of draft.order) {
    const before = draft.entry(cluster);
    draft.views.set(cluster, viewOf(draft, cluster));
    settleCluster(draft, cluster);
    if (draft.entry(cluster) !== before) draft.views.set(cluster, viewOf(draft, cluster));
  }
}

function settleCluster(draft: Draft, cluster: ClusterName): void {
  const entry = draft.entry(cluster);
  const { grant } = entry;
  if (!grant) return;
  const view = viewIn(draft, cluster);
  if (view.reach !== "ready") {
    // [G9] Without a snapshot, the hold restarts.
    if (!entry.done) draft.patch(cluster, { openSinceMs: null });
    return;
  }
  const { present } = view;
  if (!present) {
    settleAbsent(draft, cluster, entry, grant);
    return;
  }
  const live = present.live.epoch ?? 0;
  if (live !== grant.epoch) {
    // A higher epoch means that an older ledger was restored. Epochs must never repeat.
    if (live > entry.epoch) draft.patch(cluster, { epoch: live });
    if (live < grant.epoch && entry.ackedAtMs === null) {
      if (deliversAgain(draft, cluster, entry, grant)) return;
      draft.patch(cluster, { openSinceMs: null });
      const gate = gateOf(draft.intent, entry, grant, present, draft.nowMs);
      if (!gate.open) draft.wait(gate.code, cluster, gate.message, gate.remedy, gate.evidence);
    } else {
      reassert(draft, cluster, [{ object: cluster, field: "epoch", value: `${live}, granted ${grant.epoch}` }]);
    }
    return;
  }
  if (entry.ackedAtMs === null) draft.patch(cluster, { ackedAtMs: draft.nowMs });
  const drift = driftOf(grant, present);
  if (drift.length > 0) {
    reassert(draft, cluster, drift);
    return;
  }
  if (entry.turn === "held" && !grant.processor && readsTurns(draft.intent)) {
    // The protocol was changed in the middle of a step: this member waits for a turn. [C9] The step is repeated with
    // one.
    draft.patch(cluster, { turn: "none", step: null });
    return;
  }
  if (entry.turn === "returning") {
    if (turnIsBack(draft.intent, grant, present)) draft.patch(cluster, { turn: "none" });
    else waitForTurnBack(draft, cluster, grant, present);
  }
  if (draft.entry(cluster).done) {
    if (draft.entry(cluster).turn !== "none" || !isUndone(draft.intent, grant, present)) return;
    draft.patch(cluster, { done: false });
  }
  if (entry.turn === "held" && !entry.step) {
    // A rebuilt ledger contains no step; the deadline starts now.
    draft.patch(cluster, { step: draft.startStep("update", cluster) });
  }
  settleGate(draft, cluster, present);
}

function settleAbsent(draft: Draft, cluster: ClusterName, entry: ClusterEntry, grant: Grant): void {
  if (grant.replicas === 0 && entry.done) {
    // [S9] Only after its dispatch object is gone: otherwise the engine could recreate an object that the ledger
    // forgot.
    if (isDispatched(draft, cluster)) return;
    // Drained and removed.
    draft.patch(cluster, {
      grant: null,
      baseRevision: null,
      turn: "none",
      step: null,
      done: false,
      ackedAtMs: null,
      openSinceMs: null,
      instances: [],
      strandedSinceMs: null,
      staleVolumes: entry.staleVolumes || entry.votes !== "counted",
      votes: "counted",
      returned: false,
    });
    return;
  }
  if (entry.ackedAtMs !== null) {
    reassert(draft, cluster, [{ object: cluster, field: "object", value: "absent" }]);
    return;
  }
  if (deliversAgain(draft, cluster, entry, grant)) return;
  draft.patch(cluster, { openSinceMs: null });
  draft.wait(
    "WaitingForDelivery",
    cluster,
    `epoch ${grant.epoch} has been granted, the object does not exist in the cluster yet`,
    "Check the dispatch object's conditions on the hub and the engine's agent for this cluster.",
    [{ object: cluster, field: "object", value: "absent" }],
  );
}

/** [G13] A grant that has not been seen in its cluster for so long is written again; nothing else changes. */
function deliversAgain(draft: Draft, cluster: ClusterName, entry: ClusterEntry, grant: Grant): boolean {
  // [T1] A release writes no grant any more.
  if (draft.intent.deletion?.policy === "Release") return false;
  const patientUntilMs = entry.writtenAtMs + DELIVERY_PATIENCE_MS;
  draft.wakeAt(patientUntilMs);
  if (draft.nowMs < patientUntilMs) return false;
  draft.write(
    cluster,
    { ...grant, turn: entry.turn === "held" },
    { kind: "reassert", why: `epoch ${grant.epoch} has not been seen to arrive` },
  );
  return true;
}

/** [G8] Writes the same grant again under a new epoch. The turn counts as outstanding until the cluster has seen it. */
function reassert(draft: Draft, cluster: ClusterName, drift: readonly Evidence[]): void {
  const entry = draft.entry(cluster);
  const { grant, reassertedAtMs } = entry;
  if (!grant) return;
  const what = drift.map(({ field, value }) => `${field} is ${value}`).join(", ");
  draft.wait(
    "Drifted",
    cluster,
    `the live object differs: ${what}`,
    "Find out who else writes this object in the cluster.",
    drift,
  );
  draft.patch(cluster, { openSinceMs: null });
  // [T1] A release writes no grant any more.
  if (draft.intent.deletion?.policy === "Release") return;
  if (reassertedAtMs !== null && draft.nowMs < reassertedAtMs + REASSERT_INTERVAL_MS) {
    draft.patch(cluster, { turn: turnInDoubt(draft, entry), done: false });
    draft.wakeAt(reassertedAtMs + REASSERT_INTERVAL_MS);
    return;
  }
  draft.patch(cluster, { reassertedAtMs: draft.nowMs });
  draft.write(
    cluster,
    { ...grant, turn: entry.turn === "held" },
    { kind: "reassert", why: `the live object differs: ${what}`, verifyAgain: true },
  );
}

/** Another client wrote the object, and may have given the member a turn. */
function turnInDoubt({ intent }: Draft, { turn }: ClusterEntry): Turn {
  return turn === "none" && readsTurns(intent) ? "returning" : turn;
}

function settleGate(draft: Draft, cluster: ClusterName, present: PresentObservation): void {
  const { intent, nowMs } = draft;
  const entry = draft.entry(cluster);
  const { grant } = entry;
  if (!grant) return;
  const gate = gateOf(intent, entry, grant, present, nowMs);
  noteProgress(draft, cluster, grant, present);
  const shrunk = intent.deletion?.policy === "Teardown" && isShrunk(intent, grant, present);
  if (!gate.open && !shrunk) {
    draft.patch(cluster, { openSinceMs: null });
    draft.wait(gate.code, cluster, gate.message, gate.remedy, gate.evidence);
    draft.wakeAt(gate.opensAtMs);
    return;
  }
  const still = stillMembers(draft, cluster, entry);
  if (still.length > 0) {
    draft.patch(cluster, { openSinceMs: null });
    draft.wait(
      "StillMember",
      cluster,
      `the application still lists ${still.join(", ")}`,
      "Have the operator remove the member from the application before it removes the instance.",
      still.map((value) => ({ object: "the application's members", field: "member", value })),
    );
    return;
  }
  // [G9] Held for minReadySeconds without a miss.
  const openSinceMs = entry.openSinceMs ?? nowMs;
  const heldAtMs = openSinceMs + intent.minReadySeconds * SECOND_MS;
  if (nowMs < heldAtMs) {
    draft.patch(cluster, { openSinceMs });
    draft.wakeAt(heldAtMs);
    draft.wait(
      "MinReadyHold",
      cluster,
      `everything is in place and has to stay so until ${new Date(heldAtMs).toISOString()}`,
      "Wait; minReadySeconds is the time asked for.",
      [{ object: cluster, field: "gate", value: "open", sinceMs: openSinceMs }],
    );
    return;
  }
  finish(draft, cluster, openSinceMs);
}

/** The grant is carried out: joiners are members, leavers are gone. */
function finish(draft: Draft, cluster: ClusterName, openSinceMs: number): void {
  dropLeavers(draft, cluster);
  const { grant, baseRevision, instances, turn, step } = draft.entry(cluster);
  if (step && !grant?.processor) draft.completed.push({ cluster, kind: step.kind });
  const joins = instances.some(({ state }) => state === "joining");
  const stay = joins ? instances.map(({ ordinal }) => ({ ordinal, state: "member" }) as const) : instances;
  // [U9] Where nothing runs, nothing has been completed.
  const whole = grant !== null && grant.partition === 0 && !grant.onDelete && stay.length > 0;
  draft.patch(cluster, {
    done: true,
    openSinceMs,
    instances: stay,
    // [G7] Where no turn was written, none has to be taken away.
    turn: grant?.processor ? turn : "none",
    step: null,
    baseRevision: whole ? grant.revision : baseRevision,
  });
}

export function dropLeavers(draft: Draft, cluster: ClusterName): void {
  const { instances } = draft.entry(cluster);
  const gone = instances.filter(({ state }) => state === "leaving").map(({ ordinal }) => ({ ordinal, cluster }));
  if (gone.length === 0) return;
  if (draft.identity.mode === "Dense") draft.set("retired", [...draft.ledger.retired, ...gone].slice(-MAX_RETIRED));
  draft.patch(cluster, { instances: instances.filter(({ state }) => state !== "leaving") });
}

/** [S10] [S12] The cluster's leavers are gone, even if the remaining instances are not ready. */
export function areLeaversGone(draft: Draft, cluster: ClusterName): boolean {
  const entry = draft.entry(cluster);
  const { present } = viewIn(draft, cluster);
  if (!entry.step || !entry.grant || !present || !isShrunk(draft.intent, entry.grant, present)) return false;
  return stillMembers(draft, cluster, entry).length === 0;
}

function stillMembers(draft: Draft, cluster: ClusterName, entry: ClusterEntry): string[] {
  const { membership } = draft.observations;
  if (!membership || !entry.instances.some(({ state }) => state === "leaving")) return [];
  const listed = new Set(membership.members);
  return entry.instances
    .filter(({ state }) => state === "leaving")
    .map(({ ordinal }) => instanceKey(draft.identity, cluster, entry, ordinal))
    .filter((key) => listed.has(key));
}

/** [F2] Progress means that the score rises above its best so far. In a crash loop it only goes up and down. */
function noteProgress(draft: Draft, cluster: ClusterName, grant: Grant, present: PresentObservation): void {
  const { step } = draft.entry(cluster);
  if (!step) return;
  const { counts, report } = present;
  const surplus = Math.max(0, (counts.replicas ?? 0) - grant.replicas) + (counts.terminating ?? 0);
  const ready = counts.ready ?? report?.ready ?? 0;
  const score = isObserved(present) ? 2 + 2 * (updatedSeen(present) ?? 0) + ready - surplus : 1;
  const seen = noteDown(draft, cluster, step);
  const rose = score > step.best;
  if (rose || seen !== step) {
    draft.patch(cluster, { step: rose ? { ...seen, best: score, progressMs: draft.nowMs } : seen });
  }
}

function waitForTurnBack(draft: Draft, cluster: ClusterName, grant: Grant, present: PresentObservation): void {
  draft.wait(
    "WaitingForTurnBack",
    cluster,
    `processor=false was written with epoch ${grant.epoch}; the operator has reported on ` +
      `${present.report?.epoch ?? "none"}`,
    "Check that the operator runs in this cluster and reports the epoch it has read.",
    [{ object: cluster, field: "status.crossCluster.epoch", value: `${present.report?.epoch ?? "absent"}` }],
  );
}

/**
 * [R1] Nothing is being done to the cluster, and yet something is missing there: its own controller has to bring it
 * back.
 */
function reportAccident(draft: Draft, cluster: ClusterName, entry: ClusterEntry): void {
  const { down, unavailable, voters, present } = viewIn(draft, cluster);
  if (!entry.done || entry.step || entry.turn !== "none" || unavailable === 0) return;
  const remedy = "Nothing is being changed there: look at the instances and their operator in this cluster.";
  if (down > 0 && isCounted(present)) {
    draft.wait("WaitingForReady", cluster, `${down} of ${voters} instances are not ready`, remedy, [
      { object: cluster, field: "ready", value: `${voters - down}` },
    ]);
    return;
  }
  const code = present?.health === "unhealthy" ? "Unhealthy" : "HealthUnknown";
  const evidence = [{ object: cluster, field: "health", value: present?.health ?? "unknown" }];
  draft.wait(code, cluster, present?.healthMessage ?? "the member does not say that it is healthy", remedy, evidence);
}

export function reportReach(draft: Draft): void {
  for (const cluster of draft.order) {
    const { reach } = viewIn(draft, cluster);
    const entry = draft.entry(cluster);
    if (reach === "ready") {
      reportAccident(draft, cluster, entry);
      continue;
    }
    if (!entry.grant && entry.instances.length === 0) continue;
    const observation = observationOf(draft, cluster);
    const fleet = draft.intent.fleet[cluster];
    const sinceMs = awaySinceOf(entry, draft.nowMs);
    const evidence: Evidence[] = [
      { object: `cluster ${cluster}`, field: "Ready", value: fleet?.state ?? "Unknown", sinceMs },
    ];
    if (observation.kind === "unreachable") {
      evidence.push({ object: cluster, field: "snapshot", value: observation.message });
    }
    if (reach === "lost") {
      const confirmed = entry.votes !== "counted" || draft.intent.requests.confirmedLost.includes(cluster);
      if (confirmed) evidence.push({ object: `cluster ${cluster}`, field: "instances", value: "given up as lost" });
      draft.wait(
        "ClusterLost",
        cluster,
        `away since ${new Date(sinceMs).toISOString()}; the other clusters continue; ` +
          `the votes of its ${instancesText(entry.instances.length)} ` +
          `${entry.votes !== "counted" ? "no longer count" : "still count"}`,
        confirmed
          ? "Schedule its instances elsewhere, or bring the cluster back."
          : `Bring the cluster back, or run 'lockstep confirm-lost ${cluster}' if it never will be.`,
        evidence,
      );
    } else {
      draft.wait(
        fleet?.state === "Ready" ? "ClusterUnreachable" : "ClusterNotReady",
        cluster,
        observation.kind === "unreachable" && fleet?.state === "Ready"
          ? `its instances count as unavailable until the workload can be read there: ${observation.message}`
          : "its instances count as unavailable until it is back or declared lost",
        entry.presence.kind === "away" && entry.presence.isBlind
          ? RAISE_STREAMS
          : "Bring the cluster back; nothing on it is deleted meanwhile.",
        evidence,
      );
    }
  }
}

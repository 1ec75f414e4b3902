import { advanceWaves, allWaves, waveIndex } from "../../rollout/index.ts";
import type { Leader } from "../evidence/leader.ts";
import { viewIn } from "../evidence/view.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Tally } from "../limits/quorum.ts";
import { type Desired, isDraining } from "../membership/desired.ts";
import type { ClusterName, RollingUpdate, Rollout } from "../types/index.ts";
import { needsTurn, type Part, partsOf, takesPart } from "./share.ts";
import type { Target } from "./target.ts";

/** One rollout as this pass sees it. */
export interface RolloutView {
  readonly rollout: Rollout;
  readonly parts: readonly Part[];
  /** [W6] Whether the cluster's wave has been reached. A rollback knows no waves. */
  readonly isOpen: (cluster: ClusterName) => boolean;
  /** Why no new step may start anywhere, already reported; null: steps may start. */
  readonly held: "Paused" | "Halted" | "WindowClosed" | "Unsettled" | null;
}

export interface Turns {
  readonly draft: Draft;
  readonly tally: Tally;
  readonly leader: Leader;
  readonly target: Target;
}

/**
 * [U2] Begins, reverses and ends the rollout as target and clusters require. Returns null when every cluster that can
 * be reached runs the target.
 */
export function trackRollout(
  draft: Draft,
  update: RollingUpdate,
  target: Target,
  desired: Desired | undefined,
): RolloutView | null {
  if (target.revision === null) return null;
  const begun = beginOrTurn(draft, update, target.revision, desired);
  if (!begun) return null;
  const parts = partsOf(draft, begun, update.partition, (cluster) => isDraining(desired, cluster));
  const rollout = openWaves(draft, update, begun, parts);
  if (rollout.wave >= allWaves(update) && parts.every(({ state, share }) => state === "complete" && share === 0)) {
    // [U2] Lost clusters are not waited for; they are updated when they come back.
    if (draft.ledger.currentRevision === null) noteFirstCompletion(draft, rollout.to, desired);
    else draft.set("currentRevision", rollout.to);
    draft.set("rollout", null);
    return null;
  }
  const waveOf = waveIndex(update);
  return {
    rollout,
    parts,
    isOpen: (cluster) => waveOf(cluster) <= rollout.wave,
    held: heldBy(draft, update, target, rollout, parts),
  };
}

/** [W3] Opens the waves whose time has come. */
function openWaves(draft: Draft, { waves }: RollingUpdate, rollout: Rollout, parts: readonly Part[]): Rollout {
  const { requests } = draft.intent;
  const isHealthy = (cluster: ClusterName) => viewIn(draft, cluster).healthy;
  const { wave, soakSinceMs } = advanceWaves(draft, { to: rollout.to, waves, requests, isHealthy }, rollout, parts);
  const isSame = wave === rollout.wave && soakSinceMs === rollout.soakSinceMs;
  const next = isSame ? rollout : { ...rollout, wave, soakSinceMs };
  draft.set("rollout", next);
  return next;
}

function beginOrTurn(draft: Draft, update: RollingUpdate, to: string, desired: Desired | undefined): Rollout | null {
  const { rollout, currentRevision } = draft.ledger;
  if (rollout?.to === to) return rollout;
  if (!rollout && !hasOutdated(draft, to, desired)) {
    noteFirstCompletion(draft, to, desired);
    return null;
  }
  // [F3] Returning to the last completed revision during an update is a rollback, whatever caused it.
  const kind = rollout && to === currentRevision ? "rollback" : "update";
  // [C8] A straggler of a finished rollout is updated at once: its waves have passed.
  const straggler = !rollout && to === currentRevision;
  const next: Rollout = {
    to,
    from: currentRevision,
    kind,
    sinceMs: draft.nowMs,
    wave: kind === "rollback" || straggler ? allWaves(update) : 0,
    soakSinceMs: null,
    leaderUnknownSinceMs: null,
  };
  draft.set("rollout", next);
  return next;
}

/** Reads exactly the clusters that take part in a rollout (`partsOf`), so that a finished one does not begin again. */
function hasOutdated(draft: Draft, to: string, desired: Desired | undefined): boolean {
  return draft.order.some((cluster) => {
    const { grant } = draft.entry(cluster);
    if (!grant || !takesPart(draft, cluster, isDraining(desired, cluster))) return false;
    return grant.revision !== to || grant.onDelete || grant.partition > 0 || needsTurn(draft, cluster);
  });
}

/** [D6] When the first deployment is complete, its revision becomes the one that a rollback returns to. */
export function noteFirstCompletion(draft: Draft, to: string, desired: Desired | undefined): void {
  if (draft.ledger.currentRevision === to || !desired) return;
  let granted = 0;
  for (const cluster of draft.order) {
    const { grant, done, presence, instances } = draft.entry(cluster);
    if (presence.kind === "lost") continue;
    if (instances.length < (desired.get(cluster) ?? 0) || (instances.length > 0 && !(grant && done))) return;
    granted += instances.length;
  }
  if (granted > 0) draft.set("currentRevision", to);
}

/** [U3] What stops new steps, the strongest first: the template's state, a halt, a pause, the window. */
function heldBy(
  draft: Draft,
  update: RollingUpdate,
  target: Target,
  rollout: Rollout,
  parts: readonly Part[],
): RolloutView["held"] {
  if (!target.settled) return "Unsettled";
  if (draft.ledger.halt) return "Halted";
  const left = parts.some(({ state }) => state === "due");
  if (update.paused) {
    if (left) {
      draft.wait(
        "Paused",
        undefined,
        `the rollout to ${rollout.to} is paused; steps under way finish`,
        "Run 'lockstep resume'.",
        [{ object: "CrossClusterStatefulset", field: "spec.updateStrategy.rollingUpdate.paused", value: "true" }],
      );
    }
    return "Paused";
  }
  draft.wakeAt(update.window.changesAtMs);
  const { promotion } = draft.intent.requests;
  const promoted = promotion?.window === true && promotion.revision === rollout.to;
  if (!update.window.open && rollout.kind === "update" && !promoted) {
    if (left) {
      draft.wait(
        "WindowClosed",
        undefined,
        "no maintenance window is open; steps under way finish",
        "Wait, or run 'lockstep promote' to continue outside the windows.",
        [{ object: "maintenanceWindows", field: "opens", value: timeOrNever(update.window.changesAtMs) }],
      );
    }
    return "WindowClosed";
  }
  return null;
}

function timeOrNever(atMs: number | undefined): string {
  return atMs === undefined ? "never" : new Date(atMs).toISOString();
}

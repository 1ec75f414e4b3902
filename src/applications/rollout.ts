import {
  advanceWaves,
  allWaves,
  type ClusterName,
  isInMaintenance,
  type RevisionId,
  type UpdateState,
  type WavePart,
  waitForMaintenance,
  waveIndex,
} from "../rollout/index.ts";
import { type Draft, isRemoving } from "./draft.ts";
import { undecided } from "./replicas.ts";
import type { ClusterEntry, Mode, Rollout } from "./types.ts";

/** [A3] Rolls the target out: cluster by cluster, in waves, never more at a time than may be unavailable. */
export function rollOut(
  draft: Draft,
  target: RevisionId,
  sharesOf: (cluster: ClusterName) => Record<string, number>,
): void {
  const rollout = currentRollout(draft, target);
  const parts = partsOf(draft, target);
  const progress = advance(draft, rollout, parts);
  start(draft, rollout, progress.wave, parts, sharesOf);
  draft.set({ rollout: { ...rollout, ...progress } });
  finish(draft, target);
}

/** [A10] Whether a failed step ends the rollout, and what the clusters return to. Returns the target from now on. */
export function heedFailures(draft: Draft, target: RevisionId): RevisionId {
  const failed = Object.entries(draft.ledger.clusters).filter(
    ([, { grant, failed }]) => failed !== null && grant?.revision === target && grant.mode !== "Delete",
  );
  const [first] = failed;
  if (!first) return target;
  const { rollout, currentRevision, override } = draft.ledger;
  const from = rollout?.to === target ? rollout.from : currentRevision;
  const [cluster, { failed: message }] = first;
  if (draft.intent.rollout.onFailure === "Rollback" && from !== null && from !== target && !override) {
    const why = `${cluster}: ${message ?? "a step failed"}`;
    draft.set({ override: { to: from, instead: target, cause: "failure", why } });
    return from;
  }
  draft.wait(
    "ProgressDeadlineExceeded",
    cluster,
    `the rollout of ${target} stops: ${message ?? "a step failed"}`,
    "Look at the cluster, then change the source, run 'lockstep undo', or 'lockstep resume' to try again.",
    [{ object: cluster, field: "step", value: "failed" }],
  );
  return target;
}

function currentRollout(draft: Draft, target: RevisionId): Rollout {
  const { rollout, currentRevision, override } = draft.ledger;
  if (rollout?.to === target) return rollout;
  const isBack = override?.to === target;
  return {
    to: target,
    from: currentRevision,
    kind: isBack ? "rollback" : "update",
    sinceMs: draft.nowMs,
    // [A11] What completed before, or is gone back to, knows no waves.
    wave: isBack || target === currentRevision ? allWaves(draft.intent.rollout) : 0,
    soakSinceMs: null,
  };
}

function partsOf(draft: Draft, target: RevisionId): WavePart[] {
  return (
    draft.chosen
      .filter((cluster) => !isRemoving(draft.entry(cluster)))
      // [A12] A cluster that cannot be reached takes no part, so that it blocks no other.
      .filter((cluster) => draft.isReady(cluster))
      .map((cluster) => {
        const state = stateOf(draft.entry(cluster), target);
        return { cluster, state, released: state === "due" ? 0 : 1 };
      })
  );
}

function stateOf({ grant, done }: ClusterEntry, target: RevisionId): UpdateState {
  if (grant?.revision !== target) return "due";
  return done ? "complete" : "working";
}

function advance(draft: Draft, rollout: Rollout, parts: readonly WavePart[]) {
  const { waves } = draft.intent.rollout;
  const isHealthy = (cluster: ClusterName) => draft.entry(cluster).healthySinceMs !== null;
  const { approvals, promotion } = draft.intent.requests;
  const rules = { waves, to: rollout.to, requests: { approvals, ...(promotion && { promotion }) }, isHealthy };
  return advanceWaves(draft, rules, { wave: rollout.wave, soakSinceMs: rollout.soakSinceMs }, parts);
}

function start(
  draft: Draft,
  rollout: Rollout,
  wave: number,
  parts: readonly WavePart[],
  sharesOf: (cluster: ClusterName) => Record<string, number>,
): void {
  const { maxUnavailableClusters } = draft.intent.rollout;
  const waveOf = waveIndex(draft.intent.rollout);
  const due = parts.filter(({ state }) => state === "due").map(({ cluster }) => cluster);
  // What is broken already costs nothing to update, and may be mended by it.
  const order = [...due].sort((a, b) => Number(isBusy(draft, b)) - Number(isBusy(draft, a)));
  for (const cluster of order) {
    const entry = draft.entry(cluster);
    const isStuck = entry.failed !== null;
    if (isHalted(draft, rollout.to) && !isStuck) continue;
    if (finishesHook(draft, cluster, entry)) continue;
    if (waveOf(cluster) > wave && !isStuck) {
      say(draft, "WaveNotReached", cluster, `its wave comes after wave ${wave + 1}`, "No action needed.");
      continue;
    }
    if (mayNotStart(draft, rollout, cluster)) continue;
    if (!draft.intent.stages(rollout.to, cluster, "Upgrade")) {
      say(
        draft,
        "RevisionPending",
        cluster,
        `revision ${rollout.to} is not stored`,
        "Run 'lockstep history dapp/NAME', and undo to a revision that it lists.",
      );
      continue;
    }
    const open = undecided(draft, cluster);
    if (open !== undefined) {
      say(draft, "ScheduleUnknown", cluster, `its share of ${open} is not known yet`, "No action needed.");
      continue;
    }
    const busy = parts
      .filter((part) => part.cluster !== cluster && isBusy(draft, part.cluster))
      .map((part) => part.cluster);
    if (busy.length >= maxUnavailableClusters) {
      const message = `maxUnavailableClusters is ${maxUnavailableClusters}, and ${busy.join(", ")} ${busy.length === 1 ? "is" : "are"} in a step or unhealthy`;
      say(draft, "BudgetExhausted", cluster, message, "No action needed.");
      continue;
    }
    grantStep(draft, rollout, cluster, sharesOf(cluster));
  }
}

/** [A3] In the middle of a step, or not healthy: one more of them would be one more that does not serve. */
function isBusy(draft: Draft, cluster: ClusterName): boolean {
  const { grant, done, healthySinceMs } = draft.entry(cluster);
  return grant !== null && (!done || healthySinceMs === null);
}

/** [A10] A failed step stops the rollout of its revision. */
function isHalted(draft: Draft, target: RevisionId): boolean {
  return Object.values(draft.ledger.clusters).some(
    ({ grant, failed }) => failed !== null && grant?.revision === target,
  );
}

/** [A13] A hook that runs is not interrupted by another revision: half a migration is worse than a late one. */
function finishesHook(draft: Draft, cluster: ClusterName, entry: ClusterEntry): boolean {
  const { grant, failed, done } = entry;
  if (!grant || failed !== null || done) return false;
  const stage = draft.stages(entry, cluster)?.[grant.stage];
  if (stage?.kind !== "hook") return false;
  say(draft, "FinishFirst", cluster, `hook ${stage.object} of ${grant.revision} ends first`, "No action needed.");
  return true;
}

/** [A14] Pause and windows hold every new step but the way back. */
function mayNotStart(draft: Draft, { to, kind }: Rollout, cluster: ClusterName): boolean {
  const { paused, window } = draft.intent.rollout;
  const { promotion } = draft.intent.requests;
  if (paused) {
    say(draft, "Paused", cluster, "the rollout is paused", "Run 'lockstep resume', or set rollout.paused to false.");
    return true;
  }
  if (isInMaintenance(draft.seen, cluster)) {
    waitForMaintenance(draft, draft.seen, cluster, "its step starts");
    return true;
  }
  const promoted = promotion?.revision === to && promotion.window;
  if (kind === "update" && !window.open && !promoted) {
    draft.wakeAt(window.changesAtMs);
    say(draft, "WindowClosed", cluster, "no maintenance window is open", "Wait, or run 'lockstep promote'.");
    return true;
  }
  return false;
}

function grantStep(draft: Draft, { to, kind }: Rollout, cluster: ClusterName, shares: Record<string, number>): void {
  const { grant, deployed } = draft.entry(cluster);
  const mode: Mode = deployed === null ? "Install" : kind === "rollback" ? "Rollback" : "Upgrade";
  // A step changes no share of what runs: shares move before and after, by their own rules.
  const replicas = { ...shares, ...grant?.replicas };
  draft.change(cluster, { done: false, healthySinceMs: null, failed: null, progress: null });
  draft.grant(cluster, { revision: to, mode, stage: 0, replicas });
}

/** [A4] The rollout is over when every cluster that can be reached is done. */
function finish(draft: Draft, target: RevisionId): void {
  const parts = partsOf(draft, target);
  if (parts.length === 0 || parts.some(({ state }) => state !== "complete")) return;
  draft.set({ currentRevision: target, rollout: null });
}

function say(
  draft: Draft,
  code:
    | "RevisionPending"
    | "WaveNotReached"
    | "BudgetExhausted"
    | "ScheduleUnknown"
    | "FinishFirst"
    | "Paused"
    | "WindowClosed",
  cluster: ClusterName,
  message: string,
  remedy: string,
): void {
  const { grant } = draft.entry(cluster);
  draft.wait(code, cluster, message, remedy, [
    { object: cluster, field: "revision", value: grant?.revision ?? "none" },
  ]);
}

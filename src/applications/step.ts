import type { ClusterName } from "../rollout/index.ts";
import { nearest } from "../runtime/index.ts";
import { type Draft, isRemoving } from "./draft.ts";
import { failedHookGate, type Gate, gateOf, hookFailureOf } from "./evidence.ts";
import type { ClusterSeen, Grant, Stage } from "./types.ts";

const SECOND_MS = 1000;
/** Messages name so many clusters. */
const LISTED_MAX = 10;

/** Takes one cluster's step as far as the evidence goes, and says what it waits for. */
export function settle(draft: Draft, cluster: ClusterName): void {
  const entry = draft.entry(cluster);
  const { grant } = entry;
  if (!grant) return;
  const seen = draft.view(cluster);
  const stages = draft.stages(entry, cluster);
  if (!seen || !draft.isReady(cluster)) {
    sayUnreachable(draft, cluster);
    return;
  }
  if (!stages) {
    const message = `revision ${grant.revision} is not stored any more; the cluster keeps what it has`;
    draft.wait("RevisionPending", cluster, message, "Change the source to make a new revision.", [
      { object: `revision ${grant.revision}`, field: "content", value: "missing" },
    ]);
    return;
  }
  for (const [stage, each] of stages.entries()) {
    if (stage < grant.stage && !isStanding(each)) continue;
    const gate = gateIn(draft, cluster, grant, each, stage, seen);
    if (gate.kind === "open") continue;
    if (stage >= grant.stage) reach(draft, cluster, grant, stage);
    notThere(draft, cluster, grant, each, stage, gate);
    return;
  }
  if (stages.length > grant.stage) reach(draft, cluster, grant, stages.length);
  if (!isRemoving(entry)) complete(draft, cluster);
}

/** [A7] A hook that failed in this step has failed, whatever is left of its object. */
function gateIn(
  draft: Draft,
  cluster: ClusterName,
  grant: Grant,
  stage: Stage,
  index: number,
  seen: ClusterSeen,
): Gate {
  if (stage.kind !== "hook") return gateOf(stage, grant, seen);
  const known = draft.entry(cluster).hookFailure;
  if (known?.step === grant.step && known.stage === index) return failedHookGate(known, stage.object);
  const message = hookFailureOf(stage, grant, seen);
  if (message === undefined) return gateOf(stage, grant, seen);
  const hookFailure = { step: grant.step, stage: index, message };
  draft.change(cluster, { hookFailure });
  return failedHookGate(hookFailure, stage.object);
}

/** [A8] What stands must be healthy in every later stage too; hooks, prunes and removals happen once. */
function isStanding({ kind }: Stage): boolean {
  return kind === "apply";
}

/** [A5] A stage that was left is never entered again in this step, so that no hook runs twice. */
function reach(draft: Draft, cluster: ClusterName, grant: Grant, stage: number): void {
  if (stage === grant.stage) return;
  draft.change(cluster, { grant: { ...grant, stage } });
}

function notThere(
  draft: Draft,
  cluster: ClusterName,
  grant: Grant,
  stage: Stage,
  index: number,
  gate: Exclude<Gate, { kind: "open" }>,
): void {
  const { done, progress } = draft.entry(cluster);
  draft.change(cluster, { healthySinceMs: null });
  const mark = `${grant.step}/${Math.max(index, grant.stage)}/${gate.count}`;
  const atMs = progress?.mark === mark ? Math.min(progress.atMs, draft.nowMs) : draft.nowMs;
  if (progress?.mark !== mark || progress.atMs !== atMs) draft.change(cluster, { progress: { atMs, mark } });
  const where = `${stage.title}: ${gate.message}`;
  draft.wait(gate.code, cluster, where, remedyFor(cluster, gate), gate.evidence);
  if (done || grant.mode === "Delete") return;
  if (gate.kind === "failed") {
    fail(draft, cluster, where);
    return;
  }
  const deadlineMs = atMs + draft.intent.rollout.progressDeadlineSeconds * SECOND_MS;
  if (draft.nowMs >= deadlineMs) fail(draft, cluster, `no progress since ${new Date(atMs).toISOString()}: ${where}`);
  else {
    draft.wakeAt(deadlineMs);
    if (draft.entry(cluster).failed !== null) draft.change(cluster, { failed: null });
  }
}

function remedyFor(cluster: ClusterName, { kind, remedy }: Exclude<Gate, { kind: "open" }>): string {
  if (remedy !== undefined) return remedy;
  return kind === "failed"
    ? `Look at the object in ${cluster}, then change the source, undo, or run 'lockstep resume' to try again.`
    : `No action needed. If this takes too long, look at the object in ${cluster}.`;
}

/** [A9] The step has failed. The rollout says what follows. */
function fail(draft: Draft, cluster: ClusterName, message: string): void {
  if (draft.entry(cluster).failed !== message) draft.change(cluster, { failed: message });
}

/** [A4] Everything is healthy: done after soakSeconds, without a break. */
function complete(draft: Draft, cluster: ClusterName): void {
  const { healthySinceMs, grant, done } = draft.entry(cluster);
  if (!grant) return;
  const sinceMs = healthySinceMs === null || healthySinceMs > draft.nowMs ? draft.nowMs : healthySinceMs;
  if (sinceMs !== healthySinceMs) draft.change(cluster, { healthySinceMs: sinceMs });
  const doneMs = sinceMs + draft.intent.rollout.soakSeconds * SECOND_MS;
  if (!done && draft.nowMs < doneMs) {
    draft.wakeAt(doneMs);
    const until = new Date(doneMs).toISOString();
    draft.wait(
      "MinReadyHold",
      cluster,
      `everything is healthy and has to stay so until ${until}`,
      "No action needed.",
      [{ object: cluster, field: "healthy", value: "yes", sinceMs }],
    );
    return;
  }
  if (!done) draft.change(cluster, { done: true, deployed: grant.revision, failed: null, progress: null });
}

export function sayUnreachable(draft: Draft, cluster: ClusterName): void {
  const fact = draft.fact(cluster);
  const entry = draft.entry(cluster);
  if (entry.healthySinceMs !== null) draft.change(cluster, { healthySinceMs: null });
  if (!fact) {
    sayGone(draft, cluster);
    return;
  }
  const since = "sinceMs" in fact && fact.sinceMs !== undefined ? { sinceMs: fact.sinceMs } : {};
  const code = fact.state === "NotReady" ? "ClusterNotReady" : "ClusterUnreachable";
  draft.wait(
    code,
    cluster,
    "it cannot be observed; nothing starts there, and the others continue",
    "Repair the cluster.",
    [{ object: `cluster ${cluster}`, field: "state", value: fact.state, ...since }],
  );
}

function sayGone(draft: Draft, cluster: ClusterName): void {
  const fleet = Object.keys(draft.seen.fleet).sort();
  const similar = nearest(cluster, fleet);
  const known = fleet.length === 0 ? "it has none" : `it has ${fleet.slice(0, LISTED_MAX).join(", ")}`;
  draft.wait(
    "ClusterNotInFleet",
    cluster,
    `the fleet has no cluster of that name (${known})`,
    `${similar === undefined ? "" : `If you mean ${similar}, correct spec.clusters. `}Join a cluster of that name, or no longer choose it.`,
    [{ object: `cluster ${cluster}`, field: "exists", value: "no" }],
  );
}

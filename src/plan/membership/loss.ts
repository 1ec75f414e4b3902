import { isReadyInFleet, observationOf } from "../evidence/view.ts";
import { instancesText } from "../evidence/words.ts";
import { instanceKey } from "../identity/identity.ts";
import type { Draft, GrantContent } from "../ledger/draft.ts";
import type { ClusterEntry, ClusterName, Grant, Presence, StepInProgress, TimeMs } from "../types/index.ts";

const SECOND_MS = 1000;

/** [C1] Who is away, since when, and who is declared lost or has come back. Runs before anything is counted. */
export function noteReach(draft: Draft): void {
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    const observation = observationOf(draft, cluster);
    if (isReadyInFleet(draft.intent, cluster) && observation.kind !== "unreachable") {
      if (entry.presence.kind === "lost" && entry.instances.length > 0) draft.patch(cluster, { returned: true });
      if (entry.votes !== "counted" && votesAgain(draft, cluster, entry)) draft.patch(cluster, { votes: "counted" });
      // A grant that was written meanwhile can only be delivered from now on.
      if (entry.presence.kind === "here") continue;
      if (entry.grant && entry.ackedAtMs === null) draft.patch(cluster, { writtenAtMs: draft.nowMs });
      draft.patch(cluster, { step: withoutAbsence(entry, draft.nowMs), presence: { kind: "here" } });
      continue;
    }
    const absence = noteAbsence(draft, cluster, entry);
    if (absence.kind === "lost") noteRemoved(draft, cluster);
    if (isOfThePast(draft, cluster)) forget(draft, cluster);
  }
}

/**
 * Since when it has been away. A cluster that Lockstep merely cannot look at has not begun to be lost: when it turns
 * out to be away in earnest, that counts from then on.
 */
function noteAbsence(draft: Draft, cluster: ClusterName, entry: ClusterEntry): Exclude<Presence, { kind: "here" }> {
  const { presence } = entry;
  if (presence.kind === "lost") return presence;
  const isBlindNow = isBlind(draft, cluster);
  const isAsBefore = presence.kind === "away" && presence.isBlind === isBlindNow;
  const sinceMs = isAsBefore ? presence.sinceMs : isBlindNow ? draft.nowMs : awaySince(draft, cluster);
  const away = isAsBefore ? presence : ({ kind: "away", sinceMs, isBlind: isBlindNow } as const);
  const absence = isLost(draft, cluster, away) ? ({ kind: "lost", sinceMs, atMs: draft.nowMs } as const) : away;
  if (absence === presence) return presence;
  draft.patch(cluster, { step: isAsBefore ? entry.step : withoutAbsence(entry, draft.nowMs), presence: absence });
  return absence;
}

/** Since when the cluster has been away; now, if it is not. */
export function awaySinceOf({ presence }: ClusterEntry, nowMs: TimeMs): TimeMs {
  return presence.kind === "here" ? nowMs : presence.sinceMs;
}

function isBlind(draft: Draft, cluster: ClusterName): boolean {
  const observation = observationOf(draft, cluster);
  return observation.kind === "unreachable" && observation.isBlind === true && isReadyInFleet(draft.intent, cluster);
}

/** [C10] It is no longer in the fleet, a user confirmed that it is lost, and nothing is scheduled to it. */
function isOfThePast(draft: Draft, cluster: ClusterName): boolean {
  const { schedule, fleet } = draft.intent;
  const { grant, instances, votes } = draft.entry(cluster);
  if (fleet[cluster]?.state !== "Gone" || !isConfirmedLost(draft, cluster) || schedule.kind === "unknown") return false;
  if (instances.length > 0 ? votes === "counted" : !grant) return false;
  return !schedule.clusters.some((wanted) => wanted.cluster === cluster && wanted.replicas > 0);
}

/**
 * [C10] [T3] Nothing can be deleted there, and nothing more is to be waited for. What it kept on its volumes may
 * survive.
 */
export function forget(draft: Draft, cluster: ClusterName): void {
  draft.patch(cluster, {
    grant: null,
    baseRevision: null,
    instances: [],
    turn: "none",
    step: null,
    done: false,
    ackedAtMs: null,
    openSinceMs: null,
    strandedSinceMs: null,
    staleVolumes: true,
    votes: "counted",
    returned: false,
  });
}

/** [F2] A step's deadline is paused while its cluster is away: on return, the absence is subtracted. */
function withoutAbsence({ step, presence }: ClusterEntry, nowMs: TimeMs): StepInProgress | null {
  if (!step || presence.kind === "here") return step;
  const absentMs = nowMs - Math.max(presence.sinceMs, step.progressMs);
  return absentMs > 0 ? { ...step, progressMs: step.progressMs + absentMs } : step;
}

/**
 * [C7] A cluster that a user gave up too early comes back. Its instances vote again if the application lists them, or
 * if they were not replaced and the application never reported a list without them: a larger majority is the safer
 * error. If no list is available for a while, because the leader moves, nothing changes.
 */
function votesAgain(draft: Draft, cluster: ClusterName, entry: ClusterEntry): boolean {
  const { membership } = draft.observations;
  if (!membership || membership.members.length === 0)
    return entry.presence.kind === "lost" && entry.votes !== "unlisted" && !draft.ledger.replacements[cluster];
  const listed = new Set(membership.members);
  return entry.instances.some(({ ordinal }) => listed.has(instanceKey(draft.identity, cluster, entry, ordinal)));
}

function awaySince(draft: Draft, cluster: ClusterName): TimeMs {
  const fact = draft.intent.fleet[cluster];
  const observation = observationOf(draft, cluster);
  const candidates = [
    fact && fact.state !== "Ready" ? fact.sinceMs : undefined,
    observation.kind === "unreachable" ? observation.sinceMs : undefined,
  ];
  let since = draft.nowMs;
  for (const each of candidates) if (each !== undefined && each < since) since = each;
  return since;
}

function isLost(
  draft: Draft,
  cluster: ClusterName,
  { sinceMs, isBlind: onlyBlind }: Extract<Presence, { kind: "away" }>,
): boolean {
  if (isConfirmedLost(draft, cluster)) return true;
  if (draft.intent.fleet[cluster]?.state === "Gone") return true;
  if (onlyBlind) return false;
  const lostAtMs = sinceMs + draft.intent.failover.afterSeconds * SECOND_MS;
  draft.wakeAt(lostAtMs);
  return draft.nowMs >= lostAtMs;
}

/** [C1] A user's confirmation counts only if the fleet agrees. A snapshot that has not arrived yet is no loss. */
function isConfirmedLost(draft: Draft, cluster: ClusterName): boolean {
  const fact = Object.hasOwn(draft.intent.fleet, cluster) ? draft.intent.fleet[cluster] : undefined;
  return fact !== undefined && fact.state !== "Ready" && draft.intent.requests.confirmedLost.includes(cluster);
}

/** [C4] Its instances stop voting only on evidence: the application's own list, or a user's confirmation. */
function noteRemoved(draft: Draft, cluster: ClusterName): void {
  const entry = draft.entry(cluster);
  if (entry.instances.length === 0 || entry.votes === "unlisted") return;
  if (applicationRemoved(draft, cluster, entry)) draft.patch(cluster, { votes: "unlisted" });
  else if (isConfirmedLost(draft, cluster)) draft.patch(cluster, { votes: "givenUp" });
}

function applicationRemoved(draft: Draft, cluster: ClusterName, entry: ClusterEntry): boolean {
  const { membership } = draft.observations;
  // A list from before the loss proves nothing, and an empty one is no answer.
  if (!membership || membership.members.length === 0 || membership.atMs < awaySinceOf(entry, draft.nowMs)) return false;
  const listed = new Set(membership.members);
  if (entry.instances.some(({ ordinal }) => listed.has(instanceKey(draft.identity, cluster, entry, ordinal))))
    return false;
  return draft.order.some((other) => {
    const held = draft.entry(other);
    return (
      other !== cluster &&
      held.instances.some(({ ordinal }) => listed.has(instanceKey(draft.identity, other, held, ordinal)))
    );
  });
}

/**
 * [C3] A lost cluster's turn is taken away, so that it does not act if it comes back while another cluster has the
 * turn. Nothing else is changed. If its grant contains no turn, the member continues with its spec when it is back, and
 * its step continues, too.
 */
export function takeTurnsOfLost(draft: Draft): void {
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    if (entry.presence.kind !== "lost" || entry.turn !== "held" || !entry.grant?.processor) continue;
    draft.write(cluster, withoutTurn(entry.grant), {
      kind: "return-turn",
      why: "the cluster is lost; the other clusters continue",
      progress: null,
      keepsTopology: true,
    });
  }
}

/** The same grant without the turn. */
export function withoutTurn(grant: Grant): GrantContent {
  const { transferLeaderTo: _, ...rest } = grant;
  return { ...rest, turn: false };
}

/** [C5] Where the instances of a cluster that is confirmed removed are put, decided once and kept. */
export function placeReplacements(draft: Draft, scheduled: ReadonlyMap<ClusterName, number>): void {
  for (const cluster of Object.keys(draft.ledger.replacements)) {
    const wanted = scheduled.get(cluster) ?? 0;
    const entry = draft.ledger.clusters[cluster];
    if (wanted === 0 || (entry?.votes ?? "counted") === "counted") setReplacement(draft, cluster, undefined);
  }
  if (draft.intent.failover.policy !== "Replace") return;
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    const wanted = Math.min(scheduled.get(cluster) ?? 0, entry.instances.length);
    if (entry.presence.kind !== "lost" || wanted === 0 || draft.ledger.replacements[cluster]) continue;
    if (entry.votes === "counted") {
      draft.wait(
        "WaitingForLossEvidence",
        cluster,
        `its ${instancesText(wanted)} will be replaced when the application has removed them, or a ` +
          "person confirms the loss",
        `Have the application remove the old members, or run 'lockstep confirm-lost ${cluster}'.`,
        [{ object: `cluster ${cluster}`, field: "instances", value: `${wanted}, not confirmed removed` }],
      );
      continue;
    }
    const placed = place(draft, scheduled, wanted);
    if (placed) setReplacement(draft, cluster, placed);
    else {
      draft.wait(
        "ReplacementUnplaceable",
        cluster,
        `${instancesText(wanted)} should be replaced, and no Ready cluster of the schedule can take them`,
        "Add a cluster to the topology, or bring one back.",
        [{ object: `cluster ${cluster}`, field: "instances to replace", value: `${wanted}` }],
      );
    }
  }
}

function setReplacement(draft: Draft, cluster: ClusterName, placed: Record<ClusterName, number> | undefined): void {
  const next = { ...draft.ledger.replacements };
  if (placed) next[cluster] = placed;
  else delete next[cluster];
  draft.set("replacements", next);
}

/** The smallest Ready cluster first, ties by the global order. */
function place(
  draft: Draft,
  scheduled: ReadonlyMap<ClusterName, number>,
  count: number,
): Record<ClusterName, number> | undefined {
  const sizes = new Map<ClusterName, number>();
  for (const cluster of draft.order) {
    const fact = draft.intent.fleet[cluster];
    const wanted = scheduled.get(cluster) ?? 0;
    if (wanted > 0 && fact?.state === "Ready" && !fact.cordoned && draft.entry(cluster).votes === "counted")
      sizes.set(cluster, wanted);
  }
  for (const each of Object.values(draft.ledger.replacements)) {
    for (const [cluster, more] of Object.entries(each)) {
      const size = sizes.get(cluster);
      if (size !== undefined) sizes.set(cluster, size + more);
    }
  }
  const placed: Record<ClusterName, number> = {};
  for (let i = 0; i < count; i++) {
    let best: ClusterName | undefined;
    for (const [cluster, size] of sizes) {
      const full = draft.identity.mode !== "Dense" && size >= draft.identity.blockSize;
      if (!full && (best === undefined || size < (sizes.get(best) ?? 0))) best = cluster;
    }
    if (best === undefined) return undefined;
    placed[best] = (placed[best] ?? 0) + 1;
    sizes.set(best, (sizes.get(best) ?? 0) + 1);
  }
  return placed;
}

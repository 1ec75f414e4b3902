import type { ClusterEntry, Grant, Observation, StepInProgress } from "../types.ts";
import type { Dispatched, Member, Pod, State } from "./state.ts";

/** Times further back than this differ in nothing that a scenario's deadlines could tell. */
const LONG_AGO_MS = 3_600_000;

/**
 * The state as text, without what no rule looks at: epochs, versions, generations, lives and times count relatively, so that
 * paths which differ only in how often something was written meet in one state.
 */
export function keyOf(state: State): string {
  const { ledger, nowMs } = state;
  const ago = (time: number | null | undefined): string =>
    time === null || time === undefined ? "-" : `${Math.min(nowMs - time, LONG_AGO_MS)}`;
  const version = ledger.topologyVersion;
  const parts: string[] = [
    `${state.edits} ${state.leader} ${state.finished} ${state.maxUnavailable} ${state.droppedWhileLost}`,
    Object.values(state.faults).join(","),
    JSON.stringify([state.intent.requests, state.actions]),
    `${ledger.nextIndex} ${ledger.nextOrdinal} ${ledger.currentRevision} ${ledger.undoHeard}`,
    JSON.stringify([ledger.retired, ledger.override, ledger.replacements]),
  ];
  const { rollout, halt } = ledger;
  if (rollout) {
    const { to, from, kind, wave } = rollout;
    parts.push(
      `${to} ${from} ${kind} ${wave} ${ago(rollout.soakSinceMs)} ${ago(rollout.leaderUnknownSinceMs)} ${ago(rollout.sinceMs)}`,
    );
  }
  if (halt) parts.push(`halt ${halt.code} ${halt.cluster} ${halt.revision} ${halt.resume}`);
  for (const [each, shape] of Object.entries(ledger.topologies)) {
    parts.push(`v${version - Number(each)}${JSON.stringify(shape)}`);
  }
  for (const cluster of Object.keys(state.intent.fleet)) {
    const fact = state.intent.fleet[cluster];
    const entry = ledger.clusters[cluster];
    const member = state.members[cluster];
    const seen = state.seen[cluster];
    const epoch = entry?.epoch ?? 0;
    parts.push(
      `${cluster} ${fact?.state} ${fact && fact.state !== "Ready" ? ago(fact.sinceMs) : ""}`,
      entry ? entryKey(entry, version, ago) : "",
      dispatchedKey(state.hub[cluster], epoch, version),
      member ? memberKey(member, epoch, version) : "",
      seen
        ? observationKey(seen.observation, member, epoch, version, ago) +
            podsKey(seen.pods, member) +
            seen.updateRevision
        : "",
    );
  }
  return parts.join("|");
}

type Ago = (time: number | null | undefined) => string;

function grantKey(grant: Grant | null | undefined, epoch: number, version: number): string {
  if (!grant) return "-";
  const { revision, replicas, partition, processor, transferLeaderTo, initialClusterState, onDelete } = grant;
  return `${revision}/${replicas}/${partition}/${processor}/${version - grant.topologyVersion}/${transferLeaderTo}/${epoch - grant.epoch}/${initialClusterState}/${onDelete}`;
}

function dispatchedKey(given: Dispatched | null | undefined, epoch: number, version: number): string {
  return given ? `${grantKey(given.grant, epoch, version)}:${given.ordinals}` : "-";
}

function stepKey(step: StepInProgress | null, ago: Ago): string {
  if (!step) return "-";
  return `${step.kind}/${ago(step.sinceMs)}/${ago(step.progressMs)}/${step.best}/${step.unblock}/${step.unavailableBefore}/${step.down?.accidents ?? "-"}/${step.down?.finishedFrom ?? "-"}`;
}

function entryKey(entry: ClusterEntry, version: number, ago: Ago): string {
  const { index, start, instances, baseRevision, turn, done, highWater, staleVolumes, removedByLoss, returned } = entry;
  const held = instances.map(({ ordinal, state }) => `${ordinal}${state.charAt(0)}`).join(",");
  const times = [entry.ackedAtMs, entry.openSinceMs, entry.reassertedAtMs, entry.awaySinceMs, entry.lostAtMs].map(ago);
  return `${index} ${start} ${held} ${grantKey(entry.grant, entry.epoch, version)} ${baseRevision} ${turn} ${done} ${highWater} ${staleVolumes} ${removedByLoss} ${returned} ${times} ${stepKey(entry.step, ago)}`;
}

function podsKey(pods: readonly Pod[], truth: Member | undefined): string {
  return pods
    .map(({ ordinal, revision, phase, life }) => {
      const same = truth?.pods.some((each) => each.ordinal === ordinal && each.life === life);
      return `${ordinal}${revision}${phase}${same}`;
    })
    .join(",");
}

function memberKey(member: Member, epoch: number, version: number): string {
  const { live, read, generation, status, report, pods, volumes, ownDown, ran, cut, mute } = member;
  const observed = status
    ? `${generation - status.observedGeneration}/${status.replicas}/${status.ready}/${status.updated}/${status.updateRevision}/${status.currentRevision}`
    : "-";
  const said = report
    ? `${epoch - report.epoch}/${report.revision}/${report.phase}/${report.desired}/${report.updated}/${report.ready}`
    : "-";
  const running = pods.map(({ ordinal, revision, phase }) => `${ordinal}${revision}${phase}`);
  return `${dispatchedKey(live, epoch, version)} ${dispatchedKey(read, epoch, version)} ${observed} ${said} ${running} ${volumes} ${JSON.stringify(ownDown)} ${JSON.stringify(ran)} ${cut} ${mute}`;
}

function observationKey(
  seen: Observation,
  truth: Member | undefined,
  epoch: number,
  version: number,
  ago: Ago,
): string {
  if (seen.kind === "unreachable") return "unreachable";
  if (seen.kind === "absent") return `absent ${ago(seen.atMs)} ${seen.volumes}`;
  const { live, counts, report } = seen;
  const shown = `${epoch - (live.epoch ?? 0)}/${live.revision}/${live.processor}/${live.partition}/${version - (live.topologyVersion ?? 0)}/${live.transferLeaderTo}/${live.replicas}`;
  const counted = `${counts.replicas}/${counts.ready}/${counts.available}/${counts.updated}/${counts.terminating}`;
  const said = report
    ? `${epoch - report.epoch}/${report.revision}/${report.phase}/${report.desired}/${report.updated}/${report.ready}`
    : "-";
  const observed = seen.observedGeneration === undefined ? "-" : seen.generation - seen.observedGeneration;
  const current = truth ? truth.generation - seen.generation : 0;
  return `${ago(seen.atMs)} ${shown} ${counted} ${said} ${observed} ${current} ${seen.health} ${JSON.stringify(seen.leader)} ${seen.volumes}`;
}

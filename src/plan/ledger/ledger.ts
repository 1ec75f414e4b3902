import { newEntry } from "../identity/identity.ts";
import { decodeInstances, encodeInstances, TopologyShapeError } from "../identity/topology.ts";
import { NOTE_TOPOLOGY_MAX_BYTES } from "../limits/size.ts";
import type {
  ClusterEntry,
  ClusterName,
  DownSeen,
  FoundGrant,
  Grant,
  Halt,
  InstanceRecord,
  LeaderMove,
  Ledger,
  LedgerIdentity,
  Override,
  Presence,
  RevisionHistory,
  Rollout,
  StepInProgress,
  TimeMs,
  Turn,
} from "../types/index.ts";
import { LEDGER_VERSION } from "../types/index.ts";
import {
  absentAs,
  count,
  type Decoder,
  fields,
  flag,
  LedgerUnreadable,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  text,
} from "./decode.ts";
import { unpacked } from "./packing.ts";

export function emptyLedger(): Ledger {
  return {
    version: LEDGER_VERSION,
    identity: null,
    clusters: {},
    nextIndex: 0,
    nextOrdinal: 0,
    retired: [],
    topologyVersion: 0,
    topologies: {},
    currentRevision: null,
    rollout: null,
    override: null,
    undoHeard: null,
    history: { reached: [], completed: [] },
    halt: null,
    leaderRequest: null,
    leaderEvacuation: null,
    replacements: {},
  };
}

const identity: Decoder<LedgerIdentity> = fields<LedgerIdentity>({
  app: fields<LedgerIdentity["app"]>({ name: text, namespace: text, service: text, clusterToken: text }),
  mode: oneOf("Blocks", "Dense", "PerCluster"),
  blockSize: count,
  addressTemplate: text,
  reuseVolumes: flag,
});

const instance: Decoder<InstanceRecord> = fields<InstanceRecord>({
  ordinal: count,
  state: oneOf("member", "joining", "leaving"),
});

const grant: Decoder<Grant> = fields<Grant>({
  cluster: text,
  revision: text,
  replicas: count,
  partition: count,
  processor: flag,
  topologyVersion: count,
  transferLeaderTo: optional(text),
  epoch: count,
  start: count,
  initialClusterState: oneOf("new", "existing"),
  onDelete: flag,
});

const down: Decoder<DownSeen> = fields<DownSeen>({ accidents: list(count), finishedFrom: nullable(count) });

const step: Decoder<StepInProgress> = fields<StepInProgress>({
  kind: oneOf("deploy", "grow", "shrink", "update", "rollback", "transfer", "adopt"),
  sinceMs: number,
  progressMs: number,
  best: number,
  unblock: flag,
  unavailableBefore: count,
  down: absentAs(nullable(down), null),
});

const turn: Decoder<Turn> = oneOf("none", "held", "returning");

const presence: Decoder<Presence> = (value, field) => {
  switch (oneOf("here", "away", "lost")(object(value, field).kind, `${field}.kind`)) {
    case "here":
      return { kind: "here" };
    case "away":
      return fields<Extract<Presence, { kind: "away" }>>({ kind: oneOf("away"), sinceMs: number, isBlind: flag })(
        value,
        field,
      );
    case "lost":
      return fields<Extract<Presence, { kind: "lost" }>>({ kind: oneOf("lost"), sinceMs: number, atMs: number })(
        value,
        field,
      );
  }
};

const currentEntry: Decoder<ClusterEntry> = fields<ClusterEntry>({
  index: count,
  clusterId: text,
  start: count,
  instances: list(instance),
  grant: nullable(grant),
  baseRevision: nullable(text),
  epoch: count,
  turn,
  writtenAtMs: number,
  ackedAtMs: nullable(number),
  openSinceMs: nullable(number),
  done: flag,
  step: nullable(step),
  highWater: count,
  staleVolumes: flag,
  reassertedAtMs: nullable(number),
  strandedSinceMs: absentAs(nullable(number), null),
  presence,
  votes: oneOf("counted", "givenUp", "unlisted"),
  returned: flag,
});

/** What earlier versions wrote instead of `presence` and `votes`. */
interface EarlierFlags {
  readonly awaySinceMs: TimeMs | null;
  readonly blind: boolean;
  readonly lostAtMs: TimeMs | null;
  readonly removedByLoss: boolean;
  readonly unlisted: boolean;
}

const earlierFlags: Decoder<EarlierFlags> = fields<EarlierFlags>({
  awaySinceMs: nullable(number),
  blind: absentAs(flag, false),
  lostAtMs: nullable(number),
  removedByLoss: flag,
  unlisted: absentAs(flag, false),
});

const entry: Decoder<ClusterEntry> = (value, field) => {
  const given = object(value, field);
  if (given.presence !== undefined) return currentEntry(value, field);
  const { awaySinceMs, blind, lostAtMs, removedByLoss, unlisted } = earlierFlags(value, field);
  const votes = !removedByLoss ? "counted" : unlisted ? "unlisted" : "givenUp";
  return currentEntry({ ...given, presence: presenceOf(awaySinceMs, blind, lostAtMs), votes }, field);
};

function presenceOf(awaySinceMs: TimeMs | null, isBlind: boolean, lostAtMs: TimeMs | null): Presence {
  if (lostAtMs !== null) return { kind: "lost", sinceMs: awaySinceMs ?? lostAtMs, atMs: lostAtMs };
  return awaySinceMs === null ? { kind: "here" } : { kind: "away", sinceMs: awaySinceMs, isBlind };
}

const rollout: Decoder<Rollout> = fields<Rollout>({
  to: text,
  from: nullable(text),
  kind: oneOf("update", "rollback"),
  sinceMs: number,
  wave: count,
  soakSinceMs: nullable(number),
  leaderUnknownSinceMs: nullable(number),
});

const override: Decoder<Override> = fields<Override>({
  to: text,
  template: text,
  digest: absentAs(nullable(text), null),
  restart: absentAs(nullable(text), null),
  cause: oneOf("undo", "failure"),
});

const history: Decoder<RevisionHistory> = fields<RevisionHistory>({ reached: list(text), completed: list(text) });

const halt: Decoder<Halt> = fields<Halt>({
  code: oneOf("ProgressDeadlineExceeded", "MemberRestartsInParallel", "MemberFailed", "AdoptedWithDifferences"),
  cluster: text,
  revision: text,
  message: text,
  sinceMs: number,
  resume: nullable(text),
});

const leaderMove: Decoder<LeaderMove> = fields<LeaderMove>({
  id: text,
  to: text,
  from: nullable(text),
  state: oneOf("waiting", "asked", "moved", "stayed", "refused"),
  message: text,
  sinceMs: number,
});

const retired = fields<{ ordinal: number; cluster: ClusterName }>({ ordinal: count, cluster: text });

const ledger: Decoder<Ledger> = fields<Ledger>({
  version: oneOf(LEDGER_VERSION),
  identity: nullable(identity),
  clusters: record(entry),
  nextIndex: count,
  nextOrdinal: count,
  retired: list(retired),
  topologyVersion: count,
  topologies: record(record(text)),
  currentRevision: nullable(text),
  rollout: nullable(rollout),
  override: nullable(override),
  undoHeard: nullable(text),
  history: absentAs(history, { reached: [], completed: [] }),
  halt: nullable(halt),
  leaderRequest: absentAs(nullable(leaderMove), null),
  leaderEvacuation: absentAs(nullable(leaderMove), null),
  replacements: record(record(count)),
});

const listOrRanges: Decoder<readonly InstanceRecord[]> = (value, field) =>
  typeof value === "string" ? ranges(value, field) : list(instance)(value, field);

/** Notes of earlier versions have no turn: in those versions the member's grant always contained it. */
type StoredGrant = Omit<FoundGrant, "turn"> & { readonly turn?: Turn };

const found: Decoder<StoredGrant> = fields<StoredGrant>({
  grant,
  turn: optional(turn),
  index: count,
  clusterId: text,
  instances: listOrRanges,
  highWater: absentAs(count, 0),
  staleVolumes: absentAs(flag, false),
  baseRevision: nullable(text),
  writtenAtMs: number,
  currentRevision: nullable(text),
  override: nullable(override),
  undoHeard: nullable(text),
  halt: absentAs(nullable(halt), null),
  identity,
  nextIndex: count,
  nextOrdinal: count,
  topology: absentAs(nullable(record(text)), null),
});

/** Reads what was stored. Throws LedgerUnreadable: a planner that guesses could give the same ordinal twice. */
export function parseLedger(value: unknown): Ledger {
  const read = ledger(unpacked(value), "");
  for (const [version, shape] of Object.entries(read.topologies)) checkShape(shape, `topologies.${version}`);
  return read;
}

export function parseFoundGrant(value: unknown): FoundGrant {
  const read = found(value, "");
  if (read.topology) checkShape(read.topology, "topology");
  return { ...read, turn: read.turn ?? (read.grant.processor ? "held" : "none") };
}

function checkShape(shape: Readonly<Record<ClusterName, string>>, field: string): void {
  for (const [cluster, each] of Object.entries(shape)) ranges(each, `${field}.${cluster}`);
}

function ranges(text: string, field: string): InstanceRecord[] {
  try {
    return decodeInstances(text);
  } catch (error) {
    if (error instanceof TopologyShapeError) throw new LedgerUnreadable(field, "ranges of ordinals");
    throw error;
  }
}

/** What belongs beside a grant on its dispatch object, so that the ledger can be rebuilt from all of them. */
export function foundGrantOf(from: Ledger, cluster: ClusterName): FoundGrant | undefined {
  const held = from.clusters[cluster];
  if (!held?.grant || !from.identity) return undefined;
  return {
    grant: held.grant,
    turn: held.turn,
    index: held.index,
    clusterId: held.clusterId,
    instances: held.instances,
    highWater: held.highWater,
    staleVolumes: held.staleVolumes,
    baseRevision: held.baseRevision,
    writtenAtMs: held.writtenAtMs,
    currentRevision: from.currentRevision,
    override: from.override,
    undoHeard: from.undoHeard,
    halt: from.halt,
    identity: from.identity,
    nextIndex: from.nextIndex,
    nextOrdinal: from.nextOrdinal,
    topology: from.topologies[String(held.grant.topologyVersion)] ?? null,
  };
}

/**
 * [I19] The same as text, for an annotation, which may not grow with the application: instances as ranges, and no
 * view that is too large. Empty: the cluster holds no grant.
 */
export function grantNote(from: Ledger, cluster: ClusterName): string {
  const note = foundGrantOf(from, cluster);
  if (!note) return "";
  const view = JSON.stringify(note.topology);
  const topology = Buffer.byteLength(view) <= NOTE_TOPOLOGY_MAX_BYTES ? note.topology : null;
  return JSON.stringify({ ...note, instances: encodeInstances(note.instances), topology });
}

/**
 * [I9] Rebuilds the ledger from the notes on dispatch objects. Nothing counts as done or acknowledged: every gate needs
 * evidence again, and timers restart. Until the schedule has once wanted all instances of a cluster, the cluster
 * shrinks only if a user confirms it.
 */
export function rebuildLedger(grants: readonly FoundGrant[]): Ledger {
  const first = grants[0];
  if (!first) return emptyLedger();
  const clusters: Record<ClusterName, ClusterEntry> = {};
  const topologies: Record<string, Readonly<Record<ClusterName, string>>> = {};
  let nextIndex = 0;
  let nextOrdinal = 0;
  let topologyVersion = 0;
  let youngest = first;
  for (const each of grants) {
    const { grant: held, index, instances } = each;
    clusters[held.cluster] = {
      ...newEntry(index, each.clusterId, held.start),
      instances,
      grant: held,
      baseRevision: each.baseRevision,
      epoch: held.epoch,
      turn: each.turn === "held" ? "held" : "returning",
      writtenAtMs: each.writtenAtMs,
      highWater: Math.max(each.highWater, instances.length),
      staleVolumes: each.staleVolumes,
      returned: true,
    };
    if (each.topology) topologies[String(held.topologyVersion)] = each.topology;
    nextIndex = Math.max(nextIndex, each.nextIndex, index + 1);
    nextOrdinal = Math.max(nextOrdinal, each.nextOrdinal);
    topologyVersion = Math.max(topologyVersion, held.topologyVersion);
    if (each.writtenAtMs > youngest.writtenAtMs) youngest = each;
  }
  return {
    ...emptyLedger(),
    identity: first.identity,
    clusters,
    nextIndex,
    nextOrdinal,
    topologyVersion,
    topologies,
    currentRevision: youngest.currentRevision,
    override: youngest.override,
    undoHeard: youngest.undoHeard,
    halt: youngest.halt,
  };
}

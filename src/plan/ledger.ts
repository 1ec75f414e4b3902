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
  oneOf,
  optional,
  record,
  text,
} from "./decode.ts";
import { newEntry } from "./identity.ts";
import { decodeInstances, TopologyShapeError } from "./topology.ts";
import type {
  ClusterEntry,
  ClusterName,
  DownSeen,
  FoundGrant,
  Grant,
  Halt,
  InstanceRecord,
  Ledger,
  LedgerIdentity,
  Override,
  Rollout,
  StepInProgress,
} from "./types.ts";
import { LEDGER_VERSION } from "./types.ts";

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
    halt: null,
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

const entry: Decoder<ClusterEntry> = fields<ClusterEntry>({
  index: count,
  clusterId: text,
  start: count,
  instances: list(instance),
  grant: nullable(grant),
  baseRevision: nullable(text),
  epoch: count,
  turn: oneOf("none", "held", "returning"),
  writtenAtMs: number,
  ackedAtMs: nullable(number),
  openSinceMs: nullable(number),
  done: flag,
  step: nullable(step),
  highWater: count,
  staleVolumes: flag,
  reassertedAtMs: nullable(number),
  awaySinceMs: nullable(number),
  lostAtMs: nullable(number),
  removedByLoss: flag,
  unlisted: absentAs(flag, false),
  returned: flag,
});

const rollout: Decoder<Rollout> = fields<Rollout>({
  to: text,
  from: nullable(text),
  kind: oneOf("update", "rollback"),
  sinceMs: number,
  wave: count,
  soakSinceMs: nullable(number),
  leaderUnknownSinceMs: nullable(number),
});

const override: Decoder<Override> = fields<Override>({ to: text, template: text, cause: oneOf("undo", "failure") });

const halt: Decoder<Halt> = fields<Halt>({
  code: oneOf("ProgressDeadlineExceeded", "MemberRestartsInParallel", "MemberFailed", "AdoptedWithDifferences"),
  cluster: text,
  revision: text,
  message: text,
  sinceMs: number,
  resume: nullable(text),
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
  halt: nullable(halt),
  replacements: record(record(count)),
});

const found: Decoder<FoundGrant> = fields<FoundGrant>({
  grant,
  index: count,
  clusterId: text,
  instances: list(instance),
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
  topology: record(text),
});

/** Reads what was stored. Throws LedgerUnreadable: a planner that guesses could give the same ordinal twice. */
export function parseLedger(value: unknown): Ledger {
  const read = ledger(value, "");
  for (const [version, shape] of Object.entries(read.topologies)) checkShape(shape, `topologies.${version}`);
  return read;
}

export function parseFoundGrant(value: unknown): FoundGrant {
  const read = found(value, "");
  checkShape(read.topology, "topology");
  return read;
}

function checkShape(shape: Readonly<Record<ClusterName, string>>, field: string): void {
  for (const [cluster, each] of Object.entries(shape)) {
    try {
      decodeInstances(each);
    } catch (error) {
      if (error instanceof TopologyShapeError) throw new LedgerUnreadable(`${field}.${cluster}`, "ranges of ordinals");
      throw error;
    }
  }
}

/** What belongs beside a grant on its dispatch object, so that the ledger can be rebuilt from all of them. */
export function foundGrantOf(from: Ledger, cluster: ClusterName): FoundGrant | undefined {
  const held = from.clusters[cluster];
  if (!held?.grant || !from.identity) return undefined;
  return {
    grant: held.grant,
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
    topology: from.topologies[String(held.grant.topologyVersion)] ?? {},
  };
}

/**
 * [I9] The ledger from what the dispatch objects say. Nothing is taken as done or acknowledged: every gate is passed again
 * on evidence, timers start over, and no cluster shrinks without a person's word until the schedule has wanted all of it.
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
      turn: held.processor ? "held" : "returning",
      writtenAtMs: each.writtenAtMs,
      highWater: Math.max(each.highWater, instances.length),
      staleVolumes: each.staleVolumes,
      returned: true,
    };
    topologies[String(held.topologyVersion)] = each.topology;
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

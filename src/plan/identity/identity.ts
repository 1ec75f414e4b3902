import type { ClusterEntry, ClusterName, InstanceRecord, Intent, Ledger, LedgerIdentity } from "../types/index.ts";
import { MCS_ADDRESS_TEMPLATE } from "./address.ts";

/**
 * [I1] Identity is fixed by the first plan. Later edits of these settings are refused (preflight, IdentityImmutable).
 */
export function fixIdentity(intent: Intent): LedgerIdentity {
  const { mode, blockSize, addressTemplate, reuseVolumes } = intent.identity;
  return {
    app: intent.app,
    mode,
    blockSize,
    addressTemplate: addressTemplate ?? MCS_ADDRESS_TEMPLATE,
    reuseVolumes: reuseVolumes ?? mode === "Blocks",
  };
}

/** [D8] Until the first grant, the token may still turn out to be that of an earlier life which is taken up. */
export function identityOf(intent: Intent, { identity, clusters }: Ledger): LedgerIdentity {
  if (!identity) return fixIdentity(intent);
  const { clusterToken } = intent.app;
  const isGranted = Object.values(clusters).some(({ epoch }) => epoch > 0);
  if (isGranted || identity.app.clusterToken === clusterToken) return identity;
  return { ...identity, app: { ...identity.app, clusterToken } };
}

export function newEntry(index: number, clusterId: string, start: number): ClusterEntry {
  return {
    index,
    clusterId,
    start,
    instances: [],
    grant: null,
    baseRevision: null,
    epoch: 0,
    turn: "none",
    writtenAtMs: 0,
    ackedAtMs: null,
    openSinceMs: null,
    done: false,
    step: null,
    highWater: 0,
    staleVolumes: false,
    reassertedAtMs: null,
    strandedSinceMs: null,
    presence: { kind: "here" },
    votes: "counted",
    returned: false,
  };
}

/** The first local ordinal of a cluster that is not adopted. */
export function firstOrdinal(identity: LedgerIdentity, index: number): number {
  return identity.mode === "Blocks" ? index * identity.blockSize : 0;
}

/** The global ordinal that comes first in a cluster's own range. In Dense there is no such range. */
export function rangeStart(identity: LedgerIdentity, index: number): number {
  return index * identity.blockSize;
}

/** The instance's name inside its cluster. */
export function localName(
  identity: LedgerIdentity,
  entry: Pick<ClusterEntry, "index" | "start">,
  ordinal: number,
): string {
  const local = identity.mode === "PerCluster" ? entry.start + ordinal - rangeStart(identity, entry.index) : ordinal;
  return `${identity.app.name}-${local}`;
}

/** How membership evidence spells an instance: unique over all clusters. */
export function instanceKey(
  identity: LedgerIdentity,
  cluster: ClusterName,
  entry: Pick<ClusterEntry, "index" | "start">,
  ordinal: number,
): string {
  const name = localName(identity, entry, ordinal);
  return identity.mode === "PerCluster" ? `${cluster}/${name}` : name;
}

export type NextOrdinal =
  | { readonly kind: "ordinal"; readonly ordinal: number; readonly reusesVolume: boolean }
  | { readonly kind: "blockFull" };

/** [I2] [I4] The ordinal of the next instance in a cluster's own range: always at the top. */
export function nextInRange(identity: LedgerIdentity, entry: ClusterEntry): NextOrdinal {
  const count = entry.instances.length;
  if (count >= identity.blockSize) return { kind: "blockFull" };
  const ordinal = rangeStart(identity, entry.index) + count;
  return { kind: "ordinal", ordinal, reusesVolume: count < entry.highWater };
}

/**
 * [I3] Dense: a free ordinal, lowest first. A retired one is free for its own cluster if volumes may be reused, and for
 * every cluster once its volume is seen to be gone; `survives` answers true for "may survive". [I14] An ordinal that
 * was never given is skipped if a volume of an earlier object of the same name was found: `isFound`.
 */
export function nextDense(
  ledger: { readonly nextOrdinal: number; readonly retired: ReadonlyArray<{ ordinal: number; cluster: ClusterName }> },
  identity: LedgerIdentity,
  cluster: ClusterName,
  survives: (ordinal: number, cluster: ClusterName) => boolean,
  isFound: (ordinal: number) => boolean,
): number {
  let best: number | undefined;
  for (const { ordinal, cluster: holder } of ledger.retired) {
    const own = identity.reuseVolumes && holder === cluster;
    if ((own || !survives(ordinal, holder)) && (best === undefined || ordinal < best)) best = ordinal;
  }
  if (best !== undefined) return best;
  let next = ledger.nextOrdinal;
  while (!identity.reuseVolumes && isFound(next)) next++;
  return next;
}

export function withState(
  instances: readonly InstanceRecord[],
  ordinal: number,
  state: InstanceRecord["state"],
): InstanceRecord[] {
  return instances.map((instance) => (instance.ordinal === ordinal ? { ordinal, state } : instance));
}

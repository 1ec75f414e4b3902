import { type CrossClusterStatefulsetStatus, MAX_LISTED_INSTANCES } from "../../api/index.ts";
import {
  type ClusterEntry,
  type InstanceObservation,
  type InstanceState,
  type LedgerIdentity,
  localName,
  type Observation,
} from "../../plan/index.ts";

type InstanceRow = NonNullable<NonNullable<CrossClusterStatefulsetStatus["clusters"]>[number]["instances"]>[number];

const STATES: Record<InstanceState, string | undefined> = {
  member: undefined,
  joining: "Joining",
  leaving: "Leaving",
};

/**
 * Each instance of one cluster: those of the ledger by ordinal, then what else was seen there. What was not seen of an
 * instance is absent: unknown, never assumed.
 */
export function instanceRows(
  identity: LedgerIdentity,
  entry: ClusterEntry,
  observation: Observation | undefined,
): InstanceRow[] {
  const present = observation?.kind === "present" && entry.lostAtMs === null ? observation : undefined;
  // Until the controller there has seen the spec, it cannot tell which revision is the new one.
  const isCurrent = present?.observedGeneration === present?.generation;
  const seen = new Map(present?.instances?.map((instance) => [instance.name, instance]));
  const rows = entry.instances.map(({ ordinal, state }) => {
    const name = localName(identity, entry, ordinal);
    const found = seen.get(name);
    seen.delete(name);
    const stated = { name, ...(STATES[state] !== undefined && { state: STATES[state] }) };
    if (found) return { ...stated, ...shownBy(found, isCurrent) };
    return present?.instances ? { ...stated, ready: false } : stated;
  });
  const others = [...seen.values()].map((found) => ({
    name: found.name,
    state: "Unlisted",
    ...shownBy(found, isCurrent),
  }));
  return [...rows, ...others].slice(0, MAX_LISTED_INSTANCES);
}

function shownBy({ ready, updated, terminating }: InstanceObservation, isCurrent: boolean): Partial<InstanceRow> {
  return {
    ready: ready && !terminating,
    ...(isCurrent && updated !== undefined && { updated }),
    ...(terminating && { terminating }),
  };
}

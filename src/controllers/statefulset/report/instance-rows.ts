import { type CrossClusterStatefulsetStatus, MAX_LISTED_INSTANCES } from "../../../api/index.ts";
import {
  type ClusterEntry,
  type InstanceObservation,
  type InstanceState,
  type LedgerIdentity,
  localName,
  type Observation,
} from "../../../plan/index.ts";
import type { Writable } from "../../../runtime/index.ts";

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
  const present = observation?.kind === "present" && entry.presence.kind !== "lost" ? observation : undefined;
  // Until the controller there has seen the spec, it cannot tell which revision is the new one.
  const isCurrent = present?.observedGeneration === present?.generation;
  const seen = new Map(present?.instances?.map((instance) => [instance.name, instance]));
  const rows = entry.instances.map(({ ordinal, state }) => {
    const name = localName(identity, entry, ordinal);
    const found = seen.get(name);
    seen.delete(name);
    const row = rowOf(name, STATES[state], found, isCurrent);
    if (!found && present?.instances) row.ready = false;
    return row;
  });
  const others = [...seen.values()].map((found) => rowOf(found.name, "Unlisted", found, isCurrent));
  return [...rows, ...others].slice(0, MAX_LISTED_INSTANCES);
}

function rowOf(
  name: string,
  state: string | undefined,
  found: InstanceObservation | undefined,
  isCurrent: boolean,
): Writable<InstanceRow> {
  const row: Writable<InstanceRow> = { name };
  if (state !== undefined) row.state = state;
  if (!found) return row;
  const { ready, updated, terminating, trouble } = found;
  row.ready = ready && !terminating;
  if (isCurrent && updated !== undefined) row.updated = updated;
  if (terminating) row.terminating = true;
  if (trouble !== undefined) row.reason = trouble;
  return row;
}

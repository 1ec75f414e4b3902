/** The ledger and the status of one moment: the one is written at once, the other a little later. */
import { type CrossClusterStatefulsetStatus, parseCrossClusterStatefulset } from "../api/index.ts";
import { emptyLedger, type Ledger } from "../plan/index.ts";
import { findLedger, type Hub, STATEFULSETS } from "./hub.ts";

type Status = CrossClusterStatefulsetStatus;

/** The controller writes one object's status at least this often while something happens; a little more, for slow hubs. */
const PATIENCE_MS = 3_000;
const LOOK_AGAIN_MS = 200;

export interface Moment {
  readonly ledger: Ledger;
  readonly status: Status | undefined;
  /** False: the status still spoke of earlier grants when patience was up. */
  readonly agree: boolean;
}

export async function momentOf(
  hub: Hub,
  owner: { readonly namespace: string; readonly name: string },
  known: Status | undefined,
): Promise<Moment> {
  const endMs = hub.clock.monotonicMs() + PATIENCE_MS;
  let status = known;
  for (;;) {
    const ledger = (await findLedger(hub, owner)) ?? emptyLedger();
    if (agree(ledger, status)) return { ledger, status, agree: true };
    if (hub.clock.monotonicMs() > endMs) return { ledger, status, agree: false };
    await hub.clock.sleep(LOOK_AGAIN_MS);
    const object = await hub.client.find(STATEFULSETS, owner, hub.request);
    const read = object && parseCrossClusterStatefulset(object);
    if (read?.ok) status = read.value.status;
  }
}

function agree({ clusters }: Ledger, status: Status | undefined): boolean {
  const rows = new Map((status?.clusters ?? []).map((row) => [row.name, row]));
  return Object.entries(clusters).every(([name, { grant, done }]) => {
    const row = rows.get(name);
    if (!grant || !row) return !grant;
    return row.granted?.epoch === grant.epoch && (row.gate === "Unknown" || (row.gate === "Open") === done);
  });
}

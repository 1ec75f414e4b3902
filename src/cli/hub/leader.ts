/** Which controller leads, by the lease on the hub. */
import { resource } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import type { Hub } from "./hub.ts";

export const LEASE_NAME = "lockstep-controller";
const LEASES = resource({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", plural: "leases", namespaced: true });
/** Leases are renewed every few seconds; one this old has no holder. */
const STALE_MS = 60_000;

export interface Leader {
  /** Absent: none leads. */
  readonly holder?: string;
  /** Since the lease was renewed; absent: there is no lease, NaN: it was never renewed. */
  readonly ageMs?: number;
}

export async function readLeader({ client, clock, request }: Hub, namespace: string): Promise<Leader> {
  const lease = await client.find(LEASES, { namespace, name: LEASE_NAME }, request);
  if (!lease) return {};
  const spec = isJsonObject(lease.spec) ? lease.spec : {};
  const ageMs = clock.now() - Date.parse(String(spec.renewTime ?? ""));
  return spec.holderIdentity && ageMs < STALE_MS ? { holder: String(spec.holderIdentity), ageMs } : { ageMs };
}

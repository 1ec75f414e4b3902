/** Who is who in the topology of a grant. */
import type { Grant } from "lockstep/sdk";

/** Members of this cluster first, then those of others. One that joins does not answer for all yet, so it comes last. */
export function whomToAsk({ topology, cluster }: Grant): string[] {
  const own = topology.filter((each) => each.cluster === cluster);
  const others = topology.filter((each) => each.cluster !== cluster);
  const all = [...own, ...others].flatMap(({ addresses, states }) =>
    addresses.map((address, at) => ({ address, isJoining: states[at] === "joining" })),
  );
  return [...all.filter(({ isJoining }) => !isJoining), ...all.filter(({ isJoining }) => isJoining)].map(
    ({ address }) => address,
  );
}

/** The instance with this address, in one cluster or in all. */
export function nameOf(address: string, { topology }: Grant, cluster?: string): string | undefined {
  for (const each of topology) {
    const at = each.addresses.indexOf(address);
    if (at >= 0 && (cluster === undefined || each.cluster === cluster)) return each.instances[at];
  }
  return undefined;
}

export function addressOf(instance: string, { topology }: Grant): string {
  for (const { instances, addresses } of topology) {
    const at = instances.indexOf(instance);
    if (at >= 0) return addresses[at] ?? "";
  }
  return "";
}
